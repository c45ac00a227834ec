// $CONVTGEN_ARCHITECTURE: a GPU runs the kernels of an older chip, as PTX and within the limits of both; nothing that
// is kept is mixed with its own.
#include <gmock/gmock.h>

#include "tests/api/fake_gpu.h"
#include "tests/api/packed_record.h"

namespace convtgen::api_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSizedLayer = "conv_transpose2d 64 -> 32; kernel 4; stride 2; padding 1; input 1x16x16";

class OlderChipTest : public FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    setenv("CONVTGEN_FAKE_NVRTC_KNOWS", "75 80 86 87 88 89 90 100 103 110 120 121", 1);
  }
  void play(int capability, int shared_kibibytes) {
    state_->capability_major = capability / 10;
    state_->capability_minor = capability % 10;
    state_->max_shared_bytes = shared_kibibytes * 1024;
  }
  static void ask(const char* architecture) { setenv("CONVTGEN_ARCHITECTURE", architecture, 1); }
  static std::string refusal(const char* device) {
    const Thrown thrown = thrown_by([&] { const Device opened(device); });
    EXPECT_EQ(thrown.status, CONVTGEN_INVALID_ARGUMENT) << device;
    return thrown.message;
  }
  [[nodiscard]] std::string record(const char* architecture, std::size_t number, const char* chip) const {
    return record_plan(kSizedLayer, architecture, number, chip, (folder_ / "store").string());
  }
  /// The heading of its plan on the GPU.
  static std::string taken() {
    const std::string plan(Device("cuda").prepare(Layer(kSizedLayer)).plan());
    return plan.substr(0, plan.find('\n'));
  }
};

TEST_F(OlderChipTest, EveryOlderChipsKernelsRunAsPtx) {
  for (const char* architecture : {"sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89"}) {
    ask(architecture);
    const Device device("cuda");
    EXPECT_THAT(std::string(device.name()), HasSubstr(std::string("as ") + architecture));
    for (const char* direction : {"forward", "grad_input", "grad_weight"}) {
      const std::string text = std::string(kSizedLayer) + "; dtype f16; layout nhwc; directions " + direction;
      const auto number = std::string(direction) == "forward"      ? CONVTGEN_FORWARD
                          : std::string(direction) == "grad_input" ? CONVTGEN_GRAD_INPUT
                                                                   : CONVTGEN_GRAD_WEIGHT;
      const Kernel kernel = device.prepare(Layer(text), number);
      EXPECT_EQ("sm_" + std::string(kernel.architecture()).substr(8), architecture);
      EXPECT_THAT(std::string(kernel.source()), HasSubstr(std::string("for ") + architecture));
      EXPECT_EQ("sm_" + state_->last_image.substr(8), architecture) << "the driver was given PTX";
    }
  }
  EXPECT_EQ(log_, "") << "who asks for it needs no note";
}

TEST_F(OlderChipTest, ItsOwnNameIsNothingElseThanItsOwn) {
  ask("sm_90a");
  const Device device("cuda");
  EXPECT_THAT(std::string(device.name()), Not(HasSubstr("as sm_90a")));
  EXPECT_EQ(std::string(device.prepare(Layer(kOpenLayer)).architecture()), "sm_90a");
  unsetenv("CONVTGEN_ARCHITECTURE");
  (void)Device("cuda").prepare(Layer(kOpenLayer));
  EXPECT_EQ(compiles(), 1u);
}

TEST_F(OlderChipTest, WhatDoesNotRunIsAnErrorThatListsWhatWould) {
  for (const char* device : {"cuda", "cuda:0", "auto"}) {
    ask("sm_120");
    EXPECT_EQ(refusal(device),
              "CONVTGEN_ARCHITECTURE: architecture 'sm_120' does not run here; a GPU of compute capability 9.0 runs "
              "kernels for sm_75, sm_80, sm_86, sm_87, sm_88, sm_89, sm_90a");
    ask("sm_81");
    EXPECT_THAT(refusal(device), HasSubstr("unknown architecture 'sm_81'; a GPU of compute capability 9.0 runs"));
  }
  play(100, 227);
  ask("sm_90a");
  EXPECT_THAT(refusal("cuda"), AllOf(HasSubstr("'sm_90a' does not run here"), Not(HasSubstr("sm_90a,"))));
  ask("sm_90");
  EXPECT_THAT(refusal("host"), HasSubstr("CONVTGEN_ARCHITECTURE: unknown architecture 'sm_90'; known are sm_75"));
}

