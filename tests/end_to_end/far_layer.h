// What the tests of layers with more elements than 32 bits count share: plans, places in the workspace, values.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/layer_arrays.h"
#include "runtime/reference/run_layer.h"
#include "tests/end_to_end/narrow_offsets.h"
#include "tests/planner/problems.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {

inline constexpr std::int64_t kFar = std::int64_t{1} << 31;
inline constexpr std::byte kPoison{0xff};

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

inline std::byte* memory_of(const Buffer& buffer) {
  return reinterpret_cast<std::byte*>(buffer.address());
}

inline Problem problem_of(std::string_view text, Direction direction) {
  Layer layer = parse_layer(text).value();
  layer.directions = {direction};
  return {layer, direction, target_named("sm_90a").value()};
}

/// The first of the template; where it `scans`, of those that find the largest magnitudes of channels.
inline Plan plan_of(const Problem& problem, std::string_view template_name, std::optional<bool> by_copies = {},
                    bool scans = false) {
  const std::vector<Plan> plans = plan(problem).value();
  const auto found = std::ranges::find_if(plans, [&](const Plan& each) {
    const auto rows = each.parameters.find("row_stages");
    return each.template_name == template_name &&
           (!by_copies || (std::get<std::int64_t>(rows->second) > 0) == *by_copies) &&
           (!scans || each.launch.kernels.front().function == "scan_channels");
  });
  if (found == plans.end()) {
    throw std::runtime_error("the planner has no such plan");
  }
  return *found;
}

inline void set_if_there(Plan& plan, std::string_view name, std::int64_t value) {
  if (const auto parameter = plan.parameters.find(name); parameter != plan.parameters.end()) {
    parameter->second = value;
  }
}

/// The blocks of a call of this shape where each tile has its own.
inline std::int64_t blocks_of(const Plan& plan, const RecipeKernel& kernel, const Shape& shape) {
  Grid grid = kernel.grid;
  grid.most_tiles = 0;
  const std::int64_t all = grid.blocks(quantities_of(shape)).value();
  const auto of_template = facts_of(plan.template_name).blocks_of_all;
  return of_template != nullptr ? of_template(plan, shape, all, kernel.cluster) : all;
}

/// Where a region of the workspace begins, and its bytes.
struct Place {
  std::size_t offset, bytes;
};
inline Place place_of(const Recipe& recipe, std::string_view region, const Shape& shape) {
  const auto found = std::ranges::find(recipe.regions, region, &Region::name);
  const auto index = static_cast<std::size_t>(found - recipe.regions.begin());
  return {static_cast<std::size_t>(recipe.offset_of(index, quantities_of(shape)).value()),
          static_cast<std::size_t>(found->bytes.constant)};
}

/// The largest magnitudes of channels: of -1, 0 and 1. A kernel finds them otherwise, among all positions.
inline void write_maxima(HostDevice& device, Buffer& workspace, const Recipe& recipe, const Shape& shape) {
  const Place place = place_of(recipe, "maxima", shape);
  const std::vector<float> ones(place.bytes / sizeof(float), 1);
  std::memcpy(memory_of(workspace) + place.offset, ones.data(), place.bytes);
  EXPECT_TRUE(device.mark_written(workspace, place.offset, place.bytes));
}

inline double small_integer(std::uint64_t seed) {
  return static_cast<double>(mix_bits(seed) % 3) - 1;
}

/// -1, 0 and 1.
inline HostArray small_integers(HostArray array, std::uint64_t seed) {
  for (std::int64_t i = 0; i < array.size(); ++i) {
    array.set(i, small_integer(seed + static_cast<std::uint64_t>(i)));
  }
  return array;
}

}  // namespace convtgen::testing
