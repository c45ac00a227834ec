// The public API on the host device: numbers, threads, errors.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/api/fake_gpu.h"

namespace convtgen::api_test {
namespace {

class ApiHostTest : public FakeGpuTest {
 protected:
  void SetUp() override {
    const char* shared = std::getenv("CONVTGEN_CACHE_DIR");  // compiled kernels are kept from run to run
    const std::string cache = shared != nullptr ? shared : "";
    FakeGpuTest::SetUp();
    if (!cache.empty()) {
      setenv("CONVTGEN_CACHE_DIR", cache.c_str(), 1);
      cache_ = cache;
    }
  }
  void TearDown() override {
    FakeGpuTest::TearDown();
    if (!cache_.empty()) {
      setenv("CONVTGEN_CACHE_DIR", cache_.c_str(), 1);
    }
  }
  std::string cache_;
};

// conv_transpose1d 1 -> 1 with kernel (1, 2, 3) and stride 2: every output by hand.
TEST_F(ApiHostTest, ComputesTheDefinition) {
  const Device device("host");
  EXPECT_TRUE(device.is_host());
  const Kernel kernel = device.prepare(Layer("conv_transpose1d 1 -> 1; kernel 3; stride 2; bias"));
  EXPECT_EQ(kernel.architecture(), "host");
  EXPECT_EQ(kernel.key(), "");
  const float x[] = {1, 10}, weight[] = {1, 2, 3}, bias[] = {0.5F};
  float y[5] = {};
  kernel.launch(Tensors::forward(x, weight, bias, y), {1, 2});
  EXPECT_EQ((std::vector<float>(y, y + 5)), (std::vector<float>{1.5F, 2.5F, 13.5F, 20.5F, 30.5F}));
  float batch[10] = {};
  const float two[] = {1, 10, 2, 20};
  kernel.launch(Tensors::forward(two, weight, bias, batch), {2, 2});  // another size, the same kernel
  EXPECT_EQ(batch[5 + 2], 2 * 13.0F + 0.5F);
  EXPECT_EQ(state_->launches.size(), 0u);
}

TEST_F(ApiHostTest, RunsTheKernelsOfTheArchitectureThatIsNamed) {
  const Layer layer("conv_transpose1d 2 -> 2; kernel 3; stride 2; compute f32");
  const Device any("host"), oldest("host:sm_75"), newer("host:sm_90a");
  EXPECT_TRUE(newer.is_host());
  EXPECT_NE(newer.name().find("sm_90a"), std::string::npos) << newer.name();
  const Kernel kernel = newer.prepare(layer);
  EXPECT_NE(kernel.source().find("forward for sm_90a."), std::string::npos);
  EXPECT_NE(any.prepare(layer).source().find("forward for sm_75."), std::string::npos);
  EXPECT_EQ(any.prepare(layer).source(), oldest.prepare(layer).source());
  const std::vector<float> x(2 * 5, 1), weight(2 * 2 * 3, 1);
  std::vector<float> y(2 * 11);
  kernel.launch(Tensors::forward(x.data(), weight.data(), nullptr, y.data()), {1, 5});
  EXPECT_EQ(y[0], 2.0F);
  EXPECT_EQ(y[2], 4.0F);
  for (const char* word : {"host:", "host:sm_91", "host:90"}) {
    expect_error(thrown_by([&] { Device device(word); }), CONVTGEN_INVALID_ARGUMENT, "host:");
  }
}

// direct stores rows of 32 outputs as vectors of four where y is aligned to them, and else one by one.
TEST_F(ApiHostTest, TheResultIsTheSameWhereverItBegins) {
  constexpr std::size_t kOutputs = 2 * 3 * 5 * 32;
  const Device device("host");
  const Kernel kernel = device.prepare(
      Layer("conv_transpose2d 2 -> 3; kernel 3x4; stride 1x2; padding 1x1; bias; input 2x5x16; compute f32"));
  std::vector<float> x(2 * 2 * 5 * 16), weight(2 * 3 * 3 * 4);
  std::iota(x.begin(), x.end(), 1.0F);
  std::iota(weight.begin(), weight.end(), -20.0F);
  const float bias[] = {1, 2, 3};
  std::vector<float> first;
  alignas(16) float buffer[kOutputs + 8];
  for (std::size_t offset = 0; offset < 4; ++offset) {
    std::ranges::fill(buffer, -0.5F);
    kernel.launch(Tensors::forward(x.data(), weight.data(), bias, buffer + offset), {2, 5, 16});
    const std::vector<float> y(buffer + offset, buffer + offset + kOutputs);
    first = offset == 0 ? y : first;
    EXPECT_EQ(y, first) << offset;
    EXPECT_EQ(std::ranges::count(y, -0.5F), 0) << offset;
    EXPECT_EQ(std::ranges::count(buffer, -0.5F), 8) << "elements around y stay as they were";
  }
}

// The kernel's mish against its definition, from where it underflows to where exp() overflows. `least_exponent` is
// where exp() becomes denormal.
template <typename Number>
void expect_mish(const Device& device, const std::string& dtype, int least_exponent) {
  constexpr Number kInfinity = std::numeric_limits<Number>::infinity();
  std::vector<Number> x = {0, kInfinity, -kInfinity, std::numeric_limits<Number>::quiet_NaN()};
  const std::size_t special = x.size();
  for (const Number sign : {Number(-1), Number(1)}) {
    for (Number value = Number(1e-6); value < 1000; value *= Number(1.003)) {
      x.push_back(sign * value);
    }
  }
  x.push_back(std::numeric_limits<Number>::max());
  const Number one = 1;
  std::vector<Number> y(x.size());
  device.run(Layer("conv_transpose1d 1 -> 1; kernel 1; fuse mish; dtype " + dtype), CONVTGEN_FORWARD,
             Tensors::forward(x.data(), &one, nullptr, y.data()), {1, static_cast<std::int64_t>(x.size())});
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], kInfinity);
  EXPECT_TRUE(std::isnan(y[2])) << "as in PyTorch";
  EXPECT_TRUE(std::isnan(y[3]));
  for (std::size_t i = special; i < x.size(); ++i) {
    if (x[i] >= 20) {
      EXPECT_EQ(y[i], x[i]);
    } else if (x[i] > least_exponent) {
      const long double value = x[i];
      const long double want = value * std::tanh(std::log1p(std::exp(value)));
      EXPECT_LE(std::abs(y[i] - want), 4 * std::numeric_limits<Number>::epsilon() * std::abs(want)) << dtype << x[i];
    } else {  // exp() is denormal
      EXPECT_TRUE(y[i] <= 0 && y[i] > -1000 * std::numeric_limits<Number>::min()) << dtype << x[i];
    }
  }
}

