// Which device is opened, and what is said of the one that is not.
#include "runtime/device/open/open.h"

#include "runtime/device/open/device_name.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "runtime/compile/nvrtc_search.h"
#include "runtime/compile/shared_library.h"
#include "tests/cuda_device/fake_driver.h"

namespace convtgen {
namespace {

class OpenDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("CONVTGEN_CUDA_DRIVER", CONVTGEN_FAKE_DRIVER, 1);
    const auto opened = SharedLibrary::open(CONVTGEN_FAKE_DRIVER);
    fake::StateFunction function = nullptr;
    ASSERT_TRUE(opened && opened->bind("convtgen_fake_state", function));
    *function() = fake::State{};
  }
  void TearDown() override {
    unsetenv("CONVTGEN_CUDA_DRIVER");
    unsetenv("CONVTGEN_NVRTC");
  }
};

TEST_F(OpenDeviceTest, TakesTheDeviceAskedFor) {
  std::string why = "left over";
  const auto cuda = open_device("cuda", {}, &why);
  ASSERT_TRUE(cuda) << cuda.error().message;
  EXPECT_EQ((*cuda)->kind(), DeviceKind::kCuda);
  const auto host = open_device("host", {}, &why);
  ASSERT_TRUE(host) << host.error().message;
  EXPECT_EQ((*host)->kind(), DeviceKind::kHost);
  EXPECT_FALSE((*host)->chip());
  EXPECT_EQ(why, "");
}

TEST_F(OpenDeviceTest, AutoTakesAGpuWhenKernelsCanBeCompiledForIt) {
  std::string why;
  const bool compiler = find_nvrtc().found();
  const auto device = open_device("auto", {}, &why);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->kind(), compiler ? DeviceKind::kCuda : DeviceKind::kHost);
  EXPECT_EQ(why.empty(), compiler);

  setenv("CONVTGEN_NVRTC", "/nonexistent/libnvrtc.so", 1);
  const auto without_nvrtc = open_device("auto", {}, &why);
  ASSERT_TRUE(without_nvrtc) << without_nvrtc.error().message;
  EXPECT_EQ((*without_nvrtc)->kind(), DeviceKind::kHost);
  EXPECT_NE(why.find("NVRTC, which compiles kernels, was not found"), std::string::npos) << why;
  EXPECT_TRUE(open_device("auto"));  // nobody asks why
}

TEST_F(OpenDeviceTest, AutoDoesNotLoadNvrtc) {
  setenv("CONVTGEN_NVRTC", CONVTGEN_FAKE_DRIVER, 1);  // a library, but none that would load as an NVRTC
  ASSERT_FALSE(find_nvrtc().found());
  const auto device = open_device("auto");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->kind(), DeviceKind::kCuda);
}

TEST_F(OpenDeviceTest, AutoFallsBackToTheHostAndSaysWhy) {
  setenv("CONVTGEN_CUDA_DRIVER", "/nonexistent/libcuda.so.1", 1);
  std::string why;
  const auto device = open_device("auto", {}, &why);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->kind(), DeviceKind::kHost);
  EXPECT_NE(why.find("/nonexistent/libcuda.so.1"), std::string::npos) << why;

  const auto cuda = open_device("cuda");
  ASSERT_FALSE(cuda);
  EXPECT_EQ(cuda.error().message, why);
}

TEST(DeviceNames, AreTheSameInTheApiAndOnTheCommandLine) {
  using Kind = DeviceName::Kind;
  EXPECT_EQ(device_named("auto").value(), (DeviceName{.kind = Kind::kAuto}));
  EXPECT_EQ(device_named("cuda").value(), (DeviceName{.kind = Kind::kCuda}));
  EXPECT_EQ(device_named("cuda:12").value(), (DeviceName{.kind = Kind::kCuda, .ordinal = 12}));
  EXPECT_EQ(device_named("host").value(), (DeviceName{.kind = Kind::kHost}));
  EXPECT_EQ(device_named("host:sm_90a").value(), (DeviceName{.kind = Kind::kHost, .architecture = "sm_90a"}));
  for (const char* word : {"", "gpu", "auto:1", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999", "cuda1",
                           "host:", "host:sm_91", "host:90", "hosts"}) {
    EXPECT_FALSE(device_named(word)) << word;
  }
}

TEST_F(OpenDeviceTest, NamesTheWordsItKnows) {
  const auto device = open_device("gpu");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message,
            "unknown device 'gpu'; legal are auto, host, host:ARCH (such as host:sm_90a), cuda and cuda:N");
}

}  // namespace
}  // namespace convtgen
