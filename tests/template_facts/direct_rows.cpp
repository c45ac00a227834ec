// `direct_rows`: few input channels, rows of outputs without tensor cores.
#include "tests/template_facts/facts.h"

#include "tests/planner/problems.h"

namespace convtgen::testing {
namespace direct_rows {

std::int64_t rows_of_tile(const Layer& /*layer*/, const Plan& plan) {
  return integer(plan, "tile_rows");
}

void add_kinds(Kinds& kinds) {
  const std::int64_t lanes_c = kinds.integer("lanes_c"), lanes_x = kinds.integer("lanes_x");
  const std::int64_t of_thread = kinds.integer("channels_per_thread");
  const std::int64_t channels = kinds.integer("warps_c") * lanes_c * of_thread;
  const bool has_groups = kinds.layer.groups > 1;
  const std::int64_t all = kinds.layer.out_channels;
  kinds.add_value("vector", "vector");
  kinds.add(fmt::format("whole vectors {}", kinds.plan.alignment == 16));
  kinds.is(has_groups && channels >= kinds.group_out, "whole groups");
  kinds.is(has_groups && channels > kinds.group_out, "several groups");
  kinds.is(of_thread > kinds.group_out, "a group for each channel of a thread");
  kinds.is(channels < kinds.group_out, "several channel tiles");
  kinds.is((channels > kinds.group_out ? all : kinds.group_out) % channels != 0, "channels beyond");
  kinds.is(channels == all && kinds.integer("warps_c") == 1, "all channels of a pixel");
  kinds.is(lanes_c * lanes_x < 32, "idle lanes");
  kinds.is(lanes_c > 1, "lanes along channels");
  kinds.is(of_thread % 2 == 1, "an odd number of channels");
  kinds.is(kinds.integer("tile_rows") > kinds.integer("warps_y"), "several rows of a warp");
  kinds.add("offsets " + kinds.type("Offset"));
}

}  // namespace direct_rows

TemplateFacts facts_of_direct_rows() {
  using namespace direct_rows;
  return {
      .name = "direct_rows",
      .computes = {all_computes().begin(), all_computes().end()},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .search = "few_inputs",
      .drawer = {.place = 1},
      .kinds = add_kinds,
      .changed = ChangedProgram{.layer = "conv_transpose2d 8 -> 8; kernel 3; stride 2; input 1x64x64",
                                .before = "(* (/ kPlaneSums 8) 8) 4)",
                                .after = "(* (/ kPlaneSums 8) 8) 12)"},
      .goldens =
          {
              {.name = "direct_rows_columns",
               .layer = "conv_transpose2d 32 -> 64; kernel 3x5; stride 2x3; padding 1x2; dilation 2x1; groups 4; input "
                        "16x128x256; bias; fuse relu"},
              {.name = "direct_rows_vectors",
               .layer = "conv_transpose2d 32 -> 64; kernel 3x3; stride 5x5; padding 1x1; dilation 2x2; input ?x?x?; "
                        "dtype f16; layout nhwc"},
              {.name = "direct_rows_pixels",
               .layer = "conv_transpose2d 21 -> 21; kernel 16x16; stride 8x8; padding 4x4; groups 21; input 8x64x64; "
                        "dtype bf16; layout nhwc",
               .architecture = "sm_75"},
              {.name = "direct_rows_depthwise",
               .layer = "conv_transpose1d 512 -> 512; kernel 4; stride 2; groups 512; input 32x256; dtype f16; layout "
                        "nhwc"},
          },
      .golden_taps = NamedTaps::kOfKernelRows,
      .as_it_stands =
          "conv_transpose2d 6 -> 10; kernel 3x4; stride 3x2; padding 1x2; groups 2; bias; fuse relu; input 2x5x19",
      .compiled =
          {
              {.group = "outputs_by_columns",
               .compute = Compute::kF32,
               .benchmarks = {"kb75", "kb81", "fcn8dw", "kb79"},
               .most = 2},
              {.group = "outputs_by_columns_f16",
               .compute = Compute::kF16,
               .benchmarks = {"kb75", "kb81", "fcn8dw"},
               .most = 2},
              {.group = "outputs_by_pixels",
               .compute = Compute::kF32,
               .layout = Layout::kNhwc,
               .benchmarks = {"kb75", "kb81", "fcn8dw", "sam2x2"},
               .most = 2},
              {.group = "outputs_by_pixels_f16",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"kb75", "kb81", "fcn8dw"},
               .most = 2},
          },
      .machine_code = {.stored_vector = "vector"},
      .far = {.layers =
                  {
                      {.name = "direct_rows_template_images",
                       .layer = "conv_transpose2d 16 -> 18; kernel 3x3; stride 2x1; padding 1x1; bias; input ?x5x9"},
                      {.name = "direct_rows_template_images_channels_last",
                       .layer =
                           "conv_transpose2d 16 -> 18; kernel 3x3; stride 2x1; padding 1x1; input ?x5x9; layout nhwc"},
                      {.name = "direct_rows_template_images_by_vectors",
                       .layer =
                           "conv_transpose2d 16 -> 16; kernel 3x3; stride 2x1; input ?x5x9; dtype f16; layout nhwc"},
                      {.name = "direct_rows_template_rows",
                       .layer = "conv_transpose2d 4 -> 2; kernel 3x3; input ?x?x?",
                       .by_rows = true},
                      {.name = "direct_rows_template_rows_channels_last",
                       .layer = "conv_transpose2d 4 -> 2; kernel 3x3; input ?x?x?; layout nhwc",
                       .by_rows = true},
                      {.name = "direct_rows_template_rows_by_vectors",
                       .layer = "conv_transpose2d 2 -> 16; kernel 3x3; input ?x?x?; dtype f16; layout nhwc",
                       .by_rows = true},
                  },
              .unseen = {"stage_weights: static_cast<long long>(ci)"},  // of weights
              .rows = rows_of_tile},
      .mutants =
          {
              {.name = "direct_rows_columns",
               .layer = "conv_transpose2d 6 -> 20; kernel 3x4; stride 3x2; padding 1x2; dilation 2x1; groups 2; bias; "
                        "input 2x5x37",
               .least_mutants = 8,
               .block = "warps_x 2, warps_c 1, warps_y 2, lanes_c 2, lanes_x 16, channels_per_thread 2, "
                        "columns_per_thread 2, tile_rows 4, vector 0"},
              {.name = "direct_rows_row_vectors",
               .layer = "conv_transpose2d 6 -> 20; kernel 3x4; stride 4x2; padding 1x3; dilation 2x1; groups 2; bias; "
                        "input 2x5x40",
               .least_mutants = 9,
               .block = "warps_x 1, warps_c 1, warps_y 2, lanes_c 2, lanes_x 16, channels_per_thread 2, "
                        "columns_per_thread 2, tile_rows 4, vector 0"},
              {.name = "direct_rows_row_vectors_f16",
               .layer =
                   "conv_transpose2d 4 -> 4; kernel 5x6; stride 2x2; padding 1x2; groups 4; input 2x5x40; dtype f16",
               .least_mutants = 8,
               .block = "warps_x 1, warps_c 1, warps_y 2, lanes_c 1, lanes_x 16, channels_per_thread 1, "
                        "columns_per_thread 2, tile_rows 4, vector 0"},
              {.name = "direct_rows_activated",
               .layer = "conv_transpose2d 6 -> 20; kernel 3x4; stride 3x2; padding 1x2; output_padding 0x1; dilation "
                        "2x1; groups "
                        "2; bias; input 2x5x37; fuse_input sigmoid",
               .least_mutants = 8,
               .block = "warps_x 2, warps_c 1, warps_y 2, lanes_c 2, lanes_x 16, channels_per_thread 2, "
                        "columns_per_thread 2, tile_rows 4, vector 0"},
              {.name = "direct_rows_activated_vectors",
               .layer = "conv_transpose2d 6 -> 20; kernel 3x4; stride 4x2; padding 1x2; output_padding 1x1; dilation "
                        "2x1; groups "
                        "2; bias; input 2x5x40; fuse_input sigmoid",
               .least_mutants = 9,
               .block = "warps_x 1, warps_c 1, warps_y 2, lanes_c 2, lanes_x 16, channels_per_thread 2, "
                        "columns_per_thread 2, tile_rows 4, vector 0"},
              {.name = "direct_rows_pixels",
               .layer = "conv_transpose2d 5 -> 5; kernel 3x4; stride 2x3; padding 1x0; groups 5; input 2x5x11; dtype "
                        "f16; layout nhwc",
               .least_mutants = 9,
               .block = "warps_x 1, warps_c 1, warps_y 2, lanes_c 5, lanes_x 6, channels_per_thread 1, "
                        "columns_per_thread 2, tile_rows 4, vector 0"},
              {.name = "direct_rows_vectors",
               .layer = "conv_transpose2d 3 -> 48; kernel 3x3; stride 2x2; padding 1x1; input 2x5x11; dtype bf16; "
                        "layout nhwc",
               .least_mutants = 6,
               .block = "warps_x 1, warps_c 1, warps_y 2, lanes_c 8, lanes_x 4, channels_per_thread 4, "
                        "columns_per_thread 2, tile_rows 4, vector 4"},
          },
      .wrong_numbers =
          {
              .activation =
                  {
                      {.name = "direct_rows_vectors",
                       .layer =
                           "conv_transpose1d 4 -> 3; kernel 4; stride 2; padding 1; input 2x64; fuse_input sigmoid"},
                      {.name = "direct_rows_elements",
                       .layer =
                           "conv_transpose1d 4 -> 3; kernel 4; stride 2; padding 1; input 2x63; fuse_input sigmoid"},
                      {.name = "direct_rows_pixels",
                       .layer = "conv_transpose2d 8 -> 8; kernel 4; stride 2; padding 1; input 2x5x33; dtype f16; "
                                "layout nhwc; fuse_input sigmoid"},
                  },
          },
  };
}

}  // namespace convtgen::testing
