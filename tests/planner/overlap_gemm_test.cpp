#include "generator/planner/table/templates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "generator/language/language.h"
#include "generator/planner/search/cost.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// Layers of benchmarks/layers.convt, one of open sizes, one whose weights are no whole vectors, and layers in NCHW.
constexpr const char* kOverlapLayers[] = {
    "2048 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 32x8x6; dtype f16; layout nhwc",
    "512 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 128x4x4; dtype f16; layout nhwc",
    "256 -> 256; kernel 2x2; stride 2x2; input 100x14x14; bias; dtype f16; layout nhwc",
    "64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input 128x32x32; dtype bf16; layout nhwc",
    "72 -> 40; kernel 3x5; stride 1x4; dtype bf16; layout nhwc; weight_layout channels_last",
    "56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x270x480; dtype f16; layout nhwc",
    "2048 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 32x8x6; dtype f16",
    "1024 -> 512; kernel 2x2; stride 2x2; input 8x32x32; bias; dtype bf16",
    "104 -> 3; kernel 3x5; stride 1x4; padding 2x1; input 5x40x8; dtype f16; weight_layout channels_last",
};

TEST(PlanOverlapGemm, PlansFitTheChipAndAreTheBestFirst) {
  for (const std::string layer : kOverlapLayers) {
    const Problem problem = problem_of(layer);
    const std::vector<Plan> plans = kOverlapGemm.plans(problem).value();
    EXPECT_LE(plans.size(), 16u);
    double before = 0;
    for (const Plan& each : plans) {
      SCOPED_TRACE(layer + ": " + each.reason);
      EXPECT_LE(each.launch.main().shared_bytes, problem.target.max_shared_bytes);
      EXPECT_LE((each.launch.main().shared_bytes + 1024) * integer(each, "blocks_per_sm"),
                std::max(problem.target.shared_bytes_per_sm, problem.target.max_shared_bytes + 1024));
      EXPECT_GE(each.predicted_seconds.value(), before);
      before = each.predicted_seconds.value();
      EXPECT_EQ(each.predicted_seconds, kOverlapGemm.seconds(problem, each, planned_sizes(problem.layer)));
      EXPECT_EQ(each.launch.main().threads, 128 * integer(each, "warpgroups"));
      // Accumulators of all threads of an SM fit its registers besides 36 others.
      const std::int64_t columns = integer(each, "block_c") * tap_count(problem.layer);
      EXPECT_LE((integer(each, "thread_tiles") * (columns + 7) / 8 * 4 + 36) * each.launch.main().threads *
                    integer(each, "blocks_per_sm"),
                65536);
      EXPECT_LE(columns, 256);
      EXPECT_EQ(each.launch.packed_bytes(), 0);
    }
  }
}

TEST(PlanOverlapGemm, SmallImagesAreWholeAndShareATile) {
  const Plan first = kOverlapGemm.plans(problem_of(kOverlapLayers[0])).value().front();
  EXPECT_EQ(integer(first, "tile_n"), 4);
  EXPECT_EQ(integer(first, "tile_h"), 8);
  EXPECT_EQ(integer(first, "tile_w"), 6);
  EXPECT_EQ(integer(first, "block_c"), 16);
}

// What one copy brings has at most 256 elements of an axis; weights are brought as they lie, in rows of a swizzle.
TEST(PlanOverlapGemm, TensorCopiesBringPixelsAndWeights) {
  for (const std::string layer : kOverlapLayers) {
    const Problem problem = problem_of(layer);
    const std::vector<Plan> plans = kOverlapGemm.plans(problem).value();
    for (const Plan& each : plans) {
      SCOPED_TRACE(layer + ": " + each.reason);
      const LaunchPlan launch = each.launch;
      ASSERT_EQ(launch.kernels.size(), 1u);
      EXPECT_TRUE(launch.regions.empty());
      const bool copies = flag(each, "copied_weights");
      ASSERT_EQ(launch.maps.size(), copies ? 2u : 1u);
      EXPECT_EQ(launch.maps[0].form.box[problem.layer.layout == Layout::kNhwc ? 0 : 1], integer(each, "block_k"));
      for (const MapRecipe& map : launch.maps) {
        for (int axis = 0; axis < map.form.rank; ++axis) {
          EXPECT_LE(map.form.box[static_cast<std::size_t>(axis)], 256u);
        }
      }
      const auto weight = std::ranges::find(launch.tensors, Role::kWeight, &Tensor::role);
      EXPECT_EQ(weight->alignment, 16);
      if (copies) {
        EXPECT_EQ(launch.maps[1].form.box[1], integer(each, "block_k"));
      }
    }
  }
  // 81 columns are no whole vectors.
  EXPECT_FALSE(flag(kOverlapGemm.plans(problem_of(kOverlapLayers[5])).value().front(), "copied_weights"));
}

