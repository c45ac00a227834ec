// What planners of templates for gradients of weights share whose stages come to shared memory in the same way: through
// the registers of producer warpgroups, or by tensor copies.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/planner/grad_weight_search.h"

namespace convtgen::grad_weight {

// ---- Through registers: whole rows, or parts of them, of all images one below the other ----

/// Warpgroups that multiply, and threads that bring what they multiply.
[[nodiscard]] std::vector<Block> producing_warpgroups(Block b);
/// Stages of at most `most` positions.
[[nodiscard]] std::vector<Block> produced_positions(const Facts& f, Block b, std::int64_t most);
[[nodiscard]] std::int64_t produced_tiles(const Facts& f, const Block& b);
[[nodiscard]] std::string produced_text(const Block& b);
/// Elements of grad_y that are read for each one that is needed: sectors of memory hold those between two of a stride.
[[nodiscard]] double elements_read(const Facts& f);

/// Errors: with channels last, the channels of a group are no multiple of those that are loaded together.
[[nodiscard]] Result<void> check_channels_last(const Layer& layer, std::int64_t pack);

// ---- By tensor copies ----

/// The form of a tensor's map: of four axes, with this box, whose rows have the swizzle of so many bytes (0: none).
[[nodiscard]] TensorMap map_form(Dtype dtype, const std::array<std::int64_t, 4>& box, std::int64_t swizzle);

}  // namespace convtgen::grad_weight
