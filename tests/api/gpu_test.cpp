// The public API on a GPU: many threads, graphs, two devices. Needs a driver and, the first time, an NVRTC; without a
// GPU every test is skipped, and so reported as not run.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <convtgen/convtgen.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "tests/api/packed_record.h"

namespace convtgen::api_test {
namespace {

using Address = unsigned long long;

// The little of the driver that a user of the API brings himself.
struct Cuda {
  void* library = nullptr;
  void* context = nullptr;

  template <typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    auto* function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
    ASSERT_NE(function, nullptr) << name;
    const int status = function(arguments...);
    ASSERT_EQ(status, 0) << name;
  }
  [[nodiscard]] int devices() const {
    int count = 0;
    auto* init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
    auto* get_count = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDeviceGetCount"));
    return init != nullptr && get_count != nullptr && init(0) == 0 && get_count(&count) == 0 ? count : 0;
  }
  void use_device(int ordinal) {
    int device = 0;
    call("cuDeviceGet", &device, ordinal);
    call("cuDevicePrimaryCtxRetain", &context, device);
    call("cuCtxSetCurrent", context);
  }
  [[nodiscard]] Address allocate(std::size_t bytes) const {
    Address address = 0;
    call("cuMemAlloc_v2", &address, bytes);
    return address;
  }
  [[nodiscard]] std::size_t free_memory() const {
    std::size_t free = 0;
    std::size_t total = 0;
    call("cuMemGetInfo_v2", &free, &total);
    return free;
  }
  [[nodiscard]] void* make_stream() const {
    void* stream = nullptr;
    call("cuStreamCreate", &stream, 1U);  // does not wait for the default stream
    return stream;
  }
};

void* pointer(Address address) {
  return reinterpret_cast<void*>(address);
}

// A layer with its arrays on the GPU, and what the host device makes of them.
struct Call {
  Layer layer;
  Kernel kernel;
  Sizes sizes;
  convtgen_shape shape;
  Address x = 0;
  Address weight = 0;
  Address bias = 0;
  std::vector<float> want;

  [[nodiscard]] std::size_t y_bytes() const { return static_cast<std::size_t>(shape.y_elements) * sizeof(float); }
  void launch(Address y, void* stream) const {
    kernel.launch(Tensors::forward(pointer(x), pointer(weight), pointer(bias), pointer(y)), sizes, stream);
  }
};

std::vector<float> numbers(std::int64_t count, int seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i) * 0.7F + static_cast<float>(seed));
  }
  return values;
}

class ApiOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda_.library = dlopen("libcuda.so.1", RTLD_NOW);
    if (cuda_.library == nullptr || cuda_.devices() == 0) {
      GTEST_SKIP() << "not run: there is no GPU here";
    }
    cuda_.use_device(0);
    device_.emplace("cuda");
  }

  [[nodiscard]] Address upload(const std::vector<float>& values) const {
    const Address address = cuda_.allocate(values.size() * sizeof(float));
    cuda_.call("cuMemcpyHtoD_v2", address, static_cast<const void*>(values.data()), values.size() * sizeof(float));
    return address;
  }
  [[nodiscard]] std::vector<float> download(Address from, std::size_t bytes) const {
    std::vector<float> values(bytes / sizeof(float));
    cuda_.call("cuMemcpyDtoH_v2", static_cast<void*>(values.data()), from, bytes);
    return values;
  }

  // Layers that differ in everything a kernel depends on; sizes are open in every other one.
  [[nodiscard]] Call make_call(int i) const {
    const int kernel = 1 + i % 5;
    const int stride = 1 + i % 3;
    const bool bias = i % 2 == 0;
    const std::string text = "conv_transpose2d " + std::to_string(4 + i) + " -> " + std::to_string(3 + i % 7) +
                             "; kernel " + std::to_string(kernel) + "x" + std::to_string(1 + i % 4) + "; stride " +
                             std::to_string(stride) + (bias ? "; bias" : "") + (i % 4 == 1 ? "; fuse relu" : "") +
                             (i % 5 == 2 ? "; layout nhwc" : "") + (i % 2 == 0 ? "" : "; input 2x9x11");
    Layer layer(text);
    Kernel made = device_->prepare(layer);
    const Sizes sizes{2, 9, 11};
    const convtgen_shape shape = layer.shape(sizes);
    const std::vector<float> x = numbers(shape.x_elements, i);
    const std::vector<float> weight = numbers(shape.weight_elements, i + 100);
    const std::vector<float> b = numbers(shape.bias_elements, i + 200);
    std::vector<float> want(static_cast<std::size_t>(shape.y_elements), NAN);
    const Device host("host");
    host.run(layer, CONVTGEN_FORWARD, Tensors::forward(x.data(), weight.data(), bias ? b.data() : nullptr, want.data()),
             sizes);
    return {std::move(layer), std::move(made), sizes, shape, upload(x), upload(weight), bias ? upload(b) : 0, want};
  }

  static std::size_t resident_kilobytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) {
        return std::stoul(line.substr(6));
      }
    }
    return 0;
  }

  Cuda cuda_;
  std::optional<Device> device_;
};

