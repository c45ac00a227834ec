// `overlap_gemm`: all taps as columns of one product, whose results overlap.
#include "tests/template_facts/facts.h"

#include <algorithm>
#include <numeric>

#include "generator/planner/search/integers.h"
#include "tests/planner/problems.h"

namespace convtgen::testing {
namespace overlap_gemm {

void short_kernels(DrawnAxis& drawn, RandomNumbers& random) {
  Axis& axis = drawn.axis;
  axis.dilation = 1;
  axis.kernel = axis.kernel > 8 && random() % 2 == 0 ? 1 + axis.kernel % 8 : axis.kernel;
  axis.stride = axis.stride * 4 < axis.kernel ? (axis.kernel + 1) / 2 : axis.stride;
}

/// Of NCHW: images that are whole vectors of eight pixels.
void whole_planes(DrawnAxis& drawn) {
  if (drawn.layout == Layout::kNchw) {
    const std::int64_t unit = drawn.is_rows ? 1 : 8 / std::gcd(std::max<std::int64_t>(drawn.rows, 1), std::int64_t{8});
    drawn.is_known = true;
    drawn.size = ceil_div(drawn.size, unit) * unit;
  }
}

/// Without the halo of its rows.
std::int64_t rows_of_tile(const Layer& layer, const Plan& plan) {
  const Axis& rows = layer.axes[kHeight];
  return integer(plan, "tile_h") - (rows.extent ? 0 : ceil_div(rows.kernel, rows.stride) - 1);
}

std::int64_t blocks_of_tile(const Layer& layer, const Plan& plan) {
  return ceil_div(layer.out_channels, integer(plan, "block_c"));
}

void add_kinds(Kinds& kinds) {
  const std::int64_t block_c = kinds.integer("block_c"), block_k = kinds.integer("block_k");
  const std::int64_t pixels = kinds.integer("tile_n") * kinds.integer("tile_h") * kinds.integer("tile_w");
  const std::int64_t block_m = 64 * kinds.integer("warpgroups") * kinds.integer("thread_tiles");
  const bool turned = kinds.flag("weight_channels_last");
  kinds.k_blocks();
  kinds.is(kinds.rows.extent == Size(kinds.integer("tile_h")), "all rows");
  kinds.is(kinds.columns.extent == Size(kinds.integer("tile_w")), "all columns");
  kinds.is(kinds.integer("tile_n") > 1, "tiles of several images");
  kinds.is(pixels < block_m, "rows after the pixels");
  kinds.channel_tiles(block_c);
  kinds.is(ceil_div(kinds.group_in, block_k) > kinds.integer("stages"), "more k-blocks than stages");
  kinds.is(block_c % kinds.integer("store") != 0, "vectors of several pixels");
  kinds.is(turned && block_c % 8 == 0 && kinds.integer("store") == 8, "products read as vectors");
  kinds.add_value("k-blocks of", "block_k");
  kinds.add_value("store", "store");
  kinds.add_value("tiles of a thread", "thread_tiles");
  if (turned && block_c < kinds.group_out) {
    kinds.add(fmt::format("boxes of {} channels", block_c));
  }
}

}  // namespace overlap_gemm

TemplateFacts facts_of_overlap_gemm() {
  using namespace overlap_gemm;
  return {
      .name = "overlap_gemm",
      .computes = {Compute::kF16, Compute::kBf16},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .search = "overlaps",
      .drawer = {.place = 6, .shape = short_kernels, .size = whole_planes, .one_group = true, .whole_in = true},
      .kinds = add_kinds,
      .changed = ChangedProgram{.layer = "conv_transpose2d 256 -> 64; kernel 4x4; stride 2x2; padding 1x1; input "
                                         "128x4x4; dtype f16; layout nhwc",
                                .before = "kStageBytes (+ kInputBytes",
                                .after = "kStageBytes (+ (+ kInputBytes 1024)"},
      .goldens =
          {
              {.name = "overlap_gemm",
               .layer = "conv_transpose2d 2048 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 32x8x6; dtype f16; "
                        "layout nhwc; bias; fuse relu",
               .others = {"kernel 2x2; stride 2x2; input 8x512x512; dtype f16; layout nhwc",
                          "kernel 3x3; stride 2x2; input ?x?x?; dtype bf16; layout nhwc; bias",
                          "kernel 5x5; stride 3x2; input 2x9x8; dtype f16; layout nhwc; weight_layout channels_last; "
                          "fuse gelu",
                          "kernel 4x4; stride 2x2; padding 1x1; input 2x32x16; bias; dtype f16"}},
              {.name = "overlap_gemm_registers",
               .layer = "conv_transpose2d 56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input "
                        "1x270x480; bias; dtype f16; layout nhwc",
               .others = {"kernel 1x3; stride 1x1; input ?x?x7; dtype f16; layout nhwc"}},
          },
      .emitted = "conv_transpose2d 32 -> 32; kernel 2x2; stride 2; input 2x16x16; dtype f16; layout nhwc",
      .compiled =
          {
              {.group = "taps_as_columns",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"pose1", "dcgan2", "mrcnn", "fsrcnn4", "dcgan4", "dcgan5", "k3x3s3"},
               .most = 2},
              {.group = "taps_as_columns_nchw",
               .compute = Compute::kF16,
               .benchmarks = {"pose1", "dcgan2", "unet1", "dcgan4", "dcgan5"},
               .most = 2},
              {.group = "taps_as_columns_bf16", .compute = Compute::kBf16, .benchmarks = {"pose1", "dcgan2", "unet1"}},
          },
      .machine_code = {.stored_vector = "store"},
      .far = {.layers =
                  {
                      {.name = "overlap_gemm_images",
                       .layer = "conv_transpose2d 16 -> 24; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype "
                                "f16; layout nhwc"},
                      {.name = "overlap_gemm_images_by_elements",
                       .layer = "conv_transpose2d 8 -> 3; kernel 5x3; stride 2x2; padding 2x1; input ?x4x4; dtype f16; "
                                "layout nhwc"},
                      {.name = "overlap_gemm_planes",
                       .layer =
                           "conv_transpose2d 16 -> 24; kernel 4x4; stride 2x2; padding 1x1; input ?x4x6; dtype f16"},
                      {.name = "overlap_gemm_rows",
                       .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; dtype bf16; layout nhwc",
                       .by_rows = true},
                  },
              .parameters = {{"tile_n", 1}},
              .rows = rows_of_tile,
              .blocks = blocks_of_tile},
      // Unseen: a warp that need not be together before products.
      .mutants =
          {
              {.name = "overlap_gemm_images",
               .layer = "conv_transpose2d 104 -> 24; kernel 4x4; stride 2x3; padding 1x1; bias; input 5x3x5; dtype "
                        "f16; layout nhwc",
               .least_mutants = 20,
               .unseen = 1,
               .block = "tile_n 2, tile_h 3, tile_w 5, warpgroups 2, thread_tiles 1, block_c 16, store 8, block_k 16, "
                        "stages 3, copied_weights 1"},
              {.name = "overlap_gemm_rows",
               .layer = "conv_transpose2d 104 -> 24; kernel 4x3; stride 2x2; padding 1x1; input 2x11x5; dtype bf16; "
                        "layout nhwc; weight_layout channels_last; fuse relu",
               .least_mutants = 20,
               .unseen = 1,
               .block = "tile_n 1, tile_h 3, tile_w 4, warpgroups 1, thread_tiles 1, block_c 16, store 8, block_k 16, "
                        "stages 3, copied_weights 1"},
              {.name = "overlap_gemm_planes",
               .layer = "conv_transpose2d 100 -> 24; kernel 4x4; stride 2x3; padding 1x1; bias; input 5x4x6; dtype f16",
               .least_mutants = 20,
               .unseen = 1,
               .block = "tile_n 2, tile_h 4, tile_w 6, warpgroups 2, thread_tiles 1, block_c 16, store 2, block_k 16, "
                        "stages 3, copied_weights 1"},
              {.name = "overlap_gemm_turned",
               .layer = "conv_transpose2d 200 -> 24; kernel 4x4; stride 2x2; padding 1x1; bias; input 5x4x3; dtype "
                        "f16; layout nhwc",
               .least_mutants = 20,
               .unseen = 1,
               .block = "tile_n 3, tile_h 4, tile_w 3, warpgroups 1, thread_tiles 1, block_c 8, store 8, block_k 64, "
                        "stages 3, copied_weights 1"},
              {.name = "overlap_gemm_plane_rows",
               .layer =
                   "conv_transpose2d 40 -> 1; kernel 5x3; stride 3x2; padding 2x1; input 2x11x8; dtype bf16; fuse relu",
               .least_mutants = 15,
               .unseen = 1,
               .few_blocks = true,
               .block = "tile_n 1, tile_h 5, tile_w 8, warpgroups 1, thread_tiles 1, block_c 1, store 1, block_k 16, "
                        "stages 3, copied_weights 0"},
              {.name = "overlap_gemm_registers",
               .layer = "conv_transpose2d 24 -> 1; kernel 5x3; stride 3x2; padding 2x1; bias; input 2x10x13; dtype "
                        "f16; layout nhwc",
               .least_mutants = 15,
               .unseen = 1,
               .few_blocks = true,
               .block = "tile_n 1, tile_h 4, tile_w 6, warpgroups 1, thread_tiles 1, block_c 1, store 1, block_k 16, "
                        "stages 4, copied_weights 0"},
          },
  };
}

}  // namespace convtgen::testing
