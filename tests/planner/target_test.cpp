#include "generator/planner/chip/target.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace convtgen
