// `halo_gemm`: products of a tile's input with its halo, in shared memory.
#include "tests/template_facts/facts.h"

#include "tests/planner/problems.h"
#include "tests/template_facts/forward_gemm.h"
#include "tests/template_facts/window.h"

namespace convtgen::testing {
namespace halo_gemm {

void strides_or_dilations(DrawnAxis& drawn, RandomNumbers& random) {
  Axis& axis = drawn.axis;
  if (axis.stride > 1 && axis.kernel > 1) {
    (random() % 2 == 0 ? axis.stride : axis.dilation) = 1;
  }
}

bool has_one_phase(const Layer& layer) {
  return layer.dimensions == 3 && layer.axes[kWidth].stride > 1 &&
         layer.axes[kWidth].stride == layer.axes[kWidth].dilation;
}

/// Volumes whose dilations are their strides.
void finish(Layer& layer) {
  if (layer.dimensions == 3 && layer.out_channels % 4 == 1 && layer.axes[kWidth].stride > 1) {
    for (const std::size_t number : axes_of(layer)) {
      layer.axes[number].dilation = layer.axes[number].stride;
    }
  }
}

bool parts_phases(const Layer& layer) {
  return layer.axes[kWidth].stride > 32;
}

void add_kinds(Kinds& kinds) {
  const bool is_fused = kinds.flag("fused_phases");
  kinds.k_blocks();
  add_tile_kinds(kinds);
  kinds.is(is_fused && kinds.has_uneven_phases(), "joined by weights of zero");
  kinds.is(is_fused && kinds.rows.stride * kinds.columns.stride > 1, "phases joined");
  kinds.is(kinds.flag("flat") && kinds.rows.kernel > kinds.rows.stride, "flat with rows of taps");
  kinds.is(kinds.integer("kernel_d") > 1, "depth taps");
  kinds.is(kinds.integer("stride_d") > 1, "planes that are stored together");
  kinds.is(kinds.flag("flat") && kinds.layer.dimensions == 3, "flat planes");
  kinds.is(has_one_phase(kinds.layer), "one phase with taps");
  kinds.add_value("vector", "vector");
  kinds.add_value("parts of", "part_w");
  kinds.add_value("producers", "producers");
}

}  // namespace halo_gemm

TemplateFacts facts_of_halo_gemm() {
  using namespace halo_gemm;
  return {
      .name = "halo_gemm",
      .computes = {Compute::kTf32, Compute::kF16, Compute::kBf16},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .packs_weights = true,
      .search = "halos",
      .drawer = {.place = 3, .shape = strides_or_dilations, .depth = true, .one_group = true, .finish = finish},
      .kinds = add_kinds,
      .refused =
          {
              {.layer = "16 -> 16; kernel 3; dtype f16; fuse_input clamp(1, 2)",
               .reason = "fuse_input clamp, which makes another number of 0; it takes activations that keep 0, since "
                         "it applies them to the zeros around the image too"},
              {.layer = "16 -> 16; kernel 3; groups 2; compute tf32", .reason = "2 groups; it takes 1"},
              {.layer = "16 -> 16; kernel 3; stride 1x2; dilation 1x3; compute tf32",
               .reason = "stride 2 and dilation 3 in width; one of them must be 1"},
              {.layer = "16 -> 16; kernel 2x66; stride 1x66; compute tf32; layout nhwc",
               .reason =
                   "stride 66 in width and 16 output channels in nhwc: a product makes that many phases; at most 32"},
              {.layer = "16 -> 16777216; kernel 1x256; stride 1x256; compute tf32",
               .reason = "16777216 output channels of 256 phases in width are too many for 32 bits"},
              {.layer = "16 -> 16; kernel 17; compute tf32",
               .reason = "kernel 17x17 takes 289 products, each written out; at most 256"},
              {.layer = "16 -> 16; kernel 3; dilation 40; compute tf32",
               .reason = "kernel 3x3, dilation 40x40: a tile's input with its halo has 7744 pixels; at most 1024"},
              {.layer = "4096 -> 4194304; kernel 1x2; input 1x1x8; dtype f16; layout nhwc",
               .reason = "packed weights of more than 16384 MiB, or 1024 MiB of a block"},
          },
      .changed = ChangedProgram{.layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input "
                                         "128x16x16; dtype f16; layout nhwc",
                                .before = "kUnitPitch (* 16 (+ kPixels",
                                .after = "kUnitPitch (* 16 (+ (+ kPixels 8)"},
      .goldens =
          {
              {.name = "halo_gemm",
               .layer = "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; "
                        "layout nhwc; bias; fuse relu",
               .others = other_layers()},
              {.name = "halo_gemm_planes",
               .layer = "conv_transpose3d 32 -> 16; kernel 3x3x3; stride 2x2x2; padding 1x1x1; output_padding 1x1x1; "
                        "input ?x8x16x16; compute tf32; bias"},
              {.name = "halo_gemm_flat_planes",
               .layer = "conv_transpose3d 64 -> 16; kernel 3x3x3; input 8x32x30x30; dtype f16; layout nhwc"},
          },
      .emitted = "conv_transpose2d 32 -> 32; kernel 2x2; stride 2; input 2x16x16; dtype f16",
      .is_of_many_taps = parts_phases,
      .compiled =
          {
              // Without biases: it reads them from shared memory that is never released, which early_arrivals() can't
              // know.
              {.group = "channels_last",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"kb57", "kb78", "dcgan4"}},
              {.group = "through_registers", .compute = Compute::kTf32, .benchmarks = {"kb65", "kb78", "dcgan4"}},
              {.group = "volumes",
               .compute = Compute::kTf32,
               .layers = {"conv_transpose3d 32 -> 16; kernel 3x5x7; input 16x16x32x64; compute tf32",
                          "conv_transpose3d 32 -> 16; kernel 3x5x7; input 16x16x32x64; dtype f16",
                          "conv_transpose3d 48 -> 48; kernel 3x3x3; input 8x64x64x64; compute tf32",
                          "conv_transpose3d 48 -> 24; kernel 3x3x3; input 8x96x96x96; dtype f16; layout nhwc",
                          "conv_transpose3d 32 -> 64; kernel 3x3x3; stride 2x2x2; dilation 2x2x2; padding 1x1x1; input "
                          "16x16x32x32; compute tf32",
                          "conv_transpose3d 32 -> 64; kernel 3x3x3; stride 2x2x2; padding 1x1x1; output_padding 1x1x1; "
                          "input 32x16x32x32; compute tf32"}},
              {.group = "parted_phases",
               .compute = Compute::kTf32,
               .layers = {"conv_transpose1d 2049 -> 1; kernel 4096; stride 1024; input 12x340; compute tf32",
                          "conv_transpose1d 2049 -> 1; kernel 4096; stride 1024; input 12x340; dtype f16",
                          "conv_transpose1d 2049 -> 1; kernel 4096; stride 1024; input 12x?; dtype bf16; layout nhwc",
                          "conv_transpose2d 64 -> 3; kernel 3x90; stride 1x37; input 4x16x40; dtype f16"}},
          },
      .packed =
          {
              {.name = "HaloF16",
               .layer = "conv_transpose2d 24 -> 16; kernel 4; stride 2; padding 1; bias; dtype f16; layout nhwc"},
          },
      .far = {.layers =
                  {
                      {.name = "halo_gemm_images",
                       .layer = "conv_transpose2d 16 -> 8; kernel 3x3; padding 1x1; input ?x5x7; compute tf32"},
                      {.name = "halo_gemm_images_channels_last",
                       .layer = "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype "
                                "f16; layout nhwc"},
                      {.name = "halo_gemm_sequence",
                       .layer = "conv_transpose2d 16 -> 8; kernel 2x2; input ?x3x4; dtype f16; layout nhwc",
                       .flat = true},
                      {.name = "halo_gemm_rows",
                       .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute tf32",
                       .by_rows = true},
                      {.name = "halo_gemm_rows_channels_last",
                       .layer = "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute tf32; layout nhwc",
                       .by_rows = true},
                      {.name = "halo_gemm_volumes",
                       .layer = "conv_transpose3d 48 -> 49; kernel 3x3x3; stride 2x2x1; padding 1; bias; input "
                                "?x3x4x128; compute tf32"},
                      {.name = "halo_gemm_planes",
                       .layer = "conv_transpose3d 16 -> 136; kernel 3x3x3; padding 1; input ?x?x?x?; compute tf32",
                       .by_planes = true},
                      {.name = "halo_gemm_planes_channels_last",
                       .layer = "conv_transpose3d 16 -> 8; kernel 3x3x3; stride 2x1x1; input ?x?x?x?; layout nhwc; "
                                "dtype f16",
                       .by_planes = true},
                  },
              .unseen = {"kernel: static_cast<long long>(n_tile)",  // of packed weights
                         "flat_tile: const long long image",        // the low 32 bits of its multiple count
                         "load_batch: * #ll"},                      // a few channels of a known size
              .parameters = {{"tile_d", 1}},
              .tiles = tiles_of_window,
              .tiles_of_sequence = tiles_of_window_sequence},
      // Unseen: rows of images that have one, loads and stores of a batch's items that do not exist, and loads of a
      // block
      // without tiles, which no grid has here.
      .mutants =
          {
              {.name = "halo_gemm_copies",
               .layer = "conv_transpose2d 630 -> 20; kernel 3x3; stride 2x2; padding 1x1; input 3x7x9; dtype f16; "
                        "layout nhwc; bias",
               .least_mutants = 15,
               .bound_checks = false,
               .few_blocks = true},
              {.name = "halo_gemm_parted_phases",
               .layer = "conv_transpose1d 300 -> 3; kernel 90; stride 40; padding 7; input 3x70; compute tf32; bias",
               .least_mutants = 25,
               .unseen = 5,
               .few_blocks = true},
              {.name = "halo_gemm_registers_ping_pong",
               .layer = "conv_transpose2d 22 -> 15; kernel 3x3; input 1x19x27; compute tf32; fuse relu",
               .least_mutants = 15,
               .resident = true,
               .ping_pong = true,
               .bound_checks = false,
               .few_blocks = true},
              {.name = "halo_gemm_planes",
               .layer = "conv_transpose3d 42 -> 15; kernel 3x3x3; stride 2x1x1; padding 1x0x0; input 1x5x9x17; compute "
                        "tf32; bias",
               .least_mutants = 10,
               .bound_checks = false,
               .few_blocks = true},
              {.name = "halo_gemm_one_phase",
               .layer = "conv_transpose3d 40 -> 15; kernel 2x3x3; stride 2x2x2; dilation 2x2x2; padding 1x0x0; input "
                        "1x5x9x17; dtype f16; layout nhwc; bias",
               .least_mutants = 10,
               .bound_checks = false,
               .few_blocks = true},
          },
      .wrong_numbers =
          {
              .rounding =
                  {
                      {.name = "Halo", .layer = "conv_transpose2d 20 -> 8; kernel 2x2; input 1x7x12; compute tf32"},
                      {.name = "HaloChannelsLast",
                       .layer = "conv_transpose2d 20 -> 8; kernel 2x2; input 1x7x12; compute tf32; layout nhwc"},
                  },
              .activation =
                  {
                      {.name = "halo_gemm_copies",
                       .layer = "conv_transpose2d 40 -> 24; kernel 4; stride 2; padding 1; input 2x5x12; dtype f16; "
                                "layout nhwc; fuse_input gelu"},
                      {.name = "halo_gemm_registers",
                       .layer = "conv_transpose2d 40 -> 24; kernel 4; stride 2; padding 1; input 2x5x12; compute tf32; "
                                "fuse_input elu"},
                  },
          },
      .nans =
          {
              {.name = "halo_gemm_registers", .rest = "20 -> 8; kernel 3x3; padding 1x1; input 5x6x7", .copy_bytes = 0},
              {.name = "halo_gemm_pixels",
               .rest = "20 -> 8; kernel 4x4; stride 2x2; padding 1x1; input 5x6x7; layout nhwc",
               .copy_bytes = 16},
              {.name = "halo_gemm_short_pixels",
               .rest = "18 -> 8; kernel 3x3; padding 1x1; input 5x6x7; layout nhwc",
               .copy_bytes = 8},
              {.name = "halo_gemm_odd_pixels",
               .rest = "17 -> 8; kernel 3x3; padding 1x1; input 5x6x7; layout nhwc",
               .copy_bytes = 4},
              {.name = "halo_gemm_pixels_through_registers",
               .rest = "20 -> 8; kernel 3x3; padding 1x1; input 5x6x7; layout nhwc",
               .copy_bytes = 0},
          },
      .nan_gradients =
          {
              {.name = "halo_gemm_registers", .rest = "8 -> 20; kernel 3x3; padding 1x1; input 7x6x7", .copy_bytes = 0},
              {.name = "halo_gemm_pixels",
               .rest = "8 -> 20; kernel 3x3; padding 1x1; input 7x6x7; layout nhwc",
               .copy_bytes = 16},
              {.name = "halo_gemm_short_pixels",
               .rest = "8 -> 18; kernel 3x3; padding 1x1; input 7x6x7; layout nhwc",
               .copy_bytes = 8},
          },
  };
}

}  // namespace convtgen::testing
