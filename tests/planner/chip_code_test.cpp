// The rule for every chip: an independent table, and what must hold of any answer.
#include "generator/planner/chip/chip_code.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace convtgen {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<int> kNvrtc124 = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90};
const std::vector<int> kNvrtc130 = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

struct Row {
  int capability;
  std::string by_124, by_130;  // with a driver that is new enough
};
const Row kTable[] = {
    {70, "refused", "refused"},    {72, "refused", "refused"},    {75, "sm_75", "sm_75"},
    {80, "sm_80", "sm_80"},        {86, "sm_86", "sm_86"},        {87, "sm_87", "sm_87"},
    {88, "compute_80", "sm_88"},   {89, "sm_89", "sm_89"},        {90, "sm_90a", "sm_90a"},
    {100, "compute_89", "sm_100"}, {103, "compute_89", "sm_103"}, {110, "compute_89", "sm_110"},
    {120, "compute_89", "sm_120"}, {121, "compute_89", "sm_121"},
};

std::string made(int capability, int driver, const CodeCompiler& compiler) {
  const auto code = code_for_chip({capability, driver}, compiler);
  return code ? name_of(*code) : "refused";
}

TEST(ChipCode, WhatEachChipGets) {
  for (const Row& row : kTable) {
    for (const int driver : {12020, 12080, 13000}) {
      const bool takes_124 = driver >= 12040 || !row.by_124.starts_with("compute");
      EXPECT_EQ(made(row.capability, driver, {12040, kNvrtc124}), takes_124 ? row.by_124 : "refused")
          << row.capability << " " << driver;
      EXPECT_EQ(made(row.capability, driver, {13000, kNvrtc130}), row.by_130) << row.capability << " " << driver;
    }
    const auto without = code_for_chip({row.capability, 12020}, std::nullopt);
    EXPECT_EQ(without ? name_of(*without) : "refused", row.by_130) << row.capability;
  }
}

// Every capability, with every set of the compilers' kinds.
TEST(ChipCode, WhatIsMadeRunsThereAndCanBeMade) {
  std::vector<std::vector<int>> compilers = {kNvrtc124, kNvrtc130, {}};
  for (const int last : kNvrtc130) {
    compilers.emplace_back();
    for (const int each : kNvrtc130) {
      if (each <= last) {
        compilers.back().push_back(each);
      }
    }
  }
  for (int capability = 30; capability < 200; ++capability) {
    for (const std::vector<int>& compiles : compilers) {
      for (const int driver : {0, 11080, 12040, 12080}) {
        const auto code = code_for_chip({capability, driver}, CodeCompiler{12040, compiles});
        if (!code) {
          EXPECT_NE(code.error().message, "");
          EXPECT_EQ(capability < kOldestChip, code.error().cause == NoCode::Cause::kChip) << capability;
          continue;
        }
        EXPECT_TRUE(runs_on(*code, capability)) << name_of(*code) << " on " << capability;
        EXPECT_TRUE(std::ranges::find(compiles, code->target.capability) != compiles.end());
        EXPECT_FALSE(code->is_ptx && driver != 0 && driver < 12040);
        // The name is enough to make it again.
        const auto named = code_target_named(name_of(*code));
        ASSERT_TRUE(named) << named.error().message;
        EXPECT_EQ(*named, *code);
      }
    }
  }
}

TEST(ChipCode, CubinsOfTegraRunThereAlone) {
  const auto runs = [](const char* made_for, int capability) {
    return cubin_runs_on(*target_named(made_for), capability);
  };
  EXPECT_TRUE(runs("sm_80", 86));
  EXPECT_TRUE(runs("sm_86", 89));
  EXPECT_FALSE(runs("sm_86", 80));
  EXPECT_FALSE(runs("sm_80", 87));
  EXPECT_FALSE(runs("sm_86", 87));
  EXPECT_FALSE(runs("sm_86", 88));
  EXPECT_TRUE(runs("sm_87", 87));
  EXPECT_FALSE(runs("sm_87", 88));
  EXPECT_FALSE(runs("sm_87", 89));
  EXPECT_TRUE(runs("sm_100", 103));
  EXPECT_FALSE(runs("sm_100", 101));
  EXPECT_FALSE(runs("sm_100", 110));
  EXPECT_TRUE(runs("sm_120", 121));
  EXPECT_FALSE(runs("sm_90a", 91));
  EXPECT_FALSE(runs("sm_89", 90));
}

