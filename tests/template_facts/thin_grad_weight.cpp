// `thin_grad_weight`: the gradient of the weights of layers whose groups have few output channels, without tensor
// cores.
#include "tests/template_facts/facts.h"
#include "tests/template_facts/slices.h"

namespace convtgen::testing {

TemplateFacts facts_of_thin_grad_weight() {
  return {
      .name = "thin_grad_weight",
      .computes = {all_computes().begin(), all_computes().end()},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .names_taps = false,
      .search = "thin_groups",
      .drawer = {.depth = true, .few_out = true},
      .refused = {{.layer = "64 -> 18; kernel 3; groups 2; directions grad_weight",
                   .reason = "groups of 9 output channels; at most 8, whose windows a thread reads"}},
      .changed = ChangedProgram{.layer = "conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input "
                                         "2x32x32; directions grad_weight",
                                .before = "kPassWeights) kParts)",
                                .after = "kPassWeights) (* kParts 2))"},
      .goldens =
          {
              {.name = "thin_grad_weight_pixels",
               .layer = "conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; dtype f16; "
                        "layout nhwc; bias; directions grad_weight"},
              {.name = "thin_grad_weight_rows",
               .layer = "conv_transpose2d 21 -> 21; kernel 16x16; stride 8x8; padding 4x4; groups 21; input 8x64x64; "
                        "directions grad_weight",
               .architecture = "sm_75"},
          },
      .compiled =
          {
              {.group = "weights_by_pixels",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"dcgan5", "fsrcnn4", "fcn8dw"},
               .most = 2,
               .direction = Direction::kGradWeight},
              {.group = "weights_by_windows",
               .compute = Compute::kF16,
               .benchmarks = {"dcgan5", "fsrcnn4", "fcn8dw"},
               .most = 2,
               .direction = Direction::kGradWeight},
              {.group = "weights_by_windows_f32",
               .compute = Compute::kF32,
               .benchmarks = {"dcgan5", "fsrcnn4", "fcn8dw"},
               .most = 2,
               .direction = Direction::kGradWeight},
          },
      .far_gradients =
          {
              {.name = "thin_grad_weight_images",
               .layer = "conv_transpose2d 6 -> 6; kernel 3x3; stride 2x1; padding 1x1; groups 2; bias; input ?x5x9"},
              {.name = "thin_grad_weight_images_channels_last",
               .layer =
                   "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x1; padding 1x1; bias; input ?x4x8; layout nhwc"},
              {.name = "thin_grad_weight_rows",
               .layer = "conv_transpose2d 4 -> 2; kernel 3x3; stride 2x2; bias; input ?x?x?",
               .by_rows = true},
              {.name = "thin_grad_weight_rows_channels_last",
               .layer = "conv_transpose2d 4 -> 4; kernel 3x3; groups 4; input ?x?x?; layout nhwc",
               .by_rows = true},
              {.name = "thin_grad_weight_planes",
               .layer = "conv_transpose3d 4 -> 2; kernel 3x3x3; stride 2x1x1; padding 1; input ?x?x?x?",
               .by_planes = true},
              {.name = "thin_grad_weight_planes_channels_last",
               .layer = "conv_transpose3d 4 -> 2; kernel 2x3x3; input ?x?x?x?; layout nhwc",
               .by_planes = true},
          },
      .unseen_of_gradients = with_bias_steps(
          {kAddingSlices, kAddingBlocks, kTilesOfBatch,
           // Tiles, as those of all images.
           "kernel: const long long begin", "kernel: const long long end",
           // No test has rows of 2^31 elements, nor so many weights.
           "kernel: const long long first_column", "kernel: const long long row_end",
           "kernel: static_cast<long long>(ix)", "kernel: static_cast<long long>(out_w)",
           "kernel: static_cast<long long>(width)", "store_sums: const long long weight",
           "store_sums: static_cast<long long>(slot / 16)", "store_sums: static_cast<long long>(slot / 3)",
           "store_sums: static_cast<long long>(slot)",
           // A few channels, columns or places.
           "kernel: * #ll", "load_inputs: static_cast<long long>(column)", "kernel: const long long in_image",
           "places_of_slice_2: * #ll", "sum_vectors: static_cast<long long>(places.step)"}),
      .mutants =
          {
              {.name = "thin_grad_weight_rows",
               .layer = "conv_transpose2d 5 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 2x5x12; directions "
                        "grad_weight",
               .least_mutants = 10,
               .block = "threads_x 8, threads_y 4, threads_c 1, columns_per_thread 2, channels_per_thread 4, taps_h 4, "
                        "taps_w 4, vector 4, x_vector 1, slices 2"},
              {.name = "thin_grad_weight_planes",
               .layer = "conv_transpose3d 6 -> 6; kernel 3x3x2; padding 1x1x0; groups 6; input 2x3x5x9; dtype f16; "
                        "layout nhwc; directions grad_weight",
               .least_mutants = 10,
               .unseen = 1,  // of columns, which are checked again where a thread has those of a ragged end
               .block = "threads_x 4, threads_y 2, threads_c 4, lanes_of_channels 1, columns_per_thread 2, "
                        "channels_per_thread 1, taps_h 2, taps_w 2, vector 1, x_vector 1, slices 1"},
          },
      .nan_gradients =
          {
              {.name = "thin_grad_weight", .rest = "20 -> 8; kernel 3x3; padding 1x1; input 7x6x7; bias"},
          },
  };
}

}  // namespace convtgen::testing
