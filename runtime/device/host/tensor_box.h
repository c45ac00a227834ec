// What one TMA copy of a box moves, byte for byte: templates/device/tensor_copy.h is the contract,
// generator/recipe/tensor_map.h the map. PTX ISA (tensors: tiled mode; swizzling modes; cp.async.bulk.tensor).
//
// Rows of the innermost dimension follow one another in shared memory, dimension 1 fastest. Without swizzle they
// are dense. With swizzle a row occupies the whole width of the swizzle, also where the box is narrower: the CUDA
// programming guide (TMA swizzle) requires memory of the full width then. The bytes between are not touched and not
// reported to an mbarrier. (Narrower boxes have not been tried on a chip here.) Bits 4 to 6 of the address in the
// shared window, as many as the width has 16-byte vectors for, are xored with bits 7 to 9.
//
// Where a dimension has a step, ceil(box / step) elements are moved, those at coordinate + i * step, and lie densely in
// shared memory. PTX ISA (tiled mode, traversal stride) says so of accesses of either direction, so stores write every
// step-th element and not those between; the driver's manual describes loads only. The innermost dimension
// must have step 1, which check_tensor_map() verifies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "generator/recipe/tensor_map.h"
#include "generator/support/error.h"

namespace convtgen::host {

/// A run of whole elements, contiguous on both sides.
struct BoxPiece {
  std::uint64_t global = 0;  // device address; 0 where not inside
  std::uint32_t shared = 0;  // address in the shared window, swizzled
  std::uint32_t bytes = 0;   // at most 16 with swizzle
  bool inside = false;       // of the array; otherwise a load puts the map's fill there
  bool operator==(const BoxPiece&) const = default;
};

using BoxCoordinates = std::array<int, kMaxTensorRank>;

/// The parts of a copy between the box at these coordinates (elements, innermost first; those beyond the rank are not
/// looked at) and shared memory from `shared_address` of the shared window on. A store has no parts outside the array.
/// The map is one that check_tensor_map() accepts. The caller must check that memory has these addresses.
/// Errors, what the chip refuses: a shared address that is no multiple of 128; a box too large for the shared memory of
/// any block; an innermost coordinate that is no multiple of 16 bytes; a negative coordinate of a store.
[[nodiscard]] Result<std::vector<BoxPiece>> box_pieces(const TensorMap& map, const BoxCoordinates& coordinates,
                                                       std::uint32_t shared_address, bool store);

/// The effect of a load for one part: it copies, rounding tf32 to nearest even, or fills. `from` is not read for a part
/// outside the array. A NaN as fill has the same 16 bits over and over, a quiet NaN in every format but f64 (there it
/// is a signalling one); no manual gives its bits. It is not rounded. (A store copies, whatever the element is.)
void load_piece(const TensorMap& map, const BoxPiece& piece, std::byte* to, const std::byte* from);

}  // namespace convtgen::host