TEST(ChipCode, AChipThatIsInNoTableIsPlannedAsALargePortableOneBeforeIt) {
  const auto plans = [](int capability) { return planned_as(*target_of_chip(capability)); };
  EXPECT_EQ(plans(86), "sm_86");
  EXPECT_EQ(plans(85), "sm_80");
  EXPECT_EQ(plans(91), "sm_89");
  EXPECT_EQ(plans(101), "sm_100");
  EXPECT_EQ(plans(104), "sm_103");
  EXPECT_EQ(plans(111), "sm_110");
  EXPECT_EQ(plans(122), "sm_120");
  EXPECT_EQ(plans(130), "sm_120");
  EXPECT_EQ(target_of_chip(101)->max_shared_bytes, target_named("sm_100")->max_shared_bytes);
}

// What differs within a family.
TEST(ChipCode, ChipsHaveLimitsOfTheirOwn) {
  const auto shared = [](int capability) { return target_of_chip(capability)->max_shared_bytes / 1024; };
  EXPECT_EQ(shared(86), 99);
  EXPECT_EQ(shared(87), 163);
  EXPECT_EQ(shared(88), 99);
  EXPECT_EQ(target_of_chip(100)->max_threads_per_sm, 2048);
  EXPECT_EQ(target_of_chip(110)->max_threads_per_sm, 1536);
  EXPECT_EQ(target_of_chip(121)->multiprocessors, 48);
}

// Its own code where the compiler knows the chip, else PTX of an older one. A driver that is too old for that PTX runs
// a cubin of the chip's family, if the chip has one.
TEST(ChipCode, OlderCompilersMakePtxOfOlderChips) {
  const std::vector<int> nvrtc_128 = {75, 80, 86, 87, 89, 90, 100, 101, 120};
  const std::vector<int> nvrtc_129 = {75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121};
  const std::vector<int> nvrtc_118 = {75, 80, 86, 89, 90};  // without 8.7
  struct Old {
    int capability, version;
    std::span<const int> compiles;
    const char *made, *with_older_driver;
  };
  const Old kAll[] = {
      {87, 11080, nvrtc_118, "compute_80", "refused"},   {88, 12080, nvrtc_128, "compute_80", "refused"},
      {103, 12080, nvrtc_128, "compute_100", "sm_100"},  {110, 12080, nvrtc_128, "compute_100", "refused"},
      {110, 12090, nvrtc_129, "compute_103", "refused"}, {121, 12080, nvrtc_128, "compute_120", "sm_120"},
      {101, 12080, nvrtc_128, "sm_101", "sm_101"},       {101, 13000, kNvrtc130, "compute_100", "refused"},
  };
  for (const Old& old : kAll) {
    EXPECT_EQ(made(old.capability, old.version, {old.version, old.compiles}), old.made) << old.capability;
    EXPECT_EQ(made(old.capability, 11040, {old.version, old.compiles}), old.with_older_driver) << old.capability;
  }
}

// What is planned for an older chip runs on this one: with no more shared memory.
TEST(ChipCode, CodeOfOlderChipsHasTheLimitsOfBoth) {
  for (int capability = kOldestChip; capability < 140; ++capability) {
    const int most = target_of_chip(capability)->max_shared_bytes;
    for (const int last : kNvrtc130) {
      std::vector<int> compiles = kNvrtc130;
      std::erase_if(compiles, [&](int each) { return each > last; });
      for (const int driver : {0, 11040}) {
        if (const auto code = code_for_chip({capability, driver}, CodeCompiler{13000, compiles})) {
          const int own = target_named(code->target.architecture)->max_shared_bytes;
          EXPECT_EQ(code->target.max_shared_bytes, std::min(own, most)) << name_of(*code) << " on " << capability;
        }
      }
    }
  }
}

TEST(ChipCode, NamesOfChipsThatGetTheCodeOfOthers) {
  const auto named = [](const char* name) {
    const auto code = code_target_named(name);
    return code ? name_of(*code) : code.error().message;
  };
  EXPECT_EQ(named("sm_121"), "sm_121");
  EXPECT_EQ(named("sm_101"), "sm_101");
  EXPECT_EQ(named("compute_87"), "compute_87");
  EXPECT_EQ(named("compute_101"), "compute_100");
  EXPECT_THAT(named("sm_70"), HasSubstr("unknown architecture 'sm_70'; legal are sm_75, sm_80, sm_86, sm_87"));
  EXPECT_THAT(named("sm_90"), HasSubstr("unknown architecture"));
}

