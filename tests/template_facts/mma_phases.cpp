// `mma_phases`: few output channels, with all phases as rows of products of warps.
#include "tests/template_facts/facts.h"

#include "tests/template_facts/phases.h"

namespace convtgen::testing {
namespace mma_phases {

void add_kinds(Kinds& kinds) {
  const std::int64_t product_rows = kinds.layer.out_channels * kinds.rows.stride * kinds.columns.stride;
  kinds.k_blocks();
  kinds.is(product_rows > 16, "several tiles of rows");
  kinds.is(product_rows % 16 != 0, "rows beyond");
  kinds.is(kinds.has_uneven_phases(), "joined by weights of zero");
  kinds.is(kinds.rows.kernel > kinds.rows.stride, "rows of shifts");
  kinds.is(kinds.columns.kernel > kinds.columns.stride, "columns of shifts");
  kinds.is(kinds.integer("tile_h") > 1, "tiles of several rows");
  kinds.add_value("k-blocks of", "block_k");
  kinds.add_value("chunks of a warp", "warp_chunks");
}

}  // namespace mma_phases

TemplateFacts facts_of_mma_phases() {
  using namespace mma_phases;
  return {
      .name = "mma_phases",
      .computes = {Compute::kTf32, Compute::kF16, Compute::kBf16},
      .layouts = {Layout::kNchw},
      .search = "few_outputs_of_whole_rows",
      .drawer =
          {.place = 9, .shape = short_kernels_of_phases, .size = know_whole_rows, .one_group = true, .few_out = true},
      .kinds = add_kinds,
      .refused = {{.layer = "16 -> 1; kernel 3; compute tf32; input 1x8x8",
                   .reason = "architecture sm_88 has no TMA; it takes sm_90a, sm_100, sm_103, sm_110, sm_120, sm_121",
                   .architecture = "sm_88"}},
      .changed =
          ChangedProgram{
              .layer = "conv_transpose2d 64 -> 3; kernel 4; stride 2; padding 1; input 8x64x64; compute tf32",
              .before = "kStagedRows (- (+ P::tile_h kReachH) 1)",
              .after = "kStagedRows (- (+ P::tile_h kReachH) 0)"},
      .goldens =
          {
              {.name = "mma_phases",
               .layer = "conv_transpose2d 56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input "
                        "1x540x480; bias; compute tf32",
               .others = {"kernel 3x3; stride 1x1; input ?x?x64; dtype f16; bias; fuse relu",
                          "kernel 5x3; input 2x9x8; dtype bf16; weight_layout channels_last; fuse gelu",
                          "kernel 1x7; padding 0x3; input 2x32x16; compute tf32"}},
          },
      .compiled =
          {
              {.group = "phases_as_rows", .compute = Compute::kTf32, .benchmarks = {"fsrcnn4", "dcgan5"}, .most = 2},
              {.group = "phases_as_rows_16_bits", .compute = Compute::kF16, .benchmarks = {"fsrcnn4", "dcgan5"}},
          },
      .machine_code = {.warp_products = true},
      .other_chips = {"sm_100", "sm_103", "sm_110", "sm_120", "sm_121"},
      .on_other_chips =
          {{.layer = "20 -> 1; kernel 9; stride 4; padding 4; output_padding 3; input 1x9x24; bias; compute tf32",
            .sizes = {1, {9, 24}}},
           {.layer = "64 -> 3; kernel 4; stride 2; padding 1; input 2x8x32; dtype bf16", .sizes = {2, {8, 32}}},
           {.layer = "21 -> 7; kernel 2x5; stride 1x3; input ?x?x40; dtype f16; weight_layout channels_last",
            .sizes = {2, {9, 40}}}},
      .far =
          {
              .layers =
                  {
                      {.name = "mma_phases_images",
                       .layer =
                           "conv_transpose2d 16 -> 16; kernel 2x3; stride 2x1; padding 0x1; input ?x3x8; compute tf32"},
                      {.name = "mma_phases_rows",
                       .layer = "conv_transpose2d 8 -> 2; kernel 3x3; stride 2x2; input ?x?x16; dtype f16",
                       .by_rows = true},
                  },
              .unseen = {"stage_weights: static_cast<long long>(ci)",  // of weights
                         "defined_sum: const long long from",          // of sums that are not finite
                         "defined_sum: const long long of_tap", "defined_sum: static_cast<long long>(ci)",
                         "defined_sum: static_cast<long long>(image)"},
          },
      // Unseen: the borders of the input for sums that are not finite, which do not occur here, and the tile's
      // where a block makes the next one later.
      .mutants =
          {
              {.name = "mma_phases",
               .layer =
                   "conv_transpose2d 24 -> 3; kernel 5x3; stride 2x2; padding 1x1; bias; input 2x10x16; compute tf32",
               .least_mutants = 15,
               .unseen = 4,
               .few_blocks = true,
               .block = "tile_h 3, staged_columns 8, warps 2, warp_chunks 2, block_k 8, stages 2"},
              {.name = "mma_phases_16_bits",
               .layer =
                   "conv_transpose2d 40 -> 2; kernel 4x5; stride 2x3; padding 1x2; input 2x7x24; dtype f16; fuse relu",
               .least_mutants = 15,
               .unseen = 2,
               .block = "tile_h 2, staged_columns 24, warps 1, warp_chunks 2, block_k 16, stages 2"},
          },
      .nans =
          {
              {.name = "mma_phases", .rest = "20 -> 5; kernel 3x5; stride 2x2; padding 1x1; input 5x6x8"},
          },
      .infinities =
          {
              {.name = "mma_phases", .rest = "20 -> 5; kernel 3x5; stride 2x2; padding 1x1; input 2x6x8"},
              {.name = "mma_phases_shifts", .rest = "9 -> 1; kernel 7x9; stride 3x4; padding 2x3; input 2x5x12; bias"},
          },
  };
}

}  // namespace convtgen::testing
