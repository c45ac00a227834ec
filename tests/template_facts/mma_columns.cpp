// `mma_columns`: few output channels in fp32, whose taps are columns of products that another kernel adds.
#include "tests/template_facts/facts.h"

#include "tests/planner/problems.h"

namespace convtgen::testing {
namespace mma_columns {

void add_kinds(Kinds& kinds) {
  const std::int64_t columns = kinds.layer.out_channels * kinds.rows.kernel * kinds.columns.kernel;
  kinds.k_blocks();
  kinds.is(columns > kinds.integer("block_n"), "several tiles of columns");
  kinds.is(columns % kinds.integer("block_n") != 0, "columns beyond");
  kinds.is(kinds.rows.stride * kinds.columns.stride > 1, "phases");
  kinds.add_value("copies of bytes", "copy_bytes");
  kinds.add_value("warps", "warps");
}

/// Images are small: a tile has all of one.
std::int64_t rows_of_tile(const Layer& layer, const Plan& /*plan*/) {
  return layer.axes[kHeight].extent.value_or(1);
}

}  // namespace mma_columns

TemplateFacts facts_of_mma_columns() {
  using namespace mma_columns;
  return {
      .name = "mma_columns",
      .computes = {Compute::kF32x3},
      .layouts = {Layout::kNchw},
      .packs_weights = true,
      .search = "few_outputs",
      .drawer = {.place = 9, .one_group = true, .few_out = true},
      .kinds = add_kinds,
      .fit =
          [](Layer& layer, int number) {
            layer.layout = Layout::kNchw;
            layer.compute = Compute::kF32x3;
            layer.dtype = Dtype::kF32;
            layer.in_channels = 64 + number % 40;
            layer.out_channels = 1;
          },
      .refused =
          {
              {.layer = "16 -> 1; kernel 3; compute f32x3; layout nhwc; input 1x8x8",
               .reason = "layout nhwc; it takes nchw, whose pixels of a channel are adjacent"},
              {.layer = "64 -> 8; kernel 3; compute f32x3; input 1x8x8",
               .reason = "72 taps by output channels; at most 64, so that products are no more than what is read"},
              {.layer = "16 -> 2; kernel 3; compute f32x3; input 1x8x8",
               .reason = "18 taps by output channels; at most 16, so that products are no more than what is read"},
              {.layer = "16 -> 1; kernel 3; compute f32x3; input 1x8x8",
               .reason = "architecture sm_75 has no cp.async; it takes sm_80, sm_86, sm_87, sm_88, sm_89, sm_90a, "
                         "sm_100, sm_103, sm_110, sm_120, sm_121",
               .architecture = "sm_75"},
          },
      .changed =
          ChangedProgram{.layer = "conv_transpose2d 661 -> 2; kernel 4; stride 2; padding 1; input 8x96x112; bias; "
                                  "compute f32x3",
                         .before = "kRowPitch (+ kPixels 8)",
                         .after = "kRowPitch (+ kPixels 24)"},
      .goldens =
          {
              {.name = "mma_columns",
               .layer = "conv_transpose2d 640 -> 2; kernel 4x4; stride 2x2; padding 1x1; input 8x96x112; bias; fuse "
                        "relu; compute f32x3"},
          },
      .compiled =
          {
              {.group = "taps_as_columns", .compute = Compute::kF32x3, .benchmarks = {"dcgan5"}},
          },
      .machine_code = {.warp_products = true},
      .other_chips = {"sm_80", "sm_100", "sm_120"},
      .on_other_chips =
          {{.layer = "72 -> 2; kernel 4; stride 2; padding 1; input 2x80x96; bias; compute f32x3; fuse relu",
            .sizes = {2, {80, 96}},
            .all_plans = true},
           {.layer = "300 -> 5; kernel 3x2; stride 3x1; padding 1x0; output_padding 2x0; input 3x25x39; compute f32x3; "
                     "weight_layout channels_last",
            .sizes = {3, {25, 39}},
            .chips = {"sm_80"},
            .all_plans = true},
           {.layer = "conv_transpose1d 130 -> 1; kernel 50; stride 7; padding 3; input 2x?; compute f32x3",
            .sizes = {2, {1, 1000}},
            .chips = {"sm_80"},
            .all_plans = true}},
      .packed =
          {
              {.name = "ColumnsF32x3",
               .layer = "conv_transpose2d 400 -> 2; kernel 4; stride 2; padding 1; bias; compute f32x3"},
          },
      .far = {.layers = {{.name = "mma_columns_images",
                          .layer = "conv_transpose2d 64 -> 64; kernel 1; input ?x7x3; compute f32x3"}},
              // Packed weights, and pixels of an image, which are few here.
              .unseen = {"kernel: * #ll", "kernel: const long long at", "kernel: const long long own",
                         "kernel: static_cast<long long>(n_tile)", "kernel: static_cast<long long>(end_h)",
                         "kernel: static_cast<long long>(pixel)", "kernel: static_cast<long long>(thread % kRowUnits)",
                         "stage_k_block: * #ll", "stage_k_block: static_cast<long long>(k_block)"},
              .rows = rows_of_tile},
      // Unseen: that stages are no more than k-blocks, which are two here.
      .mutants =
          {
              {.name = "mma_columns",
               .layer = "conv_transpose2d 50 -> 2; kernel 3x4; stride 2x2; padding 0x1; input 2x5x9; compute f32x3; "
                        "bias",
               .least_mutants = 8,
               .unseen = 1,
               .block = "warps 4, block_n 16, block_k 32, stages 3, copy_bytes 4"},
          },
  };
}

}  // namespace convtgen::testing