TEST(PlanOverlapGemm, PixelsThatAreNoWholeVectorsAreStoredTogether) {
  EXPECT_EQ(integer(kOverlapGemm.plans(problem_of(kOverlapLayers[3])).value().front(), "store"), 8);
  // Of one channel: the phases of a position.
  EXPECT_EQ(integer(kOverlapGemm.plans(problem_of(kOverlapLayers[5])).value().front(), "store"), 4);
  // Rows of 3 * 5 outputs begin anywhere.
  const Problem odd = problem_of("64 -> 3; kernel 1x1; input 4x5x5; dtype f16; layout nhwc");
  EXPECT_EQ(integer(kOverlapGemm.plans(odd).value().front(), "store"), 1);
}

// A tile has whole rows; runs of their pixels are copied: runs of 32 bytes where images are multiples of 16 pixels.
TEST(PlanOverlapGemm, AdjacentPixelsOfNchwAreCopiedTogether) {
  const Problem small = problem_of(kOverlapLayers[6]);
  const Plan first = kOverlapGemm.plans(small).value().front();
  EXPECT_EQ(integer(first, "tile_n"), 4);
  EXPECT_EQ(integer(first, "store"), 2);  // the phases of a position
  const MapRecipe map = first.launch.maps[0];
  EXPECT_EQ(std::vector(map.form.box.begin(), map.form.box.begin() + 4), (std::vector<std::uint32_t>{16, 64, 3, 4}));
  EXPECT_EQ(map.form.swizzle, TensorMap::Swizzle::k32);
  EXPECT_EQ(map.pitches[1].constant, 8 * 6 * 2);
  EXPECT_EQ(map.pitches[2].constant, 16 * 2);
  const std::vector<Plan> wide = kOverlapGemm.plans(problem_of(kOverlapLayers[7])).value();
  for (const Plan& each : wide) {
    EXPECT_EQ(integer(each, "tile_w"), 32);
  }
}

// Of rows of 12 pixels every second begins at a multiple of 8.
TEST(PlanOverlapGemm, TilesOfNchwBeginAtWholeVectors) {
  const Problem problem = problem_of("64 -> 8; kernel 3x3; stride 1x1; input 3x64x12; dtype f16");
  const std::vector<Plan> plans = kOverlapGemm.plans(problem).value();
  for (const Plan& each : plans) {
    const std::int64_t step = integer(each, "tile_h") - 2;
    EXPECT_EQ(step * 12 % 8, 0) << each.summary;
  }
}

TEST(PlanOverlapGemm, SaysWhyNot) {
  constexpr std::pair<const char*, const char*> kRefused[] = {
      {"16 -> 16; kernel 3; stride 2; compute tf32; layout nhwc", "compute tf32; it takes f16, bf16"},
      {"16 -> 16; kernel 3; stride 2; input 4x8x?; dtype f16",
       "NCHW of a size that the layer leaves open; copies of adjacent pixels need it"},
      {"16 -> 16; kernel 3; stride 2; input 4x8x264; dtype f16",
       "NCHW with 264 columns; at most 256, since a tile has whole rows"},
      {"16 -> 16; kernel 3; stride 2; input 4x7x7; dtype f16",
       "NCHW with images of 7x7 pixels; tensor copies need whole 16 bytes, multiples of 8"},
      {"7 -> 4; kernel 9x1; input 1x12x8; dtype f16", "252 weights; they are read as whole 16 bytes, multiples of 8"},
      {"16 -> 16; kernel 3; stride 2; input 4x8000000x128; dtype f16",
       "NCHW with 8000000 rows; at most 2147483647 outputs of an image and 8388607 rows of its input"},
      {"16 -> 16; kernel 3; stride 2; groups 2; dtype f16; layout nhwc", "2 groups; it takes 1"},
      {"12 -> 16; kernel 3; stride 2; dtype f16; layout nhwc",
       "12 input channels; tensor copies need whole 16 bytes, multiples of 8"},
      {"16 -> 16; kernel 3; stride 2; dilation 1x2; dtype f16; layout nhwc", "dilation 2 in width; it takes 1"},
      {"16 -> 16; kernel 5; dtype f16; layout nhwc", "25 taps of an output; at most 16, which are unrolled"},
      {"16 -> 16; kernel 8; stride 4; dtype f16; layout nhwc",
       "64 taps of 8 output channels; a product has at most 256 columns"},
      {"16 -> 30; kernel 3; stride 2; dtype f16; layout nhwc",
       "9 taps of 30 output channels; a product has at most 256 columns"},
  };
  for (const auto& [layer, reason] : kRefused) {
    const auto plans = kOverlapGemm.plans(problem_of(layer));
    ASSERT_FALSE(plans) << layer;
    EXPECT_EQ(plans.error().message, reason);
  }
  EXPECT_EQ(kOverlapGemm.plans(problem_of(kOverlapLayers[0], "sm_80")).error().message,
            "architecture sm_80 has no wgmma; it takes sm_90a");
}

}  // namespace
}  // namespace convtgen
