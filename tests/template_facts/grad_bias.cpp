// `grad_bias`: the gradient of every layer's bias.
#include "tests/template_facts/facts.h"
#include "tests/template_facts/slices.h"

namespace convtgen::testing {

TemplateFacts facts_of_grad_bias() {
  return {
      .name = "grad_bias",
      .computes = {all_computes().begin(), all_computes().end()},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .takes_all = true,
      .names_taps = false,  // no weight is read
      .search = "any_layer",
      .drawer = {.depth = true},
      .least_constants = 0,
      .goldens =
          {
              {.name = "grad_bias",
               .layer =
                   "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; bias; directions grad_bias"},
          },
      .golden_taps = NamedTaps::kEach,
      .far_gradients =
          {
              {.name = "grad_bias_images", .layer = "conv_transpose2d 4 -> 6; kernel 3x3; bias; input ?x5x9"},
              {.name = "grad_bias_images_channels_last",
               .layer = "conv_transpose2d 4 -> 6; kernel 3x3; bias; input ?x5x9; layout nhwc"},
              {.name = "grad_bias_rows",
               .layer = "conv_transpose2d 4 -> 6; kernel 3x3; bias; input ?x?x?",
               .by_rows = true},
              {.name = "grad_bias_planes",
               .layer = "conv_transpose3d 4 -> 6; kernel 3x3x3; stride 2x1x1; bias; input ?x?x?x?",
               .by_planes = true},
              {.name = "grad_bias_rows_channels_last",
               .layer = "conv_transpose2d 4 -> 6; kernel 3x3; bias; input ?x?x?; layout nhwc",
               .by_rows = true},
          },
      .unseen_of_gradients = with_bias_steps({"kernel: const long long in_image"}),  // of one
  };
}

}  // namespace convtgen::testing
