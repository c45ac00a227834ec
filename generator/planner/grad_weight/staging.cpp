#include "generator/planner/grad_weight/staging.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "generator/planner/grad_weight/choices.h"
#include "generator/planner/plan/tensor_maps.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/roofline.h"

namespace convtgen::grad_weight {

namespace {

/// Whether rows of NCHW can be copied as they lie and turned: whole words, at places that are known before.
bool has_rows_of_words(const Facts& f) {
  const std::optional<std::int64_t> width = f.columns.extent;
  const std::int64_t bytes = f.bytes;
  return !f.channels_last && f.rows.extent && width && *width * bytes % 4 == 0 &&
         output_extent(f.columns, *width) * bytes % 4 == 0;
}

/// The batch up to which copies find rows by an int: the number of an image times those of its groups of channels. A
/// stage may reach some images beyond the last one.
std::int64_t most_batch(const Layer& layer, std::int64_t tile_rows, std::int64_t input_period,
                        std::int64_t window_period) {
  return kIntMax / std::max(x_tensor_channels(layer) / input_period, y_tensor_channels(layer) / window_period) -
         tile_rows;
}

}  // namespace

bool fits_rows(const Facts& f, const Block& b) {
  if (b.row_stages == 0) {
    return true;
  }
  Constants& of = f.of(b);
  const std::int64_t input_period = of[kInputPeriod];
  const std::int64_t window_period = of[kWindowPeriod];
  const std::int64_t input = input_period * *f.rows.extent * *f.columns.extent;
  const std::int64_t window =
      window_period * output_extent(f.rows, *f.rows.extent) * output_extent(f.columns, *f.columns.extent);
  const bool has_whole_images =
      x_tensor_channels(f.layer) % input_period == 0 && y_tensor_channels(f.layer) % window_period == 0;
  return has_whole_images && of[kGroupIn] % input_period == 0 && of[kGroupOut] % window_period == 0 &&
         of[kInputBox] <= kMostBox && of[kWindowBox] <= kMostBox && of[kRowsOfSlot] <= b.producers &&
         std::max(input, window) <= kIntMax &&
         f.layer.batch.value_or(0) <= most_batch(f.layer, b.tile_rows, input_period, window_period);
}

void add_row_copies(LaunchPlan& launch, const Facts& f, const Block& b) {
  if (b.row_stages == 0) {
    return;
  }
  Constants& c = f.of(b);
  // All elements of so many channels, and such groups of channels of all images.
  const auto map = [&](std::string name, Role role, std::int64_t channels, std::int64_t all_channels,
                       std::int64_t image, std::int64_t period, std::int64_t box, std::int64_t block) {
    MapRecipe recipe{.name = std::move(name), .role = role, .form = map_form(f.layer.dtype, {box, block / period}, 0)};
    if (f.layer.dtype == Dtype::kF32) {
      recipe.form.element = TensorMap::Element::kF32;  // who turns rows rounds
    }
    recipe.sizes = {Amount{.constant = period * image}, Amount{.constant = (channels - all_channels) / period,
                                                               .factor = all_channels / period,
                                                               .per = Quantity::kBatch}};
    recipe.pitches = {Amount{}, Amount{.constant = period * image * f.bytes}};
    return recipe;
  };
  const std::int64_t height = *f.rows.extent, width = *f.columns.extent;
  launch.maps = {map("x_map", Role::kX, f.layer.in_channels, x_tensor_channels(f.layer), height * width,
                     c[kInputPeriod], c[kInputBox], b.block_in),
                 map("grad_y_map", Role::kGradY, f.layer.out_channels, y_tensor_channels(f.layer),
                     output_extent(f.rows, height) * output_extent(f.columns, width), c[kWindowPeriod], c[kWindowBox],
                     b.block_out)};
  launch.kernels.front().grid.bounds.push_back(
      {Quantity::kBatch, most_batch(f.layer, b.tile_rows, c[kInputPeriod], c[kWindowPeriod])});
}

std::vector<Block> producing_warpgroups(const Facts& f, Block b) {
  std::vector<Block> out;
  for (const bool by_rows : {false, true}) {
    if (by_rows && !has_rows_of_words(f)) {
      break;
    }
    b.row_stages = by_rows ? 1 : 0;  // how many is chosen with the number of stages
    for (const auto& [groups, producers] : {std::pair{2, 128}, std::pair{2, 256}, std::pair{3, 128}}) {
      b.consumer_groups = groups;
      b.producers = producers;
      out.push_back(b);
    }
  }
  return out;
}

std::vector<Block> produced_positions(const Facts& f, Block b, std::int64_t most) {
  std::vector<Block> out;
  Constants& of = f.of(b);
  for (const StageShape& shape :
       stage_shapes(f.sizes.extents[kWidth], f.columns.extent.has_value(), of[kHaloW], of[kInstructionK], most)) {
    b.flat = shape.flat;
    b.tile_rows = shape.rows;
    b.tile_columns = shape.columns;
    out.push_back(b);
  }
  return out;
}

std::int64_t produced_tiles(const Facts& f, const Block& b) {
  return ceil_div(f.sizes.batch * (f.sizes.extents[kHeight] + f.of(b)[kHaloH]), b.tile_rows) *
         (b.flat ? 1 : ceil_div(f.sizes.extents[kWidth], b.tile_columns));
}

std::string produced_text(const Block& b) {
  return b.flat ? fmt::format("{} whole rows", b.tile_rows)
                : fmt::format("{}x{} positions", b.tile_rows, b.tile_columns);
}

Brought brought_by_threads(const Facts& f, const Block& b, const Bringing& bringing) {
  const double warps = static_cast<double>(b.producers) / 128;  // of a scheduler
  Brought out;
  if (b.row_stages == 0) {
    const double own = bringing.batches * f.factors.grad_weight_batch + bringing.batch_instructions;
    out.instructions = warps * own;
    out.l2_bytes = static_cast<double>(f.bytes) * bringing.elements;
    out.cycles = bringing.batches * f.factors.grad_weight_latency + own;
    return out;
  }
  Constants& c = f.of(b);
  const double own =
      c.number(kTurnedBlocks) * bringing.turn_instructions + c.number(kTurnedStrips) * f.factors.grad_weight_strip;
  out.instructions = warps * own;
  out.l2_bytes = c.number(kCopiedBytes);
  out.shared_bytes = 2 * out.l2_bytes;
  // Rows come while those before them are turned, and wait until a slot is free.
  const double turned = f.factors.grad_weight_turn_cycles * own + f.factors.grad_weight_turn_begin +
                        f.factors.grad_weight_row_copy * c.number(kCopies) / static_cast<double>(b.producers / 32);
  out.cycles = std::max(turned, (turned + f.factors.grad_weight_row_latency) / static_cast<double>(b.row_stages));
  return out;
}

double produced_stage_cycles(const Facts& f, const Brought& brought, const StageWork& work) {
  return std::max(cycles_of(f.target, work), brought.cycles) + f.factors.grad_weight_stage;
}

double elements_read(const Facts& f) {
  return f.channels_last ? 1 : std::min<double>(static_cast<double>(f.columns.stride), 8);
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

}  // namespace convtgen::grad_weight
