// `mma_gemm`: products of warps, of a tile's input with its halo in shared memory.
#include "tests/template_facts/facts.h"

#include "tests/planner/problems.h"
#include "tests/template_facts/forward_gemm.h"
#include "tests/template_facts/window.h"

namespace convtgen::testing {
namespace mma_gemm {

void add_kinds(Kinds& kinds) {
  kinds.k_blocks();
  add_tile_kinds(kinds);
  const bool has_groups = kinds.layer.groups > 1;
  kinds.is(has_groups, "groups");
  kinds.is(has_groups && kinds.group_out > kinds.integer("block_n"), "groups of several channel tiles");
  kinds.is(kinds.flag("flat") && kinds.rows.kernel > kinds.rows.stride, "flat with rows of taps");
  kinds.is(kinds.integer("part_w") == 8 && kinds.rows.kernel > kinds.rows.stride, "rows that share loads");
  kinds.is(kinds.integer("part_w") == 64 && kinds.columns.kernel > kinds.columns.stride, "columns that share loads");
  kinds.is(kinds.integer("kernel_d") > 1, "depth taps");
  kinds.add_value("vector", "vector");
  kinds.add_value("tiles of a warp", "warp_tiles");
  kinds.add_value("warps along channels", "warps_n");
}

}  // namespace mma_gemm

TemplateFacts facts_of_mma_gemm() {
  using namespace mma_gemm;
  return {
      .name = "mma_gemm",
      .computes = {Compute::kTf32, Compute::kF16, Compute::kBf16},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .packs_weights = true,
      .search = "shifts",
      .drawer = {.place = 10, .depth = true, .no_depthwise = true, .strided_grad_input = true},
      .kinds = add_kinds,
      .refused =
          {
              {.layer = "16 -> 16; kernel 3; compute tf32; fuse_input leaky_relu(0.1), sigmoid",
               .reason = "fuse_input sigmoid, which makes another number of 0; it takes activations that keep 0, since "
                         "it applies them to the zeros around the image too"},
              {.layer = "16 -> 16; kernel 3; compute tf32",
               .reason =
                   "architecture sm_75 has no mma.sync of tf32; it takes sm_80, sm_86, sm_87, sm_88, sm_89, sm_90a, "
                   "sm_100, sm_103, sm_110, sm_120, sm_121",
               .architecture = "sm_75"},
              {.layer = "16 -> 64; kernel 3; groups 4; compute tf32",
               .reason = "groups of 4 input channels; tensor cores need 16"},
              {.layer = "conv_transpose1d 80 -> 80; kernel 128; stride 64; padding 32; input 8x200; dtype f16; layout "
                        "nhwc; directions grad_input",
               .reason = "kernel 128: a thread loads a stage's input with its halo from 17 places; at most 8"},
              {.layer = "16 -> 16; kernel 17; stride 16; compute tf32",
               .reason = "stride 16x16: a thread has accumulators of all phases, 1024; at most 128"},
              {.layer = "16 -> 16; kernel 3x300; dilation 1x9; compute tf32",
               .reason = "kernel 300 with dilation 9 in width reads over 2692 positions; at most 1024"},
          },
      .changed = ChangedProgram{.layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input "
                                         "128x16x16; dtype f16; layout nhwc",
                                .before = "kPixelPitch (* 16 (+ (* (/ kPixelVectors 2) 2) 1))",
                                .after = "kPixelPitch (* 16 (+ (* (/ kPixelVectors 2) 2) 3))"},
      .goldens =
          {
              {.name = "mma_gemm",
               .layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; "
                        "layout nhwc; bias; fuse relu",
               .architecture = "sm_80",
               .others = other_layers()},
              {.name = "mma_gemm_planes",
               .layer = "conv_transpose3d 32 -> 16; kernel 3x3x3; stride 2x2x2; padding 1x1x1; output_padding 1x1x1; "
                        "input ?x8x16x16; compute tf32; bias",
               .architecture = "sm_80"},
              {.name = "mma_gemm_turing",
               .layer = "conv_transpose2d 64 -> 32; kernel 2x2; stride 2x2; input 16x32x32; dtype f16; layout nhwc",
               .architecture = "sm_75"},
          },
      .compiled =
          {
              {.group = "windows_of_warps",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"kb65", "unet1", "dcgan4", "hifi4"}},
              {.group = "windows_of_warps_tf32", .compute = Compute::kTf32, .benchmarks = {"kb65", "dcgan4", "kb74"}},
              {.group = "windows_of_warps_bf16", .compute = Compute::kBf16, .benchmarks = {"kb57", "unet4"}},
          },
      // Of three output channels a gradient of the input has few products besides its epilogue, which loads 16 bytes by
      // lanes whose banks meet in pairs (dcgan5, f16 NCHW).
      .machine_code = {.warp_products = true},
      .other_chips = {"sm_100", "sm_103", "sm_110", "sm_120", "sm_121"},
      .on_other_chips = {{.layer = "20 -> 16; kernel 3; stride 2; padding 1; input 1x9x24; bias; compute tf32",
                          .sizes = {1, {9, 24}}},
                         {.layer = "64 -> 24; kernel 4; stride 2; padding 1; input 2x8x32; dtype bf16; layout nhwc",
                          .sizes = {2, {8, 32}}},
                         {.layer = "20 -> 16; kernel 3; stride 2; padding 1; input 1x9x24; bias; dtype f16",
                          .sizes = {1, {9, 24}},
                          .chips = {"sm_75"}},
                         {.layer = "72 -> 24; kernel 4; stride 2; padding 1; input 2x8x32; dtype f16; layout nhwc",
                          .sizes = {2, {8, 32}},
                          .chips = {"sm_75"}}},
      .packed =
          {
              {.name = "MmaF16",
               .layer = "conv_transpose2d 24 -> 16; kernel 4; stride 2; padding 1; bias; dtype f16; layout nhwc"},
          },
      .far = {.layers =
                  {
                      {.name = "mma_gemm_images",
                       .layer = "conv_transpose2d 16 -> 8; kernel 3x3; padding 1x1; input ?x5x7; compute tf32"},
                      {.name = "mma_gemm_images_channels_last",
                       .layer = "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype "
                                "f16; layout nhwc"},
                      {.name = "mma_gemm_images_of_rows_within_vectors",
                       .layer = "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x8; compute "
                                "tf32"},
                      {.name = "mma_gemm_sequence",
                       .layer = "conv_transpose2d 16 -> 8; kernel 2x2; input ?x3x4; dtype f16; layout nhwc",
                       .flat = true},
                      {.name = "mma_gemm_rows",
                       .layer = "conv_transpose2d 16 -> 16; kernel 3x3; input ?x?x?; compute tf32",
                       .by_rows = true},
                      {.name = "mma_gemm_volumes",
                       .layer = "conv_transpose3d 16 -> 17; kernel 3x3x3; stride 2x2x1; padding 1; bias; input "
                                "?x3x4x9; compute tf32"},
                      {.name = "mma_gemm_planes",
                       .layer = "conv_transpose3d 16 -> 8; kernel 3x3x3; padding 1; input ?x?x?x?; compute tf32",
                       .by_planes = true},
                      {.name = "mma_gemm_planes_channels_last",
                       .layer = "conv_transpose3d 16 -> 8; kernel 3x3x3; stride 2x1x1; input ?x?x?x?; layout nhwc; "
                                "dtype f16",
                       .by_planes = true},
                  },
              // Numbers of images, packed weights, and channels of a small image.
              .unseen = {"flat_tile: const long long image", "kernel: static_cast<long long>(n_tile)",
                         "load_batch: * #ll"},
              .tiles = tiles_of_window,
              .tiles_of_sequence = tiles_of_window_sequence},
      .mutants =
          {
              {.name = "mma_gemm_copies",
               .layer = "conv_transpose2d 130 -> 20; kernel 3x3; stride 2x2; padding 1x1; input 3x7x9; dtype f16; "
                        "layout nhwc; bias",
               .least_mutants = 4,
               .bound_checks = false,
               .few_blocks = true},
              {.name = "mma_gemm_registers",
               .layer = "conv_transpose2d 42 -> 15; kernel 3x3; input 1x19x27; compute tf32; fuse relu",
               .least_mutants = 4,
               .bound_checks = false,
               .few_blocks = true},
              {.name = "mma_gemm_planes",
               .layer = "conv_transpose3d 42 -> 15; kernel 2x3x3; stride 3x1x1; padding 1x0x0; input 1x3x9x17; compute "
                        "tf32; bias",
               .least_mutants = 4,
               .bound_checks = false,
               .few_blocks = true},
              {.name = "mma_gemm_volumes",
               .layer = "conv_transpose3d 130 -> 20; kernel 2x3x2; stride 3x2x1; padding 1x1x0; input 2x4x7x9; dtype "
                        "f16; layout nhwc; bias",
               .least_mutants = 4,
               .bound_checks = false,
               .few_blocks = true},
          },
      .wrong_numbers =
          {
              .rounding =
                  {
                      {.name = "Mma", .layer = "conv_transpose2d 20 -> 8; kernel 2x2; input 1x7x12; compute tf32"},
                      {.name = "MmaChannelsLast",
                       .layer = "conv_transpose2d 20 -> 8; kernel 2x2; input 1x7x12; compute tf32; layout nhwc"},
                  },
              .activation =
                  {
                      {.name = "mma_gemm_copies",
                       .layer = "conv_transpose2d 40 -> 24; kernel 4; stride 2; padding 1; input 2x5x12; dtype f16; "
                                "layout nhwc; fuse_input gelu"},
                      {.name = "mma_gemm_registers",
                       .layer = "conv_transpose2d 40 -> 24; kernel 4; stride 2; padding 1; input 2x5x12; compute tf32; "
                                "fuse_input elu"},
                  },
          },
      .nans =
          {
              {.name = "mma_gemm_registers", .rest = "20 -> 8; kernel 3x3; padding 1x1; input 5x6x7", .copy_bytes = 0},
              {.name = "mma_gemm_pixels",
               .rest = "20 -> 8; kernel 4x4; stride 2x2; padding 1x1; input 5x6x7; layout nhwc",
               .copy_bytes = 16},
              {.name = "mma_gemm_odd_pixels",
               .rest = "17 -> 8; kernel 3x3; padding 1x1; input 5x6x7; layout nhwc",
               .copy_bytes = 4},
          },
  };
}

}  // namespace convtgen::testing
