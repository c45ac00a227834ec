// `f32x3_gemm`: the products of `shift_gemm` in fp32, as three of tf32.
#include "tests/template_facts/facts.h"

#include "tests/template_facts/forward_gemm.h"

namespace convtgen::testing {
namespace f32x3_gemm {

void add_kinds(Kinds& kinds) {
  add_gemm_kinds(kinds, 1, false);
}

}  // namespace f32x3_gemm

TemplateFacts facts_of_f32x3_gemm() {
  using namespace f32x3_gemm;
  return {
      .name = "f32x3_gemm",
      .computes = {Compute::kF32x3},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .packs_weights = true,
      .search = "shifts",
      .drawer = {.place = 2, .no_depthwise = true, .strided_grad_input = true},
      .kinds = add_kinds,
      .refused =
          {
              {.layer = "16 -> 16; kernel 3; compute tf32", .reason = "compute tf32; it takes f32x3"},
              {.layer = "16 -> 64; kernel 3; groups 4; compute f32x3",
               .reason = "groups of 4 input channels; tensor cores need 16"},
              {.layer = "16 -> 16; kernel 9; stride 8; compute f32x3",
               .reason = "stride 8x8: a block accumulates 64 phases at once; at most 16"},
              {.layer = "16 -> 16; kernel 15x23; compute f32x3",
               .reason = "kernel 15x23 takes 1035 products, each written out; at most 1024"},
              {.layer = "16 -> 16; kernel 3; dilation 1x40; compute f32x3",
               .reason = "dilation * (kernel - 1) is 80 in width: a row of taps and its accumulators take 664 "
                         "registers of a thread; at most 168"},
          },
      .changed =
          ChangedProgram{
              .layer = "conv_transpose2d 64 -> 32; kernel 4; stride 2; padding 1; input 8x32x32; compute f32x3",
              .before = "(call floor_mod (- 4 kPlane) 16)",
              .after = "(call floor_mod (- 5 kPlane) 16)"},
      .goldens =
          {
              {.name = "f32x3_gemm",
               .layer = "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; compute f32x3",
               .others = {"kernel 4x4; stride 2x2; input 4x16x16; compute f32x3; fuse relu",
                          "kernel 3x3; stride 2x2; input ?x?x?; compute f32x3; bias",
                          "kernel 5x5; dilation 3x1; input 1x9x8; compute f32x3; layout nhwc; fuse gelu",
                          "kernel 2x2; stride 2x2; compute f32x3; input 1x8x8"}},
              {.name = "f32x3_gemm_pairs",
               .layer = "conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; compute f32x3; "
                        "directions grad_input",
               .others = {"kernel 3x15; stride 2x8; input 4x9x64; compute f32x3; directions grad_input",
                          "kernel 4x4; stride 4x4; input ?x?x?; compute f32x3; layout nhwc; directions grad_input",
                          "kernel 2x9; stride 1x3; input 2x9x20; compute f32x3; directions grad_input"}},
          },
      .emitted = "conv_transpose2d 32 -> 32; kernel 2x2; input 2x16x16; compute f32x3",
      .compiled =
          {
              {.group = "of_halves", .compute = Compute::kF32x3, .benchmarks = outside_layers(), .recorded = false},
              {.group = "of_halves_and_a_part_of_a_k_block",
               .compute = Compute::kF32x3,
               .layers = {"conv_transpose2d 661 -> 2; kernel 4; stride 2; padding 1; input 8x96x112; compute f32x3"}},
              {.group = "of_halves_channels_last",
               .compute = Compute::kF32x3,
               .layout = Layout::kNhwc,
               .benchmarks = outside_layers(),
               .recorded = false},
              {.group = "inputs_of_halves",
               .compute = Compute::kF32x3,
               .benchmarks = strided_layers(),
               .direction = Direction::kGradInput},
              {.group = "inputs_of_halves_channels_last",
               .compute = Compute::kF32x3,
               .layout = Layout::kNhwc,
               .benchmarks = strided_layers(),
               .direction = Direction::kGradInput},
          },
      .far = {.layers =
                  {
                      {.name = "f32x3_gemm_rows",
                       .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3",
                       .by_rows = true},
                      {.name = "f32x3_gemm_rows_channels_last",
                       .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3; layout nhwc",
                       .by_rows = true},
                  },
              .images_share_tiles = true},
      .far_gradients =
          {
              {.name = "f32x3_gemm_images",
               .layer = "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; compute f32x3"},
              {.name = "f32x3_gemm_rows",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute f32x3",
               .by_rows = true},
              {.name = "f32x3_gemm_rows_channels_last",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute f32x3; layout nhwc",
               .by_rows = true},
          },
      .mutants =
          {
              // Of f32x3 the host device can't see what only saves work or keeps accumulators from truncating, which it
              // doesn't
              // do: how many rows are accumulated before a promotion, and whether a scale that fits is kept.
              {.name = "f32x3_gemm",
               .layer =
                   "conv_transpose2d 65 -> 7; kernel 3x3; stride 2x1; padding 0x1; bias; input 3x9x20; compute f32x3",
               .least_mutants = 25,
               .resident = true,
               .unseen = 2,
               .few_blocks = true,
               .bulk = false},
              {.name = "f32x3_gemm_rows",
               .layer = "conv_transpose2d 35 -> 5; kernel 3x3; padding 0x1; bias; input 1x5x136; compute f32x3",
               .least_mutants = 25,
               .resident = true,
               .unseen = 3,
               .few_blocks = true,
               .bulk = true},
              {.name = "f32x3_gemm_staged",
               .layer = "conv_transpose2d 1030 -> 7; kernel 3x3; stride 2x2; input 1x4x6; compute f32x3",
               .least_mutants = 25,
               .unseen = 3,
               .few_blocks = true},
              // Scales are read after stages that were used again: these order the reads too.
              {.name = "f32x3_gemm_pairs",
               .layer = "conv_transpose2d 7 -> 36; kernel 2x15; stride 1x8; padding 1x3; input 3x3x37; compute f32x3; "
                        "directions grad_input",
               .least_mutants = 25,
               .resident = true,
               .unseen = 3,
               .few_blocks = true},
          },
      .wrong_numbers =
          {
              .scales =
                  {
                      {.name = "ProducersWithTotals",
                       .layer = "conv_transpose2d 68 -> 8; kernel 2x2; input 2x7x12; compute f32x3",
                       .has = "float& total_at",
                       .least_stages = 3},
                      {.name = "ConsumersWithoutTotals",
                       .layer = "conv_transpose2d 68 -> 8; kernel 1x2; stride 1x2; bias; input 2x16x15; compute f32x3",
                       .has = "void rescale",
                       .least_stages = 3},
                      {.name = "ConsumersWithTotals",
                       .layer = "conv_transpose2d 260 -> 2; kernel 2x2; stride 2x2; input 2x8x12; compute f32x3",
                       .has = "float& total_at",
                       .least_stages = 3},
                      {.name = "ImagesShareTiles",
                       .layer = "conv_transpose2d 68 -> 8; kernel 2x2; input 9x3x4; compute f32x3",
                       .has = "image of the lane",
                       .least_stages = 3,
                       .multiprocessors = 1},
                      {.name = "ChannelsLast",
                       .layer = "conv_transpose2d 68 -> 8; kernel 2x2; input 2x7x10; compute f32x3; layout nhwc",
                       .has = "float& total_at",
                       .least_stages = 3},
                      {.name = "RowsPromoted",
                       .layer = "conv_transpose2d 60 -> 8; kernel 3x7; padding 1x3; input 2x6x12; compute f32x3",
                       .has = "state.rows == ",
                       .least_stages = 3},
                      {.name = "Groups",
                       .layer = "conv_transpose2d 136 -> 16; kernel 2x2; groups 2; input 2x7x12; compute f32x3",
                       .has = "float& total_at",
                       .least_stages = 3},
                  },
              .activation =
                  {
                      {.name = "f32x3_gemm",
                       .layer = "conv_transpose1d 64 -> 32; kernel 4; stride 2; padding 1; input 2x64; compute f32x3; "
                                "fuse_input elu"},
                      {.name = "f32x3_gemm_rows",
                       .layer = "conv_transpose2d 64 -> 32; kernel 3x3; padding 1; input 1x9x16; compute f32x3; layout "
                                "nhwc; fuse_input elu"},
                  },
          },
  };
}

}  // namespace convtgen::testing