void expect_near(const std::vector<float>& got, const std::vector<float>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 2e-5F * (1 + std::fabs(want[i]))) << what << ", element " << i;
  }
}

TEST_F(ApiOnGpu, EightThreadsLaunchTwentyLayersOnTwoStreams) {
  constexpr int kThreads = 8;
  constexpr int kLaunches = 10000;  // of each
  std::vector<Call> calls;
  for (int i = 0; i < 20; ++i) {
    calls.push_back(make_call(i));
  }
  void* const streams[] = {cuda_.make_stream(), cuda_.make_stream()};
  std::vector<std::vector<Address>> outputs(kThreads);  // of its own for each thread and layer
  for (auto& of_thread : outputs) {
    for (const Call& call : calls) {
      of_thread.push_back(cuda_.allocate(call.y_bytes()));
    }
  }
  const auto launch_all = [&](int launches) {
    std::vector<std::string> wrong(kThreads);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        cuda_.call("cuCtxSetCurrent", cuda_.context);
        const auto index = static_cast<std::size_t>(thread);
        try {
          for (int i = 0; i < launches; ++i) {
            const std::size_t which = static_cast<std::size_t>(i * 7 + thread) % calls.size();
            calls[which].launch(outputs[index][which], streams[(i + thread) % 2]);
          }
        } catch (const Error& error) {
          wrong[index] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (void* stream : streams) {
      cuda_.call("cuStreamSynchronize", stream);
    }
    ASSERT_EQ(wrong, std::vector<std::string>(kThreads));
  };
  launch_all(200);
  const std::size_t free_before = cuda_.free_memory();
  const std::size_t resident_before = resident_kilobytes();
  for (const auto& of_thread : outputs) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      cuda_.call("cuMemsetD8_v2", of_thread[i], static_cast<unsigned char>(0xff), calls[i].y_bytes());
    }
  }
  launch_all(kLaunches);
  EXPECT_EQ(cuda_.free_memory(), free_before);
  EXPECT_LT(resident_kilobytes(), resident_before + 4096);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::vector<float> first = download(outputs[0][i], calls[i].y_bytes());
    expect_near(first, calls[i].want, calls[i].layer.text());
    for (const auto& of_thread : outputs) {
      const std::vector<float> same = download(of_thread[i], calls[i].y_bytes());
      ASSERT_EQ(std::memcmp(first.data(), same.data(), calls[i].y_bytes()), 0) << calls[i].layer.text();
    }
  }
}

TEST_F(ApiOnGpu, AHundredRunsGiveTheSameBits) {
  const Call call = make_call(12);
  const Address y = cuda_.allocate(call.y_bytes());
  std::vector<float> first;
  for (int i = 0; i < 100; ++i) {
    cuda_.call("cuMemsetD8_v2", y, static_cast<unsigned char>(0xff), call.y_bytes());
    call.launch(y, nullptr);
    const std::vector<float> got = download(y, call.y_bytes());
    first = i == 0 ? got : first;
    ASSERT_EQ(std::memcmp(first.data(), got.data(), call.y_bytes()), 0) << "run " << i;
  }
  expect_near(first, call.want, call.layer.text());
}

