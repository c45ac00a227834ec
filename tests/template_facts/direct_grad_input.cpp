// `direct_grad_input`: the gradient of every layer's input, without tensor cores.
#include "tests/template_facts/facts.h"

#include "generator/layer/shape.h"
#include "tests/template_facts/plain.h"

namespace convtgen::testing {
namespace direct_grad_input {

bool loops(const Layer& layer) {
  return plane_taps(layer) > kMostWrittenOut;
}

}  // namespace direct_grad_input

TemplateFacts facts_of_direct_grad_input() {
  using namespace direct_grad_input;
  return {
      .name = "direct_grad_input",
      .computes = {all_computes().begin(), all_computes().end()},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .takes_all = true,
      .search = "any_layer",
      .drawer = {.depth = true},
      .goldens =
          {
              {.name = "direct_grad_input",
               .layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; directions "
                        "grad_input",
               .architecture = "sm_80"},
              {.name = "direct_grad_input_planes",
               .layer = "conv_transpose3d 16 -> 8; kernel 3x2x2; stride 2x2x2; padding 1x0x0; dtype bf16; layout nhwc; "
                        "directions grad_input"},
          },
      .golden_taps = NamedTaps::kEach,
      .is_of_many_taps = loops,
      .far_gradients =
          {
              {.name = "direct_grad_input_images",
               .layer = "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; input ?x5x9"},
              {.name = "direct_grad_input_images_channels_last",
               .layer = "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; input ?x5x9; layout nhwc"},
              {.name = "direct_grad_input_rows",
               .layer = "conv_transpose2d 4 -> 2; kernel 3x3; stride 2x2; input ?x?x?",
               .by_rows = true},
              {.name = "direct_grad_input_rows_channels_last",
               .layer = "conv_transpose2d 4 -> 2; kernel 3x3; input ?x?x?; layout nhwc",
               .by_rows = true},
              {.name = "direct_grad_input_planes",
               .layer = "conv_transpose3d 4 -> 2; kernel 3x3x3; stride 2x1x1; padding 1; input ?x?x?x?",
               .by_planes = true},
              {.name = "direct_grad_input_planes_channels_last",
               .layer = "conv_transpose3d 4 -> 2; kernel 3x3x3; input ?x?x?x?; layout nhwc",
               .by_planes = true},
              {.name = "direct_grad_input_unstaged_rows",
               .layer = "conv_transpose2d 4 -> 2; kernel 2x2; dilation 60000x1; input ?x?x?",
               .by_rows = true},
          },
      .far_weights = "",
      .unseen_of_gradients =
          {"kernel: static_cast<long long>(image)",  // its factor is wide
                                                     // A few channels; the others are far by their product.
           "kernel: static_cast<long long>(channel)", "multiply_add_unstaged: static_cast<long long>(channel)",
           "stage_weight: static_cast<long long>(channel)"},
      .mutants =
          {
              {.name = "direct_grad_input_planes",
               .layer = "conv_transpose3d 9 -> 11; kernel 3x3x2; padding 1x1x0; input 1x3x9x10; directions grad_input",
               .least_mutants = 9,
               .unseen = 1,  // copies of a k-block after the last one, all zeros
               .block = "block_k 4"},
              {.name = "direct_grad_input_registers",
               .layer =
                   "conv_transpose2d 9 -> 11; kernel 3x3; stride 2x1; padding 1x1; input 2x9x10; layout nhwc; dtype "
                   "f16; directions grad_input",
               .least_mutants = 9,
               .block = "block_k 4"},
          },
      .nan_gradients =
          {
              {.name = "direct_grad_input", .rest = "8 -> 20; kernel 3x3; padding 1x1; input 7x6x7"},
          },
  };
}

}  // namespace convtgen::testing
