// `phase_gemm`: few output channels, with all phases as columns of a product.
#include "tests/template_facts/facts.h"

#include "tests/planner/problems.h"
#include "tests/template_facts/phases.h"

namespace convtgen::testing {
namespace phase_gemm {

std::int64_t rows_of_tile(const Layer& /*layer*/, const Plan& plan) {
  return integer(plan, "rows");
}

void add_kinds(Kinds& kinds) {
  const std::int64_t outputs = kinds.layer.out_channels * kinds.rows.stride * kinds.columns.stride;
  kinds.k_blocks();
  kinds.is(kinds.integer("tile_n") > 1, "tiles of several images");
  kinds.is(kinds.integer("warpgroups") * kinds.integer("thread_tiles") > 1, "several products of a row");
  kinds.is(outputs % 8 != 0, "columns beyond");
  kinds.is(kinds.has_uneven_phases(), "joined by weights of zero");
  kinds.is(kinds.rows.kernel > kinds.rows.stride, "rows that are rolled");
  kinds.is(kinds.columns.kernel > kinds.columns.stride, "shifts");
  kinds.is(kinds.integer("rows") > 1, "tiles of several rows");
  kinds.add_value("k-blocks of", "block_k");
  kinds.add_value("store", "store");
}

}  // namespace phase_gemm

TemplateFacts facts_of_phase_gemm() {
  using namespace phase_gemm;
  return {
      .name = "phase_gemm",
      .computes = {Compute::kF16, Compute::kBf16},
      .layouts = {Layout::kNhwc},
      .search = "few_outputs",
      .drawer = {.place = 8,
                 .own_compute = true,
                 .shape = short_kernels_of_phases,
                 .one_group = true,
                 .whole_in = true,
                 .few_out = true},
      .kinds = add_kinds,
      .changed =
          ChangedProgram{
              .layer = "conv_transpose2d 64 -> 3; kernel 4; stride 2; padding 1; input 8x64x64; dtype f16; layout nhwc",
              .before = "kCopiedBytes (* (* P::tile_n kPitch) kPixelBytes)",
              .after = "kCopiedBytes (* (* P::tile_n kPitch) 4096)"},
      .goldens =
          {
              {.name = "phase_gemm",
               .layer = "conv_transpose2d 56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input "
                        "1x540x480; bias; dtype f16; layout nhwc",
               .others = {"kernel 2x4; stride 1x2; padding 0x1; input 7x16x17; dtype bf16; layout nhwc",
                          "kernel 3x5; input ?x?x?; dtype f16; layout nhwc; bias; fuse gelu",
                          "kernel 2x1; stride 2x1; input 2x9x8; dtype f16; layout nhwc; weight_layout channels_last"}},
          },
      .emitted = "conv_transpose2d 32 -> 3; kernel 4x4; stride 2; input 2x16x16; dtype f16; layout nhwc",
      .compiled =
          {
              {.group = "phases_as_columns",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"fsrcnn4", "dcgan5"},
               .most = 2},
              {.group = "phases_as_columns_of_layers",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .layers = {"conv_transpose2d 56 -> 1; kernel 9x9; stride 2; padding 4; input 4x256x256; dtype bf16; "
                          "layout nhwc",
                          "conv_transpose2d 56 -> 1; kernel 9x9; stride 3; padding 4; input 2x256x256; dtype f16; "
                          "layout nhwc; bias",
                          "conv_transpose2d 64 -> 12; kernel 4x4; stride 2; padding 1; input 8x128x128; dtype f16; "
                          "layout nhwc; bias; fuse relu",
                          "conv_transpose1d 136 -> 3; kernel 16; stride 8; padding 4; input 16x8000; dtype bf16; "
                          "layout nhwc"}},
          },
      .machine_code = {.stored_vector = "store"},
      .far = {.layers =
                  {
                      {.name = "phase_gemm_images",
                       .layer = "conv_transpose2d 16 -> 5; kernel 2x3; stride 2x1; padding 0x1; input ?x3x7; dtype "
                                "f16; layout nhwc"},
                      {.name = "phase_gemm_rows",
                       .layer = "conv_transpose2d 8 -> 3; kernel 3x3; stride 2x2; input ?x?x?; dtype bf16; layout nhwc",
                       .by_rows = true},
                  },
              .unseen = {"defined_sum: const long long from",  // of sums that are not finite
                         "defined_sum: const long long of_tap", "defined_sum: static_cast<long long>(ci)",
                         "defined_sum: static_cast<long long>(image)"},
              .parameters = {{"tile_n", 1}, {"rows", 4}},
              .rows = rows_of_tile},
      // Unseen: the borders of the input for sums that are not finite, which do not occur here, and a warp that is
      // together after its wait for products.
      .mutants =
          {
              {.name = "phase_gemm",
               .layer = "conv_transpose2d 40 -> 3; kernel 4x3; stride 2x2; padding 1x1; bias; input 3x9x70; dtype f16; "
                        "layout nhwc",
               .least_mutants = 15,
               .unseen = 3,
               .few_blocks = true,
               .block = "tile_n 1, tile_w 64, rows 3, warpgroups 1, thread_tiles 1, store 1, block_k 32, stages 2"},
              {.name = "phase_gemm_images",
               .layer = "conv_transpose2d 24 -> 2; kernel 4x5; stride 2x3; padding 1x2; input 5x7x11; dtype bf16; "
                        "layout nhwc; fuse relu",
               .least_mutants = 15,
               .unseen = 3,
               .block = "tile_n 4, tile_w 12, rows 4, warpgroups 1, thread_tiles 1, store 2, block_k 16, stages 3"},
          },
      .infinities =
          {
              {.name = "phase_gemm",
               .rest = "24 -> 5; kernel 3x5; stride 2x2; padding 1x1; input 2x6x8; layout nhwc",
               .compute = "dtype f16"},
              {.name = "phase_gemm_shifts",
               .rest = "8 -> 1; kernel 7x9; stride 3x4; padding 2x4; input 2x5x12; bias; layout nhwc",
               .compute = "dtype bf16"},
          },
  };
}

}  // namespace convtgen::testing
