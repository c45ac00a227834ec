// `shift_gemm`: products of shifted positions on the tensor cores of warpgroups.
#include "tests/template_facts/facts.h"

#include "tests/planner/problems.h"
#include "tests/template_facts/forward_gemm.h"

namespace convtgen::testing {
namespace shift_gemm {

bool copies_pixels(const Plan& plan) {
  return flag(plan, "bulk") && flag(plan, "channels_last");
}

bool is_of_clusters(const Plan& plan) {
  return integer(plan, "cluster") > 1;
}

void add_kinds(Kinds& kinds) {
  add_gemm_kinds(kinds, kinds.integer("cluster"), kinds.flag("ping_pong"));
}

}  // namespace shift_gemm

TemplateFacts facts_of_shift_gemm() {
  using namespace shift_gemm;
  return {
      .name = "shift_gemm",
      .computes = {Compute::kTf32, Compute::kF16, Compute::kBf16},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .packs_weights = true,
      .search = "shifts",
      .drawer = {.place = 2, .no_depthwise = true, .strided_grad_input = true},
      .kinds = add_kinds,
      .refused =
          {
              {.layer = "16 -> 16; kernel 3; compute tf32",
               .reason = "architecture sm_80 has no wgmma; it takes sm_90a",
               .architecture = "sm_80"},
              {.layer = "16 -> 16; kernel 3; compute tf32",
               .reason = "architecture sm_100 has no wgmma; it takes sm_90a",
               .architecture = "sm_100"},
              {.layer = "16 -> 16; kernel 3", .reason = "compute f32; it takes tf32, f16, bf16"},
              {.layer = "16 -> 64; kernel 3; groups 4; compute tf32",
               .reason = "groups of 4 input channels; tensor cores need 16"},
              {.layer = "64 -> 16; kernel 3; groups 4; compute tf32",
               .reason = "groups of 4 output channels; tensor cores need 8"},
              {.layer = "16 -> 16; kernel 3; dtype f16; input 1x8x9",
               .reason = "a width of 9; copies of 4 bytes take multiples of 2"},
              {.layer = "16 -> 16; kernel 3; dtype f16",
               .reason = "an open width; copies of 4 bytes take multiples of 2"},
              {.layer = "17 -> 16; kernel 3; dtype f16; layout nhwc",
               .reason = "17 input channels; copies of 4 bytes take multiples of 2"},
              {.layer = "16 -> 16; kernel 9; stride 8; compute tf32",
               .reason = "stride 8x8: a block accumulates 64 phases at once; at most 32"},
              {.layer = "16 -> 16; kernel 23x23; compute tf32",
               .reason = "kernel 23x23 takes 1058 products, each written out; at most 1024"},
              {.layer = "16 -> 16; kernel 3; compute f32x3", .reason = "compute f32x3; it takes tf32, f16, bf16"},
          },
      .changed =
          ChangedProgram{
              .layer = "conv_transpose2d 64 -> 32; kernel 4; stride 2; padding 1; input 8x32x32; compute tf32",
              .before = "(== (% kThreadColumns 16) 0) 4 8) kPlane)",
              .after = "(== (% kThreadColumns 16) 0) 4 9) kPlane)"},
      .goldens =
          {
              {.name = "shift_gemm",
               .layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute "
                        "tf32; bias; fuse relu",
               .others = other_layers()},
              {.name = "shift_gemm_grad_input",
               .layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute "
                        "tf32; directions grad_input",
               .others = {"kernel 2x2; stride 2x2; input 8x512x512; dtype f16; directions grad_input",
                          "kernel 3x3; stride 5x2; dilation 2x1; input ?x?x?; compute tf32; directions grad_input",
                          "kernel 5x9; stride 1x4; input 1x9x8; compute tf32; layout nhwc; directions grad_input",
                          "kernel 4x4; stride 4x4; dtype bf16; layout nhwc; input 1x8x8; directions grad_input"}},
          },
      .emitted = "conv_transpose2d 32 -> 32; kernel 2x2; input 2x16x16; dtype bf16",
      .compiled =
          {
              {.group = "from_registers",
               .compute = Compute::kTf32,
               .benchmarks = {"kb57", "kb65", "kb78", "unet4", "dcgan4", "hifi1", "pose1"}},
              // Of many k-blocks, whose loops go back with products in flight.
              {.group = "several_k_blocks", .compute = Compute::kF16, .benchmarks = {"kb64", "unet1"}},
              {.group = "odd_widths", .compute = Compute::kTf32, .benchmarks = outside_layers(), .recorded = false},
              {.group = "pieces",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"kb64", "kb57", "kb69", "unet4", "dcgan2", "pose3"},
               .wanted = copies_pixels,
               .kind = "pieces"},
              {.group = "clusters",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"pose1", "dcgan2"},
               .wanted = is_of_clusters,
               .kind = "clusters"},
              {.group = "clusters_of_tf32",
               .compute = Compute::kTf32,
               .benchmarks = {"pose1", "dcgan2"},
               .wanted = is_of_clusters,
               .kind = "clusters"},
              {.group = "inputs_with_strides",
               .compute = Compute::kF16,
               .benchmarks = strided_layers(),
               .direction = Direction::kGradInput},
              {.group = "inputs_with_strides_tf32",
               .compute = Compute::kTf32,
               .layout = Layout::kNhwc,
               .benchmarks = strided_layers(),
               .direction = Direction::kGradInput},
          },
      .launched_gradients = {"conv_transpose2d 16 -> 16; kernel 3; stride 2; compute tf32; directions grad_input"},
      .packed =
          {
              {.name = "ShiftF16",
               .layer = "conv_transpose2d 24 -> 16; kernel 4; stride 2; padding 1; bias; dtype f16; layout nhwc"},
              {.name = "ShiftTf32", .layer = "conv_transpose2d 8 -> 24; kernel 3; compute tf32"},
              {.name = "ShiftCluster",
               .layer = "conv_transpose2d 256 -> 16; kernel 3; bias; input 2x5x7; compute tf32",
               .cluster = 2},
              {.name = "ShiftOddTf32", .layer = "conv_transpose2d 8 -> 24; kernel 3; input ?x5x7; compute tf32"},
          },
      .far =
          {.layers =
               {
                   {.name = "shift_gemm_images",
                    .layer = "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; compute tf32",
                    .bulk = false},
                   {.name = "shift_gemm_images_by_rows",
                    .layer = "conv_transpose2d 32 -> 32; kernel 3x3; padding 1x1; input ?x5x16; compute tf32",
                    .bulk = true},
                   {.name = "shift_gemm_images_anywhere",
                    .layer = "conv_transpose2d 32 -> 32; kernel 3x3; padding 1x1; input ?x5x7; compute tf32",
                    .bulk = true},
                   {.name = "shift_gemm_images_of_any_size",
                    .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute tf32",
                    .bulk = true},
                   {.name = "shift_gemm_images_channels_last",
                    .layer = "conv_transpose2d 16 -> 8; kernel 3x3; padding 1x1; input ?x5x7; dtype f16; layout nhwc"},
                   {.name = "shift_gemm_rows",
                    .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x16; compute tf32",
                    .by_rows = true,
                    .bulk = true},
                   {.name = "shift_gemm_rows_by_copies",
                    .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute tf32",
                    .by_rows = true,
                    .bulk = false},
                   {.name = "shift_gemm_rows_anywhere",
                    .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute tf32",
                    .by_rows = true,
                    .bulk = true},
                   {.name = "shift_gemm_rows_from_registers",
                    .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute tf32",
                    .by_rows = true,
                    .staged_epilogue = false},
                   {.name = "shift_gemm_rows_channels_last",
                    .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; dtype bf16; layout nhwc",
                    .by_rows = true},
               },
           .unseen = {"kernel: static_cast<long long>(n_tile)",                 // of packed weights
                      "copy_row: * #ll",                                        // a few known rows
                      "copy_end_rows: * #ll",                                   // a few channels of a known size
                      "find_copy: * #ll",                                       // a few channels of a known size
                      "find_copy: static_cast<long long>(batch)",               // more rows count as x's last: slower
                      "place_of: const long long plane",                        // the lowest bits count
                      "place_of: static_cast<long long>(tile.image + image)"},  // likewise
           .images_share_tiles = true},
      .far_gradients =
          {
              {.name = "shift_gemm_images",
               .layer = "conv_transpose2d 16 -> 16; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; compute tf32"},
              {.name = "shift_gemm_images_channels_last",
               .layer = "conv_transpose2d 16 -> 16; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; "
                        "layout nhwc"},
              {.name = "shift_gemm_rows",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute tf32",
               .by_rows = true},
              {.name = "shift_gemm_rows_channels_last",
               .layer = "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; dtype f16; layout nhwc",
               .by_rows = true},
          },
      .far_weights = "; compute tf32",
      .unseen_of_gradients = {"stage_bulk_pixels: static_cast<long long>(image)",  // of a tile
                              "store_tile: static_cast<long long>(co)",            // a few channels of a known size
                              "store_tile: static_cast<long long>(i / 2 * 8 + i % 2)",  // likewise
                              "weight_at: static_cast<long long>(ci)"},                 // it becomes an int
      // Unseen: bulk copies and their zeros that only do what needn't be done, or do it sooner.
      .mutants =
          {
              {.name = "shift_gemm_resident",
               .layer =
                   "conv_transpose2d 162 -> 19; kernel 3x3; stride 2x1; padding 0x1; bias; input 3x9x20; dtype f16",
               .least_mutants = 25,
               .resident = true,
               .few_blocks = true},
              {.name = "shift_gemm_staged",
               .layer = "conv_transpose2d 1030 -> 7; kernel 3x3; stride 2x2; input 1x4x6; compute tf32",
               .least_mutants = 25},
              {.name = "shift_gemm_ping_pong",
               .layer = "conv_transpose2d 100 -> 11; kernel 3x3; stride 2x2; bias; input 2x4x35; compute tf32",
               .least_mutants = 25,
               .resident = true,
               .ping_pong = true,
               .unseen = 4,
               .few_blocks = true,
               .staged_epilogue = true,
               .bulk = true},
              {.name = "shift_gemm_pixels",
               .layer = "conv_transpose2d 72 -> 19; kernel 3x3; stride 2x1; padding 0x1; bias; input 3x9x20; dtype "
                        "f16; layout nhwc",
               .least_mutants = 25,
               .resident = true,
               .few_blocks = true,
               .bulk = true},
              {.name = "shift_gemm_cluster",
               .layer = "conv_transpose2d 220 -> 13; kernel 3x3; stride 2x2; bias; input 1x4x6; compute tf32",
               .least_mutants = 25,
               .unseen = 1,
               .cluster = 2},
          },
      .wrong_numbers =
          {
              .rounding =
                  {
                      {.name = "Shifted", .layer = "conv_transpose2d 20 -> 8; kernel 2x2; input 1x7x12; compute tf32"},
                      {.name = "ShiftedChannelsLast",
                       .layer =
                           "conv_transpose2d 20 -> 8; kernel 2x2; groups 1; input 1x7x12; compute tf32; layout nhwc"},
                  },
              .activation =
                  {
                      {.name = "shift_gemm_tf32",
                       .layer = "conv_transpose1d 64 -> 32; kernel 4; stride 2; padding 1; input 2x64; compute tf32; "
                                "fuse_input elu"},
                      {.name = "shift_gemm_pairs",
                       .layer = "conv_transpose1d 64 -> 32; kernel 4; stride 2; padding 1; input 2x64; dtype f16; "
                                "fuse_input gelu"},
                      {.name = "shift_gemm_pixels",
                       .layer = "conv_transpose1d 64 -> 32; kernel 4; stride 2; padding 1; input 2x64; dtype bf16; "
                                "layout nhwc; fuse_input leaky_relu(0.1)"},
                  },
          },
      .nans =
          {
              {.name = "shift_gemm_rows", .rest = "20 -> 8; kernel 3x3; padding 1x1; input 5x6x16", .bulk = true},
              {.name = "shift_gemm_copies",
               .rest = "20 -> 8; kernel 4x4; stride 2x2; padding 1x1; input 5x6x7",
               .bulk = false},
              {.name = "shift_gemm_pixels", .rest = "20 -> 8; kernel 3x3; padding 1x1; input 5x6x7; layout nhwc"},
          },
      .nan_gradients =
          {
              {.name = "shift_gemm_rows", .rest = "8 -> 20; kernel 3x3; padding 1x1; input 7x6x16", .bulk = true},
              {.name = "shift_gemm_strides",
               .rest = "8 -> 20; kernel 4x4; stride 2x2; padding 1x1; input 7x6x7",
               .bulk = false},
              {.name = "shift_gemm_pixels", .rest = "8 -> 20; kernel 3x3; padding 1x1; input 7x6x7; layout nhwc"},
              {.name = "shift_gemm_pixels_with_strides",
               .rest = "8 -> 20; kernel 4x4; stride 2x2; padding 1x1; input 7x6x7; layout nhwc"},
          },
  };
}

}  // namespace convtgen::testing
