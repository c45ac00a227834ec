// Each chip with each driver and NVRTC: the API loads what the rule says, or refuses.
#include <gmock/gmock.h>

#include <string>
#include <tuple>

#include "tests/api/fake_gpu.h"
#include "tests/cuda_device/played_chips.h"

namespace convtgen::api_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ChipsTest : public FakeGpuTest {
 protected:
  void play(const test::PlayedMachine& machine) {
    state_->capability_major = machine.capability / 10;
    state_->capability_minor = machine.capability % 10;
    state_->driver_version = machine.driver_version;
    state_->max_shared_bytes = machine.shared_bytes;
    setenv("CONVTGEN_FAKE_NVRTC_VERSION", machine.nvrtc.version.c_str(), 1);
    setenv("CONVTGEN_FAKE_NVRTC_KNOWS", machine.known().c_str(), 1);
    // What another NVRTC has compiled must not be found.
    setenv("CONVTGEN_CACHE_DIR", (folder_ / std::to_string(++count_)).c_str(), 1);
    log_.clear();
  }
  void play(int capability, int driver, const std::string& nvrtc) {
    for (const test::PlayedMachine& machine : test::played_machines()) {
      if (machine.capability == capability && machine.driver_version == driver && machine.nvrtc.version == nvrtc) {
        play(machine);
      }
    }
  }
  void TearDown() override {
    unsetenv("CONVTGEN_FAKE_NVRTC_VERSION");
    FakeGpuTest::TearDown();
  }
  int count_ = 0;
};

TEST_F(ChipsTest, TheApiFollowsTheRule) {
  for (const test::PlayedMachine& machine : test::played_machines()) {
    SCOPED_TRACE(machine.text());
    play(machine);
    const Device device("cuda");
    for (const char* text : {kOpenLayer,
                             "conv_transpose2d 64 -> 32; kernel 4; stride 2; padding 1; input 1x16x16; "
                             "dtype f16; layout nhwc"}) {
      std::string made = "refused";
      const Thrown thrown = thrown_by([&] { made = device.prepare(Layer(text)).architecture(); });
      EXPECT_EQ(made, machine.rule()) << thrown.message;
      if (made == "refused") {
        EXPECT_THAT(thrown.message,
                    HasSubstr("compute capability " + machine.text().substr(19, machine.text().find(',') - 19)));
        EXPECT_EQ(thrown.status, machine.capability < 75 ? CONVTGEN_UNSUPPORTED : CONVTGEN_DRIVER);
      }
    }
  }
}

TEST_F(ChipsTest, AutoTakesTheHostWhereTheChipIsTooOld) {
  play(72, 13000, "13.0");
  EXPECT_THAT(std::string(Device("auto").name()), HasSubstr("host"));
  EXPECT_THAT(log_, HasSubstr("the oldest chip is 7.5"));
}

TEST_F(ChipsTest, NotesSayWhatIsTrue) {
  play({.capability = 101,
        .shared_bytes = 227 * 1024,
        .driver_version = 13000,
        .nvrtc = {.version = "12.8", .number = 12080, .architectures = {90, 100, 101, 120}}});
  (void)Device("cuda").prepare(Layer(kOpenLayer));
  EXPECT_THAT(log_, AllOf(HasSubstr("kernels for compute capability 10.1 are planned as for sm_100, and compiled for "
                                    "sm_101"),
                          Not(HasSubstr("does not know"))));
  play(110, 13000, "12.4");
  (void)Device("cuda").prepare(Layer(kOpenLayer));
  EXPECT_THAT(log_, HasSubstr("NVRTC 12.4 does not know compute capability 11.0 yet: kernels are compiled to PTX for "
                              "sm_89"));
  for (const int own : {87, 110, 121}) {
    play(own, 13000, "13.0");
    (void)Device("cuda").prepare(Layer(kOpenLayer));
    EXPECT_THAT(log_, IsEmpty());
  }
}

// NVRTC 12.8 knows 10.0 and 12.0: their PTX, and one note; with an older driver their cubins.
TEST_F(ChipsTest, ChipsThatNvrtcDoesNotKnowRunPtxOfOlderOnes) {
  using std::tuple;
  for (const auto& [capability, name, kibibytes, older] :
       {tuple{103, "10.3", 227, "100"}, tuple{110, "11.0", 227, "100"}, tuple{121, "12.1", 99, "120"}}) {
    const auto made = [&, chip = capability, bytes = kibibytes * 1024](int driver) {
      play({.capability = chip,
            .shared_bytes = bytes,
            .driver_version = driver,
            .nvrtc = {.version = "12.8", .number = 12080, .architectures = {75, 80, 86, 87, 89, 90, 100, 101, 120}}});
      const Device device("cuda");
      (void)device.prepare(Layer("conv_transpose2d 4 -> 2; kernel 3"));
      return std::string(device.prepare(Layer(kOpenLayer)).architecture());
    };
    EXPECT_EQ(made(13000), std::string("compute_") + older);
    const std::string note = std::string("does not know compute capability ") + name + " yet";
    const std::size_t first = log_.find(note);
    EXPECT_NE(first, std::string::npos) << log_;
    EXPECT_EQ(log_.find(note, first + 1), std::string::npos) << "one note";
    if (capability != 110) {
      EXPECT_EQ(made(12060), std::string("sm_") + older);
    } else {
      EXPECT_THAT(thrown_by([&] { (void)made(12060); }).message,
                  AllOf(HasSubstr("NVRTC 12.8"), HasSubstr("PTX up to CUDA 12.6 only")));
    }
  }
}

TEST_F(ChipsTest, ADriverThatIsTooOldForPtxIsToldBothVersions) {
  play(120, 12020, "12.4");
  const Thrown thrown = thrown_by([] { (void)Device("cuda").prepare(Layer(kOpenLayer)); });
  EXPECT_THAT(thrown.message, AllOf(HasSubstr("NVRTC 12.4"), HasSubstr("PTX up to CUDA 12.2 only")));
}

// A cubin that the driver has no use for is no reason for a newer driver.
TEST_F(ChipsTest, WhatTheChipRunsIsSaidWhereABinaryIsRefused) {
  play(87, 13000, "13.0");
  state_->failures["cuModuleLoadDataEx"] = 209;
  const Thrown thrown = thrown_by([] { (void)Device("cuda").prepare(Layer(kOpenLayer)); });
  EXPECT_THAT(thrown.message,
              AllOf(HasSubstr("A GPU of compute capability 8.7 runs code for sm_87 or PTX of compute_87"),
                    Not(HasSubstr("update the driver"))));
}

}  // namespace
}  // namespace convtgen::api_test
