#include "generator/planner/grad_weight/boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/planner/grad_weight/launch.h"
#include "generator/planner/plan/tensor_maps.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/roofline.h"

namespace convtgen::grad_weight {
namespace {

constexpr std::int64_t kMostPositions = 256;  // of a stage
constexpr std::int64_t kPack = 8;             // channels of 16 bytes

/// Stages of whole rows, of one image or more. Products of a row take its zeros too.
void add_flat_tiles(const Facts& f, Block b, std::vector<Block>& out) {
  b.flat = true;
  Constants& of_block = f.of(b);
  const std::int64_t k = of_block[kInstructionK];
  const std::int64_t halo_h = of_block[kHaloH];
  const std::int64_t pitch = f.sizes.extents[kWidth] + of_block[kHaloW];
  const auto add = [&](std::int64_t images, std::int64_t rows, std::int64_t positions) {
    // Nothing but whole products, or nearly so.
    if (round_up(positions, k) * 10 <= 11 * positions || rows == f.sizes.extents[kHeight]) {
      b.tile_images = images;
      b.tile_rows = rows;
      out.push_back(b);
    }
  };
  for (std::int64_t rows = 1; rows <= f.sizes.extents[kHeight] && rows * pitch <= kMostPositions; ++rows) {
    add(1, rows, rows * pitch);
  }
  const std::int64_t image = (f.sizes.extents[kHeight] + halo_h) * pitch;
  for (std::int64_t images = 2; f.rows.extent && images <= f.sizes.batch && images * image <= kMostPositions;
       ++images) {
    add(images, f.sizes.extents[kHeight], images * image);
  }
}

}  // namespace

std::vector<Block> box_warpgroups(const Facts&, Block b) {
  std::vector<Block> out;
  for (const std::int64_t groups : {2, 3}) {
    b.consumer_groups = groups;
    out.push_back(b);
  }
  return out;
}

std::vector<Block> box_positions(const Facts& f, Block b) {
  std::vector<Block> out;
  const std::int64_t k = f.of(b)[kInstructionK];
  const std::int64_t whole = round_up(f.sizes.extents[kWidth], k);
  std::vector<std::int64_t> columns = {
      k, 2 * k, 4 * k, 8 * k, 12 * k, whole, round_up(ceil_div(f.sizes.extents[kWidth], 2), k)};
  std::ranges::sort(columns);
  columns.erase(std::ranges::unique(columns).begin(), columns.end());
  for (const std::int64_t column : columns) {
    for (std::int64_t rows = 1;
         rows * column <= kMostPositions && column <= whole && rows < 2 * f.sizes.extents[kHeight]; rows *= 2) {
      b.tile_columns = column;
      b.tile_rows = std::min(rows, f.sizes.extents[kHeight]);
      out.push_back(b);
    }
  }
  if (f.columns.extent) {
    b.tile_columns = k;
    add_flat_tiles(f, b, out);
  }
  return out;
}

std::int64_t box_tiles(const Facts& f, const Block& b) {
  return ceil_div(b.chunk_images > 0 ? b.chunk_images : f.sizes.batch, b.tile_images) *
         ceil_div(f.sizes.extents[kHeight], b.tile_rows) *
         (b.flat ? 1 : ceil_div(f.sizes.extents[kWidth], b.tile_columns));
}

std::string box_text(const Block& b) {
  return b.flat ? fmt::format("{} whole row{} of {} image{}", b.tile_rows, b.tile_rows == 1 ? "" : "s", b.tile_images,
                              b.tile_images == 1 ? "" : "s")
                : fmt::format("{}x{} positions", b.tile_rows, b.tile_columns);
}

bool fits_boxes(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const auto span = [](std::int64_t size, std::int64_t step) { return (size - 1) * step + 1; };
  return of_block[kInputPitch] <= kMostBox && of_block[kInputRows] <= kMostBox &&
         span(of_block[kWindowPitch], f.columns.stride) <= kMostBox &&
         span(of_block[kWindowRows], f.rows.stride) <= kMostBox;
}

double box_positions_copied(const Facts& f, const Block& b) {
  Constants& of = f.of(b);
  return static_cast<double>(of[kInBoxes] * of[kInputPixels] + of[kPlanes] * of[kOutBoxes] * of[kPlanePixels]);
}

double box_stage_cycles(const Facts& f, const Block& b, const StageWork& work) {
  return std::max(cycles_of(f.target, work) + f.factors.grad_weight_stage,
                  f.factors.grad_weight_latency / static_cast<double>(b.stages - kIssueLag));
}

Result<void> check_boxes(const Layer& layer) {
  for (const auto& [name, channels] :
       {std::pair{"input", layer.in_channels / layer.groups}, std::pair{"output", layer.out_channels / layer.groups}}) {
    if (channels % kPack != 0) {
      return fail(fmt::format("{} {} channels{}; tensor copies need whole 16 bytes, multiples of 8", channels, name,
                              layer.groups > 1 ? " of a group" : ""));
    }
  }
  for (const std::size_t axis : {kHeight, kWidth}) {
    if (const std::int64_t stride = symmetric(layer.axes[axis]).stride; stride > kMostStep) {
      return fail(
          fmt::format("stride {}; at most {}, which the elements of a tensor copy are apart", stride, kMostStep));
    }
  }
  return {};
}

std::optional<std::array<std::int64_t, 2>> bytes_of_tensors(const Layer& layer) {
  const Axis rows = symmetric(layer.axes[kHeight]);
  const Axis columns = symmetric(layer.axes[kWidth]);
  if (!layer.batch || !rows.extent || !columns.extent) {
    return std::nullopt;
  }
  const std::int64_t bytes = *layer.batch * bytes_of(layer.dtype);
  return std::array{
      bytes * layer.in_channels * *rows.extent * *columns.extent,
      bytes * layer.out_channels * output_extent(rows, *rows.extent) * output_extent(columns, *columns.extent)};
}

std::int64_t bytes_of_copies(const Layer& layer) {
  const std::optional<std::array<std::int64_t, 2>> bytes = bytes_of_tensors(layer);
  return bytes ? (*bytes)[0] + (*bytes)[1] : 0;
}

Result<Chunks> chunks_of_copies(const Layer& layer, std::string_view what, std::int64_t most) {
  if (!bytes_of_tensors(layer)) {
    return fail(fmt::format("{} of a size that the layer leaves open; copies to channels last need it", what));
  }
  const std::int64_t bytes = bytes_of_copies(layer);
  if (bytes == 0) {
    return fail(fmt::format("{} without an element to copy to channels last", what));
  }
  // Besides the copies of chunks there are sums to add to: an eighth of the workspace.
  const std::int64_t most_bytes = most == 1 ? kMostPartialBytes : kMostPartialBytes / 8 * 7;
  Chunks chunks;
  for (std::int64_t number = 1; number <= most; ++number) {
    chunks.images = ceil_div(*layer.batch, number);
    chunks.number = ceil_div(*layer.batch, chunks.images);
    if (bytes / *layer.batch <= most_bytes / chunks.images) {
      return chunks;
    }
  }
  return fail(fmt::format(
      "{}: copies to channels last take {:.0f} MiB{}; at most {}", what,
      static_cast<double>(bytes / *layer.batch * chunks.images) / (1 << 20),
      most == 1 ? "" : fmt::format(" for {} image{} at a time", chunks.images, chunks.images == 1 ? "" : "s"),
      most_bytes >> 20));
}

void add_box_maps(LaunchPlan& launch, const Facts& f, const Block& b, std::int64_t parts, Dtype dtype) {
  Constants& c = f.of(b);
  Layer copied = f.layer;
  copied.dtype = dtype;
  if (!f.channels_last || parts > 1) {  // the maps are of copies, which have no other channels
    copied.x_channels.reset();
    copied.y_channels.reset();
  }
  copied.in_channels *= parts;
  copied.out_channels *= parts;
  launch.maps = {pixel_map(copied, Role::kX, {c[kInBox], c[kInputPitch], c[kInputRows], b.tile_images}, {1, 1}),
                 // The positions of a plane are a stride apart.
                 pixel_map(copied, Role::kGradY, {c[kOutBox], c[kWindowPitch], c[kWindowRows], b.tile_images},
                           {f.columns.stride, f.rows.stride})};
}

void add_copies(LaunchPlan& launch, const Facts& f, const Block& b, const CopyKernel& kernel, const Chunks& chunks) {
  Constants& c = f.of(b);
  const Layer& layer = f.layer;
  std::array<std::int64_t, 2> bytes = bytes_of_tensors(layer).value();  // of a chunk
  for (std::int64_t& each : bytes) {
    each = each / *layer.batch * chunks.images;
  }
  const auto tiles = [&](std::size_t of, std::int64_t channels) {
    return ceil_div(bytes[of] / (channels * bytes_of(layer.dtype)), c[kCopySide]);
  };
  KernelPlan copies = {.function = std::string(kernel.function),
                       .suffix = std::string(kernel.suffix),
                       .shared_bytes = c[kCopySharedBytes],
                       .grid = {.blocks_per_tile = tiles(0, layer.in_channels) * c[kInputCopyColumns] +
                                                   tiles(1, layer.out_channels) * c[kWindowCopyColumns]}};
  KernelPlan products = launch.kernels.front();
  launch.kernels.erase(launch.kernels.begin());
  for (std::int64_t chunk = chunks.number; chunk-- > 0;) {
    if (chunks.number > 1) {
      copies.constants = products.constants = {{"first_image", chunk * chunks.images}};
    }
    launch.kernels.insert(launch.kernels.begin(), {copies, products});
  }
  for (std::size_t i = 0; i < launch.maps.size(); ++i) {
    launch.maps[i].of_region = true;
    launch.maps[i].region = launch.regions.size();
    launch.maps[i].sizes[3] = {.constant = chunks.images};
    launch.regions.push_back({.name = std::string(kernel.regions[i]),
                              .what = std::string(kernel.words[i]),
                              .bytes = {.constant = bytes[i]}});
  }
}

}  // namespace convtgen::grad_weight
