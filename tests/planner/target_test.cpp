#include "generator/planner/target.h"

#include <gtest/gtest.h>

namespace convtgen {
namespace {

TEST(Target, EveryKnownTargetIsFoundByNameAndCapability) {
  for (const Target& target : known_targets()) {
    const Result<Target> named = target_named(target.architecture);
    ASSERT_TRUE(named) << target.architecture;
    EXPECT_EQ(named->capability, target.capability);
    const Result<Target> by_capability = target_for_capability(target.capability);
    ASSERT_TRUE(by_capability);
    EXPECT_EQ(by_capability->architecture, target.architecture);
  }
}

TEST(Target, UnknownArchitectureNamesTheKnownOnes) {
  const Result<Target> target = target_named("sm_90");
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().message,
            "unknown architecture 'sm_90'; known are sm_75, sm_80, sm_86, sm_89, sm_90a, sm_100, sm_120");
  const Result<Target> old = target_for_capability(70);
  ASSERT_FALSE(old);
  EXPECT_NE(old.error().message.find("compute capability 7.0"), std::string::npos);
}

TEST(Target, ChoosesTheNearestArchitectureThatRuns) {
  const auto chosen = [](int capability) { return architecture_for_capability(capability).value_or("none"); };
  EXPECT_EQ(chosen(75), "sm_75");
  EXPECT_EQ(chosen(80), "sm_80");
  EXPECT_EQ(chosen(87), "sm_86");
  EXPECT_EQ(chosen(89), "sm_89");
  EXPECT_EQ(chosen(90), "sm_90a");
  EXPECT_EQ(chosen(91), "none");  // code for sm_90a runs on 9.0 alone
  EXPECT_EQ(chosen(100), "sm_100");
  EXPECT_EQ(chosen(103), "sm_100");
  EXPECT_EQ(chosen(121), "sm_120");
  EXPECT_EQ(chosen(110), "none");
  EXPECT_EQ(chosen(72), "none");
}

}  // namespace
}  // namespace convtgen
