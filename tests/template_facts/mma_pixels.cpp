// `mma_pixels`: products of warps, an implicit GEMM whose rows are the positions of all images.
#include "tests/template_facts/facts.h"

#include <numeric>

#include "generator/planner/search/integers.h"
#include "tests/planner/problems.h"

namespace convtgen::testing {
namespace mma_pixels {

/// Whether a word has fewer bits than a phase has rows and columns of taps.
bool has_tap_fields(const Layer& layer) {
  std::int64_t taps = 0;
  for (const std::size_t axis : axes_of(layer)) {
    const Axis& of = layer.axes[axis];
    taps += ceil_div(of.kernel, of.stride / std::gcd(of.stride, of.dilation));
  }
  return taps > 31;
}

void add_kinds(Kinds& kinds) {
  kinds.k_blocks();
  kinds.channel_tiles(kinds.integer("block_n"));
  kinds.is(kinds.layer.groups > 1, "groups");
  kinds.is(kinds.layer.groups > 1 && kinds.group_out > kinds.integer("block_n"), "groups of several channel tiles");
  kinds.is(kinds.rows.stride * kinds.columns.stride > 1, "phases");
  kinds.is(kinds.has_uneven_phases(), "uneven phases");
  kinds.is(kinds.layer.compute == Compute::kF32x3, "split values");
  kinds.add_value("store", "store");
  kinds.add_value("positions", "block_m");
  kinds.add_value("warps along channels", "warps_n");
  kinds.add_value("k-blocks of", "block_k");
  kinds.add_value("words of planes", "plane_words");
  kinds.add_value("fused phases", "column_phases");
  kinds.is(kinds.integer("plane_words") > 0 && kinds.integer("copy_bytes") == 4, "planes word by word");
  kinds.is(has_tap_fields(kinds.layer), "more taps than a word has bits");
}

/// Of rows of 8 positions.
std::int64_t rows_of_tile(const Layer& /*layer*/, const Plan& plan) {
  return integer(plan, "block_m") / 8;
}

std::int64_t tiles_of_phases(const Layer& layer, const Plan& plan, const Shape& shape) {
  const std::int64_t fused = integer(plan, "column_phases");
  std::int64_t positions = shape.batch, phases = 1;
  for (const std::size_t axis : axes_of(layer)) {
    const Axis& of = layer.axes[axis];
    const std::int64_t before = axis == kWidth && fused > 1 ? of.padding.before % of.stride : 0;
    positions *= ceil_div(shape.out[axis] + before, of.stride);
    phases *= of.stride;
  }
  return phases / fused * ceil_div(positions, integer(plan, "block_m"));
}

}  // namespace mma_pixels

TemplateFacts facts_of_mma_pixels() {
  using namespace mma_pixels;
  return {
      .name = "mma_pixels",
      .computes = {Compute::kTf32, Compute::kF16, Compute::kBf16, Compute::kF32x3},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .packs_weights = true,
      .search = "long_shifts",
      .drawer = {.place = 11, .depth = true, .no_depthwise = true, .whole_in = true, .strided_grad_input = true},
      .kinds = add_kinds,
      .refused =
          {
              {.layer = "16 -> 16; kernel 3; dtype f16; layout nhwc; fuse_input relu",
               .reason =
                   "fuse_input in nhwc with f16; it takes it where another kernel arranges x, in nchw or for f32x3"},
              {.layer = "16 -> 16; kernel 3; dtype f16; layout nhwc",
               .reason = "architecture sm_75 has no cp.async; it takes sm_80, sm_86, sm_87, sm_88, sm_89, sm_90a, "
                         "sm_100, sm_103, sm_110, sm_120, sm_121",
               .architecture = "sm_75"},
              {.layer = "18 -> 16; kernel 3; compute tf32; layout nhwc",
               .reason = "groups of 18 input channels; copies of 16 bytes take multiples of 4"},
          },
      .changed = ChangedProgram{.layer = "conv_transpose2d 256 -> 256; kernel 4x4; stride 2x2; padding 1x1; input "
                                         "32x32x24; dtype f16; layout nhwc",
                                .before = "kPositionBitsOffset (+ kStoredOffset (* P::block_m 8))",
                                .after = "kPositionBitsOffset (+ kStoredOffset (* P::block_m 16))"},
      .goldens =
          {
              {.name = "mma_pixels",
               .layer = "conv_transpose2d 256 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 32x32x24; dtype f16; "
                        "layout nhwc; bias; fuse relu",
               .architecture = "sm_80"},
              {.name = "mma_pixels_planes",
               .layer = "conv_transpose2d 512 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 128x4x4; compute tf32",
               .architecture = "sm_80"},
              {.name = "mma_pixels_rows",
               .layer =
                   "conv_transpose2d 256 -> 256; kernel 2x2; stride 2x2; input 100x14x14; compute tf32; directions "
                   "grad_input",
               .architecture = "sm_80"},
              {.name = "mma_pixels_phases",
               .layer = "conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; compute tf32; bias",
               .architecture = "sm_80"},
              {.name = "mma_pixels_many_taps",
               .layer = "conv_transpose1d 64 -> 64; kernel 128; stride 64; padding 32; input 8x200; dtype f16; layout "
                        "nhwc; directions grad_input"},
              {.name = "mma_pixels_depth",
               .layer = "conv_transpose3d 64 -> 32; kernel 3; stride 2; padding 1; input ?x?x?x?; compute tf32; layout "
                        "nhwc",
               .architecture = "sm_80"},
              {.name = "mma_pixels_split_phases",
               .layer =
                   "conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; compute f32x3; bias",
               .architecture = "sm_80"},
              {.name = "mma_pixels_split",
               .layer =
                   "conv_transpose2d 256 -> 128; kernel 4x4; stride 2x2; padding 1x1; input 128x8x8; compute f32x3; "
                   "directions grad_input",
               .architecture = "sm_80"},
          },
      .is_of_many_taps = has_tap_fields,
      .compiled =
          {
              {.group = "pixels_of_warps",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"dcgan2", "pose3", "hifi1", "kb69"},
               .most = 2},
              {.group = "pixels_of_warps_tf32",
               .compute = Compute::kTf32,
               .layout = Layout::kNhwc,
               .benchmarks = {"dcgan2", "pose3"}},
              {.group = "pixels_of_planes_tf32", .compute = Compute::kTf32, .benchmarks = {"dcgan2", "pose1"}},
              {.group = "pixels_of_fused_phases", .compute = Compute::kTf32, .benchmarks = {"hifi1", "unet1"}},
              {.group = "pixels_of_warps_grad_input",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"unet1", "pillars"},
               .direction = Direction::kGradInput},
              {.group = "pixels_of_halves", .compute = Compute::kF32x3, .benchmarks = {"dcgan2", "pose1"}},
              {.group = "pixels_of_fused_halves", .compute = Compute::kF32x3, .benchmarks = {"hifi1", "mrcnn"}},
              {.group = "pixels_of_halves_grad_input",
               .compute = Compute::kF32x3,
               .layout = Layout::kNhwc,
               .benchmarks = {"unet1", "pillars"},
               .direction = Direction::kGradInput},
          },
      .machine_code = {.warp_products = true},
      .other_chips = {"sm_80", "sm_100", "sm_120"},
      .on_other_chips = {{.layer = "24 -> 16; kernel 3; stride 2; padding 1; input 1x9x12; bias; compute tf32; layout "
                                   "nhwc",
                          .sizes = {1, {9, 12}}},
                         {.layer = "64 -> 24; kernel 4; stride 2; padding 1; input 2x8x12; dtype bf16; layout nhwc",
                          .sizes = {2, {8, 12}}},
                         {.layer = "40 -> 24; kernel 4; stride 2; padding 1; input 3x5x6; compute f32x3",
                          .sizes = {3, {5, 6}},
                          .chips = {"sm_80", "sm_100"}},
                         // More taps than a word has bits, and parts of them.
                         {.layer = "conv_transpose1d 24 -> 40; kernel 96; stride 32; padding 16; input 1x18; dtype "
                                   "f16; layout nhwc; directions grad_input",
                          .sizes = {1, {1, 18}},
                          .chips = {"sm_90a", "sm_80"},
                          .all_plans = true},
                         {.layer = "conv_transpose1d 36 -> 40; kernel 96; stride 32; padding 15:9; input 1x18; compute "
                                   "tf32; directions grad_input",
                          .sizes = {1, {1, 18}},
                          .chips = {"sm_90a", "sm_80"},
                          .all_plans = true},
                         {.layer = "16 -> 24; kernel 3x40; stride 2x1; padding 0x20; dilation 1x2; input 2x3x24; dtype "
                                   "bf16; bias",
                          .sizes = {2, {3, 24}},
                          .chips = {"sm_90a", "sm_80"}},
                         {.layer = "conv_transpose3d 16 -> 12; kernel 2x13x18; padding 0x6x9; input 1x2x4x5; compute "
                                   "f32x3",
                          .sizes = {1, {2, 4, 5}},
                          .chips = {"sm_90a", "sm_80"}},
                         // Parts of tiles, of each way to have input.
                         {.layer = "33 -> 70; kernel 4; stride 2; padding 1; input 3x6x10; compute tf32; directions "
                                   "grad_input",
                          .sizes = {3, {6, 10}},
                          .chips = {"sm_80"},
                          .all_plans = true},
                         {.layer = "104 -> 36; kernel 3; stride 2; padding 1; input 3x6x9; dtype f16; layout nhwc; "
                                   "bias; fuse relu",
                          .sizes = {3, {6, 9}},
                          .chips = {"sm_80"},
                          .all_plans = true},
                         {.layer = "200 -> 36; kernel 2; stride 2; groups 2; input 3x5x6; dtype bf16; bias",
                          .sizes = {3, {5, 6}},
                          .chips = {"sm_80"},
                          .all_plans = true},
                         // Fused phases, whose vectors are whole, end within a row, or are single elements.
                         {.layer = "20 -> 12; kernel 4x16; stride 1x8; padding 0x4; input 2x3x12; compute tf32; bias",
                          .sizes = {2, {3, 12}},
                          .chips = {"sm_80"},
                          .all_plans = true},
                         {.layer = "36 -> 20; kernel 4; stride 4; groups 2; input 3x5x9; compute tf32; bias; fuse relu",
                          .sizes = {3, {5, 9}},
                          .chips = {"sm_80"},
                          .all_plans = true},
                         {.layer = "40 -> 18; kernel 2x4; stride 2; padding 1x3; output_padding 1; input 3x5x8; dtype "
                                   "f16",
                          .sizes = {3, {5, 8}},
                          .chips = {"sm_80"},
                          .all_plans = true},
                         {.layer = "conv_transpose1d 36 -> 2; kernel 256; stride 128; padding 32; input 3x9; compute "
                                   "tf32; bias",
                          .sizes = {3, {1, 9}},
                          .chips = {"sm_80"},
                          .all_plans = true},
                         // The same of split values; of a long stride, and of phases with other numbers of taps.
                         {.layer = "conv_transpose1d 40 -> 5; kernel 192; stride 64; padding 16; input 3x9; compute "
                                   "f32x3; bias",
                          .sizes = {3, {1, 9}},
                          .chips = {"sm_80"},
                          .all_plans = true},
                         {.layer = "64 -> 20; kernel 3x12; stride 2x8; padding 1x2; groups 2; input 3x5x7; compute "
                                   "f32x3; fuse relu",
                          .sizes = {3, {5, 7}},
                          .chips = {"sm_80"},
                          .all_plans = true},
                         {.layer = "conv_transpose3d 20 -> 12; kernel 2; stride 2; input 2x3x4x6; compute tf32; bias",
                          .sizes = {2, {3, 4, 6}},
                          .chips = {"sm_80"},
                          .all_plans = true},
                         {.layer = "100 -> 36; kernel 3; stride 2; padding 1; input 3x6x9; compute f32x3; bias; fuse "
                                   "relu",
                          .sizes = {3, {6, 9}},
                          .chips = {"sm_80"},
                          .all_plans = true},
                         {.layer = "conv_transpose3d 100 -> 32; kernel 3; stride 2; padding 1; input 2x3x4x6; compute "
                                   "f32x3; layout nhwc",
                          .sizes = {2, {3, 4, 6}},
                          .chips = {"sm_80"},
                          .all_plans = true}},
      .launched_gradients = {"conv_transpose2d 24 -> 70; kernel 4x4; stride 2x2; padding 1x1; dtype f16; "
                             "directions grad_input"},
      .packed =
          {
              {.name = "PixelsF16",
               .layer = "conv_transpose2d 24 -> 16; kernel 4; stride 2; padding 1; bias; dtype f16; layout nhwc"},
              {.name = "PixelsOfPlanes",
               .layer = "conv_transpose2d 26 -> 16; kernel 4; stride 2; padding 1; compute tf32"},
              {.name = "PixelsF32x3",
               .layer = "conv_transpose2d 26 -> 16; kernel 4; stride 2; padding 1; bias; compute f32x3"},
              {.name = "PixelsOfPhasesF32x3",
               .layer = "conv_transpose2d 26 -> 8; kernel 16; stride 8; padding 4; bias; compute f32x3"},
          },
      .far = {.layers =
                  {
                      {.name = "mma_pixels_images",
                       .layer = "conv_transpose2d 16 -> 8; kernel 2x2; input ?x7x1; dtype f16; layout nhwc",
                       .flat = true},
                      {.name = "mma_pixels_rows",
                       .layer = "conv_transpose2d 16 -> 16; kernel 4x3; padding 1x1; input ?x?x8; compute tf32; layout "
                                "nhwc",
                       .by_rows = true},
                      {.name = "mma_pixels_planes",
                       .layer = "conv_transpose3d 16 -> 8; kernel 3; padding 1; input ?x?x16x8; dtype f16; layout nhwc",
                       .by_planes = true},
                      {.name = "mma_pixels_arranged_planes",
                       .layer = "conv_transpose3d 16 -> 8; kernel 3; padding 1; input ?x?x16x8; dtype f16",
                       .by_planes = true},
                      {.name = "mma_pixels_arranged_images",
                       .layer = "conv_transpose2d 16 -> 8; kernel 2x2; input ?x7x1; dtype f16",
                       .flat = true},
                      {.name = "mma_pixels_split_images",
                       .layer = "conv_transpose2d 256 -> 8; kernel 2x2; input ?x7x3; compute f32x3",
                       .flat = true},
                      {.name = "mma_pixels_split_planes",
                       .layer = "conv_transpose3d 16 -> 8; kernel 3; padding 1; input ?x?x16x8; compute f32x3",
                       .by_planes = true},
                  },
              // Packed weights, taps of an image's planes, which are small here, channels of planes of a known size,
              // and the few slices of an image.
              .unseen = {"find_next: static_cast<long long>(tap.number)", "find_taps: const long long before",
                         "find_taps: static_cast<long long>(tap_d)", "find_taps: static_cast<long long>(tap_h)",
                         "kernel: * #ll", "arrange_split: * #ll", "store_outputs: * #ll",
                         "exponent_of_k_block: static_cast<long long>(slice)"},
              // A tile is whole rows of these layers.
              .parameters = {{"block_m", 64},
                             {"block_n", 32},
                             {"warps_m", 2},
                             {"warps_n", 1},
                             {"stages", 3},
                             {"blocks_per_sm", 1}},
              .rows = rows_of_tile,
              .tiles = tiles_of_phases,
              .tiles_of_sequence = tiles_of_phases},
      // Unseen: positions of no image, whose outputs are not stored; a split layer's totals, to which products are
      // added more often; the tap after the last one, whose copies no product reads; of planes the first channels of a
      // k-block, which the last one has too; where positions are all of one phase, that outputs lie within it; that a
      // position's fused phases begin within the row, which is checked of each store.
      .mutants =
          {
              {.name = "mma_pixels_phases",
               .layer = "conv_transpose2d 72 -> 20; kernel 3x3; stride 2x2; padding 1x1; input 3x7x9; dtype f16; "
                        "layout nhwc; bias",
               .least_mutants = 8,
               .unseen = 1,
               .few_blocks = true,
               .block = "block_m 64, block_n 32, adjacent_channels 4, store 4, warps_m 2, warps_n 1, block_k 32, "
                        "stages 3"},
              {.name = "mma_pixels_many_taps",
               .layer = "conv_transpose2d 40 -> 20; kernel 2x33; stride 1x1; padding 1x9; input 2x3x20; dtype f16; "
                        "layout nhwc; bias",
               .least_mutants = 8,
               .unseen = 3,
               .few_blocks = true,
               .block = "block_m 64, block_n 32, adjacent_channels 4, store 4, warps_m 2, warps_n 1, block_k 32, "
                        "stages 3, parts 1, parted_tiles 0"},
              {.name = "mma_pixels_planes",
               .layer = "conv_transpose2d 50 -> 20; kernel 3x3; stride 2x2; padding 1x1; input 3x5x5; compute tf32",
               .least_mutants = 8,
               .unseen = 3,
               .few_blocks = true,
               .block = "block_m 64, block_n 32, warps_m 2, warps_n 1, block_k 16, stages 3"},
              {.name = "mma_pixels_rows",
               .layer = "conv_transpose2d 20 -> 50; kernel 4x4; stride 2x2; padding 1x1; input 3x5x6; compute tf32; "
                        "directions grad_input",
               .least_mutants = 8,
               .unseen = 8,
               .few_blocks = true,
               .block = "block_m 64, block_n 32, warps_m 2, warps_n 1, block_k 16, stages 3, plane_words 2, "
                        "copy_bytes 4, store 2"},
              {.name = "mma_pixels_fused",
               .layer =
                   "conv_transpose2d 18 -> 20; kernel 3x4; stride 2x2; padding 1x1; input 3x5x5; compute tf32; bias",
               .least_mutants = 8,
               .unseen = 3,
               .few_blocks = true,
               .block = "block_m 64, block_n 32, warps_m 2, warps_n 1, block_k 16, stages 3, column_phases 2, store 1, "
                        "plane_words 0, copy_bytes 16"},
              {.name = "mma_pixels_split",
               .layer = "conv_transpose2d 50 -> 20; kernel 3x3; stride 2x2; padding 1x1; input 3x5x5; compute f32x3",
               .least_mutants = 8,
               .unseen = 1,
               .few_blocks = true,
               .block = "block_m 64, block_n 32, warps_m 2, warps_n 1, block_k 32, stages 3"},
              {.name = "mma_pixels_split_fused",
               .layer = "conv_transpose2d 50 -> 5; kernel 3x12; stride 2x8; padding 1x2; input 3x5x5; compute f32x3; "
                        "bias",
               .least_mutants = 8,
               .unseen = 2,
               .few_blocks = true,
               .block = "block_m 64, block_n 32, warps_m 2, warps_n 1, block_k 32, stages 3, column_phases 4, store 1, "
                        "adjacent_channels 4"},
              {.name = "mma_pixels_volumes",
               .layer = "conv_transpose3d 40 -> 20; kernel 3; stride 2; padding 1; input 2x3x5x5; dtype f16; layout "
                        "nhwc; bias",
               .least_mutants = 8,
               .few_blocks = true,
               .block = "block_m 64, block_n 32, adjacent_channels 4, store 4, warps_m 2, warps_n 1, block_k 32, "
                        "stages 3"},
              {.name = "mma_pixels_volumes_of_planes",
               .layer = "conv_transpose3d 18 -> 20; kernel 3x2x3; stride 2; padding 1x0x1; output_padding 0x1x0; input "
                        "2x3x5x5; "
                        "compute tf32",
               .least_mutants = 8,
               .few_blocks = true,
               .block = "block_m 64, block_n 32, warps_m 2, warps_n 1, block_k 16, stages 3"},
              {.name = "mma_pixels_split_volumes",
               .layer =
                   "conv_transpose3d 34 -> 20; kernel 3; stride 2x2x3; padding 1; input 2x3x4x5; compute f32x3; layout "
                   "nhwc",
               .least_mutants = 8,
               .unseen = 1,
               .few_blocks = true,
               .block = "block_m 64, block_n 32, warps_m 2, warps_n 1, block_k 32, stages 3"},
          },
      .wrong_numbers =
          {
              .scales = {{.name = "Pixels",
                          .layer = "conv_transpose2d 132 -> 8; kernel 2x2; input 2x7x12; compute f32x3",
                          .least_stages = 3}},
              .rounding = {{.name = "PixelsOfPlanes",
                            .layer = "conv_transpose2d 18 -> 8; kernel 2x2; input 1x7x12; compute tf32"},
                           {.name = "Pixels",
                            .layer = "conv_transpose2d 20 -> 8; kernel 2x2; input 1x7x12; compute tf32; layout nhwc"}},
              .activation =
                  {
                      {.name = "mma_pixels_arranged",
                       .layer = "conv_transpose2d 40 -> 24; kernel 4; stride 2; padding 1; input 2x5x12; dtype f16; "
                                "fuse_input sigmoid"},
                      {.name = "mma_pixels_split",
                       .layer = "conv_transpose2d 40 -> 24; kernel 4; stride 2; padding 1; input 2x5x12; compute "
                                "f32x3; fuse_input sigmoid"},
                  },
          },
      .nans =
          {
              {.name = "mma_pixels", .rest = "20 -> 8; kernel 4x4; stride 2x2; padding 1x1; input 5x6x7; layout nhwc"},
              {.name = "mma_pixels_planes", .rest = "18 -> 8; kernel 4x4; stride 2x2; padding 1x1; input 5x6x7"},
          },
  };
}

}  // namespace convtgen::testing
