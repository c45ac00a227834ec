// Which device is opened, and what is said of the one that is not.
#include "runtime/device/open/open.h"

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
  EXPECT_EQ((*host)->architecture(), "");
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

TEST_F(OpenDeviceTest, NamesTheWordsItKnows) {
  const auto device = open_device("gpu");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message, "unknown device 'gpu'; known are auto, cuda, host");
}

}  // namespace
}  // namespace convtgen
