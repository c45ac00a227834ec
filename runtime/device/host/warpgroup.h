// wgmma over plain memory: descriptors, layouts, products. PTX ISA (asynchronous warpgroup level matrix
// instructions) and the observations on an H200 in templates/device/warpgroup.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "generator/support/error.h"

namespace convtgen::host {

/// The fields of a matrix descriptor, in bytes.
struct WgmmaDescriptor {
  std::uint32_t start = 0;    // address in the shared window
  std::uint32_t leading = 0;  // pitches
  std::uint32_t stride = 0;
  std::uint32_t base_offset = 0;  // as it stands, 0 to 7
  std::uint32_t swizzle = 0;      // 0, 32, 64, 128
  bool operator==(const WgmmaDescriptor&) const = default;
};

[[nodiscard]] WgmmaDescriptor decode_wgmma_descriptor(std::uint64_t bits);

enum class WgmmaElement { kF16, kBf16, kTf32 };

/// An operand of one instruction, or some of its rows: A has 64, B has N (its columns count as rows here). Both counts
/// are multiples of 8.
struct WgmmaOperand {
  WgmmaElement element = WgmmaElement::kF16;
  int rows = 64;
  bool mn_major = false;
  int first_row = 0;
};

/// K of one instruction: 32 bytes.
[[nodiscard]] int wgmma_k(WgmmaElement element);

/// Address in the shared window of element (row, k); `row` counts from the first of the whole operand.
[[nodiscard]] std::uint32_t wgmma_address(const WgmmaDescriptor& descriptor, const WgmmaOperand& operand, int row,
                                          int k);

/// The operand as floats, element (first_row + row, k) at [row * K + k]; tf32 truncated. `shared` begins at address 0
/// of the window. Errors: a base offset, tf32 that is MN-major (neither has a defined meaning here), an element outside
/// `shared`.
[[nodiscard]] Result<std::vector<float>> gather_wgmma(std::span<const std::byte> shared, std::uint64_t descriptor,
                                                      const WgmmaOperand& operand);

/// Part of the shared window, in bytes; both are multiples of 16.
struct WgmmaPiece {
  std::uint32_t address = 0;
  std::uint32_t bytes = 0;
  bool operator==(const WgmmaPiece&) const = default;
};

/// What gather_wgmma reads of `shared_bytes` of shared memory: in ascending order, neither overlapping nor touching.
/// Errors: as gather_wgmma.
[[nodiscard]] Result<std::vector<WgmmaPiece>> wgmma_pieces(std::size_t shared_bytes, std::uint64_t descriptor,
                                                           const WgmmaOperand& operand);

/// Where a thread (0 to 127 of its warpgroup) has value i of its accumulators (PTX ISA, wgmma.mma_async, register
/// fragments).
struct WgmmaPlace {
  int row = 0;
  int column = 0;
  bool operator==(const WgmmaPlace&) const = default;
};
[[nodiscard]] WgmmaPlace wgmma_accumulator(int thread, int i);

/// Where a thread has element i of A in registers; 16-bit: i = 2 * register + half, 8 of them; tf32: i = register, 4.
[[nodiscard]] WgmmaPlace wgmma_a_fragment(WgmmaElement element, int thread, int i);

/// Of a product; n is at most 256. A warp has 16 of the warpgroup's 64 rows.
struct WgmmaShape {
  int rows = 64;
  int n = 8;
  int k = 16;
};

/// d (rows x n) = a (rows x k) * b (n x k, transposed), added to d if `accumulate`; all row-major. Products are exact;
/// they and d are summed in double, in the order of k, and rounded once to nearest. The chip aligns the terms of an
/// instruction to the largest and cuts them off there: it is assumed, not documented, to keep at least f32's 24 bits
/// of it, so the difference is at most (k + 2) * 2^-23 * max(|d|, |a * b|).
void multiply_wgmma(std::span<float> d, std::span<const float> a, std::span<const float> b, const WgmmaShape& shape,
                    bool accumulate);

}  // namespace convtgen::host
