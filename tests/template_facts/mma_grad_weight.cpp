// `mma_grad_weight`: gradients of the weights by products of warps, with windows of positions in shared memory.
#include "tests/template_facts/facts.h"

#include "tests/template_facts/slices.h"

namespace convtgen::testing {

TemplateFacts facts_of_mma_grad_weight() {
  return {
      .name = "mma_grad_weight",
      .computes = {Compute::kTf32, Compute::kF16, Compute::kBf16, Compute::kF32x3},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .search = "shifts",
      .drawer = {.depth = true},
      .refused =
          {
              {.layer = "16 -> 16; kernel 3; compute tf32; directions grad_weight",
               .reason = "architecture sm_75 has no mma.sync of tf32; it takes sm_80, sm_86, sm_87, sm_88, sm_89, "
                         "sm_90a, sm_100, sm_103, sm_110, sm_120, sm_121",
               .architecture = "sm_75"},
              {.layer = "16 -> 64; kernel 3; groups 4; compute tf32; directions grad_weight",
               .reason = "groups of 4 input channels; tensor cores need 16"},
              {.layer = "16 -> 16; kernel 3; dtype bf16; directions grad_weight",
               .reason = "architecture sm_75 has no mma.sync of bf16; it takes sm_80, sm_86, sm_87, sm_88, sm_89, "
                         "sm_90a, sm_100, sm_103, sm_110, sm_120, sm_121",
               .architecture = "sm_75"},
          },
      .changed = ChangedProgram{.layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input "
                                         "128x16x16; dtype f16; layout nhwc; directions grad_weight",
                                .before = "(* 16 (+ (* (/ units 2) 2) 1))",
                                .after = "(* 16 (+ (* (/ units 2) 2) 3))"},
      .goldens =
          {
              {.name = "mma_grad_weight",
               .layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; "
                        "layout nhwc; bias; directions grad_weight",
               .architecture = "sm_80",
               .others = {"kernel 3x3; input 8x512x512; dtype f16; directions grad_weight",
                          "kernel 3x3; stride 2x2; input ?x?x?; compute tf32; bias; directions grad_weight",
                          "kernel 5x5; dilation 3x1; input 1x9x8; dtype bf16; layout nhwc; directions grad_weight"}},
              {.name = "mma_grad_weight_f32x3",
               .layer = "conv_transpose3d 32 -> 32; kernel 3x3x3; padding 1x1x1; input 8x16x64x64; compute f32x3; "
                        "directions grad_weight",
               .architecture = "sm_80",
               .others = {"kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute f32x3; bias; directions "
                          "grad_weight",
                          "kernel 3x3; stride 2x2; input ?x?x?; compute f32x3; layout nhwc; directions grad_weight"}},
              {.name = "mma_grad_weight_turing",
               .layer = "conv_transpose2d 128 -> 64; kernel 2x2; stride 2x2; input 8x256x256; dtype f16; layout nhwc; "
                        "directions grad_weight",
               .architecture = "sm_75"},
          },
      .compiled =
          {
              {.group = "weights_by_warps_nhwc",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = summed_layers(),
               .direction = Direction::kGradWeight},
              {.group = "weights_by_warps",
               .compute = Compute::kTf32,
               .benchmarks = summed_layers(),
               .direction = Direction::kGradWeight},
              {.group = "weights_by_warps_tf32_nhwc",
               .compute = Compute::kTf32,
               .layout = Layout::kNhwc,
               .benchmarks = {"kb65", "unet4", "hifi4"},
               .direction = Direction::kGradWeight},
              {.group = "weights_by_warps_f32x3",
               .compute = Compute::kF32x3,
               .benchmarks = summed_layers(),
               .direction = Direction::kGradWeight},
              {.group = "weights_by_warps_f32x3_nhwc",
               .compute = Compute::kF32x3,
               .layout = Layout::kNhwc,
               .benchmarks = {"kb65", "unet4", "hifi4"},
               .direction = Direction::kGradWeight},
              {.group = "weights_by_warps_bf16",
               .compute = Compute::kBf16,
               .benchmarks = {"kb57", "unet4"},
               .direction = Direction::kGradWeight},
          },
      // Where rows are as short as four positions, those of two rows meet.
      .machine_code = {.warp_products = true, .most_wavefronts = 2},
      .other_chips = {"sm_100", "sm_103", "sm_110", "sm_120", "sm_121"},
      .launched_gradients =
          {"conv_transpose2d 16 -> 16; kernel 3; stride 2; bias; directions grad_weight; compute tf32",
           "conv_transpose2d 16 -> 16; kernel 3; stride 2; bias; directions grad_weight; compute f32x3"},
      .far_gradients =
          {
              {.name = "mma_grad_weight_images",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; padding 1x1; input ?x5x7; dtype f16"},
              {.name = "mma_grad_weight_images_channels_last",
               .layer = "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout "
                        "nhwc"},
              {.name = "mma_grad_weight_images_of_any_size",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute tf32"},
              {.name = "mma_grad_weight_rows",
               .layer = "conv_transpose2d 32 -> 16; kernel 3x3; stride 2x2; groups 2; input ?x?x?; compute tf32",
               .by_rows = true},
              {.name = "mma_grad_weight_rows_channels_last",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; dtype bf16; layout nhwc",
               .by_rows = true},
              {.name = "mma_grad_weight_planes",
               .layer = "conv_transpose3d 16 -> 8; kernel 3x3x3; stride 2x1x1; padding 1; input ?x?x?x?; dtype f16",
               .by_planes = true},
              {.name = "mma_grad_weight_planes_channels_last",
               .layer = "conv_transpose3d 16 -> 8; kernel 2x3x3; input ?x?x?x?; dtype f16; layout nhwc",
               .by_planes = true},
              {.name = "mma_grad_weight_f32x3_planes",
               .layer = "conv_transpose3d 16 -> 8; kernel 2x3x3; stride 1x2x1; input ?x?x?x?; compute f32x3",
               .by_planes = true},
              {.name = "mma_grad_weight_scanned_planes",
               .layer = "conv_transpose3d 16 -> 8; kernel 2x3x3; input ?x?x?x?; compute f32x3; layout nhwc",
               .scans = true,
               .by_planes = true},
              {.name = "mma_grad_weight_f32x3",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute f32x3"},
              {.name = "mma_grad_weight_f32x3_channels_last",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3; layout nhwc",
               .by_rows = true},
              {.name = "mma_grad_weight_scanned_images",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x5x7; compute f32x3",
               .scans = true},
              {.name = "mma_grad_weight_scanned_rows",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3",
               .by_rows = true,
               .scans = true},
              {.name = "mma_grad_weight_scanned_rows_channels_last",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3; layout nhwc",
               .by_rows = true,
               .scans = true},
          },
      .far_weights = "; dtype f16",
      .unseen_of_gradients =
          {kAddingSlices, kAddingBlocks, kFirstTile, kTilesOfBatch, "kernel: static_cast<long long>(planes)",
           // Planes of fewer than 2^31 pixels.
           "offset_in_volume: static_cast<long long>(height)", "offset_in_volume: static_cast<long long>(pixel.row)",
           "offset_in_volume_2: static_cast<long long>(height)",
           "offset_in_volume_2: static_cast<long long>(pixel.row)",
           // A few channels or images of a known size.
           "source_of: * #ll", "scan_slice: const long long image", "scan_slice_2: const long long image",
           "scan_slice: static_cast<long long>(thread % 16)", "scan_slice_2: static_cast<long long>(thread % 16)",
           "load_batch: * #ll", "load_span: * #ll", "load_span_2: * #ll", "offset_of: * #ll", "offset_of_2: * #ll",
           // Images that have 2^31 elements each and share a tile.
           "offset_of: static_cast<long long>(height)", "offset_of_2: static_cast<long long>(height)"},
      // Unseen: slices of no positions; stages and pixels that nobody reads; turns in which no thread has a piece; of
      // the gradient of the bias: sums of elements where vectors are read, and those that are not stored.
      .mutants =
          {
              {.name = "mma_grad_weight_copies",
               .layer = "conv_transpose2d 24 -> 24; kernel 3x3; stride 2x1; padding 1x1; bias; input 3x5x9; dtype f16; "
                        "layout nhwc; directions grad_weight",
               .least_mutants = 20,
               .unseen = 9,
               .block = "taps_h 3, taps_w 3, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 1, warps_k "
                        "2, tile_rows 4, tile_columns 16, strip 2, stages 2, slices 2, bias_slices 2"},
              {.name = "mma_grad_weight_rows",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x3; stride 2x1; padding 1x1; input 3x5x9; compute tf32; "
                        "directions grad_weight",
               .least_mutants = 15,
               .unseen = 5,
               .block = "taps_h 3, taps_w 3, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 3, warps_k "
                        "2, tile_rows 4, tile_columns 8, strip 2, stages 2, slices 1"},
              {.name = "mma_grad_weight_along_rows",
               .layer = "conv_transpose2d 24 -> 20; kernel 1x4; stride 1x2; padding 0x1; input 3x2x60; compute tf32; "
                        "layout nhwc; directions grad_weight",
               .least_mutants = 15,
               .unseen = 5,
               .block = "taps_h 1, taps_w 4, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 2, warps_k "
                        "2, tile_rows 2, tile_columns 24, strip 3, along_row 1, stages 2, slices 2"},
              {.name = "mma_grad_weight_planes",
               .layer = "conv_transpose3d 12 -> 20; kernel 3x3x3; padding 1x1x1; input 2x3x5x9; dtype f16; directions "
                        "grad_weight",
               .least_mutants = 15,
               .unseen = 5,
               .block = "taps_h 3, taps_w 3, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 3, warps_k "
                        "1, tile_rows 4, tile_columns 16, strip 2, stages 2, slices 1"},
              {.name = "mma_grad_weight_volumes",
               .layer = "conv_transpose3d 24 -> 24; kernel 3x3x3; stride 2x2x1; padding 1x1x1; bias; input 2x3x5x9; "
                        "dtype f16; layout nhwc; directions grad_weight",
               .least_mutants = 20,
               .unseen = 9,
               .block = "taps_h 3, taps_w 3, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 1, warps_k "
                        "2, tile_rows 4, tile_columns 16, strip 2, stages 2, slices 2, bias_slices 2"},
              {.name = "mma_grad_weight_f32x3_volumes",
               .layer = "conv_transpose3d 10 -> 12; kernel 2x3x3; stride 1x2x1; padding 1x1x1; input 2x3x5x9; compute "
                        "f32x3; directions grad_weight",
               .least_mutants = 20,
               .unseen = 5,
               .block = "taps_h 3, taps_w 3, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 3, warps_k "
                        "2, tile_rows 4, tile_columns 16, strip 2, stages 2, slices 1, scan_slices 2"},
              {.name = "mma_grad_weight_spans",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x3; stride 1x2; padding 1x1; output_padding 0x1; input "
                        "3x5x10; dtype f16; directions grad_weight",
               .least_mutants = 15,
               .unseen = 5,
               .block = "taps_h 3, taps_w 3, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 3, warps_k "
                        "1, tile_rows 4, tile_columns 16, strip 2, stages 2, slices 1, copy_bytes 0, copies_in 0, "
                        "copies_out 0, span 2"},
              {.name = "mma_grad_weight_spans_of_words",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x3; stride 1x2; padding 1x1; output_padding 0x1; input "
                        "3x5x10; compute tf32; directions grad_weight",
               .least_mutants = 15,
               .unseen = 5,
               .block = "taps_h 3, taps_w 3, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 3, warps_k "
                        "1, tile_rows 4, tile_columns 8, strip 2, stages 2, slices 1, copy_bytes 0, copies_in 0, "
                        "copies_out 0, span 2"},
              {.name = "mma_grad_weight_whole_rows",
               .layer = "conv_transpose2d 20 -> 24; kernel 3x3; stride 1x2; padding 1x1; output_padding 0x1; input "
                        "3x5x16; dtype f16; directions grad_weight",
               .least_mutants = 15,
               .unseen = 5,
               .block = "taps_h 3, taps_w 3, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 3, warps_k "
                        "1, tile_rows 4, tile_columns 16, strip 2, stages 3, slices 1, copy_bytes 16, copies_in 1, "
                        "copies_out 1, span 1"},
              {.name = "mma_grad_weight_bias",
               .layer = "conv_transpose3d 12 -> 16; kernel 3x3x3; stride 2x2x2; padding 1x1x1; bias; input 2x3x5x21; "
                        "dtype f16; directions grad_weight",
               .least_mutants = 15,
               .unseen = 5,
               .block = "taps_h 3, taps_w 3, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 3, warps_k "
                        "2, tile_rows 4, tile_columns 16, strip 2, stages 2, slices 2, bias_slices 6, sums_bias 1"},
              {.name = "mma_grad_weight_bias_of_rows",
               .layer = "conv_transpose2d 20 -> 16; kernel 3x3; stride 2x2; padding 1x1; output_padding 1x1; bias; "
                        "input 3x5x8; compute tf32; directions grad_weight",
               .least_mutants = 15,
               .unseen = 5,
               .block = "taps_h 3, taps_w 3, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 3, warps_k "
                        "1, tile_rows 4, tile_columns 8, strip 2, stages 3, slices 2, bias_slices 2, sums_bias 1"},
              {.name = "mma_grad_weight_x_through_registers",
               .layer = "conv_transpose2d 3 -> 16; kernel 3x3; stride 2x2; padding 1x1; input 3x5x9; dtype f16; layout "
                        "nhwc; directions grad_weight",
               .least_mutants = 15,
               .unseen = 5,
               .block = "taps_h 3, taps_w 3, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 3, warps_k "
                        "1, tile_rows 4, tile_columns 16, strip 2, stages 3, slices 1"},
              {.name = "mma_grad_weight_f32x3",
               .layer = "conv_transpose2d 10 -> 12; kernel 3x3; stride 2x1; padding 1x1; input 3x5x9; compute f32x3; "
                        "directions grad_weight",
               .least_mutants = 20,
               .unseen = 5,
               .block = "taps_h 3, taps_w 3, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 3, warps_k "
                        "2, tile_rows 4, tile_columns 16, strip 2, stages 2, slices 1, scan_slices 2"},
          },
      .wrong_numbers =
          {
              .channel_scales =
                  {
                      {.name = "Mma",
                       .layer = "conv_transpose2d 10 -> 12; kernel 2x2; stride 2x2; input 2x17x16; compute f32x3; "
                                "directions grad_weight",
                       .block = "taps_h 2, taps_w 2, block_in 16, block_out 16, warps_in 1, warps_out 1, warps_taps 1, "
                                "warps_k 1, tile_rows 1, tile_columns 16, strip 1, stages 2, slices 1, scan_slices 2"},
                  },
              .gradient_rounding =
                  {
                      {.name = "Mma",
                       .layer =
                           "conv_transpose2d 10 -> 12; kernel 2x2; input 1x4x12; compute tf32; directions grad_weight"},
                      {.name = "MmaChannelsLast",
                       .layer = "conv_transpose2d 12 -> 16; kernel 2x2; input 1x4x12; compute tf32; layout nhwc; "
                                "directions grad_weight"},
                  },
          },
      .nan_gradients =
          {
              {.name = "mma_grad_weight_rows",
               .rest = "20 -> 16; kernel 4x4; stride 2x2; padding 1x1; input 7x?x?; bias",
               .copy_bytes = 16},
              {.name = "mma_grad_weight_spans",
               .rest = "20 -> 16; kernel 2x3; padding 0x1; input 7x5x8",
               .copy_bytes = 0},
              {.name = "mma_grad_weight_pixels",
               .rest = "20 -> 16; kernel 3x3; padding 1x1; input 7x6x7; layout nhwc",
               .copy_bytes = 16},
              {.name = "mma_grad_weight_odd_pixels",
               .rest = "17 -> 16; kernel 3x3; padding 1x1; input 7x6x7; layout nhwc",
               .copy_bytes = 4},
          },
  };
}

}  // namespace convtgen::testing
