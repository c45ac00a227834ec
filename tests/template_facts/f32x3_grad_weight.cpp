// `f32x3_grad_weight`: `grad_weight_gemm` in fp32, as three products of tf32.
#include "tests/template_facts/facts.h"

#include "tests/template_facts/slices.h"

namespace convtgen::testing {

TemplateFacts facts_of_f32x3_grad_weight() {
  return {
      .name = "f32x3_grad_weight",
      .computes = {Compute::kF32x3},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .search = "whole_channels",
      .changed = ChangedProgram{.layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input "
                                         "128x16x16; compute f32x3; directions grad_weight",
                                .before = "kInputUnitPitch (call unit_pitch kInputPixels)",
                                .after = "kInputUnitPitch (call unit_pitch (+ kInputPixels 2))"},
      .goldens =
          {
              {.name = "f32x3_grad_weight",
               .layer = "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; compute f32x3; "
                        "directions grad_weight",
               .others =
                   {"kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute f32x3; bias; directions grad_weight",
                    "kernel 3x3; stride 2x2; input ?x?x?; compute f32x3; layout nhwc; directions grad_weight",
                    "kernel 5x5; dilation 3x1; input 1x9x8; compute f32x3; layout nhwc; bias; directions grad_weight"}},
          },
      .emitted = "conv_transpose2d 32 -> 32; kernel 2x2; input 2x16x16; compute f32x3; bias; directions grad_weight",
      .compiled =
          {
              {.group = "weights_of_halves",
               .compute = Compute::kF32x3,
               .benchmarks = summed_layers(),
               .direction = Direction::kGradWeight},
              {.group = "weights_of_halves_channels_last",
               .compute = Compute::kF32x3,
               .layout = Layout::kNhwc,
               .benchmarks = summed_layers(),
               .direction = Direction::kGradWeight},
          },
      .launched_gradient = "conv_transpose2d 16 -> 16; kernel 3; stride 2; bias; directions grad_weight; compute f32x3",
      .far_gradients =
          {
              {.name = "f32x3_grad_weight_copied_images",
               .layer = "conv_transpose2d 16 -> 16; kernel 3x3; padding 1x1; input ?x4x8; compute f32x3",
               .by_copies = true},
              {.name = "f32x3_grad_weight_images_of_any_size",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute f32x3"},
              {.name = "f32x3_grad_weight_rows",
               .layer = "conv_transpose2d 32 -> 16; kernel 3x3; stride 2x2; groups 2; input ?x?x?; compute f32x3",
               .by_rows = true},
              {.name = "f32x3_grad_weight_rows_channels_last",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3; layout nhwc",
               .by_rows = true},
              {.name = "f32x3_scanned_images",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x5x7; compute f32x3",
               .scans = true},
              {.name = "f32x3_scanned_rows",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3",
               .by_rows = true,
               .scans = true},
              {.name = "f32x3_scanned_rows_channels_last",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3; layout nhwc",
               .by_rows = true,
               .scans = true},
          },
      .far_weights = "; compute f32x3",
      .unseen_of_gradients = {kAddingSlices, kAddingBlocks, kDescriptorMove, kFirstTile,
                              "scan_slice: const long long image", "scan_slice_2: const long long image",
                              "scan_slice: static_cast<long long>(thread % 16)",
                              "scan_slice_2: static_cast<long long>(thread % 16)"},
      // Unseen: slices of no positions; a wait for a stage that is empty at first; loads of what nobody stores, and
      // products of rows that nobody stores; scales that would do.
      .mutants =
          {
              {.name = "f32x3_grad_weight_registers",
               .layer = "conv_transpose2d 10 -> 12; kernel 3x3; stride 2x1; padding 1x1; input 3x5x9; compute f32x3; "
                        "directions grad_weight",
               .least_mutants = 20,
               .unseen = 5,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, consumer_groups 2, flat 0, tile_rows 4, "
                        "tile_columns 16, stages 2, producers 128, row_stages 0, slices 1, scan_slices 2"},
              {.name = "f32x3_grad_weight_rows",
               .layer = "conv_transpose2d 12 -> 12; kernel 3x3; padding 1x1; input 2x6x9; compute f32x3; directions "
                        "grad_weight",
               .least_mutants = 20,
               .unseen = 11,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, consumer_groups 2, flat 1, tile_rows 4, stages "
                        "2, producers 128, row_stages 1, slices 1, scan_slices 2"},
              {.name = "f32x3_grad_weight_channels_last",
               .layer = "conv_transpose2d 16 -> 24; kernel 3x3; padding 1x1; input 2x6x9; compute f32x3; layout nhwc; "
                        "directions grad_weight",
               .least_mutants = 20,
               .unseen = 6,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 1, tile_rows 4, stages "
                        "2, producers 128, slices 1, scan_slices 2"},
          },
      .wrong_numbers =
          {
              // Windows that end where products do, so that no zero is multiplied by an infinity.
              .channel_scales =
                  {
                      {.name = "Channels",
                       .layer = "conv_transpose2d 10 -> 12; kernel 2x2; stride 2x2; input 2x17x16; compute f32x3; "
                                "directions grad_weight",
                       .multiprocessors = 4,
                       .block = "taps_h 2, taps_w 2, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_rows "
                                "1, tile_columns 16, stages 2, producers 128, slices 1, scan_slices 2"},
                      {.name = "ChannelsLastInTotals",
                       .layer = "conv_transpose2d 16 -> 24; kernel 2x2; stride 2x2; input 2x17x16; compute f32x3; "
                                "layout nhwc; directions grad_weight",
                       .multiprocessors = 4,
                       .block =
                           "taps_h 2, taps_w 2, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_rows 1, "
                           "tile_columns 16, stages 2, producers 128, shared_totals 1, slices 1, scan_slices 2"},
                  },
          },
  };
}

}  // namespace convtgen::testing
