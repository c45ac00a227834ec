// `direct`: every forward layer, without tensor cores.
#include "tests/template_facts/facts.h"

#include "generator/layer/shape.h"
#include "generator/planner/search/integers.h"
#include "tests/planner/problems.h"
#include "tests/template_facts/plain.h"

namespace convtgen::testing {
namespace direct {

std::int64_t rows_of_tile(const Layer& /*layer*/, const Plan& plan) {
  return integer(plan, "threads_y") * integer(plan, "rows_per_thread");
}

bool loops(const Layer& layer) {
  return plane_taps(layer) > kMostWrittenOut ||
         layer.axes[kHeight].stride * layer.axes[kWidth].stride > kMostWrittenOut;
}

void add_kinds(Kinds& kinds) {
  kinds.k_blocks();
  kinds.is(kinds.group_out > kinds.integer("threads_z") * kinds.integer("channels_per_thread"),
           "several channel tiles");
  kinds.is(
      kinds.integer("group_phases_h") < kinds.rows.stride || kinds.integer("group_phases_w") < kinds.columns.stride,
      "several phase groups");
  kinds.add(fmt::format("stores {} bytes", kinds.plan.alignment));
  kinds.add("offsets " + kinds.type("Offset"));
}

}  // namespace direct

TemplateFacts facts_of_direct() {
  using namespace direct;
  return {
      .name = "direct",
      .computes = {all_computes().begin(), all_computes().end()},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .takes_all = true,
      .search = "any_layer",
      .drawer = {.place = 0, .depth = true},
      .kinds = add_kinds,
      .changed = ChangedProgram{.layer = "conv_transpose2d 8 -> 8; kernel 3; input 1x64x64",
                                .before = "(call ceil_div kStagedColumns 4) 4)",
                                .after = "(call ceil_div kStagedColumns 4) 8)"},
      .goldens =
          {
              {.name = "seed_a", .layer = "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024"},
              {.name = "seed_c",
               .layer = "conv_transpose2d 32 -> 48; kernel 3x7; stride 2x3; padding 1x2; output_padding 1x2; groups 4; "
                        "input 4x40x60; bias",
               .architecture = "sm_75"},
              {.name = "dynamic", .layer = "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3"},
              {.name = "half_nhwc_fused",
               .layer = "conv_transpose2d 32 -> 30; kernel 4x4; stride 2x2; padding 1x1; input ?x16x16; dtype f16; "
                        "layout nhwc; bias; fuse relu, clamp(-1, 6), gelu",
               .architecture = "sm_80"},
              {.name = "wide_halo_f64",
               .layer = "conv_transpose2d 5 -> 7; kernel 3x3; stride 5x5; dilation 400x400; input 2x9x11; dtype f64; "
                        "fuse scale(0.5)",
               .architecture = "sm_120"},
              {.name = "planes",
               .layer = "conv_transpose3d 32 -> 16; kernel 3x3x3; stride 2x2x2; padding 1x1x1; output_padding 1x1x1; "
                        "input ?x8x16x16; bias"},
              {.name = "one_row_bf16",
               .layer = "conv_transpose1d 5 -> 7; kernel 9; stride 3; groups 1; dtype bf16; fuse mish",
               .architecture = "sm_100"},
          },
      .golden_taps = NamedTaps::kEach,
      .is_of_many_taps = loops,
      .far =
          {.layers =
               {
                   {.name = "direct_images",
                    .layer = "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; bias; input ?x5x9"},
                   {.name = "direct_images_channels_last",
                    .layer = "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; input ?x5x9; layout nhwc"},
                   {.name = "direct_images_of_any_size", .layer = "conv_transpose2d 4 -> 6; kernel 3x3; input ?x?x?"},
                   {.name = "direct_rows",
                    .layer = "conv_transpose2d 4 -> 2; kernel 3x3; input ?x?x?",
                    .by_rows = true},
                   {.name = "direct_rows_channels_last",
                    .layer = "conv_transpose2d 4 -> 2; kernel 3x3; input ?x?x?; layout nhwc",
                    .by_rows = true},
                   {.name = "direct_volumes",
                    .layer = "conv_transpose3d 16 -> 17; kernel 3x3x3; stride 2x2x1; padding 1; bias; input ?x3x4x9"},
                   {.name = "direct_planes",
                    .layer = "conv_transpose3d 4 -> 2; kernel 3x3x3; padding 1; input ?x?x?x?",
                    .by_planes = true},
                   {.name = "direct_planes_channels_last",
                    .layer = "conv_transpose3d 4 -> 2; kernel 3x3x3; stride 2x1x1; input ?x?x?x?; layout nhwc; dtype "
                             "f16",
                    .by_planes = true},
               },
           .unseen = {"stage_weight: static_cast<long long>(ci)"},  // of weights
           .rows = rows_of_tile},
      .mutants =
          {
              {.name = "nchw",
               .layer = "conv_transpose2d 34 -> 38; kernel 3x4; stride 2x1; padding 1x2; groups 2; bias; input 2x19x38",
               .least_mutants = 9,
               .unseen = 1},  // copies of a k-block after the last one, all zeros
              {.name = "nhwc",
               .layer = "conv_transpose2d 19 -> 11; kernel 3x3; stride 1x2; padding 1x1; output_padding 0x1; input "
                        "2x37x19; layout nhwc; dtype f16",
               .least_mutants = 9},
              // The scalar stores of both are for a y that is not aligned: none of their checks can be seen.
              {.name = "nchw_vectors",
               .layer = "conv_transpose2d 20 -> 3; kernel 3x4; stride 1x2; padding 1x1; bias; input 1x9x34",
               .least_mutants = 9,
               .unseen = 3},
              {.name = "nchw_registers",
               .layer = "conv_transpose2d 19 -> 3; kernel 3x4; stride 1x2; padding 1x1; bias; input 1x9x34; dtype f16",
               .least_mutants = 9,
               .unseen = 3},
              {.name = "planes",
               .layer = "conv_transpose3d 12 -> 5; kernel 5x3x2; stride 2x1x1; padding 2x1x0; bias; input 1x3x9x10",
               .least_mutants = 9,
               .block = "block_k 4"},
              // Channels after the last one have weights of zero, whatever becomes of their input.
              {.name = "activated_rows",
               .layer = "conv_transpose2d 34 -> 6; kernel 3x4; stride 2x1; padding 1x2; output_padding 1x0; groups 2; "
                        "bias; input "
                        "2x19x38; fuse_input sigmoid",
               .least_mutants = 12,
               .unseen = 2},
              {.name = "activated_pixels",
               .layer = "conv_transpose2d 19 -> 11; kernel 3x3; stride 1x2; padding 1x1; output_padding 0x1; input "
                        "2x37x19; layout nhwc; dtype f16; fuse_input sigmoid",
               .least_mutants = 9},
              {.name = "unstaged",
               .layer = "conv_transpose2d 3 -> 5; kernel 3x3; dilation 200x200; padding 201x201; input 2x21x23",
               .least_mutants = 5},
              {.name = "many_taps",
               .layer = "conv_transpose2d 19 -> 11; kernel 17x17; stride 2x2; padding 2x3; input 2x9x9",
               .least_mutants = 12,
               .block = "group_phases_h 1, group_phases_w 1"},
          },
      .wrong_numbers =
          {
              .activation =
                  {
                      {.name = "direct_copies",
                       .layer = "conv_transpose2d 5 -> 7; kernel 3x4; stride 2x1; padding 1x1; input 2x5x9; fuse_input "
                                "sigmoid"},
                      {.name = "direct_registers",
                       .layer = "conv_transpose2d 5 -> 7; kernel 3x4; stride 2x1; padding 1x1; input 2x5x9; dtype f16; "
                                "layout nhwc; fuse_input sigmoid"},
                      {.name = "direct_unstaged",
                       .layer = "conv_transpose2d 3 -> 5; kernel 3x3; dilation 200x200; padding 201x201; input "
                                "2x21x23; fuse_input sigmoid"},
                  },
          },
  };
}

}  // namespace convtgen::testing