TEST_F(ApiHostTest, MishIsRightToAFewUlpsEverywhere) {
  const Device device("host");
  expect_mish<float>(device, "f32", -87);
  expect_mish<double>(device, "f64", -708);
}

TEST_F(ApiHostTest, ChecksArguments) {
  const Device device("host");
  const Kernel kernel = device.prepare(Layer("conv_transpose1d 1 -> 1; kernel 3; stride 2; bias"));
  float numbers[64] = {};
  const Tensors tensors = Tensors::forward(numbers, numbers + 8, numbers + 16, numbers + 32);
  expect_error(thrown_by([&] { kernel.launch(tensors, {1, 2}, address(1)); }), CONVTGEN_INVALID_ARGUMENT,
               "stream must be null on the host device");
  expect_error(thrown_by([&] { kernel.launch(tensors, {1, 2, 2}); }), CONVTGEN_INVALID_ARGUMENT, "height 2");
  expect_error(thrown_by([&] { kernel.launch({}, {1, 1, 2}); }), CONVTGEN_INVALID_ARGUMENT, "bias is null");
  kernel.launch({}, {0, 1, 2});
}

TEST_F(ApiHostTest, AMissingCompilerHasAStatusOfItsOwn) {
  const std::string path = std::getenv("PATH");
  const Device device("host");
  const Layer layer("conv_transpose1d 1 -> 1; kernel 3; stride 2; bias");
  setenv("PATH", "/nonexistent", 1);
  const char* named = std::getenv("CXX");
  const std::string cxx = named != nullptr ? named : "";
  unsetenv("CXX");
  const Thrown prepared = thrown_by([&] { (void)device.prepare(layer); });
  const Thrown tuned = thrown_by([&] { (void)device.tune(layer, CONVTGEN_FORWARD, {1, 1, 2}); });
  setenv("PATH", path.c_str(), 1);
  if (!cxx.empty()) {
    setenv("CXX", cxx.c_str(), 1);
  }
  expect_error(prepared, CONVTGEN_NO_COMPILER, "the host device needs a C++ compiler");
  expect_error(tuned, CONVTGEN_NO_COMPILER, "the host device needs a C++ compiler");
  (void)device.prepare(layer);  // once it is there, it is found
}

