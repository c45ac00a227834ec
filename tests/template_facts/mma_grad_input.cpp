// `mma_grad_input`: the gradient of the input of layers whose groups have few output channels, by products of warps.
#include "tests/template_facts/facts.h"

#include "tests/planner/problems.h"

namespace convtgen::testing {

TemplateFacts facts_of_mma_grad_input() {
  return {
      .name = "mma_grad_input",
      .computes = {Compute::kTf32, Compute::kF16, Compute::kBf16, Compute::kF32x3},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .names_taps = false,
      .search = "thin_groups",
      .drawer = {.no_depthwise = true, .few_out = true},
      .refused =
          {
              {.layer = "63 -> 51; kernel 3; groups 3; input 1x8x8; dtype f16; directions grad_input",
               .reason = "groups of 17 output channels; at most 16, whose taps are adjacent in a window of grad_y"},
              {.layer = "9 -> 9; kernel 3; groups 3; input 1x8x8; dtype f16; directions grad_input",
               .reason = "groups of 3 input channels; at least 4 of the 8 that a product has"},
              {.layer = "64 -> 3; kernel 3; input 1x8x8; dtype f16; directions grad_input",
               .reason = "architecture sm_75 has no cp.async; it takes sm_80, sm_86, sm_87, sm_88, sm_89, sm_90a, "
                         "sm_100, sm_103, sm_110, sm_120, sm_121",
               .architecture = "sm_75"},
          },
      .changed = ChangedProgram{.layer = "conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input "
                                         "2x32x32; dtype f16; layout nhwc; directions grad_input",
                                .before = "kBufferBytes (* kCopies kWindowBytes)",
                                .after = "kBufferBytes (* kCopies (+ kWindowBytes 16))"},
      .goldens =
          {
              {.name = "mma_grad_input",
               .layer = "conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; dtype f16; "
                        "layout nhwc; directions grad_input"},
              {.name = "mma_grad_input_rows",
               .layer = "conv_transpose2d 48 -> 3; kernel 9x9; stride 3x3; padding 4x4; input ?x54x96; dtype bf16; "
                        "directions grad_input",
               .architecture = "sm_80"},
              {.name = "mma_grad_input_f32x3",
               .layer =
                   "conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; compute f32x3; "
                   "directions grad_input"},
          },
      .compiled =
          {
              {.group = "inputs_of_windows",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"dcgan5", "fsrcnn4"},
               .most = 2,
               .direction = Direction::kGradInput},
              {.group = "inputs_of_windows_of_rows",
               .compute = Compute::kTf32,
               .benchmarks = {"dcgan5", "fsrcnn4"},
               .most = 2,
               .direction = Direction::kGradInput},
              {.group = "inputs_of_windows_f32x3",
               .compute = Compute::kF32x3,
               .benchmarks = {"dcgan5", "fsrcnn4"},
               .most = 2,
               .direction = Direction::kGradInput},
              {.group = "inputs_of_shifted_windows",
               .compute = Compute::kBf16,
               .direction = Direction::kGradInput,
               .layers =
                   {"conv_transpose2d 48 -> 3; kernel 9x9; stride 3x3; padding 4x4; input 4x540x960; dtype bf16; "
                    "directions grad_input",
                    "conv_transpose1d 1024 -> 64; kernel 5; padding 4; dilation 2; groups 8; input 2x32876; dtype "
                    "bf16; directions grad_input"}},
          },
      .machine_code = {.warp_products = true, .most_wavefronts = 2},
      .launched_gradients = {"conv_transpose2d 16 -> 3; kernel 4; stride 2; dtype f16; layout nhwc; directions "
                             "grad_input"},
      .far_gradients =
          {
              {.name = "mma_grad_input_images",
               .layer = "conv_transpose2d 8 -> 6; kernel 3x3; stride 2x1; padding 1x1; groups 2; input ?x2x8; dtype "
                        "f16"},
              {.name = "mma_grad_input_images_channels_last",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x1; padding 1x1; input ?x4x8; dtype f16; layout "
                        "nhwc"},
              {.name = "mma_grad_input_rows",
               .layer = "conv_transpose2d 4 -> 2; kernel 3x3; stride 2x2; input ?x?x?; compute tf32",
               .by_rows = true},
              {.name = "mma_grad_input_rows_channels_last",
               .layer = "conv_transpose2d 4 -> 2; kernel 3x3; stride 2x2; input ?x?x?; dtype f16; layout nhwc",
               .by_rows = true},
              {.name = "mma_grad_input_groups_channels_last",
               .layer = "conv_transpose2d 16 -> 4; kernel 3x3; groups 2; input ?x?x?; dtype f16; layout nhwc",
               .by_rows = true},
          },
      .unseen_of_gradients =
          {// No test has rows of 2^31 elements, nor so many weights.
           "stage_window: const long long in_row", "stage_window: static_cast<long long>(first_column)",
           "stage_window: static_cast<long long>(sizes.out_w)", "store_pixels: static_cast<long long>(row)",
           "store_rows: static_cast<long long>(row)", "stage_weights: static_cast<long long>(channel)",
           "kernel: static_cast<long long>(first_channel)",
           // A few channels.
           "stage_window: static_cast<long long>(plane)"},
      // Unseen: the weights of words of K that no tap has, whose elements are masked too.
      .mutants =
          {
              {.name = "mma_grad_input",
               .layer =
                   "conv_transpose2d 20 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 3x6x13; dtype f16; layout "
                   "nhwc; directions grad_input",
               .least_mutants = 8,
               .unseen = 1,
               .few_blocks = true,
               .block = "warps 2, tile_h 4, tile_w 8, m_tiles 1, n_tiles 3, block_n 24, copy_bytes 4, store 2"},
              {.name = "mma_grad_input_shifted",
               .layer = "conv_transpose2d 9 -> 3; kernel 3x3; stride 3x3; padding 1x1; input 3x9x13; dtype f16; "
                        "directions grad_input",
               .least_mutants = 8,
               .unseen = 1,
               .few_blocks = true,
               .block = "warps 2, tile_h 4, tile_w 8, m_tiles 1, n_tiles 1, block_n 16, copy_bytes 2, store 1"},
              {.name = "mma_grad_input_f32x3",
               .layer = "conv_transpose2d 12 -> 3; kernel 5x4; stride 2x2; padding 1x1; input 3x6x13; compute f32x3; "
                        "directions grad_input",
               .least_mutants = 8,
               .unseen = 1,
               .few_blocks = true,
               .block = "warps 2, tile_h 4, tile_w 8, m_tiles 1, n_tiles 1, block_n 16, copy_bytes 4, store 1"},
          },
      .nan_gradients =
          {
              {.name = "mma_grad_input", .rest = "20 -> 8; kernel 3x3; padding 1x1; input 7x6x7"},
              {.name = "mma_grad_input_strided", .rest = "20 -> 3; kernel 4x4; stride 2x2; input 7x6x7"},
          },
  };
}

}  // namespace convtgen::testing
