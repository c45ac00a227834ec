// The template `halo_gemm` made into source: the source of one layer as a file, and what holds for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "generator/language/language.h"
#include "generator/specializer/kernel_source.h"

namespace convtgen {
namespace {

KernelSource source_of(std::string_view layer) {
  const auto parsed = parse_layer(layer);
  EXPECT_TRUE(parsed) << layer;
  const Problem problem{*parsed, Direction::kForward, *target_named("sm_90a")};
  const std::vector<Plan> plans = plan(problem).value();
  const auto found = std::ranges::find(plans, "halo_gemm", &Plan::template_name);
  if (found == plans.end()) {
    ADD_FAILURE() << "no plan for " << layer;
    return {};
  }
  const Result<KernelSource> source = specialize(problem, *found);
  EXPECT_TRUE(source) << source.error().message;
  return source.value_or(KernelSource{});
}

constexpr std::string_view kGolden =
    "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; layout nhwc; bias; "
    "fuse relu";

// CONVTGEN_UPDATE_GOLDENS=1 writes the file anew: read the difference before it is committed.
TEST(HaloGemm, IsTheCommittedSource) {
  const std::string path = std::string(CONVTGEN_GOLDENS) + "/halo_gemm.cu";
  const std::string text = source_of(kGolden).text;
  if (std::getenv("CONVTGEN_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path) << text;
  }
  std::ifstream file(path);
  std::ostringstream committed;
  committed << file.rdbuf();
  EXPECT_EQ(text, committed.str());
}

TEST(HaloGemm, StandsAloneAndIsOfReadableLength) {
  for (const char* rest :
       {"kernel 3x3; input 8x512x512; dtype f16", "kernel 3x3; stride 2x2; input ?x?x?; dtype bf16; bias",
        "kernel 5x7; dilation 2x3; input 1x9x9; compute tf32; fuse gelu", "kernel 2x2; stride 2x2; dtype f16"}) {
    const KernelSource source = source_of(std::string("conv_transpose2d 72 -> 40; layout nhwc; ") + rest);
    EXPECT_LT(std::ranges::count(source.text, '\n'), 650) << rest;
    for (const char* none : {"P::", "Parameters", "#include", "kHalo", "kJoined"}) {
      EXPECT_EQ(source.text.find(none), std::string::npos) << none << " in the source of " << rest;
    }
    EXPECT_NE(source.text.find(source.symbol + "("), std::string::npos);
  }
}

TEST(HaloGemm, PacksAllWeightsIntoWhatThePlanSays) {
  const KernelSource source = source_of(kGolden);
  ASSERT_TRUE(source.packing);
  // Four phases of four taps, 128 x 64 channels, two bytes each.
  EXPECT_EQ(source.packing->bytes, 4 * 4 * 128 * 64 * 2);
  EXPECT_EQ(source.packing->blocks * source.packing->threads, source.packing->bytes / 16);
  EXPECT_TRUE(std::ranges::any_of(source.parameters, [](const auto& each) { return each.name == "packed"; }));
  EXPECT_FALSE(std::ranges::any_of(source.parameters, [](const auto& each) { return each.name == "weight"; }));
}

}  // namespace
}  // namespace convtgen
