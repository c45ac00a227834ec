#include "generator/planner/grad_weight_staging.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "generator/planner/grad_weight_plan.h"
#include "generator/planner/integers.h"

namespace convtgen::grad_weight {

std::vector<Block> producing_warpgroups(Block b) {
  std::vector<Block> out;
  for (const auto& [groups, producers] : {std::pair{2, 128}, std::pair{2, 256}, std::pair{3, 128}}) {
    b.consumer_groups = groups;
    b.producers = producers;
    out.push_back(b);
  }
  return out;
}

std::vector<Block> produced_positions(const Facts& f, Block b, std::int64_t most) {
  std::vector<Block> out;
  Constants& of = f.of(b);
  for (const StageShape& shape :
       stage_shapes(f.width, f.columns.extent.has_value(), of[kHaloW], of[kInstructionK], most)) {
    b.flat = shape.flat;
    b.tile_rows = shape.rows;
    b.tile_columns = shape.columns;
    out.push_back(b);
  }
  return out;
}

std::int64_t produced_tiles(const Facts& f, const Block& b) {
  return ceil_div(f.batch * (f.height + f.of(b)[kHaloH]), b.tile_rows) *
         (b.flat ? 1 : ceil_div(f.width, b.tile_columns));
}

std::string produced_text(const Block& b) {
  return b.flat ? fmt::format("{} whole rows", b.tile_rows)
                : fmt::format("{}x{} positions", b.tile_rows, b.tile_columns);
}

double elements_read(const Facts& f) {
  return f.channels_last() ? 1 : std::min<double>(static_cast<double>(f.columns.stride), 8);
}

Result<void> check_channels_last(const Layer& layer, std::int64_t pack) {
  for (const auto& [name, channels] :
       {std::pair{"input", layer.in_channels / layer.groups}, std::pair{"output", layer.out_channels / layer.groups}}) {
    if (layer.layout == Layout::kNhwc && channels % pack != 0) {
      return fail(fmt::format("{} {} channels{}; with channels last it takes multiples of {}", channels, name,
                              layer.groups > 1 ? " of a group" : "", pack));
    }
  }
  return {};
}

TensorMap map_form(Dtype dtype, const std::array<std::int64_t, 4>& box, std::int64_t swizzle) {
  TensorMap form;
  form.element = dtype == Dtype::kF16    ? TensorMap::Element::kF16
                 : dtype == Dtype::kBf16 ? TensorMap::Element::kBf16
                                         : TensorMap::Element::kTf32;
  form.rank = static_cast<int>(box.size());
  std::ranges::transform(box, form.box.begin(), [](std::int64_t size) { return static_cast<std::uint32_t>(size); });
  form.swizzle = swizzle == 128  ? TensorMap::Swizzle::k128
                 : swizzle == 64 ? TensorMap::Swizzle::k64
                 : swizzle == 32 ? TensorMap::Swizzle::k32
                                 : TensorMap::Swizzle::kNone;
  return form;
}

}  // namespace convtgen::grad_weight
