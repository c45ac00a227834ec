// `grad_weight_gemm`: gradients of the weights, with windows of positions that go through registers or are turned; in
// f32x3 with values that are split.
#include "tests/template_facts/facts.h"

#include "tests/planner/problems.h"
#include "tests/template_facts/slices.h"

namespace convtgen::testing {

namespace grad_weight_gemm {

bool splits_in_tf32(const Plan& plan) {
  return flag(plan, "splits");
}

}  // namespace grad_weight_gemm

TemplateFacts facts_of_grad_weight_gemm() {
  using namespace grad_weight_gemm;
  return {
      .name = "grad_weight_gemm",
      .computes = {Compute::kTf32, Compute::kF16, Compute::kBf16, Compute::kF32x3},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .search = "whole_channels",
      .changed = ChangedProgram{.layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input "
                                         "128x16x16; compute tf32; directions grad_weight",
                                .before = "(call floor_mod (- 4 kWindowPixels) 32)",
                                .after = "(call floor_mod (- 5 kWindowPixels) 32)"},
      .goldens =
          {
              {.name = "grad_weight_gemm",
               .layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; "
                        "layout nhwc; bias; directions grad_weight",
               .others = {"kernel 3x3; input 8x512x512; dtype f16; directions grad_weight",
                          "kernel 3x3; stride 2x2; input ?x?x?; compute tf32; bias; directions grad_weight",
                          "kernel 5x5; dilation 3x1; input 1x9x8; dtype bf16; layout nhwc; directions grad_weight"}},
              {.name = "grad_weight_gemm_f32x3",
               .layer = "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; compute f32x3; "
                        "directions grad_weight",
               .others =
                   {"kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute f32x3; bias; directions grad_weight",
                    "kernel 3x3; stride 2x2; input ?x?x?; compute f32x3; layout nhwc; directions grad_weight",
                    "kernel 5x5; dilation 3x1; input 1x9x8; compute f32x3; layout nhwc; bias; directions grad_weight"}},
          },
      .emitted = "conv_transpose2d 32 -> 32; kernel 2x2; input 2x16x16; dtype f16; layout nhwc; directions grad_weight",
      .compiled =
          {
              {.group = "weights_by_units",
               .compute = Compute::kTf32,
               .layout = Layout::kNhwc,
               .benchmarks = summed_layers(),
               .direction = Direction::kGradWeight},
              {.group = "weights_by_units_f16",
               .compute = Compute::kF16,
               .benchmarks = summed_layers(),
               .direction = Direction::kGradWeight},
              {.group = "weights_of_halves",
               .compute = Compute::kF32x3,
               .benchmarks = summed_layers(),
               .direction = Direction::kGradWeight},
              {.group = "weights_of_tf32_parts",
               .compute = Compute::kF32x3,
               .benchmarks = {"kb75", "kb79", "kb81", "pillars"},
               .direction = Direction::kGradWeight,
               .wanted = splits_in_tf32,
               .kind = "tf32"},
              {.group = "weights_of_halves_channels_last",
               .compute = Compute::kF32x3,
               .layout = Layout::kNhwc,
               .benchmarks = summed_layers(),
               .direction = Direction::kGradWeight},
          },
      .launched_gradients =
          {"conv_transpose2d 16 -> 16; kernel 3; stride 2; bias; directions grad_weight; compute tf32",
           "conv_transpose2d 16 -> 16; kernel 3; stride 2; bias; directions grad_weight; compute "
           "f32x3"},
      .far_gradients =
          {
              {.name = "grad_weight_gemm_images",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; padding 1x1; input ?x5x7; dtype f16",
               .by_copies = false},
              {.name = "grad_weight_gemm_images_channels_last",
               .layer = "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout "
                        "nhwc"},
              {.name = "grad_weight_gemm_copied_images",
               .layer = "conv_transpose2d 16 -> 16; kernel 3x3; padding 1x1; input ?x4x8; dtype f16",
               .by_copies = true},
              {.name = "grad_weight_gemm_copied_rows",
               .layer = "conv_transpose2d 16 -> 16; kernel 3x3; padding 1x1; input ?x16x16; dtype f16",
               .by_copies = true},
              {.name = "grad_weight_gemm_images_of_any_size",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute tf32"},
              {.name = "grad_weight_gemm_rows",
               .layer = "conv_transpose2d 32 -> 16; kernel 3x3; stride 2x2; groups 2; input ?x?x?; compute tf32",
               .by_rows = true},
              {.name = "grad_weight_gemm_rows_channels_last",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; dtype bf16; layout nhwc",
               .by_rows = true},
              {.name = "grad_weight_gemm_f32x3_copied_images",
               .layer = "conv_transpose2d 16 -> 16; kernel 3x3; padding 1x1; input ?x4x8; compute f32x3",
               .by_copies = true},
              {.name = "grad_weight_gemm_f32x3_images_of_any_size",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute f32x3"},
              {.name = "grad_weight_gemm_f32x3_rows",
               .layer = "conv_transpose2d 32 -> 16; kernel 3x3; stride 2x2; groups 2; input ?x?x?; compute f32x3",
               .by_rows = true},
              {.name = "grad_weight_gemm_f32x3_rows_channels_last",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3; layout nhwc",
               .by_rows = true},
              {.name = "grad_weight_gemm_scanned_images",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x5x7; compute f32x3",
               .scans = true},
              {.name = "grad_weight_gemm_scanned_rows",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3",
               .by_rows = true,
               .scans = true},
              {.name = "grad_weight_gemm_scanned_rows_channels_last",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3; layout nhwc",
               .by_rows = true,
               .scans = true},
          },
      .far_weights = "; dtype f16",
      .unseen_of_gradients = {kAddingSlices, kAddingBlocks, kFirstTile,
                              "kernel: * #ll",  // totals take at most 64 MiB too
                                                // A few channels of a known size.
                              "load_input: * #ll", "load_unit: * #ll", "load_unit_2: * #ll", "load_window: * #ll",
                              "source_of: * #ll", "scan_slice: const long long image",
                              "scan_slice_2: const long long image", "scan_slice: static_cast<long long>(thread % 16)",
                              "scan_slice_2: static_cast<long long>(thread % 16)"},
      // Unseen: slices of no positions; a wait for a stage that is empty at first; loads of what nobody stores, and
      // products of rows that nobody stores; of rows that are turned, checks for columns that need no zeros, and that
      // all have read the rows before copies overwrite them; scales that would do.
      .mutants =
          {
              {.name = "grad_weight_gemm_pixels",
               .layer = "conv_transpose2d 24 -> 24; kernel 3x3; stride 2x1; padding 1x1; bias; input 3x5x9; dtype f16; "
                        "layout nhwc; directions grad_weight",
               .least_mutants = 20,
               .unseen = 5,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_rows 4, "
                        "tile_columns 16, stages 2, producers 128, slices 2, bias_slices 2"},
              {.name = "grad_weight_gemm_registers",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x3; stride 2x1; padding 1x1; input 3x5x9; compute tf32; "
                        "directions grad_weight",
               .least_mutants = 20,
               .unseen = 5,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, consumer_groups 2, flat 1, tile_rows 4, stages "
                        "2, producers 128, row_stages 0, slices 1"},
              {.name = "grad_weight_gemm_rows",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x4; stride 1x2; padding 1x1; input 3x5x10; dtype f16; "
                        "directions grad_weight",
               .least_mutants = 20,
               .unseen = 10,
               .block = "taps_h 3, taps_w 4, block_out 16, block_in 8, consumer_groups 2, flat 0, tile_rows 4, "
                        "tile_columns 16, stages 2, producers 128, row_stages 2, slices 1"},
              {.name = "grad_weight_gemm_images",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x4; stride 1x2; padding 1x1; input 5x4x6; compute tf32; "
                        "directions grad_weight",
               .least_mutants = 20,
               .unseen = 8,
               .block = "taps_h 3, taps_w 4, block_out 16, block_in 8, consumer_groups 2, flat 1, tile_rows 6, stages "
                        "2, producers 128, row_stages 2, slices 1"},
              {.name = "grad_weight_gemm_f32x3_registers",
               .layer = "conv_transpose2d 10 -> 12; kernel 3x3; stride 2x1; padding 1x1; input 3x5x9; compute f32x3; "
                        "directions grad_weight",
               .least_mutants = 20,
               .unseen = 5,
               .block =
                   "taps_h 3, taps_w 3, block_out 16, block_in 8, consumer_groups 2, flat 0, tile_rows 4, "
                   "tile_columns 16, stages 2, producers 128, row_stages 0, slices 1, scan_slices 2, type 0, splits 0"},
              {.name = "grad_weight_gemm_f32x3_rows",
               .layer = "conv_transpose2d 12 -> 12; kernel 3x3; padding 1x1; input 2x6x9; compute f32x3; directions "
                        "grad_weight",
               .least_mutants = 20,
               .unseen = 11,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, consumer_groups 2, flat 1, tile_rows 4, stages "
                        "2, producers 128, row_stages 1, slices 1, scan_slices 2, type 0, splits 0"},
              {.name = "grad_weight_gemm_f32x3_channels_last",
               .layer = "conv_transpose2d 16 -> 24; kernel 3x3; padding 1x1; input 2x6x9; compute f32x3; layout nhwc; "
                        "directions grad_weight",
               .least_mutants = 20,
               .unseen = 6,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 1, tile_rows 4, stages "
                        "2, producers 128, slices 1, scan_slices 2, type 0, splits 0"},
              {.name = "grad_weight_gemm_split_units",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x3; stride 2x1; padding 1x1; input 3x5x9; compute f32x3; "
                        "directions grad_weight",
               .least_mutants = 20,
               .unseen = 7,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, consumer_groups 2, flat 1, tile_rows 4, stages "
                        "2, producers 128, row_stages 0, shared_totals 0, slices 1, scan_slices 1, type 2, splits 1"},
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
                       .block =
                           "taps_h 2, taps_w 2, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_rows "
                           "1, tile_columns 16, stages 2, producers 128, slices 1, scan_slices 2, type 0, splits 0"},
                      {.name = "ChannelsLastInTotals",
                       .layer = "conv_transpose2d 16 -> 24; kernel 2x2; stride 2x2; input 2x17x16; compute f32x3; "
                                "layout nhwc; directions grad_weight",
                       .multiprocessors = 4,
                       .block =
                           "taps_h 2, taps_w 2, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_rows 1, "
                           "tile_columns 16, stages 2, producers 128, shared_totals 1, slices 1, scan_slices 2, type "
                           "0, splits 0"},
                  },
              .gradient_rounding =
                  {
                      {.name = "Gemm",
                       .layer =
                           "conv_transpose2d 10 -> 12; kernel 2x2; input 1x4x12; compute tf32; directions grad_weight"},
                      {.name = "GemmChannelsLast",
                       .layer = "conv_transpose2d 12 -> 16; kernel 2x2; input 1x4x12; compute tf32; layout nhwc; "
                                "directions grad_weight"},
                  },
          },
      .nan_gradients =
          {
              {.name = "grad_weight_gemm_registers",
               .rest = "20 -> 16; kernel 4x4; stride 2x2; padding 1x1; input 7x?x?; bias",
               .by_copies = false},
              {.name = "grad_weight_gemm_copies",
               .rest = "20 -> 16; kernel 4x4; stride 2x2; padding 1x1; input 7x6x7",
               .by_copies = true},
              {.name = "grad_weight_gemm_pixels",
               .rest = "20 -> 16; kernel 3x3; padding 1x1; input 7x6x7; layout nhwc"},
          },
  };
}

}  // namespace convtgen::testing