TEST_F(ApiOnGpu, OlderChipsKernelsAreRight) {
  int ran = 0;
  for (const char* architecture : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"}) {
    setenv("CONVTGEN_ARCHITECTURE", architecture, 1);
    std::optional<Error> refused;
    try {
      device_.emplace("cuda");
    } catch (const Error& error) {
      refused = error;
    }
    unsetenv("CONVTGEN_ARCHITECTURE");  // which make_call()'s host device would read too
    if (refused) {                      // newer than this GPU, or an "a" architecture of another one
      EXPECT_EQ(refused->code(), CONVTGEN_INVALID_ARGUMENT) << refused->what();
      continue;
    }
    ++ran;
    for (int i = 0; i < 10; ++i) {
      const Call call = make_call(i);
      const Address y = cuda_.allocate(call.y_bytes());
      call.launch(y, nullptr);
      expect_near(download(y, call.y_bytes()), call.want, std::string(architecture) + ", " + call.layer.text());
    }
  }
  EXPECT_GT(ran, 0);
}

TEST_F(ApiOnGpu, AGraphOfFiveLayersIsCapturedAndReplayed) {
  std::vector<Call> calls;
  std::vector<Address> outputs;
  for (int i = 0; i < 5; ++i) {
    calls.push_back(make_call(i));
    outputs.push_back(cuda_.allocate(calls.back().y_bytes()));
  }
  void* stream = cuda_.make_stream();
  void* graph = nullptr;
  void* executable = nullptr;
  cuda_.call("cuStreamBeginCapture_v2", stream, 1);  // thread-local
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].launch(outputs[i], stream);
  }
  cuda_.call("cuStreamEndCapture", stream, &graph);
  cuda_.call("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
  for (int replay = 0; replay < 3; ++replay) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      cuda_.call("cuMemsetD8_v2", outputs[i], static_cast<unsigned char>(0xff), calls[i].y_bytes());
    }
    cuda_.call("cuCtxSynchronize");
    cuda_.call("cuGraphLaunch", executable, stream);
    cuda_.call("cuStreamSynchronize", stream);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      expect_near(download(outputs[i], calls[i].y_bytes()), calls[i].want, calls[i].layer.text());
    }
  }
  cuda_.call("cuGraphExecDestroy", executable);
  cuda_.call("cuGraphDestroy", graph);
}

TEST_F(ApiOnGpu, ACaptureOfWhatIsNotPreparedIsRefusedAndGoesOn) {
  const Call ready = make_call(3);
  const Address y = cuda_.allocate(ready.y_bytes());
  const Layer never("conv_transpose2d 3 -> 5; kernel 3x2; stride 2; input 1x4x4");
  void* stream = cuda_.make_stream();
  void* graph = nullptr;
  cuda_.call("cuStreamBeginCapture_v2", stream, 1);
  try {
    device_->run(never, CONVTGEN_FORWARD,
                 Tensors::forward(pointer(ready.x), pointer(ready.weight), nullptr, pointer(y)), {1, 4, 4}, stream);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), CONVTGEN_NOT_PREPARED) << error.what();
    EXPECT_NE(std::string(error.what()).find("prepare"), std::string::npos) << error.what();
  }
  ready.launch(y, stream);  // the capture is not spoilt
  cuda_.call("cuStreamEndCapture", stream, &graph);
  EXPECT_NE(graph, nullptr);
  cuda_.call("cuGraphDestroy", graph);
}

// What a process of its own says of the layers: a line each with its kernel, then what was compiled.
std::vector<std::string> prepared_elsewhere(const std::vector<std::string>& layers, const std::string& store) {
  const std::filesystem::path worker = std::filesystem::read_symlink("/proc/self/exe").replace_filename("api_worker");
  std::string command = "CONVTGEN_CACHE_DIR='" + store + "' '" + worker.string() + "' prepare cuda";
  for (const std::string& layer : layers) {
    command += " '" + layer + "'";
  }
  std::vector<std::string> lines;
  FILE* output = popen(command.c_str(), "r");
  std::string line;
  for (int c = 0; output != nullptr && (c = std::fgetc(output)) != EOF;) {
    if (c == '\n') {
      lines.push_back(std::exchange(line, {}));
    } else {
      line += static_cast<char>(c);
    }
  }
  EXPECT_EQ(output != nullptr ? pclose(output) : -1, 0);
  return lines;
}

