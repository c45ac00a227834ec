// What the runtime costs on the CPU: launches, look-ups and warm starts, over a driver that does nothing, so that only
// our own work is measured.
//   prepared launch     at most 2 us over the driver's own call
//   look-up             at most 200 ns
//   warm start          at most 10 ms a kernel: generate, find in the store, load; NVRTC is never loaded
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <stdlib.h>

#include <convtgen/convtgen.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/api/packed_record.h"
#include "tests/cuda_device/fake_driver.h"

namespace {

constexpr const char* kLayer = "conv_transpose2d 512 -> 256; kernel 4; stride 2; padding 1; bias; fuse relu";

void* address(std::uint64_t number) {
  return reinterpret_cast<void*>(number);
}
const convtgen::Tensors kTensors =
    convtgen::Tensors::forward(address(0x10000000), address(0x20000000), address(0x30000000), address(0x40000000));

// The fake driver, and a store that is gone at the end.
class Machine {
 public:
  Machine() {
    folder_ = std::filesystem::temp_directory_path() / ("convtgen_benchmark_" + std::to_string(getpid()));
    setenv("CONVTGEN_CACHE_DIR", folder_.c_str(), 1);
    setenv("CONVTGEN_CUDA_DRIVER", CONVTGEN_FAKE_DRIVER, 1);
    setenv("CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC, 1);
    driver_ = dlopen(CONVTGEN_FAKE_DRIVER, RTLD_NOW);
    state().record = false;
    push_context();
  }
  ~Machine() { std::filesystem::remove_all(folder_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  template <typename Function>
  [[nodiscard]] Function function(const char* name) const {
    return reinterpret_cast<Function>(dlsym(driver_, name));
  }
  [[nodiscard]] convtgen::fake::State& state() const {
    return *function<convtgen::fake::StateFunction>("convtgen_fake_state")();
  }

 private:
  void push_context() const {
    void* context = nullptr;
    function<int (*)(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0);
    function<int (*)(void*)>("cuCtxPushCurrent_v2")(context);
  }

  std::filesystem::path folder_;
  void* driver_ = nullptr;
};

const Machine& machine() {
  static const Machine only;
  return only;
}

// A module of the fake driver's, to be launched without us.
void BM_DriverLaunch(benchmark::State& state) {
  const Machine& here = machine();
  void* module = nullptr;
  void* function = nullptr;
  here.function<int (*)(void**, const void*, unsigned, void*, void*)>("cuModuleLoadDataEx")(&module, "k 8 8 8 8 4 4", 0,
                                                                                            nullptr, nullptr);
  here.function<int (*)(void**, void*, const char*)>("cuModuleGetFunction")(&function, module, "k");
  const auto launch = here.function<int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                            void*, void**, void**)>("cuLaunchKernel");
  std::uint64_t slots[6] = {};
  void* parameters[6];
  for (int i = 0; i < 6; ++i) {
    parameters[i] = &slots[i];
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(launch(function, 64, 1, 1, 256, 1, 1, 1024, nullptr, parameters, nullptr));
  }
}
BENCHMARK(BM_DriverLaunch);

void BM_PreparedLaunch(benchmark::State& state) {
  (void)machine();
  const convtgen::Device device("cuda");
  const convtgen::Kernel kernel = device.prepare(convtgen::Layer(kLayer));
  for (auto _ : state) {
    kernel.launch(kTensors, {8, 32, 32});
  }
}
BENCHMARK(BM_PreparedLaunch);

// Two launches of the driver's; the first packs the weights.
void BM_PackedLaunch(benchmark::State& state) {
  constexpr const char* kPacked =
      "conv_transpose2d 64 -> 64; kernel 4; stride 2; padding 1; compute tf32; input ?x32x32";
  (void)machine();
  if (convtgen::api_test::record_packed_plan(kPacked, "Fake GPU", std::getenv("CONVTGEN_CACHE_DIR")) == 0) {
    state.SkipWithError("no plan has packed weights");
    return;
  }
  const convtgen::Device device("cuda");
  const convtgen::Kernel kernel = device.prepare(convtgen::Layer(kPacked));
  convtgen::Tensors tensors = kTensors;
  tensors.bias = nullptr;
  tensors.workspace = address(0x70000000);
  tensors.workspace_bytes = kernel.workspace({8, 32, 32});
  for (auto _ : state) {
    kernel.launch(tensors, {8, 32, 32});
  }
}
BENCHMARK(BM_PackedLaunch);

void BM_Run(benchmark::State& state) {
  (void)machine();
  const convtgen::Device device("cuda");
  const convtgen::Layer layer(kLayer);
  for (auto _ : state) {
    device.run(layer, CONVTGEN_FORWARD, kTensors, {8, 32, 32});
  }
}
BENCHMARK(BM_Run);

// With 100 other layers ready.
void BM_LookUp(benchmark::State& state) {
  (void)machine();
  const convtgen::Device device("cuda");
  for (int i = 1; i <= 100; ++i) {
    (void)device.prepare(convtgen::Layer("conv_transpose2d 1 -> " + std::to_string(i) + "; kernel 1"));
  }
  const convtgen::Layer layer(kLayer);
  for (auto _ : state) {
    benchmark::DoNotOptimize(device.prepare(layer));
  }
}
BENCHMARK(BM_LookUp);

// A device that has nothing yet, and a store that has the kernel.
void BM_WarmStart(benchmark::State& state) {
  (void)machine();
  const convtgen::Layer layer(kLayer);
  (void)convtgen::Device("cuda").prepare(layer);
  const auto compiles = convtgen::counters().compiles;
  for (auto _ : state) {
    const convtgen::Device device("cuda");
    benchmark::DoNotOptimize(device.prepare(layer));
  }
  if (convtgen::counters().compiles != compiles) {
    state.SkipWithError("something was compiled");
  }
}
BENCHMARK(BM_WarmStart)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
