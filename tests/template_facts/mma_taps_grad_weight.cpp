// `mma_taps_grad_weight`: gradients of the weights of layers whose groups have few output channels, by products of
// warps whose columns are taps.
#include "tests/template_facts/facts.h"
#include "tests/template_facts/slices.h"

namespace convtgen::testing {

TemplateFacts facts_of_mma_taps_grad_weight() {
  return {
      .name = "mma_taps_grad_weight",
      .computes = {Compute::kTf32, Compute::kF16, Compute::kBf16, Compute::kF32x3},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .search = "thin_groups",
      .drawer = {.own_compute = true, .no_depthwise = true, .few_out = true},
      .refused =
          {
              {.layer = "64 -> 34; kernel 3; groups 2; dtype f16; directions grad_weight",
               .reason = "groups of 17 output channels; at most 16, whose taps are columns of products"},
              {.layer = "21 -> 21; kernel 16; stride 8; groups 21; dtype f16; directions grad_weight",
               .reason = "groups of 1 input channel; of 16 rows of a product there would be one"},
              {.layer = "64 -> 3; kernel 3; compute tf32; directions grad_weight",
               .reason = "architecture sm_75 has no cp.async; it takes sm_80, sm_86, sm_87, sm_88, sm_89, sm_90a, "
                         "sm_100, sm_103, sm_110, sm_120, sm_121",
               .architecture = "sm_75"},
          },
      .changed = ChangedProgram{.layer = "conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input "
                                         "128x32x32; dtype f16; layout nhwc; directions grad_weight",
                                .before = "(* kRuns kRunPitch)",
                                .after = "(* kRuns (* kRunPitch 2))"},
      .goldens =
          {
              {.name = "mma_taps_grad_weight_pixels",
               .layer = "conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; dtype f16; "
                        "layout nhwc; bias; directions grad_weight"},
              {.name = "mma_taps_grad_weight_rows",
               .layer = "conv_transpose1d 256 -> 1; kernel 40; stride 20; input 8x3199; compute tf32; directions "
                        "grad_weight",
               .architecture = "sm_80"},
              {.name = "mma_taps_grad_weight_f32x3",
               .layer = "conv_transpose2d 48 -> 3; kernel 4x4; stride 2x2; padding 1x1; input ?x?x?; compute f32x3; "
                        "directions grad_weight"},
          },
      .compiled =
          {
              {.group = "taps_by_pixels",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"dcgan5", "fsrcnn4"},
               .most = 2,
               .direction = Direction::kGradWeight},
              {.group = "taps_by_rows",
               .compute = Compute::kBf16,
               .benchmarks = {"dcgan5", "fsrcnn4"},
               .most = 2,
               .direction = Direction::kGradWeight},
              {.group = "taps_by_rows_tf32",
               .compute = Compute::kTf32,
               .benchmarks = {"dcgan5", "fsrcnn4"},
               .most = 2,
               .direction = Direction::kGradWeight},
              {.group = "taps_f32x3",
               .compute = Compute::kF32x3,
               .benchmarks = {"dcgan5", "fsrcnn4"},
               .direction = Direction::kGradWeight},
          },
      .machine_code = {.warp_products = true, .most_wavefronts = 2},
      .launched_gradients = {"conv_transpose2d 16 -> 3; kernel 3; stride 2; bias; directions grad_weight; dtype f16"},
      .far_gradients =
          {
              {.name = "mma_taps_grad_weight_images",
               .layer = "conv_transpose2d 16 -> 3; kernel 3x3; padding 1x1; input ?x5x8; dtype f16"},
              {.name = "mma_taps_grad_weight_images_channels_last",
               .layer = "conv_transpose2d 16 -> 4; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout "
                        "nhwc"},
              {.name = "mma_taps_grad_weight_rows",
               .layer = "conv_transpose2d 32 -> 6; kernel 3x3; stride 2x2; groups 2; input ?x?x?; compute tf32",
               .by_rows = true},
              {.name = "mma_taps_grad_weight_rows_channels_last",
               .layer = "conv_transpose2d 16 -> 3; kernel 3x3; input ?x?x?; dtype bf16; layout nhwc",
               .by_rows = true},
          },
      .unseen_of_gradients = {kAddingSlices, kAddingBlocks, kFirstTile, kTilesOfBatch, "add_part: * #ll",
                              // No test has rows of 2^31 elements, nor so many channels or weights.
                              "copy_window: const long long element",
                              "copy_window: static_cast<long long>(first_column)",
                              "copy_window: static_cast<long long>(out_w)", "kernel: const long long first_in",
                              "kernel: const long long first_out", "store_block: const long long weight",
                              "store_block: static_cast<long long>(target.group)"},
      .mutants =
          {
              {.name = "mma_taps_grad_weight_pixels",
               .layer =
                   "conv_transpose2d 24 -> 3; kernel 3x3; stride 2x2; padding 1x1; input 3x5x12; dtype f16; layout "
                   "nhwc; directions grad_weight",
               .least_mutants = 10,
               .block = "taps_h 3, taps_w 3, block_in 32, block_out 3, warps_in 1, warps_columns 1, warps_k 2, "
                        "tile_rows 4, tile_columns 8, stages 2, slices 2"},
              {.name = "mma_taps_grad_weight_rows",
               .layer = "conv_transpose2d 12 -> 4; kernel 3x3; stride 2x1; padding 1x1; groups 2; input 3x5x9; compute "
                        "tf32; directions grad_weight",
               .least_mutants = 10,
               .block = "taps_h 2, taps_w 3, block_in 16, block_out 2, warps_in 1, warps_columns 1, warps_k 2, "
                        "tile_rows 2, tile_columns 8, stages 3, slices 1"},
              {.name = "mma_taps_grad_weight_f32x3",
               .layer = "conv_transpose1d 20 -> 2; kernel 12; stride 8; padding 4; input 3x37; compute f32x3; "
                        "directions grad_weight",
               .least_mutants = 10,
               .block = "taps_h 1, taps_w 6, block_in 32, block_out 2, warps_in 1, warps_columns 2, warps_k 2, "
                        "tile_rows 1, tile_columns 16, stages 2, slices 2"},
              {.name = "mma_taps_grad_weight_bias",
               .layer = "conv_transpose2d 20 -> 6; kernel 4x3; stride 2x1; padding 1x1; groups 2; bias; input 3x5x9; "
                        "dtype f16; layout nhwc; directions grad_weight",
               .least_mutants = 10,
               .block = "taps_h 4, taps_w 3, block_in 16, block_out 3, warps_in 1, warps_columns 1, warps_k 2, "
                        "tile_rows 4, tile_columns 8, stages 2, slices 2, bias_slices 2, sums_bias 1"},
          },
      .nan_gradients =
          {
              {.name = "mma_taps_grad_weight_rows", .rest = "20 -> 8; kernel 3x3; padding 1x1; input 7x6x7; bias"},
              {.name = "mma_taps_grad_weight_pixels",
               .rest = "20 -> 8; kernel 3x3; padding 1x1; input 7x6x7; layout "
                       "nhwc"},
          },
  };
}

}  // namespace convtgen::testing