TEST_F(OlderChipTest, TheLimitsOfBothChipsHold) {
  const Layer layer(
      "conv_transpose2d 32 -> 64; kernel 3; stride 5; padding 1; dilation 2; input 16x64x128; bias");  // of large tiles
  const auto shared_kibibytes = [&] {
    Device("cuda").prepare(layer).launch(some_tensors(), {16, 64, 128});
    return state_->launches.back().shared_bytes / 1024;
  };
  ask("sm_80");
  EXPECT_GT(shared_kibibytes(), 99u);
  EXPECT_LE(shared_kibibytes(), 163u);
  play(89, 99);
  EXPECT_LE(shared_kibibytes(), 99u);
}

// A cubin for 8.0 does not run on 9.0.
TEST_F(OlderChipTest, KeysAreNotMixedWithThoseOfTheOlderChip) {
  play(80, 163);
  EXPECT_EQ(std::string(Device("cuda").prepare(Layer(kOpenLayer)).architecture()), "sm_80");
  play(90, 227);
  ask("sm_80");
  const Kernel kernel = Device("cuda").prepare(Layer(kOpenLayer));
  EXPECT_EQ(std::string(kernel.architecture()), "compute_80");
  EXPECT_EQ(compiles(), 2u);
  (void)Device("cuda").prepare(Layer(kOpenLayer));
  EXPECT_EQ(compiles(), 2u);
  unsetenv("CONVTGEN_ARCHITECTURE");
  play(80, 163);
  EXPECT_EQ(std::string(Device("cuda").prepare(Layer(kOpenLayer)).architecture()), "sm_80");
  EXPECT_EQ(compiles(), 2u);
}

TEST_F(OlderChipTest, RecordsAreNotMixed) {
  // As tuning on 8.0 would have it, or on a newer chip with an NVRTC that knows no newer one.
  const std::string of_older = record("sm_80", 2, "Fake GPU");
  ask("sm_80");
  EXPECT_EQ(taken(), first_plan_on(90, kSizedLayer, "sm_80"));
  const std::string of_both = record("sm_80", 1, "Fake GPU as sm_80");
  EXPECT_EQ(taken(), of_both);
  unsetenv("CONVTGEN_ARCHITECTURE");
  EXPECT_EQ(taken(), first_plan(kSizedLayer, "sm_90a"));
  play(80, 163);
  EXPECT_EQ(taken(), of_older);
  EXPECT_NE(of_older, of_both);
}

TEST_F(OlderChipTest, WithoutACompilerForItOrADriverThatTakesItsPtxThereIsNone) {
  ask("sm_75");
  setenv("CONVTGEN_FAKE_NVRTC_KNOWS", "80 90", 1);
  Thrown thrown = thrown_by([] { (void)Device("cuda").prepare(Layer(kOpenLayer)); });
  EXPECT_EQ(thrown.status, CONVTGEN_NO_COMPILER);
  EXPECT_THAT(thrown.message, HasSubstr("NVRTC 13.0 makes no PTX of compute_75, only of sm_80, sm_90"));
  ask("sm_80");
  state_->driver_version = 12020;
  thrown = thrown_by([] { (void)Device("cuda").prepare(Layer(kOpenLayer)); });
  EXPECT_EQ(thrown.status, CONVTGEN_DRIVER);
  EXPECT_THAT(thrown.message, AllOf(HasSubstr("the driver takes PTX up to CUDA 12.2 only"), HasSubstr("sm_90a")));
}

TEST_F(OlderChipTest, OnTheHostDeviceItChoosesTheSource) {
  ask("sm_120");
  const Device device("host");
  EXPECT_THAT(std::string(device.name()), HasSubstr("kernels of sm_120"));
  EXPECT_THAT(std::string(device.prepare(Layer(kOpenLayer)).source()), HasSubstr("for sm_120"));
  // A device that names an architecture has its kernels.
  EXPECT_THAT(std::string(Device("host:sm_80").prepare(Layer(kOpenLayer)).source()), HasSubstr("for sm_80"));
  unsetenv("CONVTGEN_ARCHITECTURE");
  EXPECT_THAT(std::string(Device("host").prepare(Layer(kOpenLayer)).source()), HasSubstr("for sm_75"));
}

TEST_F(OlderChipTest, TuningMeasuresItsPlans) {
  ask("sm_80");
  state_->launches_clear = false;
  const Device device("cuda");
  // The fake driver computes nothing, so no plan is right; all were made as PTX.
  const Thrown thrown = thrown_by([&] { (void)device.tune(Layer(kSizedLayer)); });
  EXPECT_THAT(thrown.message, HasSubstr("wrong"));
  EXPECT_EQ(state_->last_image, "compute_80");
}

}  // namespace
}  // namespace convtgen::api_test
