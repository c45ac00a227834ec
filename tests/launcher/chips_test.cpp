// Which of a set's binaries the launch code loads on each chip: what the rule says runs there, cubins before PTX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "generator/planner/chip/chip_code.h"
#include "tests/cuda_device/played_chips.h"
#include "tests/launcher/over_fake_driver.h"

namespace convtgen::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kLayer = "layer up { conv_transpose2d 8 -> 6; kernel 4; stride 2; padding 1; bias }\n";

class LaunchedOnChips : public OverFakeDriver {
 protected:
  void make_set(const std::string& architectures, const std::string& nvrtc = "13.0") {
    set_.generate(kLayer, architectures, false,
                  {{"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC},
                   {"CONVTGEN_FAKE_NVRTC_VERSION", nvrtc},
                   {"CONVTGEN_CACHE_DIR", set_.folder() / "cache"},
                   {"CONVTGEN_FAKE_NVRTC_KNOWS", "75 80 86 87 88 89 90 100 101 103 110 120 121"}});
    set_.build(strict_compilers().front());
  }
  /// What it loads on a chip, or "refused".
  std::string loaded_on(int capability, int driver_version) {
    state_->driver_version = driver_version;
    state_->last_image = {};
    enter_context(capability / 10, capability % 10);
    const int status = set_.function<int (*)()>("prepare")();
    leave_context();
    return status == 0 ? state_->last_image : "refused";
  }
};

/// The newest cubin of these that runs on the chip, else the newest PTX.
std::string best_of(const std::vector<std::string>& names, int capability) {
  std::optional<CodeTarget> best;
  for (const std::string& name : names) {
    const CodeTarget code = *code_target_named(name);
    if (runs_on(code, capability) &&
        (!best || (best->is_ptx && !code.is_ptx) ||
         (best->is_ptx == code.is_ptx && code.target.capability > best->target.capability))) {
      best = code;
    }
  }
  return best ? name_of(*best) : "refused";
}

TEST_F(LaunchedOnChips, ASetOfAllArchitecturesLoadsTheChipsOwn) {
  make_set(
      "sm_75,sm_80,sm_86,sm_87,sm_88,sm_89,sm_90a,sm_100,sm_103,sm_110,sm_120,sm_121,compute_80,"
      "compute_120");
  for (const PlayedMachine& machine : played_machines()) {
    const auto own = target_of_chip(machine.capability);
    const std::string loaded = loaded_on(machine.capability, machine.driver_version);
    EXPECT_EQ(loaded, own ? own->architecture : "refused") << machine.text();
  }
}

TEST_F(LaunchedOnChips, ASetOfSomeLoadsTheBestThatRuns) {
  const std::vector<std::string> names = {"sm_80", "sm_86", "sm_90a", "sm_100", "compute_75", "compute_80"};
  make_set("sm_80,sm_86,sm_90a,sm_100,compute_75,compute_80");
  for (const PlayedMachine& machine : played_machines()) {
    const std::string best = best_of(names, machine.capability);
    const bool takes = !best.starts_with("compute") || machine.driver_version >= 13000;  // which made it
    EXPECT_EQ(loaded_on(machine.capability, machine.driver_version), takes ? best : "refused") << machine.text();
  }
}

TEST_F(LaunchedOnChips, OrinTakesPtxWhereItHasNoCodeOfItsOwn) {
  make_set("sm_80,sm_86,compute_80", "12.4");
  EXPECT_EQ(loaded_on(87, 12020), "refused");
  EXPECT_THAT(set_.last_error(), HasSubstr("loading the kernel for compute_80 (PTX of version 8.4), with a driver for "
                                           "CUDA 12.2"));
  EXPECT_EQ(loaded_on(87, 12080), "compute_80");
  EXPECT_EQ(loaded_on(88, 12080), "compute_80");
  EXPECT_EQ(loaded_on(86, 12020), "sm_86");
}

TEST_F(LaunchedOnChips, OrinWithoutEitherIsToldWhatTheSetHas) {
  make_set("sm_80,sm_86");
  EXPECT_EQ(loaded_on(87, 13000), "refused");
  EXPECT_THAT(set_.last_error(),
              AllOf(HasSubstr("built for sm_80 sm_86, and nothing of that runs on this GPU of compute "
                              "capability 8.7; add its architecture, or PTX of an older one"),
                    Not(HasSubstr("driver"))));
}

// The rule is not all that a driver goes by.
TEST_F(LaunchedOnChips, WhereTheDriverRefusesTheBestTheNextOneIsTried) {
  make_set("sm_80,sm_86,compute_80");
  state_->refused_images = {"sm_86"};
  EXPECT_EQ(loaded_on(86, 13000), "sm_80");
  state_->refused_images = {"sm_86", "sm_80"};
  EXPECT_EQ(loaded_on(86, 13000), "compute_80");
  state_->refused_images = {"sm_86", "sm_80", "compute_80"};
  EXPECT_EQ(loaded_on(86, 13000), "refused");
  EXPECT_THAT(set_.last_error(), HasSubstr("loading the kernel for sm_86"));
}

}  // namespace
}  // namespace convtgen::test