TEST(ChipCode, AChipRunsTheKernelsOfOlderOnesAsPtx) {
  for (int capability = kOldestChip; capability < 140; ++capability) {
    for (const Target& target : known_targets()) {
      const auto chip = chip_as({.capability = capability}, target.architecture);
      const bool is_own = target_of_chip(capability)->architecture == target.architecture;
      EXPECT_EQ(chip.has_value(), is_own || ptx_runs_on(target, capability)) << capability << target.architecture;
      if (!chip || is_own) {
        EXPECT_TRUE(!chip || chip->as.empty());
        continue;
      }
      const CodeTarget code = code_for_chip(*chip, std::nullopt).value();
      EXPECT_TRUE(code.is_ptx);
      EXPECT_EQ(code.target.architecture, target.architecture);
      EXPECT_LE(code.target.max_shared_bytes, target.max_shared_bytes);
      EXPECT_LE(code.target.max_shared_bytes, target_of_chip(capability)->max_shared_bytes);
      EXPECT_LE(code.target.shared_bytes_per_sm, target_of_chip(capability)->shared_bytes_per_sm);
      EXPECT_LE(code.target.max_threads_per_sm, target_of_chip(capability)->max_threads_per_sm);
    }
  }
  EXPECT_EQ(chip_as({.capability = 72}, "sm_75").error().message,
            "no kernels are made for compute capability 7.2; the oldest chip is 7.5");
}

TEST(ChipCode, KernelsArePlannedForTheChipsNumberOfSms) {
  const Target board = *target_of_chip(86);
  const Target small = target_for({.capability = 86, .multiprocessors = board.multiprocessors / 3}).value();
  EXPECT_EQ(small.multiprocessors, board.multiprocessors / 3);
  EXPECT_DOUBLE_EQ(small.f16_flops, board.f16_flops / 3);
  EXPECT_DOUBLE_EQ(small.bytes_per_second, board.bytes_per_second / 3);
  EXPECT_EQ(small.max_shared_bytes, board.max_shared_bytes);
  EXPECT_EQ(target_for({.capability = 86}).value().multiprocessors, board.multiprocessors);
  const CodeTarget code = code_for_chip({.capability = 86, .multiprocessors = 28}, std::nullopt).value();
  EXPECT_EQ(code.target.multiprocessors, 28);
}

TEST(ChipCode, AnOlderChipsKernelsArePlannedAtTheRatesOfTheChipThatRunsThem) {
  const Target own = *target_of_chip(90);
  const Target as = target_for({.capability = 90, .multiprocessors = 114, .as = "sm_75"}).value();
  EXPECT_EQ(as.architecture, "sm_75");
  EXPECT_EQ(as.capability, 75);
  EXPECT_EQ(as.multiprocessors, 114);
  EXPECT_FALSE(as.features.has(Feature::kCpAsync));
  EXPECT_DOUBLE_EQ(as.f16_flops, own.f16_flops * 114 / own.multiprocessors);
  EXPECT_EQ(as.tf32_flops, 0) << "its tensor cores take no tf32";
  EXPECT_EQ(as.sm.clock_hz, own.sm.clock_hz);
}

TEST(ChipCode, RecordsOfOlderChipsKernelsHaveNamesOfTheirOwn) {
  EXPECT_EQ(record_name("NVIDIA H200", {.capability = 90}), "NVIDIA H200");
  const std::string name = record_name("NVIDIA H200", {.capability = 90, .as = "sm_80"});
  EXPECT_EQ(name, "NVIDIA H200 as sm_80");
  EXPECT_TRUE(is_of_older_chip(name));
  EXPECT_FALSE(is_of_older_chip("NVIDIA H200"));
}

TEST(ChipCode, SaysWhyThereIsNone) {
  const auto why = [](int capability, int driver, const CodeCompiler& compiler) {
    return code_for_chip({capability, driver}, compiler).error().message;
  };
  EXPECT_EQ(why(72, 12020, {12040, kNvrtc124}),
            "no kernels are made for compute capability 7.2; the oldest chip is 7.5");
  const std::string old = why(110, 12020, {12040, kNvrtc124});
  EXPECT_THAT(old, HasSubstr("NVRTC 12.4 does not know compute capability 11.0, so it would make PTX of compute_89"));
  EXPECT_THAT(old, HasSubstr("the driver takes PTX up to CUDA 12.2 only"));
  EXPECT_THAT(old, HasSubstr("an NVRTC that makes code for sm_110, or one up to CUDA 12.2"));
  const std::vector<int> newer = {100};
  EXPECT_THAT(why(87, 13000, {13000, newer}), HasSubstr("the chip runs code for sm_87 or PTX of compute_87"));
  EXPECT_THAT(old, Not(HasSubstr("update")));
}

}  // namespace
}  // namespace convtgen