TEST_F(ApiOnGpu, TheNextProcessGoesByWhatTuningFound) {
  // dcgan4, sam2x2, pose3, pillars and mrcnn of benchmarks/layers.convt.
  const std::vector<std::string> layers = {
      "conv_transpose2d 128 -> 64; kernel 4; stride 2; padding 1; input 128x16x16",
      "conv_transpose2d 64 -> 32; kernel 2; stride 2; bias; input 32x128x128",
      "conv_transpose2d 256 -> 256; kernel 4; stride 2; padding 1; input 32x32x24",
      "conv_transpose2d 256 -> 128; kernel 4; stride 4; input 4x62x54",
      "conv_transpose2d 256 -> 256; kernel 2; stride 2; bias; input 100x14x14",
  };
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("convtgen_gpu_test_" + std::to_string(getpid()));
  const std::string untuned_store = folder / "untuned";
  const std::string tuned_store = folder / "tuned";
  setenv("CONVTGEN_CACHE_DIR", tuned_store.c_str(), 1);
  for (const std::string& text : layers) {
    const double milliseconds = device_->tune(Layer(text));
    EXPECT_GT(milliseconds, 0);
    std::printf("%s: %.3f ms\n", text.c_str(), milliseconds);
  }
  const std::vector<std::string> before = prepared_elsewhere(layers, untuned_store);
  const std::vector<std::string> after = prepared_elsewhere(layers, tuned_store);
  const std::vector<std::string> again = prepared_elsewhere(layers, tuned_store);
  unsetenv("CONVTGEN_CACHE_DIR");
  std::filesystem::remove_all(folder);
  ASSERT_EQ(before.size(), layers.size() + 1);
  ASSERT_EQ(after.size(), layers.size() + 1);
  int others = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    others += before[i] != after[i] ? 1 : 0;
  }
  EXPECT_GT(others, 0) << "no layer's kernel is another after tuning";
  ASSERT_EQ(again.size(), layers.size() + 1);
  EXPECT_TRUE(std::equal(after.begin(), after.end() - 1, again.begin()));
  EXPECT_TRUE(again.back().starts_with("hits=5 misses=0 compiles=0")) << again.back();
  std::printf("%d of 5 layers have another kernel in the next process\n", others);
}

