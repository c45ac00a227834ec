// `grad_weight_pixels`: gradients of the weights of channels last, in 16 bits or of values that are split once.
#include "tests/template_facts/facts.h"

#include "tests/template_facts/slices.h"

namespace convtgen::testing {
namespace grad_weight_pixels {

void to_whole_channels_or_small_images(Layer& layer, int number) {
  if (number % 2 == 0) {
    layer.dtype = Dtype::kBf16;
    layer.compute = Compute::kBf16;
    layer.layout = Layout::kNhwc;
    layer.in_channels = layer.out_channels = layer.groups * 8 * (1 + number % 5);
  } else if (number % 4 == 3) {
    layer.dtype = Dtype::kF32;
    layer.compute = Compute::kF32x3;
    layer.in_channels = layer.out_channels = layer.groups * 8 * (1 + number % 5);
    layer.batch = 1 + number % 3;
    for (Axis& axis : layer.axes) {
      axis.extent = axis.extent.value_or(3 + number + axis.padding.before + axis.padding.after);
    }
  }
}

}  // namespace grad_weight_pixels

TemplateFacts facts_of_grad_weight_pixels() {
  using namespace grad_weight_pixels;
  return {
      .name = "grad_weight_pixels",
      .computes = {Compute::kF16, Compute::kBf16, Compute::kF32x3},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .search = "copied_channels",
      .fit = to_whole_channels_or_small_images,
      .changed = ChangedProgram{.layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input "
                                         "128x16x16; dtype f16; layout nhwc; directions grad_weight",
                                .before = "(* kPlaneEnd kOutSwizzle) 128) 128)",
                                .after = "(* kPlaneEnd kOutSwizzle) 4096) 4096)"},
      .goldens =
          {
              {.name = "grad_weight_pixels",
               .layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; "
                        "layout nhwc; bias; directions grad_weight",
               .others = {"kernel 3x3; input 8x512x512; dtype f16; layout nhwc; directions grad_weight",
                          "kernel 3x3; stride 2x2; input ?x?x?; dtype bf16; layout nhwc; bias; directions grad_weight",
                          "kernel 5x5; dilation 3x1; input 5x3x5; dtype bf16; layout nhwc; directions grad_weight"}},
              {.name = "grad_weight_pixels_f32x3",
               .layer = "conv_transpose2d 512 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 128x4x4; compute "
                        "f32x3; directions grad_weight",
               .others =
                   {"kernel 4x4; stride 2x2; padding 1x1; input 8x16x16; compute f32x3; bias; directions grad_weight",
                    "kernel 3x3; stride 1x2; input 9x4x5; compute f32x3; layout nhwc; bias; directions grad_weight"}},
          },
      .emitted =
          "conv_transpose2d 32 -> 32; kernel 2x2; stride 2; input 2x16x16; dtype bf16; layout nhwc; directions "
          "grad_weight",
      .compiled =
          {
              {.group = "weights_by_pixels",
               .compute = Compute::kBf16,
               .layout = Layout::kNhwc,
               .benchmarks = summed_layers(),
               .direction = Direction::kGradWeight},
              {.group = "weights_of_parts",
               .compute = Compute::kF32x3,
               .benchmarks = {"dcgan2", "dcgan4", "pose1"},
               .direction = Direction::kGradWeight},
              {.group = "weights_of_parts_channels_last",
               .compute = Compute::kF32x3,
               .layout = Layout::kNhwc,
               .benchmarks = {"dcgan2", "dcgan4", "pose1"},
               .direction = Direction::kGradWeight},
          },
      .launched_gradients =
          {"conv_transpose2d 16 -> 16; kernel 3; stride 2; bias; directions grad_weight; dtype f16; layout nhwc",
           "conv_transpose2d 16 -> 16; kernel 3; stride 2; bias; directions grad_weight; compute f32x3; input 2x5x16"},
      .far_gradients =
          {
              {.name = "grad_weight_pixels_images",
               .layer = "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout "
                        "nhwc"},
              {.name = "grad_weight_pixels_rows",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; dtype f16; layout nhwc",
               .by_rows = true},
          },
      .far_weights = "; dtype f16; layout nhwc",
      .unseen_of_gradients = {kAddingSlices, kAddingBlocks, kFirstTile, "tiles_of: static_cast<long long>(batch)",
                              "tiles_of: const long long image_tiles", "copy_tile: const long long tile"},
      // Unseen: slices of no positions; a wait for a stage that is empty at first; loads of what nobody stores, and
      // products of rows that nobody stores; a warp that need not be together before products here, and in flat stages
      // two fences for barriers.
      .mutants =
          {
              {.name = "grad_weight_pixels_tiles",
               .layer = "conv_transpose2d 24 -> 24; kernel 3x3; stride 2x1; padding 0x1; input 3x6x9; dtype bf16; "
                        "layout nhwc; directions grad_weight",
               .least_mutants = 20,
               .unseen = 2,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_images 1, "
                        "tile_rows 3, tile_columns 16, stages 3, slices 1"},
              {.name = "grad_weight_pixels_sequence",
               .layer = "conv_transpose2d 24 -> 24; kernel 3x3; stride 2x1; padding 0x1; input 9x3x5; dtype f16; "
                        "layout nhwc; directions grad_weight",
               .least_mutants = 20,
               .unseen = 3,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 1, tile_images 2, "
                        "tile_rows 3, tile_columns 16, stages 3, slices 1"},
              {.name = "grad_weight_pixels_copied",
               .layer = "conv_transpose2d 24 -> 24; kernel 3x3; stride 2x1; padding 0x1; input 3x6x9; dtype bf16; "
                        "layout nchw; directions grad_weight",
               .least_mutants = 20,
               .unseen = 2,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_images 1, "
                        "tile_rows 3, tile_columns 16, stages 3, slices 1"},
              {.name = "grad_weight_pixels_f32x3_tiles",
               .layer = "conv_transpose2d 24 -> 24; kernel 3x3; stride 2x1; padding 0x1; input 3x6x9; compute f32x3; "
                        "directions grad_weight",
               .least_mutants = 20,
               .unseen = 2,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_images 1, "
                        "tile_rows 3, tile_columns 16, stages 3, slices 1, scan_slices 2, chunks 2, chunk_images 2"},
              {.name = "grad_weight_pixels_f32x3_sequence",
               .layer = "conv_transpose2d 24 -> 24; kernel 3x3; stride 2x1; padding 0x1; input 9x3x5; compute f32x3; "
                        "layout nhwc; directions grad_weight",
               .least_mutants = 20,
               .unseen = 2,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 1, tile_images 2, "
                        "tile_rows 3, tile_columns 16, stages 3, slices 1, scan_slices 2"},
          },
      .wrong_numbers =
          {
              // Windows that end where products do, so that no zero is multiplied by an infinity.
              .channel_scales =
                  {
                      {.name = "Pixels",
                       .layer = "conv_transpose2d 16 -> 24; kernel 2x2; stride 2x2; input 2x17x16; compute f32x3; "
                                "directions grad_weight",
                       .multiprocessors = 4,
                       .block = "taps_h 2, taps_w 2, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_images "
                                "1, tile_rows 1, tile_columns 16, stages 3, slices 1, scan_slices 2"},
                  },
          },
  };
}

}  // namespace convtgen::testing