// ThreadSanitizer runs this too (tests/run_thread_sanitizer.sh).
TEST_F(ApiHostTest, EightThreadsGetTheirOwnResultsOfFourLayers) {
  const Device device("host");
  std::vector<std::string> wrong(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      for (std::size_t j = 0; j < 24; ++j) {
        const std::size_t channels = 1 + (i + j) % 4;
        const std::string count = std::to_string(channels);
        const Layer layer("conv_transpose2d " + count + " -> " + count + "; kernel 2; stride 2");
        const std::vector<float> x(channels * 9, static_cast<float>(i)), weight(channels * channels * 4, 1.0F);
        std::vector<float> y(channels * 36, -1.0F);
        const Tensors tensors = Tensors::forward(x.data(), weight.data(), nullptr, y.data());
        if (j % 2 == 0) {
          device.prepare(layer).launch(tensors, {1, 3, 3});
        } else {
          device.run(layer, CONVTGEN_FORWARD, tensors, {1, 3, 3});
        }
        for (const float value : y) {
          if (value != static_cast<float>(channels * i)) {
            wrong[i] = "thread " + std::to_string(i) + " got " + std::to_string(value) + " of " + layer.text();
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, std::vector<std::string>(8));
}

TEST_F(ApiHostTest, ACompilerThatDidNotComeToItsEndIsAskedAgain) {
  setenv("CONVTGEN_CACHE_DIR", (folder_ / "store").c_str(), 1);
  const char* before = std::getenv("CXX");
  const std::string real = before != nullptr ? before : "c++";
  const std::filesystem::path script = folder_ / "compiler";
  const std::filesystem::path fault = folder_ / "fault";
  std::ofstream(script) << "#!/bin/sh\ncase \"$*\" in *unit.cpp*) [ -e '" << fault.string() << "' ] && . '"
                        << fault.string() << "';; esac\nexec " << real << " \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  setenv("CXX", script.c_str(), 1);
  const Device device("host");
  const Layer layer("conv_transpose1d 1 -> 1; kernel 2");
  for (const char* how :
       {"kill -9 $$\n", "echo 'g++: fatal error: Killed signal terminated program cc1plus'\nexit 1\n",
        "echo 'kernel.cu:7:1: fatal error: error writing to a.s: No space left on device'\nexit 1\n", "exit 127\n"}) {
    std::ofstream(fault) << how;
    EXPECT_EQ(thrown_by([&] { (void)device.prepare(layer); }).status, CONVTGEN_COMPILE_FAILED) << how;
  }
  std::filesystem::remove(fault);
  EXPECT_EQ(thrown_by([&] { (void)device.prepare(layer); }).message, "");
  before != nullptr ? setenv("CXX", real.c_str(), 1) : unsetenv("CXX");
}

TEST_F(ApiHostTest, RepeatsBitForBit) {
  const Device device("host");
  const Layer layer("conv_transpose2d 5 -> 3; kernel 3; stride 2; padding 1; dtype f16; fuse gelu");
  const Kernel kernel = device.prepare(layer);
  const convtgen_shape shape = layer.shape({1, 6, 7});
  std::vector<std::uint16_t> x(static_cast<std::size_t>(shape.x_elements)), first;
  std::vector<std::uint16_t> weight(static_cast<std::size_t>(shape.weight_elements));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::uint16_t>(0x3800 + 37 * i % 1024);  // 0.5 to 1
  }
  for (std::size_t i = 0; i < weight.size(); ++i) {
    weight[i] = static_cast<std::uint16_t>(0xb400 + 91 * i % 1024);  // -0.25 to -0.5
  }
  for (int i = 0; i < 5; ++i) {
    std::vector<std::uint16_t> y(static_cast<std::size_t>(shape.y_elements), 0x7e00);
    kernel.launch(Tensors::forward(x.data(), weight.data(), nullptr, y.data()), {1, 6, 7});
    first = i == 0 ? y : first;
    EXPECT_EQ(y, first);
  }
}

TEST_F(ApiHostTest, TunesAndPreparesByTheRecord) {
  setenv("CONVTGEN_CACHE_DIR", (folder_ / "tuned").c_str(), 1);
  const Layer layer("conv_transpose2d 8 -> 8; kernel 2; stride 2; input ?x?x?");
  const Sizes sizes{1, 5, 6};
  int told = 0;
  const Device device("host");
  expect_error(thrown_by([&] {
                 device.tune(layer, CONVTGEN_FORWARD, sizes,
                             {.progress = [&](const char*, double) { return ++told < 2; }});
               }),
               CONVTGEN_CANCELLED, "stopped before candidate 3");
  const auto count = [&](const char* doing, double fraction) {
    ++told;
    return std::string(doing).starts_with("candidate ") && fraction >= 0 && fraction < 1;
  };
  told = 0;
  EXPECT_GT(device.tune(layer, CONVTGEN_FORWARD, sizes, {.progress = count}), 0);
  const int rest = told;
  EXPECT_GT(rest, 0);
  EXPECT_GT(device.tune(layer, CONVTGEN_FORWARD, sizes, {.progress = count}), 0);
  EXPECT_EQ(told, rest) << "all is recorded";
  const auto refuse = [](const char*, double) -> bool { throw std::runtime_error("no"); };
  EXPECT_THROW(device.tune(layer, CONVTGEN_FORWARD, sizes, {.again = true, .progress = refuse}), std::runtime_error);
  expect_error(thrown_by([&] { device.tune(layer, CONVTGEN_FORWARD, {0, 5, 6}); }), CONVTGEN_INVALID_ARGUMENT,
               "the batch is empty");
  expect_error(thrown_by([&] { device.tune(layer, CONVTGEN_FORWARD, {1, -5, 6}); }), CONVTGEN_INVALID_ARGUMENT,
               "height");
  EXPECT_EQ(convtgen_tune(device.handle(), layer.handle(), CONVTGEN_FORWARD, &sizes, nullptr, nullptr), CONVTGEN_OK);
  const Layer sized(layer.text() + "; input 1x5x6");
  EXPECT_EQ(convtgen_tune(device.handle(), sized.handle(), CONVTGEN_FORWARD, nullptr, nullptr, nullptr), CONVTGEN_OK)
      << "the layer's own sizes";
  std::uint64_t device_bytes = 0, host_bytes = 0;
  ASSERT_EQ(convtgen_tune_memory(device.handle(), sized.handle(), CONVTGEN_FORWARD, nullptr, nullptr, &device_bytes,
                                 &host_bytes),
            CONVTGEN_OK);
  EXPECT_GE(device_bytes, (8 * 30 + 8 * 8 * 4 + 8 * 120) * sizeof(float)) << "x, weight and y";
  EXPECT_GE(host_bytes, (8 * 30 + 8 * 8 * 4) * sizeof(float));
  expect_error(
      thrown_by([&] { device.tune(sized, CONVTGEN_FORWARD, {}, {.again = true, .memory_limit = device_bytes - 1}); }),
      CONVTGEN_OUT_OF_MEMORY, "tuning needs " + std::to_string(device_bytes) + " bytes");
  EXPECT_GT(device.tune(sized, CONVTGEN_FORWARD, {}, {.again = true, .memory_limit = device_bytes}), 0);
  EXPECT_EQ(convtgen_tune(nullptr, layer.handle(), CONVTGEN_FORWARD, &sizes, nullptr, nullptr),
            CONVTGEN_INVALID_ARGUMENT);
  const std::vector<float> x(8 * 30, 1.0F), weight(8 * 8 * 4, 1.0F);
  std::vector<float> y(8 * 120);
  device.prepare(layer).launch(Tensors::forward(x.data(), weight.data(), nullptr, y.data()), sizes);
  EXPECT_EQ(y, std::vector<float>(8 * 120, 8.0F));
  std::vector<float> again(y.size());
  device.run(sized, CONVTGEN_FORWARD,
             Tensors::forward(x.data(), weight.data(), nullptr, again.data()));  // the layer's own
  EXPECT_EQ(again, y);
  EXPECT_EQ(device.prepare(sized).workspace(Sizes{}), 0U);
}

}  // namespace
}  // namespace convtgen::api_test
