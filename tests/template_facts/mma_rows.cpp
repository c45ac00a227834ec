// `mma_rows`: groups of few channels on the tensor cores of warps.
#include "tests/template_facts/facts.h"

#include "tests/planner/problems.h"

namespace convtgen::testing {
namespace mma_rows {

std::int64_t rows_of_tile(const Layer& /*layer*/, const Plan& plan) {
  return integer(plan, "tile_rows");
}

void add_kinds(Kinds& kinds) {
  const std::int64_t channels = kinds.integer("tile_channels"), products = kinds.integer("products");
  const bool has_groups = kinds.layer.groups > 1;
  kinds.is(has_groups && channels >= kinds.group_out, "whole groups");
  kinds.is(has_groups && channels > kinds.group_out, "several groups");
  kinds.is(channels < kinds.layer.out_channels, "several channel tiles");
  kinds.is(channels > 8 * products, "channels one part after another");
  kinds.is(kinds.group_in % 16 == 8, "a last unit of channels");
  kinds.is(kinds.group_in >= 16, "pairs of units");
  kinds.is(kinds.group_in >= 32, "several pairs of units");
  kinds.is(kinds.integer("tile_rows") * kinds.integer("column_tiles") > kinds.integer("warps"),
           "several rows of a warp");
  kinds.add_value("warps", "warps");
  kinds.add("offsets " + kinds.type("Offset"));
}

}  // namespace mma_rows

TemplateFacts facts_of_mma_rows() {
  using namespace mma_rows;
  return {
      .name = "mma_rows",
      .computes = {Compute::kF16, Compute::kBf16},
      .layouts = {Layout::kNhwc},
      .search = "unit_groups",
      .drawer =
          {.place = 5, .own_compute = true, .no_depthwise = true, .whole_in = true, .whole_out = true, .most_in = 64},
      .kinds = add_kinds,
      .refused = {{.layer = "16 -> 16; kernel 3; dtype f16; layout nhwc",
                   .reason = "architecture sm_75 has no cp.async; it takes sm_80, sm_86, sm_87, sm_88, sm_89, sm_90a, "
                             "sm_100, sm_103, sm_110, sm_120, sm_121",
                   .architecture = "sm_75"}},
      .changed =
          ChangedProgram{
              .layer = "conv_transpose2d 16 -> 16; kernel 3; stride 2; input 1x64x64; dtype f16; layout nhwc",
              .before = "(* (/ kVectors 2) 2) 1)",
              .after = "(* (/ kVectors 2) 2) 3)"},
      .goldens =
          {
              {.name = "mma_rows_groups",
               .layer = "conv_transpose2d 32 -> 64; kernel 3x5; stride 2x3; padding 1x2; dilation 2x1; groups 4; input "
                        "16x128x256; dtype f16; layout nhwc; bias; fuse relu"},
              {.name = "mma_rows_few_taps",
               .layer = "conv_transpose2d 32 -> 64; kernel 3x3; stride 5x5; padding 1x1; dilation 2x2; input ?x?x?; "
                        "dtype bf16; layout nhwc",
               .architecture = "sm_80"},
          },
      .golden_taps = NamedTaps::kOfKernelRowsInPairs,
      .as_it_stands =
          "conv_transpose2d 48 -> 32; kernel 3x4; stride 2x3; padding 1x1; dilation 2x1; groups 2; bias; fuse relu; "
          "input 2x5x19; dtype f16; layout nhwc",
      .compiled =
          {
              {.group = "products_of_warps",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"kb75", "kb81", "sam2x2", "kb79", "hifi4"},
               .most = 2},
              {.group = "products_of_warps_bf16",
               .compute = Compute::kBf16,
               .layout = Layout::kNhwc,
               .benchmarks = {"kb75", "kb81"},
               .most = 2},
          },
      .machine_code = {.warp_products = true, .vectors_alone = true, .most_wavefronts = 1.35},
      .far = {.layers =
                  {
                      {.name = "mma_rows_images",
                       .layer = "conv_transpose2d 16 -> 32; kernel 3x3; stride 2x1; padding 1x1; groups 2; bias; input "
                                "?x20x9; dtype f16; layout nhwc"},
                      {.name = "mma_rows_rows",
                       .layer = "conv_transpose2d 8 -> 16; kernel 3x3; input ?x?x?; dtype bf16; layout nhwc",
                       .by_rows = true},
                  },
              .unseen = {"stage_weights: static_cast<long long>(ci)"},  // of weights
              .rows = rows_of_tile},
      // Unseen: positions beyond the output, which are not stored.
      .mutants =
          {
              {.name = "mma_rows_groups",
               .layer = "conv_transpose2d 16 -> 32; kernel 3x4; stride 4x2; padding 1x2; dilation 2x1; groups 2; bias; "
                        "input 2x5x37; dtype f16; layout nhwc",
               .least_mutants = 11,
               .unseen = 1,
               .block = "warps 2, tile_rows 2, column_tiles 2, tile_channels 32, products 2"},
              {.name = "mma_rows_activated",
               .layer = "conv_transpose2d 16 -> 32; kernel 3x4; stride 4x2; padding 1x2; output_padding 1x1; dilation "
                        "2x1; groups "
                        "2; bias; input 2x5x37; dtype f16; layout nhwc; fuse_input sigmoid",
               .least_mutants = 11,
               .unseen = 1,
               .block = "warps 2, tile_rows 2, column_tiles 2, tile_channels 32, products 2"},
              {.name = "mma_rows_parts",
               .layer = "conv_transpose2d 24 -> 32; kernel 2x4; stride 1x4; dilation 1x2; input 2x5x21; dtype bf16; "
                        "layout nhwc",
               .least_mutants = 10,
               .block = "warps 2, tile_rows 4, column_tiles 1, tile_channels 16, products 2"},
          },
      .wrong_numbers =
          {
              .activation =
                  {
                      {.name = "mma_rows",
                       .layer = "conv_transpose2d 8 -> 8; kernel 4; stride 2; padding 1; input 2x5x33; dtype f16; "
                                "layout nhwc; fuse_input sigmoid"},
                  },
          },
  };
}

}  // namespace convtgen::testing
