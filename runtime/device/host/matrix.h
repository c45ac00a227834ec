// ldmatrix and stmatrix over plain values, a whole warp at once: templates/device/matrix_load.h says who holds what.
// PTX ISA (warp level matrix load, matrix store).
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

}  // namespace convtgen::host