// Bits of two layers' worth of weights: packed in each call, packed by an earlier one, and in a graph.
TEST_F(ApiOnGpu, WeightsStayPackedInTheirWorkspaces) {
  constexpr const char* kText = "conv_transpose2d 24 -> 20; kernel 4; stride 2; padding 1; input 2x9x12";
  const std::string text = std::string(kText) + "; compute tf32";
  const std::string name = device_->name();  // "cuda:0 (NVIDIA H200, compute capability 9.0)"
  if (!name.ends_with("9.0)")) {
    GTEST_SKIP() << "not run: the record is for compute capability 9.0, and this is " << name;
  }
  const std::string chip = name.substr(name.find('(') + 1, name.find(',') - name.find('(') - 1);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("convtgen_gpu_test_" + std::to_string(getpid()));
  ASSERT_GT(record_packed_plan(text, chip, folder), 0);
  setenv("CONVTGEN_CACHE_DIR", folder.c_str(), 1);
  const Device device("cuda");
  const Kernel kernel = device.prepare(Layer(text));
  const Layer layer(kText);
  const convtgen_shape shape = layer.shape();
  const std::size_t y_bytes = static_cast<std::size_t>(shape.y_elements) * sizeof(float);
  const std::size_t workspace_bytes = kernel.workspace({});
  ASSERT_GT(workspace_bytes, 0u);
  const std::vector<float> x = numbers(shape.x_elements, 1);
  const Address x_there = upload(x);
  struct Side {
    Address weight, workspace, y;
    void* stream;
    std::vector<float> bits;
  };
  std::vector<Side> sides;
  const auto poison = [&](Address at, std::size_t bytes) {
    cuda_.call("cuMemsetD8_v2", at, static_cast<unsigned char>(0xff), bytes);
  };
  const auto launch = [&](Side& side, bool with_weight) {
    poison(side.y, y_bytes);
    cuda_.call("cuCtxSynchronize");
    kernel.launch(Tensors::forward(pointer(x_there), with_weight ? pointer(side.weight) : nullptr, nullptr,
                                   pointer(side.y), pointer(side.workspace), workspace_bytes),
                  {}, side.stream);
  };
  for (int i = 0; i < 2; ++i) {
    const std::vector<float> weight = numbers(shape.weight_elements, 7 + i);
    sides.push_back(
        {upload(weight), cuda_.allocate(workspace_bytes), cuda_.allocate(y_bytes), cuda_.make_stream(), {}});
    poison(sides.back().workspace, workspace_bytes);
    launch(sides.back(), true);
    std::vector<float> want(static_cast<std::size_t>(shape.y_elements), NAN);
    const Kernel twin = Device("host").prepare(layer);
    std::vector<std::byte> scratch(twin.workspace() + CONVTGEN_WORKSPACE_ALIGNMENT);
    void* begin = scratch.data();
    std::size_t room = scratch.size();
    std::align(CONVTGEN_WORKSPACE_ALIGNMENT, twin.workspace(), begin, room);
    twin.launch(Tensors::forward(x.data(), weight.data(), nullptr, want.data(), begin, room));
    cuda_.call("cuCtxSynchronize");
    sides.back().bits = download(sides.back().y, y_bytes);
    for (std::size_t j = 0; j < want.size(); ++j) {
      ASSERT_NEAR(sides.back().bits[j], want[j], 0.05F) << "element " << j;  // 96 terms of at most 1, in tf32
    }
  }
  const auto expect_same = [&](const char* what) {
    cuda_.call("cuCtxSynchronize");
    for (const Side& side : sides) {
      EXPECT_EQ(std::memcmp(download(side.y, y_bytes).data(), side.bits.data(), y_bytes), 0) << what;
    }
  };
  launch(sides[0], false);
  launch(sides[1], false);
  expect_same("packed before");

  void* graph = nullptr;
  void* executable = nullptr;
  cuda_.call("cuStreamBeginCapture_v2", sides[0].stream, 1);
  for (const Side& side : sides) {
    kernel.launch(Tensors::forward(pointer(x_there), pointer(side.weight), nullptr, pointer(side.y),
                                   pointer(side.workspace), workspace_bytes),
                  {}, sides[0].stream);
  }
  cuda_.call("cuStreamEndCapture", sides[0].stream, &graph);
  cuda_.call("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
  for (const Side& side : sides) {
    poison(side.y, y_bytes);
    poison(side.workspace, workspace_bytes);
  }
  cuda_.call("cuCtxSynchronize");
  cuda_.call("cuGraphLaunch", executable, sides[0].stream);
  expect_same("packed in a graph");
  cuda_.call("cuGraphExecDestroy", executable);
  cuda_.call("cuGraphDestroy", graph);
  unsetenv("CONVTGEN_CACHE_DIR");
  std::filesystem::remove_all(folder);
}

TEST_F(ApiOnGpu, TwoDevicesInOneProcess) {
  if (cuda_.devices() < 2) {
    GTEST_SKIP() << "not run: one GPU alone";
  }
  const Layer layer("conv_transpose2d 6 -> 4; kernel 3; stride 2; padding 1");
  std::vector<std::vector<float>> results;
  for (const int ordinal : {0, 1}) {
    const Device device("cuda:" + std::to_string(ordinal));
    cuda_.use_device(ordinal);
    const Kernel kernel = device.prepare(layer);
    const convtgen_shape shape = layer.shape({2, 7, 8});
    const Address x = upload(numbers(shape.x_elements, 1));
    const Address weight = upload(numbers(shape.weight_elements, 2));
    const std::size_t bytes = static_cast<std::size_t>(shape.y_elements) * sizeof(float);
    const Address y = cuda_.allocate(bytes);
    // The other device's context is current: the call still goes where the kernel is, or says why not.
    kernel.launch(Tensors::forward(pointer(x), pointer(weight), nullptr, pointer(y)), {2, 7, 8});
    cuda_.call("cuCtxSynchronize");
    results.push_back(download(y, bytes));
  }
  EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), results[0].size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace convtgen::api_test
