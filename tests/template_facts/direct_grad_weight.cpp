// `direct_grad_weight`: the gradient of every layer's weights, without tensor cores.
#include "tests/template_facts/facts.h"

#include "generator/layer/shape.h"
#include "tests/template_facts/plain.h"
#include "tests/template_facts/slices.h"

namespace convtgen::testing {
namespace direct_grad_weight {

bool loops(const Layer& layer) {
  return plane_taps(layer) > kMostWrittenOut;
}

}  // namespace direct_grad_weight

TemplateFacts facts_of_direct_grad_weight() {
  using namespace direct_grad_weight;
  return {
      .name = "direct_grad_weight",
      .computes = {all_computes().begin(), all_computes().end()},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .takes_all = true,
      .search = "any_layer",
      .drawer = {.depth = true},
      .goldens =
          {
              {.name = "direct_grad_weight",
               .layer = "conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input ?x32x32; dtype f16; "
                        "layout nhwc; bias; directions grad_weight",
               .architecture = "sm_75"},
              {.name = "direct_grad_weight_planes",
               .layer = "conv_transpose3d 16 -> 8; kernel 3x2x2; stride 2x2x2; padding 1x0x0; input ?x8x16x16; bias; "
                        "directions grad_weight"},
          },
      .golden_taps = NamedTaps::kEach,
      .is_of_many_taps = loops,
      .far_gradients =
          {
              {.name = "direct_grad_weight_images",
               .layer = "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; bias; input ?x5x9"},
              {.name = "direct_grad_weight_images_channels_last",
               .layer = "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; bias; input ?x5x9; layout nhwc"},
              {.name = "direct_grad_weight_rows",
               .layer = "conv_transpose2d 4 -> 2; kernel 3x3; stride 2x2; bias; input ?x?x?",
               .by_rows = true},
              {.name = "direct_grad_weight_planes",
               .layer = "conv_transpose3d 4 -> 2; kernel 3x3x3; stride 2x1x1; padding 1; bias; input ?x?x?x?",
               .by_planes = true},
              {.name = "direct_grad_weight_planes_channels_last",
               .layer = "conv_transpose3d 4 -> 2; kernel 2x3x3; bias; input ?x?x?x?; layout nhwc",
               .by_planes = true},
              {.name = "direct_grad_weight_rows_channels_last",
               .layer = "conv_transpose2d 4 -> 2; kernel 3x3; bias; input ?x?x?; layout nhwc",
               .by_rows = true},
          },
      .far_weights = "",
      .unseen_of_gradients = with_bias_steps(
          {kAddingSlices, kAddingBlocks, kTilesOfBatch, "kernel: const long long end",  // tiles, as below
           "kernel: const long long image",
           "kernel: const long long in_image",            // vectors of one
           "stage_input: static_cast<long long>(ci)",     // a few channels of a known size
           "stage_window: static_cast<long long>(co)"}),  // likewise
      .mutants =
          {
              {.name = "direct_grad_weight_planes",
               .layer = "conv_transpose3d 5 -> 3; kernel 3x3x2; padding 1x1x0; bias; input 2x3x9x10; directions "
                        "grad_weight",
               .least_mutants = 9,
               .unseen = 5,  // of taps and channels that are whole groups, and of places that all lie within
               .block = "slices 1"},
          },
      .nan_gradients =
          {
              {.name = "direct_grad_weight", .rest = "20 -> 16; kernel 3x3; padding 1x1; input 7x6x7; bias"},
          },
  };
}

}  // namespace convtgen::testing
