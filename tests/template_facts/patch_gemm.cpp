// `patch_gemm`: kernels that are as large as their strides.
#include "tests/template_facts/facts.h"

#include "generator/layer/shape.h"
#include "generator/planner/search/integers.h"
#include "tests/template_facts/patches.h"

namespace convtgen::testing {
namespace patch_gemm {

/// Its tiles are pixels of whatever rows.
std::int64_t one_row(const Layer& /*layer*/, const Plan& /*plan*/) {
  return 1;
}

void add_kinds(Kinds& kinds) {
  const std::int64_t block_c = kinds.integer("block_c");
  kinds.k_blocks();
  kinds.is(kinds.integer("kernel_d") > 1, "depth taps");
  kinds.channel_tiles(block_c);
  kinds.is(ceil_div(kinds.group_in, kinds.integer("block_k")) > kinds.integer("stages"), "more k-blocks than stages");
  kinds.add_value("k-blocks of", "block_k");
  kinds.add(kinds.flag("weight_channels_last")
                ? fmt::format("boxes of {} channels", block_c)
                : fmt::format("{} taps of {} channels", tap_count(kinds.layer), block_c));
}

}  // namespace patch_gemm

TemplateFacts facts_of_patch_gemm() {
  using namespace patch_gemm;
  return {
      .name = "patch_gemm",
      .computes = {Compute::kF16, Compute::kBf16},
      .layouts = {Layout::kNhwc},
      .search = "patches",
      .drawer = {.place = 7,
                 .own_compute = true,
                 .shape = equal_strides,
                 .padded = false,
                 .depth = true,
                 .one_group = true,
                 .no_depthwise = true,
                 .whole_in = true,
                 .whole_out = true,
                 .most_in = 200},
      .kinds = add_kinds,
      .least_plans = 15,  // three of a layer at the most
      .changed =
          ChangedProgram{
              .layer = "conv_transpose2d 256 -> 256; kernel 2; stride 2; input 100x14x14; dtype f16; layout nhwc",
              .before = "kStageBytes (* kTilePixels kPixelBytes)",
              .after = "kStageBytes (* kTilePixels 1024)"},
      .goldens =
          {
              {.name = "patch_gemm",
               .layer = "conv_transpose2d 256 -> 256; kernel 2x2; stride 2x2; input 100x14x14; dtype f16; layout nhwc; "
                        "bias; fuse relu",
               .others = {"kernel 2x2; stride 2x2; input 8x512x512; dtype f16; layout nhwc",
                          "kernel 4x4; stride 4x4; input ?x?x?; dtype bf16; layout nhwc; bias",
                          "kernel 3x1; stride 3x1; input 2x9x8; dtype f16; layout nhwc; weight_layout channels_last; "
                          "fuse gelu"}},
          },
      .emitted = "conv_transpose2d 32 -> 32; kernel 2x2; stride 2; input 2x16x16; dtype f16; layout nhwc",
      .compiled =
          {
              {.group = "patches",
               .compute = Compute::kF16,
               .layout = Layout::kNhwc,
               .benchmarks = {"mrcnn", "unet4", "pillars", "sam2x2"},
               .most = 2},
              {.group = "patches_bf16",
               .compute = Compute::kBf16,
               .layout = Layout::kNhwc,
               .benchmarks = {"yoloseg", "unet1"}},
          },
      .machine_code = {.stored_vector = "store"},
      .far =
          {.layers =
               {
                   {.name = "patch_gemm_images",
                    .layer = "conv_transpose2d 64 -> 64; kernel 2x2; stride 2x2; input ?x2x4; dtype f16; layout nhwc",
                    .flat = true},
                   {.name = "patch_gemm_images_of_any_width",
                    .layer = "conv_transpose2d 64 -> 64; kernel 2x2; stride 2x2; input ?x1x?; dtype bf16; layout nhwc",
                    .flat = true},
                   {.name = "patch_gemm_volumes",
                    .layer = "conv_transpose3d 64 -> 64; kernel 2x2x2; stride 2x2x2; input ?x2x2x4; dtype f16; layout "
                             "nhwc",
                    .flat = true},
               },
           .unseen = {"store_outputs: static_cast<long long>(tap / 2)",  // rows of a patch, of a known width
                      "store_outputs: static_cast<long long>(tap / 4 * 4 + tap / 2 % 2)"},
           .rows = one_row},
      .mutants =
          {
              {.name = "patch_gemm",
               .layer =
                   "conv_transpose2d 104 -> 24; kernel 2x2; stride 2x2; bias; input 5x11x7; dtype f16; layout nhwc",
               .least_mutants = 20,
               .few_blocks = true,
               .block = "block_c 16, store 4, block_k 32, stages 3"},
              {.name = "patch_gemm_boxes",
               .layer = "conv_transpose2d 104 -> 24; kernel 3x1; stride 3x1; input 5x11x7; dtype bf16; layout nhwc; "
                        "weight_layout channels_last; fuse relu",
               .least_mutants = 20,
               .few_blocks = true,
               .block = "block_c 16, store 4, block_k 32, stages 3"},
              {.name = "patch_gemm_volumes",
               .layer = "conv_transpose3d 104 -> 24; kernel 2x2x2; stride 2x2x2; bias; input 2x3x5x7; dtype f16; "
                        "layout nhwc",
               .least_mutants = 20,
               .few_blocks = true,
               .block = "block_c 16, store 4, block_k 32, stages 3"},
              {.name = "patch_gemm_volumes_of_boxes",
               .layer =
                   "conv_transpose3d 104 -> 24; kernel 1x3x1; stride 1x3x1; input 2x3x5x7; dtype bf16; layout nhwc; "
                   "weight_layout channels_last; fuse relu",
               .least_mutants = 20,
               .few_blocks = true,
               .block = "block_c 16, store 4, block_k 32, stages 3"},
          },
  };
}

}  // namespace convtgen::testing
