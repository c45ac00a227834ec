// What the planner's tests share: problems from text, and the parameters of plans.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "generator/language/language.h"
#include "generator/planner/chip/target.h"
#include "generator/planner/plan/plan.h"

namespace convtgen {

/// The first direction of a layer on an architecture. The text of a conv_transpose2d may leave out that word.
inline Problem problem_of(std::string_view text, std::string_view architecture = "sm_90a") {
  const std::string layer = (text.starts_with("conv_transpose") ? "" : "conv_transpose2d ") + std::string(text);
  const Target target = target_named(architecture).value();
  const auto parsed = parse_layer(layer);
  EXPECT_TRUE(parsed) << layer;
  return parsed ? Problem{*parsed, parsed->directions.front(), target} : Problem{{}, Direction::kForward, target};
}

/// Two layers of benchmarks/layers.convt whose taps and channels are few.
inline constexpr const char* kKb75 =
    "32 -> 64; kernel 3x5; stride 2x3; padding 1x2; dilation 2x1; groups 4; input 16x128x256";
inline constexpr const char* kKb81 = "32 -> 64; kernel 3x3; stride 5x5; padding 1x1; dilation 2x2; input 16x64x128";

inline std::int64_t integer(const Plan& plan, const char* name) {
  return std::get<std::int64_t>(plan.parameters.at(name));
}
inline bool flag(const Plan& plan, const char* name) {
  return std::get<bool>(plan.parameters.at(name));
}

}  // namespace convtgen
