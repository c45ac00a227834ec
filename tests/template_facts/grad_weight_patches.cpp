// `grad_weight_patches`: gradients of the weights of kernels that are as large as their strides.
#include "tests/template_facts/facts.h"

#include "tests/template_facts/patches.h"
#include "tests/template_facts/slices.h"

namespace convtgen::testing {
namespace grad_weight_patches {

void to_patches(Layer& layer, int number) {
  layer.dtype = number % 2 == 0 ? Dtype::kBf16 : Dtype::kF16;
  layer.compute = number % 2 == 0 ? Compute::kBf16 : Compute::kF16;
  layer.layout = Layout::kNhwc;
  layer.groups = 1;
  layer.in_channels = 8 * (1 + number % 7);
  layer.out_channels = 8 * (1 + number % 5);
  for (Axis& axis : layer.axes) {
    axis.kernel = axis.stride = std::min<std::int64_t>(axis.kernel, 4);
    axis.padding = {};
    axis.output_padding = 0;
    axis.dilation = 1;
  }
}

}  // namespace grad_weight_patches

TemplateFacts facts_of_grad_weight_patches() {
  using namespace grad_weight_patches;
  return {
      .name = "grad_weight_patches",
      .computes = {Compute::kF16, Compute::kBf16},
      .layouts = {Layout::kNhwc},
      .search = "patches",
      .drawer = {.own_compute = true,
                 .shape = equal_strides,
                 .padded = false,
                 .depth = true,
                 .one_group = true,
                 .no_depthwise = true,
                 .whole_in = true,
                 .whole_out = true},
      .fit = to_patches,
      .refused = {{"32 -> 32; kernel 4x4; stride 2x2; dtype f16; layout nhwc; directions grad_weight",
                   "a kernel of 4 and a stride of 2 in height; it takes kernels that are as large as their stride"},
                  {"32 -> 20; kernel 2x2; stride 2x2; dtype f16; layout nhwc; directions grad_weight",
                   "32 input and 20 output channels; tensor copies need whole 16 bytes, multiples of 8"}},
      .changed = ChangedProgram{.layer = "conv_transpose2d 64 -> 32; kernel 2x2; stride 2x2; input 32x128x128; dtype "
                                         "f16; layout nhwc; bias; directions grad_weight",
                                .before = "kRowBoxBytes (* kBoxPositions kRowSwizzle)",
                                .after = "kRowBoxBytes (* kBoxPositions 256)"},
      .goldens =
          {
              {.name = "grad_weight_patches",
               .layer = "conv_transpose2d 64 -> 32; kernel 2x2; stride 2x2; input 32x128x128; dtype f16; layout nhwc; "
                        "bias; directions grad_weight",
               .others = {"kernel 2x2; stride 2x2; input 8x512x512; dtype f16; layout nhwc; directions grad_weight",
                          "kernel 4x4; stride 4x4; input ?x?x?; dtype bf16; layout nhwc; bias; directions grad_weight",
                          "kernel 3x1; stride 3x1; input 2x9x8; dtype f16; layout nhwc; weight_layout channels_last; "
                          "directions grad_weight"}},
          },
      .emitted =
          "conv_transpose2d 64 -> 64; kernel 2x2; stride 2; input 16x64x64; dtype bf16; layout nhwc; "
          "directions grad_weight",
      .compiled =
          {
              {.group = "weights_of_patches",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"unet1", "unet4", "mrcnn", "sam2x2", "pillars"},
               .most = 3,
               .direction = Direction::kGradWeight},
          },
      .launched_gradients =
          {"conv_transpose2d 64 -> 32; kernel 2; stride 2; bias; directions grad_weight; dtype f16; layout nhwc"},
      .far_gradients =
          {
              {.name = "grad_weight_patches_images",
               .layer = "conv_transpose2d 16 -> 8; kernel 2x2; stride 2x2; input ?x5x7; dtype f16; layout nhwc"},
              {.name = "grad_weight_patches_rows",
               .layer = "conv_transpose2d 16 -> 8; kernel 2x2; stride 2x2; input ?x?x?; dtype f16; layout nhwc",
               .by_rows = true},
          },
      .far_weights = "; dtype f16; layout nhwc",
      .unseen_of_gradients = {kAddingSlices, kAddingBlocks, kFirstTile,
                              "add_part: * #ll",  // partial results, as those
                              "tiles_of: static_cast<long long>(batch)"},
      // Unseen: fences for barriers besides those for zeros; a warp that need not be together after its products; and
      // where rows are summed up, a second barrier before results take the place of the stages.
      .mutants =
          {
              {.name = "grad_weight_patches_taps",
               .layer = "conv_transpose2d 24 -> 24; kernel 3x2; stride 3x2; input 3x6x9; bias; dtype bf16; layout "
                        "nhwc; directions grad_weight",
               .least_mutants = 20,
               .unseen = 2,
               .block = "taps_h 3, taps_w 2, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_rows 2, "
                        "tile_columns 8, stages 3, slices 1, bias_slices 2"},
              {.name = "grad_weight_patches_sequence",
               .layer = "conv_transpose2d 24 -> 24; kernel 2x2; stride 2x2; input 9x3x8; dtype f16; layout nhwc; "
                        "directions grad_weight",
               .least_mutants = 20,
               .unseen = 2,
               .block = "taps_h 2, taps_w 2, block_out 16, block_in 16, consumer_groups 2, flat 1, tile_rows 3, "
                        "tile_columns 5, stages 3, slices 1"},
          },
  };
}

}  // namespace convtgen::testing
