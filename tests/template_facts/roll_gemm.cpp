// `roll_gemm`: layers of stride 1, whose blocks walk down rows.
#include "tests/template_facts/facts.h"

#include "generator/layer/shape.h"
#include "generator/planner/search/integers.h"
#include "tests/planner/problems.h"
#include "tests/template_facts/forward_gemm.h"

namespace convtgen::testing {
namespace roll_gemm {

void unit_strides(DrawnAxis& drawn, RandomNumbers& /*random*/) {
  drawn.axis.stride = 1;
  drawn.axis.dilation = drawn.is_rows ? 1 : drawn.axis.dilation;
}

/// Of NCHW.
void whole_rows(DrawnAxis& drawn) {
  if (drawn.layout != Layout::kNhwc) {
    know_whole_rows(drawn);
  }
}

std::int64_t rows_of_tile(const Layer& /*layer*/, const Plan& plan) {
  return integer(plan, "rows");
}

std::int64_t tiles_of_sequence(const Layer& layer, const Plan& plan, const Shape& shape) {
  const std::int64_t unit =
      layer.layout == Layout::kNhwc ? integer(plan, "thread_positions") : 16 / bytes_of(layer.dtype);
  const std::int64_t pitch = ceil_div(shape.out[kWidth], unit) * unit;
  return ceil_div(shape.batch * pitch, 64 * integer(plan, "thread_positions")) *
         ceil_div(shape.out[kHeight], integer(plan, "rows"));
}

void add_kinds(Kinds& kinds) {
  const std::int64_t pixel = kinds.layer.in_channels * bytes_of(kinds.layer.dtype);
  kinds.k_blocks();
  kinds.channel_tiles(kinds.integer("block_n"));
  kinds.add_value("store", "store");
  kinds.add_value("positions", "thread_positions");
  kinds.is(!kinds.rows.extent || kinds.integer("rows") < output_extent(kinds.rows, *kinds.rows.extent),
           "several segments");
  kinds.is(kinds.rows.extent && *kinds.rows.extent < kinds.rows.kernel, "fewer rows than the kernel's");
  if (kinds.layer.layout == Layout::kNhwc) {
    kinds.is(kinds.columns.extent && *kinds.columns.extent % 2 == 1, "an odd width");
    kinds.is((pixel + 31) / 32 % 2 == 1, "an odd number of steps");
    kinds.is(pixel % 128 == 64, "pixels crossed");
  }
}

}  // namespace roll_gemm

TemplateFacts facts_of_roll_gemm() {
  using namespace roll_gemm;
  return {
      .name = "roll_gemm",
      .computes = {Compute::kTf32, Compute::kF16, Compute::kBf16},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .packs_weights = true,
      .search = "rolling",
      .drawer = {.place = 4, .shape = unit_strides, .size = whole_rows, .one_group = true},
      .kinds = add_kinds,
      .refused =
          {
              {.layer = "64 -> 64; kernel 3; dtype f16; fuse_input relu", .reason = "fuse_input; it takes none"},
              {.layer = "16 -> 16; kernel 3; compute f32x3", .reason = "compute f32x3; it takes tf32, f16, bf16"},
              {.layer = "16 -> 16; kernel 3; groups 2; compute tf32", .reason = "2 groups; it takes 1"},
              {.layer = "16 -> 16; kernel 3; stride 1x2; compute tf32", .reason = "stride 1x2; it takes 1"},
              {.layer = "16 -> 16; kernel 3; dilation 2; compute tf32", .reason = "dilation 2 in height; it takes 1"},
              {.layer = "16 -> 16; kernel 1x3; compute tf32", .reason = "kernel height 1; in nchw it takes 2 and more"},
              {.layer = "16 -> 16; kernel 3; dilation 1x20; compute tf32",
               .reason = "dilation * (kernel - 1) is 40 in width; at most 24"},
              {.layer = "16 -> 16; kernel 3x25; padding 0x25; compute tf32; input 1x8x64",
               .reason = "padding 25 in width; at most 24"},
              {.layer = "16 -> 16; kernel 3; compute tf32; input 1x8x9",
               .reason = "a width of 9; copies of 16 bytes take multiples of 4"},
              {.layer = "16 -> 16; kernel 3; compute tf32",
               .reason = "an open width; copies of 16 bytes take multiples of 4"},
              {.layer = "12 -> 16; kernel 3; dtype f16; layout nhwc",
               .reason = "12 input channels; copies of 16 bytes take multiples of 8"},
              {.layer = "16 -> 16; kernel 33x3; compute tf32; input 1x8x64", .reason = "kernel height 33; at most 32"},
              {.layer = "520 -> 8; kernel 2; dtype f16; input 1x8x64",
               .reason = "520 input channels are no multiple of 32, and stages do not hold all of them"},
          },
      .changed =
          ChangedProgram{.layer = "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x64x128; compute tf32",
                         .before = "(call floor_mod (- 8 kStagedColumns) 32)",
                         .after = "(call floor_mod (- 9 kStagedColumns) 32)"},
      .goldens =
          {
              {.name = "roll_gemm",
               .layer = "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; compute tf32; bias; "
                        "fuse relu",
               .others = {"kernel 3x3; input 8x512x512; dtype f16", "kernel 3x3; input ?x?x64; compute tf32; bias",
                          "kernel 5x5; dilation 1x3; input 3x9x8; compute tf32; fuse gelu",
                          "kernel 2x2; dtype bf16; input 1x8x8"}},
              {.name = "roll_gemm_channels_last",
               .layer = "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; dtype f16; layout nhwc",
               .others = {"kernel 3x3; input 8x511x511; dtype f16; layout nhwc",
                          "kernel 3x3; input ?x?x?; compute tf32; layout nhwc; bias",
                          "kernel 5x5; dilation 1x3; input 3x9x7; compute tf32; layout nhwc; fuse gelu",
                          "kernel 2x2; dtype bf16; input 1x8x8; layout nhwc"}},
          },
      .emitted = "conv_transpose2d 16 -> 16; kernel 2x2; input 2x16x32; compute tf32",
      .compiled =
          {
              {.group = "rolling_tf32", .compute = Compute::kTf32, .benchmarks = rolling_layers()},
              {.group = "rolling_f16", .compute = Compute::kF16, .benchmarks = rolling_layers()},
              {.group = "rolling_pixels",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"kb57", "kb64", "kb65", "kb69", "kb71", "kb74", "kb78"},
               .most = 3},
              {.group = "rolling_pixels_tf32",
               .compute = Compute::kTf32,
               .layout = Layout::kNhwc,
               .benchmarks = rolling_layers()},
          },
      .far = {.layers =
                  {
                      {.name = "roll_gemm_sequence",
                       .layer = "conv_transpose2d 16 -> 8; kernel 2x3; input ?x3x8; dtype f16",
                       .flat = true},
                      {.name = "roll_gemm_sequence_channels_last",
                       .layer = "conv_transpose2d 16 -> 8; kernel 2x3; input ?x3x5; dtype f16; layout nhwc",
                       .flat = true},
                      {.name = "roll_gemm_images",
                       .layer = "conv_transpose2d 32 -> 32; kernel 2x3; input ?x3x16; compute tf32"},
                      {.name = "roll_gemm_images_channels_last",
                       .layer = "conv_transpose2d 16 -> 8; kernel 1x2; input ?x1x1; dtype f16; layout nhwc"},
                      {.name = "roll_gemm_rows",
                       .layer = "conv_transpose2d 16 -> 8; kernel 2x3; input ?x?x16; compute tf32",
                       .by_rows = true},
                      {.name = "roll_gemm_rows_channels_last",
                       .layer = "conv_transpose2d 16 -> 8; kernel 2x3; input ?x?x?; dtype f16; layout nhwc",
                       .by_rows = true},
                  },
              .unseen = {"kernel: static_cast<long long>(n_tile)",  // of packed weights
                         "copy_channels: * #ll",                    // a few channels of a known size
                         "take_row: * #ll",                         // likewise
                         "copy_pixels: * #ll",                      // a few images of a known size
                         "copy_pixels: const long long pixel"},     // a strip's
              .rows = rows_of_tile,
              .tiles_of_sequence = tiles_of_sequence,
              .by_strips = true},
      .mutants =
          {
              {.name = "roll_gemm_sequence",
               .layer = "conv_transpose2d 12 -> 5; kernel 2x3; padding 0x1; bias; input 6x4x20; compute tf32",
               .least_mutants = 25,
               .few_blocks = true,
               .flat = true,
               .staged_epilogue = false},
              {.name = "roll_gemm_staged_epilogue",
               .layer = "conv_transpose2d 36 -> 13; kernel 3x3; padding 0x1; input 1x5x136; dtype f16; fuse relu",
               .least_mutants = 25,
               .few_blocks = true,
               .flat = false,
               .staged_epilogue = true},
              {.name = "roll_gemm_pixels_sequence",
               .layer =
                   "conv_transpose2d 24 -> 20; kernel 2x3; padding 0x1; bias; input 7x6x37; dtype f16; layout nhwc",
               .least_mutants = 20,
               .few_blocks = true,
               .flat = true,
               .staged_epilogue = false},
              // Operands that stand once: products must be done before they are made anew.
              {.name = "roll_gemm_pixels_once",
               .layer = "conv_transpose2d 32 -> 13; kernel 5x9; padding 2x3; input 1x5x258; dtype bf16; layout nhwc; "
                        "fuse relu",
               .least_mutants = 20,
               .few_blocks = true,
               .flat = false,
               .staged_epilogue = false,
               .thread_positions = 4,
               .block_n = 16},
          },
      .wrong_numbers =
          {
              .rounding =
                  {
                      {.name = "Rolled", .layer = "conv_transpose2d 12 -> 5; kernel 2x3; input 1x4x20; compute tf32"},
                      {.name = "RolledChannelsLast",
                       .layer = "conv_transpose2d 12 -> 5; kernel 2x3; input 1x4x20; compute tf32; layout nhwc"},
                  },
          },
      .nans =
          {
              {.name = "roll_gemm_rows", .rest = "12 -> 8; kernel 3x3; padding 1x1; input 5x6x16"},
              {.name = "roll_gemm_pixels", .rest = "12 -> 8; kernel 3x3; padding 1x1; input 5x6x7; layout nhwc"},
          },
      .nan_gradients =
          {
              {.name = "roll_gemm_rows", .rest = "8 -> 12; kernel 3x3; padding 1x1; input 7x6x16"},
              {.name = "roll_gemm_pixels", .rest = "8 -> 12; kernel 3x3; padding 1x1; input 7x6x7; layout nhwc"},
          },
  };
}

}  // namespace convtgen::testing
