#include "generator/planner/chip/target.h"

#include <gtest/gtest.h>

#include <utility>

namespace convtgen {
namespace {

TEST(Target, EveryKnownTargetIsFoundByName) {
  for (const Target& target : known_targets()) {
    const Result<Target> named = target_named(target.architecture);
    ASSERT_TRUE(named) << target.architecture;
    EXPECT_EQ(named->capability, target.capability);
  }
}

TEST(Target, UnknownArchitectureNamesTheKnownOnes) {
  const Result<Target> target = target_named("sm_90");
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().message,
            "unknown architecture 'sm_90'; known are sm_75, sm_80, sm_86, sm_87, sm_88, sm_89, sm_90a, sm_100, sm_101, "
            "sm_103, sm_110, sm_120, sm_121");
}

// GeForce boards' tensor cores are half as fast with f32 accumulators, by data sheets: TFLOP/s of f16, tf32 and FFMA.
TEST(Target, RatesAreOfTheClassOfBoardsThatTheGpusNameIsOf) {
  struct GeForceBoard {
    const char *architecture, *gpu, *board;
    double f16, tf32, f32;
  };
  for (const GeForceBoard& each : {GeForceBoard{"sm_75", "NVIDIA GeForce RTX 2080 Ti", "RTX 2080 Ti", 53.8, 0, 13.5},
                                   {"sm_86", "NVIDIA GeForce RTX 3060", "RTX 3090", 71, 35.6, 35.6},
                                   {"sm_89", "NVIDIA GeForce RTX 4090", "RTX 4090", 165.2, 82.6, 82.6},
                                   {"sm_120", "NVIDIA GeForce RTX 5090", "RTX 5090", 209.5, 104.8, 104.8}}) {
    const Target known = target_named(each.architecture).value();
    const Target target = target_of_gpu(known, each.gpu);
    EXPECT_EQ(target.board, each.board);
    EXPECT_NEAR(target.f16_flops / 1e12, each.f16, 0.03 * each.f16) << each.gpu;
    EXPECT_NEAR(target.tf32_flops / 1e12, each.tf32, 0.03 * each.tf32) << each.gpu;
    EXPECT_NEAR(target.f32_flops / 1e12, each.f32, 0.03 * each.f32) << each.gpu;
    EXPECT_EQ(target.bf16_flops > 0, known.bf16_flops > 0) << each.gpu;
    EXPECT_EQ(target.sm.mma_cycles, 2 * known.sm.mma_cycles) << each.gpu;
    EXPECT_EQ(target.max_shared_bytes, known.max_shared_bytes) << each.gpu;
    EXPECT_EQ(target_of_gpu(target, each.gpu).f16_flops, target.f16_flops) << "once is as often";
  }
  for (const auto& [architecture, gpu] : {std::pair{"sm_89", "NVIDIA L40S"},
                                          {"sm_75", "Tesla T4"},
                                          {"sm_89", "NVIDIA RTX 6000 Ada Generation"},
                                          {"sm_80", "NVIDIA GeForce RTX 4090 as sm_80"},
                                          {"sm_120", ""}}) {
    const Target known = target_named(architecture).value();
    EXPECT_EQ(target_of_gpu(known, gpu).board, known.board) << gpu;
    EXPECT_EQ(target_of_gpu(known, gpu).f16_flops, known.f16_flops) << gpu;
  }
}

}  // namespace
}  // namespace convtgen
