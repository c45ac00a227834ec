// Gradients of tensors with more elements than 32 bits count: the last tiles, or the last slice of the positions, give
// exactly what the definition gives of a small layer that lies at the far one's end.
//
// Tensors take address space, and memory only where they are touched. All blocks but the last are left out. Values are
// small integers, so that sums are the same in each order and mode.
#include <gtest/gtest.h>

#include "tests/end_to_end/far_gradient.h"
#include "tests/end_to_end/far_weight.h"

namespace convtgen::testing {
namespace {

constexpr std::size_t kPlaces = 1;  // of a template, that a run narrows

class FarGradients : public ::testing::TestWithParam<FarCase> {};

TEST_P(FarGradients, AreThoseOfNearOnes) {
  FarGradient gradient(GetParam());
  EXPECT_EQ(gradient.judge(gradient.source()), "") << gradient.plan().summary << "; " << gradient.plan().reason;
}

constexpr Direction kIn = Direction::kGradInput;
constexpr Direction kWeights = Direction::kGradWeight;
constexpr Direction kBias = Direction::kGradBias;
constexpr FarCase kCases[] = {
    {"direct_grad_input_images", "direct_grad_input", kIn,
     "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; input ?x5x9"},
    {"direct_grad_input_images_channels_last", "direct_grad_input", kIn,
     "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; input ?x5x9; layout nhwc"},
    {"direct_grad_input_rows", "direct_grad_input", kIn, "conv_transpose2d 4 -> 2; kernel 3x3; stride 2x2; input ?x?x?",
     true},
    {"direct_grad_input_rows_channels_last", "direct_grad_input", kIn,
     "conv_transpose2d 4 -> 2; kernel 3x3; input ?x?x?; layout nhwc", true},
    {"direct_grad_input_unstaged_rows", "direct_grad_input", kIn,
     "conv_transpose2d 4 -> 2; kernel 2x2; dilation 60000x1; input ?x?x?", true},
    {"shift_gemm_images", "shift_gemm", kIn,
     "conv_transpose2d 16 -> 16; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; compute tf32"},
    {"shift_gemm_images_channels_last", "shift_gemm", kIn,
     "conv_transpose2d 16 -> 16; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout nhwc"},
    {"shift_gemm_rows", "shift_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute tf32", true},
    {"shift_gemm_rows_channels_last", "shift_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; dtype f16; layout nhwc", true},
    {"f32x3_gemm_images", "f32x3_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; compute f32x3"},
    {"f32x3_gemm_rows", "f32x3_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute f32x3", true},
    {"f32x3_gemm_rows_channels_last", "f32x3_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute f32x3; layout nhwc", true},
    {"tap_gemm_images", "tap_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout nhwc"},
    {"tap_gemm_images_of_any_size", "tap_gemm", kIn,
     "conv_transpose2d 32 -> 16; kernel 3x3; stride 2x2; input ?x?x?; dtype f16; layout nhwc"},
    {"tap_gemm_rows", "tap_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; dtype f16; layout nhwc", true},
    {"direct_grad_weight_images", "direct_grad_weight", kWeights,
     "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; bias; input ?x5x9"},
    {"direct_grad_weight_images_channels_last", "direct_grad_weight", kWeights,
     "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; bias; input ?x5x9; layout nhwc"},
    {"direct_grad_weight_rows", "direct_grad_weight", kWeights,
     "conv_transpose2d 4 -> 2; kernel 3x3; stride 2x2; bias; input ?x?x?", true},
    {"direct_grad_weight_rows_channels_last", "direct_grad_weight", kWeights,
     "conv_transpose2d 4 -> 2; kernel 3x3; bias; input ?x?x?; layout nhwc", true},
    {"grad_weight_gemm_images", "grad_weight_gemm", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; padding 1x1; input ?x5x7; dtype f16", false, false},
    {"grad_weight_gemm_images_channels_last", "grad_weight_gemm", kWeights,
     "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout nhwc"},
    {"grad_weight_gemm_copied_images", "grad_weight_gemm", kWeights,
     "conv_transpose2d 16 -> 16; kernel 3x3; padding 1x1; input ?x4x8; dtype f16", false, true},
    {"grad_weight_gemm_copied_rows", "grad_weight_gemm", kWeights,
     "conv_transpose2d 16 -> 16; kernel 3x3; padding 1x1; input ?x16x16; dtype f16", false, true},
    {"grad_weight_gemm_images_of_any_size", "grad_weight_gemm", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute tf32"},
    {"grad_weight_gemm_rows", "grad_weight_gemm", kWeights,
     "conv_transpose2d 32 -> 16; kernel 3x3; stride 2x2; groups 2; input ?x?x?; compute tf32", true},
    {"grad_weight_gemm_rows_channels_last", "grad_weight_gemm", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; dtype bf16; layout nhwc", true},
    {"grad_weight_rows_images", "grad_weight_rows", kWeights,
     "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x16; compute tf32"},
    {"grad_weight_rows_images_through_registers", "grad_weight_rows", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; padding 1x1; input ?x5x6; dtype f16"},
    {"grad_weight_rows_rows", "grad_weight_rows", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; padding 0x1; input ?x?x16; compute tf32", true},
    {"grad_weight_rows_rows_through_registers", "grad_weight_rows", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; padding 0x1; input ?x?x6; dtype f16", true},
    {"grad_weight_pixels_images", "grad_weight_pixels", kWeights,
     "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout nhwc"},
    {"grad_weight_pixels_rows", "grad_weight_pixels", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; dtype f16; layout nhwc", true},
    {"f32x3_grad_weight_copied_images", "f32x3_grad_weight", kWeights,
     "conv_transpose2d 16 -> 16; kernel 3x3; padding 1x1; input ?x4x8; compute f32x3", false, true},
    {"f32x3_grad_weight_images_of_any_size", "f32x3_grad_weight", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute f32x3"},
    {"f32x3_grad_weight_rows", "f32x3_grad_weight", kWeights,
     "conv_transpose2d 32 -> 16; kernel 3x3; stride 2x2; groups 2; input ?x?x?; compute f32x3", true},
    {"f32x3_grad_weight_rows_channels_last", "f32x3_grad_weight", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3; layout nhwc", true},
    {"f32x3_scanned_images",
     "f32x3_grad_weight",
     kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x5x7; compute f32x3",
     false,
     {},
     true},
    {"f32x3_scanned_rows",
     "f32x3_grad_weight",
     kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3",
     true,
     {},
     true},
    {"f32x3_scanned_rows_channels_last",
     "f32x3_grad_weight",
     kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3; layout nhwc",
     true,
     {},
     true},
    {"grad_bias_images", "grad_bias", kBias, "conv_transpose2d 4 -> 6; kernel 3x3; bias; input ?x5x9"},
    {"grad_bias_images_channels_last", "grad_bias", kBias,
     "conv_transpose2d 4 -> 6; kernel 3x3; bias; input ?x5x9; layout nhwc"},
    {"grad_bias_rows", "grad_bias", kBias, "conv_transpose2d 4 -> 6; kernel 3x3; bias; input ?x?x?", true},
    {"grad_bias_rows_channels_last", "grad_bias", kBias,
     "conv_transpose2d 4 -> 6; kernel 3x3; bias; input ?x?x?; layout nhwc", true}};

constexpr WeightCase kWeightCases[] = {{"direct_grad_input", kIn, ""},
                                       {"shift_gemm", kIn, "; compute tf32"},
                                       {"tap_gemm", kIn, "; dtype f16; layout nhwc"},
                                       {"direct_grad_weight", kWeights, ""},
                                       {"grad_weight_gemm", kWeights, "; dtype f16"},
                                       {"grad_weight_rows", kWeights, "; compute tf32"},
                                       {"grad_weight_pixels", kWeights, "; dtype f16; layout nhwc"},
                                       {"f32x3_grad_weight", kWeights, "; compute f32x3"},
                                       {"f32x3_grad_weight_pixels", kWeights, "; compute f32x3"}};

class FarWeights : public ::testing::TestWithParam<WeightCase> {};

TEST_P(FarWeights, AreTheDefinitions) {
  FarWeight weight(GetParam());
  EXPECT_EQ(weight.judge(weight.source()), "") << weight.plan().summary << "; " << weight.plan().reason;
}

INSTANTIATE_TEST_SUITE_P(Templates, FarWeights, ::testing::ValuesIn(kWeightCases),
                         [](const auto& info) { return std::string(info.param.template_name); });

/// A template, and its places that need not be 64-bit in any of the layers, each with the reason.
struct Template {
  const char* name;
  std::set<std::string> unseen;
};

class FarGradientsOfMutants : public ::testing::TestWithParam<Template> {};

TEST_P(FarGradientsOfMutants, ShowEachNarrowOffset) {
  const auto& [template_name, unseen] = GetParam();
  NarrowOffsets offsets(template_name, unseen);
  std::vector<std::unique_ptr<FarGradient>> gradients;
  for (const FarCase& each : kCases) {
    if (each.template_name == std::string_view(template_name)) {
      FarGradient& gradient = *gradients.emplace_back(std::make_unique<FarGradient>(each));
      offsets.add(each.name, gradient.source(), each.direction == kIn ? behind_packing(gradient.source()) : 0,
                  [&gradient](const KernelSource& mutant) { return gradient.judge(mutant); });
    }
  }
  std::vector<std::unique_ptr<FarWeight>> weights;
  for (const WeightCase& each : kWeightCases) {
    if (each.template_name == std::string_view(template_name)) {
      FarWeight& weight = *weights.emplace_back(std::make_unique<FarWeight>(each));
      offsets.add(each.template_name, weight.source(), 0,
                  [&weight](const KernelSource& mutant) { return weight.judge(mutant); });
    }
  }
  offsets.expect_shown(kPlaces);
}

// Partial results of slices take at most 64 MiB: a thread each adds them.
constexpr const char* kAdding = "kernel: const long long i";
constexpr const char* kAddingBlock = "kernel: static_cast<long long>(blockIdx.x)";
constexpr const char* kMove = "wgmma_descriptor_move: static_cast<long long>(bytes / 16)";  // in shared memory
// No memory holds the positions of as many tiles.
constexpr const char* kFirstTile = "kernel: const long long first_tile";
constexpr const char* kTiles = "kernel: static_cast<long long>(batch)";

const Template kTemplates[] = {
    {"direct_grad_input",
     {"kernel: static_cast<long long>(image)",  // its factor is wide
      "kernel: static_cast<long long>(tile)",   // one image
      // A few channels; the others are far by their product.
      "kernel: static_cast<long long>(channel)", "multiply_add_unstaged: static_cast<long long>(channel)",
      "stage_weights: static_cast<long long>(channel)"}},
    {"shift_gemm",
     {"stage_bulk_pixels: static_cast<long long>(image)",       // of a tile
      "store_tile: static_cast<long long>(co)",                 // a few channels of a known size
      "store_tile: static_cast<long long>(i / 2 * 8 + i % 2)",  // likewise
      "weight_at: static_cast<long long>(ci)"}},                // it becomes an int
    {"f32x3_gemm", {}},
    {"tap_gemm", {kMove}},
    {"direct_grad_weight",
     {kAdding, kAddingBlock, "kernel: const long long end",  // tiles, as below
      "kernel: const long long image", "kernel: static_cast<long long>(thread)",
      "kernel: static_cast<long long>(thread / 8)",  // of a block
      "stage_input: static_cast<long long>(ci)",     // a few channels of a known size
      "stage_window: static_cast<long long>(co)"}},  // likewise
    {"grad_weight_gemm",
     {kAdding, kAddingBlock, kMove, kFirstTile, "kernel: * #ll",  // totals take at most 64 MiB too
                                                                  // A few channels of a known size.
      "load_input: * #ll", "load_unit: * #ll", "load_unit_2: * #ll", "load_window: * #ll", "source_of: * #ll"}},
    {"grad_weight_rows", {kAdding, kAddingBlock, kMove, kFirstTile, kTiles}},
    {"grad_weight_pixels",
     {kAdding, kAddingBlock, kMove, kFirstTile, "tiles_of: static_cast<long long>(batch)",
      "tiles_of: const long long image_tiles", "copy_tile: const long long tile"}},
    {"f32x3_grad_weight",
     {kAdding, kAddingBlock, kMove, kFirstTile, "scan_slice: const long long image",
      "scan_slice_2: const long long image", "scan_slice: static_cast<long long>(thread % 16)",
      "scan_slice_2: static_cast<long long>(thread % 16)"}},
    {"f32x3_grad_weight_pixels",  // whose tensors have at most 168 MiB
     {kMove, kFirstTile, "scan_slice: const long long end", "scan_slice_2: const long long end",
      "scan_slice: const long long position", "scan_slice_2: const long long position",
      "scan_slice: static_cast<long long>(batch)", "scan_slice_2: static_cast<long long>(batch)",
      "scan_slice: static_cast<long long>(thread % 16)", "scan_slice_2: static_cast<long long>(thread % 16)",
      "copy_tile: const long long tile"}},
    {"grad_bias",
     {"kernel: const long long end", "kernel: const long long image", "kernel: static_cast<long long>(thread)",
      "kernel: static_cast<long long>(thread / 8)"}}};
INSTANTIATE_TEST_SUITE_P(Templates, FarGradientsOfMutants, ::testing::ValuesIn(kTemplates),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Layers, FarGradients, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace convtgen::testing
