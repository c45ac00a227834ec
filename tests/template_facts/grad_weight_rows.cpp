// `grad_weight_rows`: gradients of the weights of NCHW, by rows; in f32x3 with values that are split.
#include "tests/template_facts/facts.h"

#include "generator/planner/search/integers.h"
#include "tests/planner/problems.h"
#include "tests/template_facts/slices.h"

namespace convtgen::testing {
namespace grad_weight_rows {

/// Rows of whole 16 bytes.
void to_whole_rows(Layer& layer, int number) {
  if (number % 2 == 0) {
    layer.layout = Layout::kNchw;
    layer.axes[kWidth] = {.kernel = 3, .padding = 1, .extent = 8 * (1 + number)};
  }
}

bool reads_successive_rows(const Layer& layer) {
  const Axis& rows = layer.axes[kHeight];
  return rows.kernel > 1 && rows.stride == 1 && rows.dilation == 1;
}

bool has_rows_in_columns(const Plan& plan) {
  return flag(plan, "rows_in_columns");
}

}  // namespace grad_weight_rows

TemplateFacts facts_of_grad_weight_rows() {
  using namespace grad_weight_rows;
  return {
      .name = "grad_weight_rows",
      .computes = {Compute::kTf32, Compute::kF16, Compute::kBf16, Compute::kF32x3},
      .layouts = {Layout::kNchw},
      .search = "even_rows",
      .fit = to_whole_rows,
      .changed = ChangedProgram{.layer = "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x64x128; dtype "
                                         "f16; directions grad_weight",
                                .before = "(call ceil_div kWindowColumns kPitchUnit) 2) 2) 1)",
                                .after = "(call ceil_div kWindowColumns kPitchUnit) 2) 2) 3)"},
      .goldens =
          {
              {.name = "grad_weight_rows",
               .layer = "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; compute tf32; "
                        "directions grad_weight",
               .others =
                   {"kernel 3x3; padding 1x1; input 8x512x512; dtype f16; directions grad_weight",
                    "kernel 4x4; stride 2x2; padding 1x1; input ?x?x64; compute tf32; bias; directions grad_weight",
                    "kernel 2x2; stride 2x2; input 100x14x14; compute tf32; bias; directions grad_weight"}},
              {.name = "grad_weight_rows_f32x3",
               .layer = "conv_transpose2d 128 -> 64; kernel 2x2; stride 2x2; bias; input 8x256x256; compute f32x3; "
                        "directions grad_weight",
               .others = {"kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute f32x3; directions grad_weight",
                          "kernel 2x2; stride 2x2; input 100x14x14; compute f32x3; directions grad_weight"}},
          },
      .emitted =
          "conv_transpose2d 32 -> 32; kernel 3x3; padding 1; input 2x16x16; compute tf32; directions grad_weight",
      .compiled =
          {
              {.group = "weights_by_rows",
               .compute = Compute::kTf32,
               .benchmarks = summed_layers(),
               .direction = Direction::kGradWeight},
              {.group = "weights_by_rows_f16",
               .compute = Compute::kF16,
               .benchmarks = summed_layers(),
               .direction = Direction::kGradWeight},
              {.group = "weights_by_kernel_rows",
               .compute = Compute::kTf32,
               .benchmarks = rolling_layers(),
               .direction = Direction::kGradWeight,
               .wanted = has_rows_in_columns,
               .kind = "kernel_rows"},
              {.group = "weights_by_kernel_rows_f16",
               .compute = Compute::kF16,
               .benchmarks = rolling_layers(),
               .direction = Direction::kGradWeight,
               .wanted = has_rows_in_columns,
               .kind = "kernel_rows"},
              {.group = "weights_by_split_rows",
               .compute = Compute::kF32x3,
               .benchmarks = summed_layers(),
               .direction = Direction::kGradWeight},
          },
      .launched_gradients =
          {"conv_transpose2d 16 -> 16; kernel 3; stride 2; bias; directions grad_weight; compute tf32; input ?x5x16",
           "conv_transpose2d 16 -> 16; kernel 3; stride 2; bias; directions grad_weight; compute f32x3; input ?x5x16"},
      .rare_in_gradients = RareParameter{"rows_in_columns", reads_successive_rows},
      .far_gradients =
          {
              {.name = "grad_weight_rows_images",
               .layer = "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x16; compute tf32"},
              {.name = "grad_weight_rows_images_through_registers",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; padding 1x1; input ?x5x6; dtype f16"},
              {.name = "grad_weight_rows_rows",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; padding 0x1; input ?x?x16; compute tf32",
               .by_rows = true},
              {.name = "grad_weight_rows_rows_through_registers",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; padding 0x1; input ?x?x6; dtype f16",
               .by_rows = true},
          },
      .far_weights = "; compute tf32",
      .unseen_of_gradients = {kAddingSlices, kAddingBlocks, kFirstTile, kTilesOfBatch},
      // Unseen: slices of no positions; a wait for a stage that is empty at first; loads of what nobody stores, and
      // products of rows that nobody stores; a fence for copies where nothing is copied; the wait for products whose
      // accumulators are read, but not written.
      .mutants =
          {
              {.name = "grad_weight_rows_copies",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x3; padding 1x1; input 2x9x24; dtype f16; directions "
                        "grad_weight",
               .least_mutants = 20,
               .unseen = 2,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, rows_in_columns 0, consumer_groups 2, tile_rows "
                        "2, tile_columns 32, stages 2, slices 2"},
              {.name = "grad_weight_rows_mixed",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x4; stride 1x2; padding 1x1; input 1x7x18; compute tf32; "
                        "directions grad_weight",
               .least_mutants = 20,
               .bound_checks = false,
               .block = "taps_h 3, taps_w 4, block_out 16, block_in 8, rows_in_columns 0, consumer_groups 2, tile_rows "
                        "2, tile_columns 16, swizzle 64, stages 2, slices 1"},
              {.name = "grad_weight_rows_registers",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x3; padding 1x1; input 1x7x17; compute tf32; directions "
                        "grad_weight",
               .least_mutants = 20,
               .unseen = 8,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, rows_in_columns 0, consumer_groups 2, tile_rows "
                        "2, tile_columns 16, swizzle 64, stages 2, slices 2"},
              {.name = "grad_weight_rows_in_columns",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x3; padding 1x1; input 2x9x24; dtype f16; directions "
                        "grad_weight",
               .least_mutants = 20,
               .unseen = 2,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, rows_in_columns 1, consumer_groups 2, tile_rows "
                        "2, tile_columns 32, stages 2, slices 2"},
              {.name = "grad_weight_rows_in_columns_registers",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x3; padding 1x1; input 1x7x17; compute tf32; directions "
                        "grad_weight",
               .least_mutants = 20,
               .unseen = 8,
               .block = "taps_h 2, taps_w 3, block_out 16, block_in 8, rows_in_columns 1, consumer_groups 2, tile_rows "
                        "2, tile_columns 16, swizzle 64, stages 2, slices 2"},
              {.name = "grad_weight_rows_patches",
               .layer = "conv_transpose2d 12 -> 20; kernel 2x2; stride 2x2; bias; input 2x5x24; dtype f16; directions "
                        "grad_weight",
               .least_mutants = 20,
               .unseen = 2,
               .block = "taps_h 2, taps_w 2, block_out 16, block_in 8, consumer_groups 2, tile_rows 2, tile_columns "
                        "32, stages 2, slices 2, bias_slices 2"},
              {.name = "grad_weight_rows_flat",
               .layer = "conv_transpose2d 12 -> 20; kernel 2x2; stride 2x2; bias; input 4x6x14; compute tf32; "
                        "directions grad_weight",
               .least_mutants = 20,
               .unseen = 2,
               .block = "taps_h 2, taps_w 2, block_out 16, block_in 8, consumer_groups 2, tile_rows 4, tile_columns "
                        "14, swizzle 32, producers 32, input_copies 1, window_copies 1, stages 2, slices 2, "
                        "bias_slices 2"},
              {.name = "grad_weight_rows_split_boxes",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x4; stride 1x2; padding 1x1; input 2x5x20; compute f32x3; "
                        "directions grad_weight",
               .least_mutants = 20,
               .unseen = 4,
               .block = "taps_h 3, taps_w 4, block_out 16, block_in 8, rows_in_columns 0, consumer_groups 2, tile_rows "
                        "2, tile_columns 16, swizzle 64, input_copies 1, window_copies 1, producers 128, stages 2, "
                        "slices 2"},
              {.name = "grad_weight_rows_split_registers",
               .layer = "conv_transpose2d 12 -> 20; kernel 3x3; padding 1x1; input 1x7x17; compute f32x3; directions "
                        "grad_weight",
               .least_mutants = 20,
               .unseen = 10,
               .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, rows_in_columns 0, consumer_groups 2, tile_rows "
                        "2, tile_columns 16, swizzle 64, stages 2, slices 2"},
          },
      .wrong_numbers =
          {
              .gradient_rounding =
                  {
                      {.name = "Rows",
                       .layer = "conv_transpose2d 10 -> 12; kernel 3x3; padding 1x1; input 1x4x13; compute tf32; "
                                "directions grad_weight"},
                      {.name = "Patches",
                       .layer = "conv_transpose2d 10 -> 12; kernel 2x2; stride 2x2; bias; input 1x4x16; compute tf32; "
                                "directions grad_weight"},
                  },
          },
      .nan_gradients =
          {
              {.name = "grad_weight_rows_copies", .rest = "20 -> 16; kernel 3x3; padding 1x1; input 7x6x16"},
              {.name = "grad_weight_rows_registers",
               .rest = "20 -> 16; kernel 4x4; stride 2x2; padding 1x1; input 7x6x7"},
              {.name = "grad_weight_rows_flat", .rest = "20 -> 16; kernel 2x2; stride 2x2; bias; input 7x6x14"},
          },
  };
}

}  // namespace convtgen::testing
