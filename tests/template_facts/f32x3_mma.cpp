// `f32x3_mma`: products of warps, of a tile's input with its halo in shared memory, in fp32 as three of f16.
#include "tests/template_facts/facts.h"

#include "tests/planner/problems.h"
#include "tests/template_facts/window.h"

namespace convtgen::testing {
namespace f32x3_mma {

void add_kinds(Kinds& kinds) {
  kinds.k_blocks();
  kinds.channel_tiles(kinds.integer("block_n"));
  kinds.is(kinds.integer("phase_rows") < kinds.rows.stride, "phase rows parted");
  kinds.add_value("store", "store");
  kinds.add_value("vector", "vector");
  kinds.add_value("k-blocks of", "block_k");
  kinds.add_value("tiles of a warp", "warp_tiles");
  kinds.add_value("warps along channels", "warps_n");
  kinds.is(kinds.integer("kernel_d") > 1, "depth taps");
  kinds.is(kinds.flag("resident"), "resident weights");
  kinds.is(kinds.layer.groups > 1, "groups");
  kinds.is(kinds.integer("part_w") == 8 && kinds.rows.kernel > kinds.rows.stride, "rows that share loads");
  kinds.is(kinds.integer("part_w") == 64 && kinds.columns.kernel > kinds.columns.stride, "columns that share loads");
}

}  // namespace f32x3_mma

TemplateFacts facts_of_f32x3_mma() {
  using namespace f32x3_mma;
  return {
      .name = "f32x3_mma",
      .computes = {Compute::kF32x3},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .packs_weights = true,
      .search = "shifts",
      .drawer = {.place = 10, .depth = true, .no_depthwise = true, .strided_grad_input = true},
      .kinds = add_kinds,
      .refused =
          {
              {.layer = "16 -> 16; kernel 3; compute f32x3; fuse_input add(1)",
               .reason = "fuse_input add, which makes another number of 0; it takes activations that keep 0, since it "
                         "applies them to the zeros around the image too"},
              {.layer = "16 -> 16; kernel 3; compute tf32", .reason = "compute tf32; it takes f32x3"},
              {.layer = "16 -> 64; kernel 3; groups 4; compute f32x3",
               .reason = "groups of 4 input channels; tensor cores need 16"},
              {.layer = "16 -> 16; kernel 9; stride 4; compute f32x3",
               .reason = "stride 4x4: a thread has accumulators of all phases, 64; at most 40"},
              {.layer = "16 -> 16; kernel 3x300; dilation 1x9; compute f32x3",
               .reason = "kernel 300 with dilation 9 in width reads over 2692 positions; at most 1024"},
          },
      .changed = ChangedProgram{.layer = "conv_transpose2d 64 -> 32; kernel 4; stride 2; padding 1; input 8x32x32; "
                                         "compute f32x3",
                                .before = "kPixelPitch (* 16 (+ (* (/ kPixelVectors 2) 2) 1))",
                                .after = "kPixelPitch (* 16 (+ (* (/ kPixelVectors 2) 2) 3))"},
      .goldens =
          {
              {.name = "f32x3_mma",
               .layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute "
                        "f32x3; layout nhwc; bias; fuse relu",
               .architecture = "sm_80",
               .others = {"kernel 4x4; stride 2x2; input 4x16x16; compute f32x3; fuse relu",
                          "kernel 3x3; stride 2x2; input ?x?x?; compute f32x3; bias",
                          "kernel 5x5; dilation 3x1; input 1x9x8; compute f32x3; layout nhwc; fuse gelu",
                          "kernel 2x2; stride 2x2; compute f32x3; input 1x8x8"}},
          },
      .compiled =
          {
              {.group = "windows_of_halves",
               .compute = Compute::kF32x3,
               .layout = Layout::kNhwc,
               .benchmarks = {"kb65", "unet1", "dcgan4", "hifi4"}},
              {.group = "windows_of_halves_nchw", .compute = Compute::kF32x3, .benchmarks = {"kb57", "kb78", "unet4"}},
          },
      .machine_code = {.warp_products = true},
      .other_chips = {"sm_100", "sm_103", "sm_110", "sm_120", "sm_121"},
      .on_other_chips = {{.layer = "20 -> 16; kernel 3; stride 2; padding 1; input 1x9x24; bias; compute f32x3",
                          .sizes = {1, {9, 24}}},
                         {.layer = "64 -> 24; kernel 4; stride 2; padding 1; input 2x8x32; compute f32x3; layout nhwc",
                          .sizes = {2, {8, 32}}},
                         {.layer = "40 -> 16; kernel 3; stride 2; padding 1; input 1x9x24; compute f32x3",
                          .sizes = {1, {9, 24}},
                          .chips = {"sm_75"}},
                         {.layer = "72 -> 24; kernel 5; padding 2; input 2x8x20; compute f32x3; layout nhwc",
                          .sizes = {2, {8, 20}},
                          .chips = {"sm_75"}}},
      .packed =
          {
              {.name = "MmaF32x3",
               .layer = "conv_transpose2d 24 -> 16; kernel 4; stride 2; padding 1; bias; compute f32x3"},
          },
      .far = {.layers =
                  {
                      {.name = "f32x3_mma_images",
                       .layer = "conv_transpose2d 16 -> 8; kernel 3x3; padding 1x1; input ?x5x7; compute f32x3"},
                      {.name = "f32x3_mma_images_channels_last",
                       .layer = "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; compute "
                                "f32x3; layout nhwc"},
                      {.name = "f32x3_mma_images_of_rows_within_vectors",
                       .layer = "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x8; compute "
                                "f32x3"},
                      {.name = "f32x3_mma_rows",
                       .layer = "conv_transpose2d 16 -> 16; kernel 3x3; input ?x?x?; compute f32x3",
                       .by_rows = true},
                      {.name = "f32x3_mma_planes",
                       .layer = "conv_transpose3d 16 -> 8; kernel 3x3x3; padding 1; input ?x?x?x?; compute f32x3",
                       .by_planes = true},
                      {.name = "f32x3_mma_planes_channels_last",
                       .layer = "conv_transpose3d 16 -> 8; kernel 3x3x3; stride 2x1x1; input ?x?x?x?; compute f32x3; "
                                "layout nhwc",
                       .by_planes = true},
                  },
              // Of packed weights, and of channels of a small image: eight of them lie near one another.
              .unseen = {"kernel: static_cast<long long>(n_tile)", "load_values: * #ll"},
              .tiles = tiles_of_window},
      .mutants =
          {
              {.name = "f32x3_mma",
               .layer = "conv_transpose2d 42 -> 15; kernel 3x3; input 1x19x27; compute f32x3; fuse relu",
               .least_mutants = 4,
               .bound_checks = false,
               .few_blocks = true},
              {.name = "f32x3_mma_resident",
               .layer = "conv_transpose2d 130 -> 20; kernel 3x3; stride 2x2; padding 1x1; input 3x7x9; compute f32x3; "
                        "layout nhwc; bias",
               .least_mutants = 4,
               .resident = true,
               .bound_checks = false,
               .few_blocks = true},
              {.name = "f32x3_mma_planes",
               .layer = "conv_transpose3d 42 -> 15; kernel 2x3x3; stride 3x1x1; padding 1x0x0; input 1x3x9x17; compute "
                        "f32x3; bias",
               .least_mutants = 4,
               .bound_checks = false,
               .few_blocks = true},
              {.name = "f32x3_mma_volumes",
               .layer = "conv_transpose3d 130 -> 20; kernel 2x3x2; stride 3x2x1; padding 1x1x0; input 2x4x7x9; compute "
                        "f32x3; layout nhwc; bias",
               .least_mutants = 4,
               .bound_checks = false,
               .few_blocks = true},
          },
      .wrong_numbers =
          {
              .scales =
                  {
                      {.name = "Mma",
                       .layer = "conv_transpose2d 132 -> 8; kernel 2x2; input 2x7x12; compute f32x3",
                       .least_stages = 3},
                      {.name = "MmaChannelsLast",
                       .layer =
                           "conv_transpose2d 132 -> 8; kernel 2x2; stride 2x2; input 2x7x10; compute f32x3; layout "
                           "nhwc",
                       .least_stages = 3},
                  },
              .activation =
                  {
                      {.name = "f32x3_mma",
                       .layer = "conv_transpose2d 40 -> 24; kernel 4; stride 2; padding 1; input 2x5x12; compute "
                                "f32x3; fuse_input leaky_relu(0.1)"},
                  },
          },
  };
}

}  // namespace convtgen::testing
