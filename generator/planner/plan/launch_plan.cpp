#include "generator/planner/plan/launch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace convtgen {
namespace {

/// An axis's extent, if the quantity is one and the layer knows it.
Size known_extent(const Layer& layer, Quantity quantity) {
  const auto place = static_cast<std::size_t>(quantity);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const Size& in = layer.axes[axis].extent;
    if (place == static_cast<std::size_t>(Quantity::kInDepth) + axis) {
      return in;
    }
    if (place == static_cast<std::size_t>(Quantity::kOutDepth) + axis) {
      return in ? Size(output_extent(layer.axes[axis], *in)) : in;
    }
  }
  return {};
}

/// Makes a tensor the first channels of one that has so many more.
void slice(Layout layout, std::int64_t more, Quantity pixels, Quantity image, Tensor& tensor) {
  if (more == 0) {
    return;
  }
  const bool by_pixels = layout == Layout::kNhwc;
  tensor.runs = by_pixels ? pixels : Quantity::kBatch;
  tensor.gap = by_pixels ? Amount{.constant = more} : Amount{.factor = more, .per = image};
}

}  // namespace

const KernelPlan& LaunchPlan::main() const {
  return *std::ranges::find(kernels, "", &KernelPlan::suffix);
}

std::int64_t LaunchPlan::packed_bytes() const {
  const auto kept = std::ranges::find(regions, true, &Region::kept);
  return kept != regions.end() ? kept->bytes.constant : 0;
}

void add_packing(LaunchPlan& launch, std::int64_t bytes, std::int64_t thread_rows) {
  constexpr std::int64_t kRowBytes = 16;
  // Later calls with the same weights do without.
  launch.kernels.insert(launch.kernels.begin(), {.function = "pack_weights",
                                                 .suffix = "_pack",
                                                 .grid = {.axes = {{{.constant = bytes}, kRowBytes * thread_rows}}},
                                                 .per_thread = true,
                                                 .once = true});
  launch.regions.push_back(
      {.name = "packed", .what = "a packed copy of the weights", .bytes = {.constant = bytes}, .kept = true});
}

std::vector<Tensor> tensors_of(const Layer& layer, Direction direction, std::int64_t alignment) {
  const std::int64_t element = bytes_of(layer.dtype);
  const auto tensor_of = [&](Role role, bool written) {
    Tensor tensor{.role = role, .alignment = std::max(alignment, element), .written = written};
    switch (role) {
      case Role::kX:
      case Role::kGradX:
        tensor.elements = {.factor = layer.in_channels, .per = Quantity::kInPixels};
        slice(layer.layout, x_tensor_channels(layer) - layer.in_channels, Quantity::kInPixels, Quantity::kInImage,
              tensor);
        break;
      case Role::kY:
      case Role::kGradY:
        tensor.elements = {.factor = layer.out_channels, .per = Quantity::kOutPixels};
        slice(layer.layout, y_tensor_channels(layer) - layer.out_channels, Quantity::kOutPixels, Quantity::kOutImage,
              tensor);
        break;
      case Role::kWeight:
      case Role::kGradWeight:
        tensor.elements = {.constant = weight_elements(layer)};
        tensor.alignment = element;
        break;
      case Role::kBias:
      case Role::kGradBias:
        tensor.elements = {.constant = layer.out_channels};
        tensor.alignment = element;
        break;
    }
    return tensor;
  };
  const Roles roles = roles_of(layer, direction);
  std::vector<Tensor> tensors;
  for (const Role role : roles.written) {
    tensors.push_back(tensor_of(role, true));
  }
  for (const Role role : roles.read) {
    tensors.push_back(tensor_of(role, false));
  }
  return tensors;
}

void align(LaunchPlan& launch, Role role, std::int64_t alignment) {
  std::ranges::find(launch.tensors, role, &Tensor::role)->alignment = alignment;
}

Result<void> check_bounds(const Layer& layer, const std::vector<Grid::Bound>& bounds) {
  for (const Grid::Bound& bound : bounds) {
    const Size size = known_extent(layer, bound.extent);
    if (size && *size > bound.most) {
      return fail(fmt::format("{} {} is too large for the kernel's 32-bit coordinates; at most {}",
                              words_of(bound.extent), *size, bound.most));
    }
  }
  return {};
}

Grid TileGrid::grid() const {
  // The kernel's coordinates go on to the end of the last tile, also where the padding takes it away again.
  constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();
  return {.axes = {{per(Quantity::kOutHeight), tile_rows},
                   {per(Quantity::kOutWidth), tile_columns},
                   {per(Quantity::kBatch), tile_images}},
          .blocks_per_tile = blocks_per_tile,
          .most_tiles = most_tiles,
          .bounds = {{Quantity::kOutHeight, kIntMax - tile_rows},
                     {Quantity::kInHeight, (kIntMax - tile_rows - beyond_rows) / stride_h + 1},
                     {Quantity::kOutWidth, kIntMax - tile_columns},
                     {Quantity::kInWidth, (kIntMax - tile_columns - beyond_columns) / stride_w + 1}}};
}

}  // namespace convtgen
