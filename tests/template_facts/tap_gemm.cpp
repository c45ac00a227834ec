// `tap_gemm`: gradients of the input of layers with strides, a product a tap.
#include "tests/template_facts/facts.h"

#include "generator/planner/search/integers.h"
#include "tests/template_facts/forward_gemm.h"

namespace convtgen::testing {
namespace tap_gemm {

void to_whole_channels(Layer& layer, int number) {
  if (number % 2 == 0) {
    layer.dtype = Dtype::kBf16;
    layer.compute = Compute::kBf16;
    layer.layout = Layout::kNhwc;
    layer.groups = 1;
    layer.in_channels = layer.out_channels = layer.groups * 8 * (1 + number % 5);
  }
}

/// Each box has a cluster there, and a cluster makes several.
std::int64_t blocks_of_all(const Plan& plan, const Shape& shape, std::int64_t all, std::int64_t cluster) {
  const std::int64_t boxes =
      integer(plan, "block_m") / (integer(plan, "box_n") * integer(plan, "box_h") * integer(plan, "box_w"));
  const std::int64_t channel_tiles = ceil_div(shape.in_channels, integer(plan, "block_n"));
  return ceil_div(all / cluster / channel_tiles, boxes * cluster) * channel_tiles * cluster;
}

}  // namespace tap_gemm

TemplateFacts facts_of_tap_gemm() {
  using namespace tap_gemm;
  return {
      .name = "tap_gemm",
      .computes = {Compute::kF16, Compute::kBf16},
      .layouts = {Layout::kNhwc},
      .packs_weights = true,
      .search = "strided_units",
      .drawer = {.depth = true},
      .fit = to_whole_channels,
      .changed = ChangedProgram{.layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input "
                                         "128x16x16; dtype f16; layout nhwc; directions grad_input",
                                .before = "kBoxBytes (* kBoxRows kSwizzle)",
                                .after = "kBoxBytes (* (+ kBoxRows 8) kSwizzle)"},
      .goldens =
          {
              {.name = "tap_gemm",
               .layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 132x16x16; dtype f16; "
                        "layout nhwc; directions grad_input",
               .others =
                   {"kernel 2x2; stride 2x2; input 8x512x512; dtype f16; layout nhwc; directions grad_input",
                    "kernel 3x3; stride 5x2; dilation 2x1; input ?x?x?; dtype bf16; layout nhwc; directions grad_input",
                    "kernel 5x9; stride 1x4; input 1x9x8; dtype f16; layout nhwc; directions grad_input"}},
              {.name = "tap_gemm_planes",
               .layer = "conv_transpose3d 64 -> 32; kernel 3x3x3; stride 2x2x2; padding 1x1x1; output_padding 1x1x1; "
                        "input ?x12x16x24; dtype f16; layout nhwc; directions grad_input"},
          },
      .emitted =
          "conv_transpose2d 32 -> 32; kernel 2x2; stride 2; input 2x16x16; dtype f16; layout nhwc; directions "
          "grad_input",
      .compiled =
          {
              {.group = "inputs_by_taps",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = strided_layers(),
               .direction = Direction::kGradInput},
              {.group = "inputs_of_volumes_by_taps",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .direction = Direction::kGradInput,
               .layers = {"conv_transpose3d 32 -> 64; kernel 3x3x3; stride 2x2x2; padding 1x1x1; dilation 2x2x2; input "
                          "16x16x32x32; dtype f16; layout nhwc; directions grad_input",
                          "conv_transpose3d 320 -> 256; kernel 2x2x2; stride 2x2x2; input 2x8x8x8; dtype f16; layout "
                          "nhwc; directions grad_input",
                          "conv_transpose3d 128 -> 32; kernel 3x3x3; stride 2x2x2; padding 1x1x1; output_padding "
                          "1x1x1; input 2x24x24x24; dtype f16; layout nhwc; directions grad_input"}},
          },
      .launched_gradients =
          {"conv_transpose2d 256 -> 64; kernel 4; stride 2; dtype f16; layout nhwc; directions grad_input",
           "conv_transpose3d 256 -> 64; kernel 2; stride 2; dtype f16; layout nhwc; directions grad_input"},
      .far_gradients =
          {
              {.name = "tap_gemm_images",
               .layer = "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout "
                        "nhwc"},
              {.name = "tap_gemm_images_of_any_size",
               .layer = "conv_transpose2d 32 -> 16; kernel 3x3; stride 2x2; input ?x?x?; dtype f16; layout nhwc"},
              {.name = "tap_gemm_rows",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; dtype f16; layout nhwc",
               .by_rows = true},
              {.name = "tap_gemm_volumes",
               .layer =
                   "conv_transpose3d 16 -> 8; kernel 3x3x3; stride 2x2x2; padding 1x1x1; input ?x3x4x4; dtype f16; "
                   "layout nhwc"},
              {.name = "tap_gemm_planes",
               .layer = "conv_transpose3d 16 -> 8; kernel 2x3x3; stride 2x2x1; input ?x?x4x4; dtype f16; layout nhwc",
               .by_planes = true},
          },
      .far_weights = "; dtype f16; layout nhwc",
      .blocks_of_all = blocks_of_all,
      // Unseen: a warp that need not be together before the cluster's barrier here; a fence after other products.
      .mutants =
          {
              {.name = "tap_gemm",
               .layer = "conv_transpose2d 40 -> 72; kernel 3x2; stride 2x1; padding 1x1; input 3x9x13; dtype f16; "
                        "layout nhwc; directions grad_input",
               .least_mutants = 15,
               .few_blocks = true,
               .block = "block_m 128, block_n 32, block_k 64, box_n 1, box_h 4, box_w 4, stages 3"},
              {.name = "tap_gemm_planes",
               .layer = "conv_transpose3d 40 -> 72; kernel 2x3x2; stride 2x2x1; padding 1x1x1; input 3x5x5x3; dtype "
                        "f16; layout nhwc; directions grad_input",
               .least_mutants = 15,
               .few_blocks = true,
               .block = "block_m 128, block_n 32, block_k 64, box_n 2, box_h 4, box_w 4, stages 3"},
              {.name = "tap_gemm_shared_planes",
               .layer = "conv_transpose3d 40 -> 72; kernel 3x2x2; stride 2x2x1; padding 1x0x0; input 5x3x3x3; dtype "
                        "f16; layout nhwc; directions grad_input",
               .least_mutants = 15,
               .unseen = 1,
               .few_blocks = true,
               .block = "block_m 128, block_n 32, block_k 64, box_n 4, box_h 4, box_w 4, stages 3"},
              {.name = "tap_gemm_three_groups",
               .layer = "conv_transpose2d 40 -> 72; kernel 2x2; stride 2x2; input 3x9x17; dtype f16; layout nhwc; "
                        "directions grad_input",
               .least_mutants = 15,
               .few_blocks = true,
               .block = "block_m 192, block_n 32, block_k 64, box_n 1, box_h 4, box_w 4, stages 3"},
              {.name = "tap_gemm_sliced",
               .layer = "conv_transpose2d 72 -> 72; kernel 3x3; stride 1x2; padding 0x1; input 1x5x9; dtype f16; "
                        "layout nhwc; directions grad_input",
               .least_mutants = 15,
               .unseen = 1,
               .few_blocks = true,
               .cluster = 2,
               .block = "block_m 128, block_n 64, block_k 64, box_n 1, box_h 8, box_w 16, stages 3, sliced yes"},
              {.name = "tap_gemm_cluster",
               .layer = "conv_transpose2d 72 -> 72; kernel 1x3; stride 1x2; padding 0x1; input 3x9x23; dtype bf16; "
                        "layout nhwc; directions grad_input",
               .least_mutants = 15,
               .unseen = 1,
               .few_blocks = true,
               .cluster = 2,
               .block = "block_m 128, block_n 32, block_k 32, box_n 2, box_h 4, box_w 8, stages 3"},
          },
  };
}

}  // namespace convtgen::testing
