// ldmatrix, stmatrix and mma.sync over plain values, a whole warp at once: templates/device/matrix_load.h and matrix.h
// say who holds what. PTX ISA (warp level matrix load, matrix store, multiply-and-accumulate).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/device/host/warpgroup.h"

namespace convtgen::host {

/// The 16 bytes where each lane points; row j of matrix i is that of lane 8 * i + j.
using MatrixRows = std::array<std::array<std::byte, 16>, 32>;
/// The registers of each lane: value i is of matrix i, two 16-bit elements.
using MatrixValues = std::array<std::array<std::uint32_t, 4>, 32>;

using MatrixPlace = WgmmaPlace;

/// The element of a matrix that a lane holds in the low (0) or high (1) half of a value.
[[nodiscard]] MatrixPlace matrix_element(int lane, int half, bool transposed);

/// ldmatrix of 1, 2 or 4 matrices: rows beyond lane 8 * count - 1 are not looked at, values beyond count are 0.
[[nodiscard]] MatrixValues load_matrices(const MatrixRows& rows, int count, bool transposed);

/// stmatrix, the reverse: what goes to where each lane points; rows beyond lane 8 * count - 1 are 0 and not stored.
[[nodiscard]] MatrixRows store_matrices(const MatrixValues& values, int count, bool transposed);

/// mma.sync has the formats of wgmma, and lays out d and A as the first warp of a warpgroup does.
using MmaElement = WgmmaElement;

/// Where a lane has value i (0 to 3) of d (16x8).
[[nodiscard]] MatrixPlace mma_accumulator(int lane, int i);

/// Where a lane has element i of A (16xK); 16-bit: i = 2 * register + half, K / 2 of them; tf32: i = register, K / 2.
[[nodiscard]] MatrixPlace mma_a_fragment(MmaElement element, int lane, int i);

/// Where a lane has element i of B (Kx8; the row is k); 16-bit: i = 2 * register + half, K / 4 of them; tf32:
/// i = register, K / 4.
[[nodiscard]] MatrixPlace mma_b_fragment(MmaElement element, int lane, int i);

/// The registers of each lane; the smaller K uses the first half of those of a and b.
using MmaAccumulators = std::array<std::array<float, 4>, 32>;
using MmaA = std::array<std::array<std::uint32_t, 4>, 32>;
using MmaB = std::array<std::array<std::uint32_t, 2>, 32>;

/// d (16x8) += a (16xk) * b (kx8); k is 8 or 16, of tf32 4 or 8. Products are exact; they and d are summed in double,
/// in the order of k, and rounded once to nearest. The chip aligns the terms of an instruction to the largest and cuts
/// them off there: it is assumed, not documented, to keep at least f32's 24 bits of it and to take all of them in one
/// step, so the difference is at most (k + 2) * 2^-23 * max(|d|, |a * b|).
void multiply_mma(MmaAccumulators& d, const MmaA& a, const MmaB& b, MmaElement element, int k);

}  // namespace convtgen::host
