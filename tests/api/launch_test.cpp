// Launches on a GPU, as the fake driver sees them: arguments, sizes, contexts, captures, eviction.
#include <atomic>
#include <limits>
#include <set>
#include <thread>

#include "tests/api/fake_gpu.h"
#include "tests/api/packed_record.h"

namespace convtgen::api_test {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

class LaunchTest : public FakeGpuTest {};

TEST_F(LaunchTest, BindsWhatTheKernelTakes) {
  const Device device("cuda:0");
  EXPECT_EQ(device.name(), "cuda:0 (Fake GPU, compute capability 9.0)");
  EXPECT_FALSE(device.is_host());
  const Kernel kernel = device.prepare(Layer(kOpenLayer));
  EXPECT_EQ(kernel.architecture(), "sm_90a");
  EXPECT_EQ(kernel.key().size(), 64u);
  EXPECT_EQ(kernel.layer(), Layer(kOpenLayer).text());
  EXPECT_NE(kernel.source().find(kernel.symbol()), std::string::npos);
  EXPECT_NE(kernel.plan().find("template direct"), std::string::npos);
  EXPECT_EQ(kernel.workspace({2, 5, 7}), 0u);

  kernel.launch(some_tensors(), {2, 5, 7}, address(0x77));
  kernel.launch(some_tensors(), {1, 100, 3});
  ASSERT_EQ(state_->launches.size(), 2u);
  const fake::SeenLaunch& seen = state_->launches[0];
  EXPECT_EQ(seen.symbol, kernel.symbol());
  EXPECT_EQ(seen.arguments, (std::vector<std::uint64_t>{0x10000000, 0x20000000, 0x30000000, 0x40000000, 5, 7}))
      << "x, weight, bias, y, height, width; the batch is in the grid";
  EXPECT_EQ(seen.stream, 0x77u);
  EXPECT_EQ(state_->launches[1].arguments[4], 100u);
  EXPECT_EQ(state_->launches[1].stream, 0u);
  EXPECT_EQ(compiles(), 1u) << "one kernel for all sizes";
  EXPECT_EQ(state_->calls_without_context + state_->wrong_contexts, 0);
}

TEST_F(LaunchTest, ALaunchAsksTheDriverForNothingButTheLaunch) {
  const Device device("cuda");
  const Kernel kernel = device.prepare(Layer(kOpenLayer));
  void* context = make_context(0);
  push(context);
  (void)device.prepare(Layer(kOpenLayer));
  state_->calls.clear();
  for (int i = 0; i < 3; ++i) {
    kernel.launch(some_tensors(), {1, 5, 7 + i});
  }
  pop();
  EXPECT_EQ(state_->calls, (std::vector<std::string>(3, "cuLaunchKernel")));
}

TEST_F(LaunchTest, AnEmptyBatchLaunchesNothing) {
  const Device device("cuda");
  const Kernel kernel = device.prepare(Layer(kOpenLayer));
  kernel.launch({}, {0, 5, 7});
  kernel.launch(some_tensors(), {0, 5, 7});
  EXPECT_TRUE(state_->launches.empty());
}

TEST_F(LaunchTest, WrongArgumentsAreNamed) {
  const Device device("cuda");
  const Kernel kernel = device.prepare(Layer(kOpenLayer));
  const auto wrong = [&](auto change, const std::string& words) {
    Tensors tensors = some_tensors();
    Sizes sizes{2, 5, 7};
    change(tensors, sizes);
    expect_error(thrown_by([&] { kernel.launch(tensors, sizes); }), CONVTGEN_INVALID_ARGUMENT, words);
  };
  wrong([](Tensors& a, Sizes&) { a.x = nullptr; }, "x is null");
  wrong([](Tensors& a, Sizes&) { a.weight = nullptr; }, "weight is null");
  wrong([](Tensors& a, Sizes&) { a.bias = nullptr; }, "bias is null");
  wrong([](Tensors& a, Sizes&) { a.y = nullptr; }, "y is null");
  wrong([](Tensors& a, Sizes&) { a.x = address(0x10000002); }, "x (0x10000002) is misaligned: a multiple of 4");
  wrong([](Tensors& a, Sizes&) { a.y = address(0x20000004); }, "y overlaps weight");
  wrong([](Tensors& a, Sizes&) { a.y = const_cast<void*>(a.x); }, "y overlaps x");
  void* const last = address(~std::uint64_t{0} - 15);
  const std::string has = " (0xfffffffffffffff0) has ";
  wrong([&](Tensors& a, Sizes&) { a.x = last; }, "x" + has + "2240 bytes: more than there are addresses after it");
  wrong([&](Tensors& a, Sizes&) { a.weight = last; }, "weight" + has);
  wrong([&](Tensors& a, Sizes&) { a.bias = last; }, "bias" + has);
  wrong([&](Tensors& a, Sizes&) { a.y = last; }, "y" + has);
  wrong([](Tensors&, Sizes& s) { s.batch = -1; }, "batch -1");
  wrong([](Tensors&, Sizes& s) { s.batch = kMost; }, "batch");
  wrong([](Tensors&, Sizes& s) { s.extents[1] = 0; }, "height 0");
  wrong([](Tensors&, Sizes& s) { s.extents[1] = std::numeric_limits<std::int64_t>::min(); }, "height");
  wrong([](Tensors&, Sizes& s) { s.extents[2] = 2147483647; }, "width");
  wrong([](Tensors&, Sizes& s) { s = {2147483647, 2000000, 1}; }, "more blocks than a grid can have");
  wrong([](Tensors&, Sizes& s) { s = {2147483647, 1000000000, 1000000000}; }, "more elements than 64 bits");
  EXPECT_TRUE(state_->launches.empty());
  const Kernel plain = device.prepare(Layer("conv_transpose2d 1 -> 1; kernel 1; input 2x3x4"));
  expect_error(thrown_by([&] { plain.launch(some_tensors(), {2, 3, 4}); }), CONVTGEN_INVALID_ARGUMENT,
               "bias must be null");
  Tensors tensors = some_tensors();
  tensors.bias = nullptr;
  expect_error(thrown_by([&] { plain.launch(tensors, {2, 3, 5}); }), CONVTGEN_INVALID_ARGUMENT,
               "width 5 contradicts the layer, whose width is 4");
  plain.launch(tensors, {2, 3, 4});
}

TEST_F(LaunchTest, AWorkspaceEndsBeforeTheLastAddress) {
  constexpr const char* kLayer =
      "conv_transpose2d 64 -> 64; kernel 4; stride 2; padding 1; compute tf32; input ?x32x32";
  ASSERT_GT(record_packed_plan(kLayer, "Fake GPU", folder_ / "store"), 0);
  const Kernel kernel = Device("cuda").prepare(Layer(kLayer));
  ASSERT_GT(kernel.workspace({1, 32, 32}), 128u);
  Tensors tensors = some_tensors();
  tensors.bias = nullptr;
  tensors.workspace = address(~std::uint64_t{0} - 127);
  tensors.workspace_bytes = kernel.workspace({1, 32, 32});
  expect_error(thrown_by([&] { kernel.launch(tensors, {1, 32, 32}); }), CONVTGEN_INVALID_ARGUMENT,
               "workspace (0xffffffffffffff80) has ");
}

TEST_F(LaunchTest, AWorkspaceThatIsTooSmallIsAnErrorWithTheBytesItNeeds) {
  constexpr const char* kLayer =
      "conv_transpose2d 64 -> 64; kernel 4; stride 2; padding 1; compute tf32; input ?x32x32";
  ASSERT_GT(record_packed_plan(kLayer, "Fake GPU", folder_ / "store"), 0);
  const Kernel kernel = Device("cuda").prepare(Layer(kLayer));
  const std::size_t bytes = kernel.workspace({1, 32, 32});
  Tensors tensors = some_tensors();
  tensors.bias = nullptr;
  tensors.workspace = address(0x70000000);
  tensors.workspace_bytes = bytes - 1;
  expect_error(
      thrown_by([&] { kernel.launch(tensors, {1, 32, 32}); }), CONVTGEN_INVALID_ARGUMENT,
      "workspace: " + std::to_string(bytes - 1) + " bytes are too few: the call needs " + std::to_string(bytes));
  EXPECT_TRUE(state_->launches.empty());
  tensors.workspace_bytes = bytes;
  kernel.launch(tensors, {1, 32, 32});
  EXPECT_EQ(state_->launches.size(), 2u);
  EXPECT_TRUE(kernel.keeps_weights());
  tensors.weight = nullptr;
  kernel.launch(tensors, {1, 32, 32});
  EXPECT_EQ(state_->launches.size(), 3u);
}

TEST_F(LaunchTest, KernelsWithoutPackedWeightsNeedThemInEachCall) {
  const Kernel kernel = Device("cuda").prepare(Layer(kOpenLayer));
  EXPECT_FALSE(kernel.keeps_weights());
  EXPECT_EQ(convtgen_kernel_keeps_weights(nullptr), 0);
  Tensors tensors = some_tensors();
  tensors.weight = nullptr;
  expect_error(
      thrown_by([&] { kernel.launch(tensors, {2, 5, 7}); }), CONVTGEN_INVALID_ARGUMENT,
      "weight is null: the kernel " + kernel.symbol() + " keeps no packed copy and reads the weights in each call");
}

TEST_F(LaunchTest, DirectionsAndTheirTensorsAreChecked) {
  const Device device("cuda");
  const Layer layer(kOpenLayer);
  expect_error(
      thrown_by([&] { (void)device.prepare(layer, CONVTGEN_GRAD_INPUT); }), CONVTGEN_INVALID_ARGUMENT,
      "directions: the layer has forward, and a kernel for grad_input is wanted; legal is 'directions forward, "
      "grad_input'");
  expect_error(thrown_by([&] { (void)device.prepare(layer, static_cast<convtgen_direction>(4)); }),
               CONVTGEN_INVALID_ARGUMENT, "direction is 4; legal are 0 to 3");
  expect_error(thrown_by([&] { device.run(layer, CONVTGEN_GRAD_WEIGHT, some_tensors(), {1, 5, 7}); }),
               CONVTGEN_INVALID_ARGUMENT, "a kernel for grad_weight is wanted");
  const Layer phases("conv_transpose2d 8 -> 6; kernel 4; stride 200; directions forward, grad_input");
  expect_error(thrown_by([&] { (void)device.prepare(phases, CONVTGEN_GRAD_INPUT); }), CONVTGEN_UNSUPPORTED,
               "stride 200x200 has 40000 phases");
  const Layer trained(std::string(kOpenLayer) + "; directions forward, grad_input");
  EXPECT_NE(device.prepare(trained, CONVTGEN_GRAD_INPUT).symbol(), device.prepare(layer).symbol());
  const Kernel kernel = device.prepare(trained);
  EXPECT_EQ(kernel.symbol(), device.prepare(layer).symbol()) << "one forward kernel, whatever else the layer has";
  EXPECT_EQ(kernel.layer(), layer.text());
  Tensors tensors = some_tensors();
  tensors.grad_y = address(0x50000000);
  expect_error(thrown_by([&] { kernel.launch(tensors, {1, 5, 7}); }), CONVTGEN_INVALID_ARGUMENT,
               "grad_y must be null: the call has y, x, weight and bias");
}

TEST_F(LaunchTest, StructsOfAnotherVersionAreRefusedWithWhatToDo) {
  const Kernel kernel = Device("cuda").prepare(Layer(kOpenLayer));
  Tensors tensors = some_tensors();
  tensors.struct_size = 40;
  const Thrown thrown = thrown_by([&] { kernel.launch(tensors, {1, 5, 7}); });
  expect_error(thrown, CONVTGEN_INVALID_ARGUMENT, "tensors: struct_size is 40; in convtgen " CONVTGEN_PROJECT_VERSION);
  expect_error(thrown, CONVTGEN_INVALID_ARGUMENT, "docs/migration.md");
}

TEST_F(LaunchTest, HandlesAreChecked) {
  const Device device("cuda");
  const Layer layer(kOpenLayer);
  const auto expect_last = [](convtgen_status status, const std::string& words) {
    EXPECT_EQ(status, CONVTGEN_INVALID_ARGUMENT);
    EXPECT_NE(std::string(convtgen_last_error()).find(words), std::string::npos) << convtgen_last_error();
  };
  convtgen_kernel* kernel = nullptr;
  expect_last(convtgen_prepare(nullptr, layer.handle(), CONVTGEN_FORWARD, &kernel), "device is null");
  expect_last(convtgen_prepare(device.handle(), nullptr, CONVTGEN_FORWARD, &kernel), "layer is null");
  expect_last(convtgen_prepare(device.handle(), layer.handle(), CONVTGEN_FORWARD, nullptr), "kernel is null");
  auto* not_a_layer = reinterpret_cast<convtgen_layer*>(device.handle());
  expect_last(convtgen_prepare(device.handle(), not_a_layer, CONVTGEN_FORWARD, &kernel), "is no layer");
  expect_last(convtgen_launch(nullptr, nullptr, nullptr, nullptr), "kernel is null");
  auto* not_a_kernel = reinterpret_cast<convtgen_kernel*>(device.handle());
  expect_last(convtgen_launch(not_a_kernel, nullptr, nullptr, nullptr), "is no kernel");
  expect_last(convtgen_run(nullptr, layer.handle(), CONVTGEN_FORWARD, nullptr, nullptr, nullptr), "device is null");
  std::size_t bytes = 1;
  expect_last(convtgen_kernel_workspace(nullptr, nullptr, &bytes, nullptr), "kernel is null");
  EXPECT_EQ(bytes, 0u);
  expect_last(convtgen_prepare_all(device.handle(), nullptr, nullptr, 1, 0, nullptr, nullptr, nullptr),
              "layers is null");
  const convtgen_layer* layers[] = {layer.handle(), nullptr};
  expect_last(convtgen_prepare_all(device.handle(), layers, nullptr, 2, 0, nullptr, nullptr, nullptr), "layers[1]");
  expect_last(convtgen_prepare_all(device.handle(), layers, nullptr, 1, -1, nullptr, nullptr, nullptr),
              "threads is -1");
  expect_last(convtgen_device_open(nullptr, nullptr), "device is null");
  expect_last(convtgen_get_counters(nullptr), "counters is null");
  expect_last(convtgen_set_log(nullptr, nullptr, 9), "level is 9");
  EXPECT_STREQ(convtgen_kernel_source(nullptr), "");
  ASSERT_EQ(convtgen_prepare(device.handle(), layer.handle(), CONVTGEN_FORWARD, &kernel), CONVTGEN_OK);
  convtgen_kernel_destroy(kernel);
  expect_last(convtgen_launch(kernel, nullptr, nullptr, nullptr), "destroyed");
  convtgen_kernel_destroy(kernel);  // nothing is done
  int own = 0;
  for (const std::uint64_t number : {std::uint64_t{8}, ~std::uint64_t{0}, reinterpret_cast<std::uint64_t>(&own)}) {
    expect_last(
        convtgen_prepare(device.handle(), static_cast<convtgen_layer*>(address(number)), CONVTGEN_FORWARD, &kernel),
        "is no layer");
  }
}

TEST_F(LaunchTest, ADestroyedHandleNeverAnswersForAnother) {
  const Device device("cuda");
  std::set<convtgen_layer*> layers;
  std::set<convtgen_kernel*> kernels;
  for (int i = 0; i < 2000; ++i) {
    convtgen_layer* layer = nullptr;
    convtgen_kernel* kernel = nullptr;
    ASSERT_EQ(convtgen_layer_parse(kOpenLayer, nullptr, &layer), CONVTGEN_OK);
    ASSERT_EQ(convtgen_prepare(device.handle(), layer, CONVTGEN_FORWARD, &kernel), CONVTGEN_OK);
    EXPECT_STRNE(convtgen_layer_text(layer), "");
    EXPECT_STRNE(convtgen_kernel_symbol(kernel), "");
    EXPECT_TRUE(layers.insert(layer).second);
    EXPECT_TRUE(kernels.insert(kernel).second);
    convtgen_layer_destroy(layer);
    convtgen_kernel_destroy(kernel);
  }
  const Kernel living = device.prepare(Layer(kOpenLayer));
  for (convtgen_kernel* kernel : kernels) {
    ASSERT_STREQ(convtgen_kernel_symbol(kernel), "");
    convtgen_kernel_destroy(kernel);
  }
  for (convtgen_layer* layer : layers) {
    ASSERT_STREQ(convtgen_layer_text(layer), "");
  }
  EXPECT_NE(living.symbol(), "");
}

TEST_F(LaunchTest, HandlesComeAndGoInSeveralThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 1; i <= 4; ++i) {
    threads.emplace_back([&wrong, i] {
      const std::string text = "conv_transpose2d " + std::to_string(i) + " -> 1; kernel 1";
      std::vector<Layer> layers;
      for (int turn = 0; turn < 2000; ++turn) {
        layers.emplace_back(text);
        wrong += layers.front().shape({1, 1, 1}).in_channels == i ? 0 : 1;
        if (layers.size() > 700) {
          layers.clear();
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(LaunchTest, OpensWhatIsThere) {
  convtgen_device* device = nullptr;
  for (const char* word : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda1", ""}) {
    EXPECT_EQ(convtgen_device_open(word, &device), CONVTGEN_INVALID_ARGUMENT) << word;
  }
  expect_error(thrown_by([] { Device("cuda:1"); }), CONVTGEN_NO_DEVICE, "no GPU 1: there are 1");
  state_->device_count = 0;
  expect_error(thrown_by([] { Device("cuda"); }), CONVTGEN_NO_DEVICE, "sees no GPU");
  EXPECT_TRUE(Device("auto").is_host());
  EXPECT_NE(log_.find("kernels run on the host device, which is slow: "), std::string::npos) << log_;
  setenv("CONVTGEN_CUDA_DRIVER", "/nonexistent/libcuda.so", 1);
  expect_error(thrown_by([] { Device("cuda"); }), CONVTGEN_NO_DEVICE, "/nonexistent/libcuda.so");
}

TEST_F(LaunchTest, UsesTheCallersContextOrThePrimaryOneAndMakesNone) {
  state_->device_count = 2;
  void* own = make_context(0);
  void* other_gpu = make_context(1);
  {
    const Device device("cuda:0");
    const Layer layer(kOpenLayer);
    EXPECT_EQ(state_->live_contexts, 1);  // the primary one, retained
    const Kernel kernel = device.prepare(layer);
    kernel.launch(some_tensors(), {1, 5, 7});
    push(own);
    kernel.launch(some_tensors(), {1, 5, 7});  // loads there
    kernel.launch(some_tensors(), {1, 5, 7});
    push(other_gpu);
    kernel.launch(some_tensors(), {1, 5, 7});  // in the primary one again
    EXPECT_EQ(state_->current_depth, 2);
    pop();
    pop();
    ASSERT_EQ(state_->launches.size(), 4u);
    EXPECT_EQ(state_->launches[1].context, state_->launches[2].context);
    EXPECT_NE(state_->launches[0].context, state_->launches[1].context);
    EXPECT_EQ(state_->launches[0].context, state_->launches[3].context);
    EXPECT_EQ(state_->live_modules, 2);
    destroy_context(own);  // its module went with it
  }
  EXPECT_EQ(state_->live_modules, 0);
  EXPECT_EQ(state_->wrong_contexts, 0);
  EXPECT_EQ(state_->live_contexts, 0);
  EXPECT_EQ(state_->current_depth, 0);
  EXPECT_EQ(compiles(), 1u);
}

TEST_F(LaunchTest, CapturesWhatIsPreparedAndRefusesTheRest) {
  const Device device("cuda");
  const Layer layer(kOpenLayer);
  void* stream = address(0x55);
  state_->capturing = {0x55};
  expect_error(thrown_by([&] { device.run(layer, CONVTGEN_FORWARD, some_tensors(), {1, 5, 7}, stream); }),
               CONVTGEN_NOT_PREPARED, "call convtgen_prepare() before the capture begins");
  EXPECT_EQ(compiles(), 0u);

  // Preparing while another stream is captured does not spoil that capture.
  const Kernel kernel = device.prepare(layer);
  EXPECT_EQ(state_->spoiled_captures, 0);
  kernel.launch(some_tensors(), {1, 5, 7}, stream);
  device.run(layer, CONVTGEN_FORWARD, some_tensors(), {1, 5, 7}, stream);
  EXPECT_EQ(state_->launches.size(), 2u);

  // Nor is a module loaded in a capture, in a context that the kernel has not met.
  push(make_context(0));
  const auto loads = counters().loads;
  expect_error(thrown_by([&] { kernel.launch(some_tensors(), {1, 5, 7}, stream); }), CONVTGEN_NOT_PREPARED,
               "convtgen_prepare()");
  EXPECT_EQ(counters().loads, loads);
  (void)device.prepare(layer);
  kernel.launch(some_tensors(), {1, 5, 7}, stream);
  pop();
  EXPECT_EQ(state_->wrong_contexts, 0);
}

TEST_F(LaunchTest, KernelsOutliveTheirDevice) {
  {
    auto device = std::make_unique<Device>("cuda");
    const Kernel kernel = device->prepare(Layer(kOpenLayer));
    device.reset();
    kernel.launch(some_tensors(), {1, 5, 7});
    EXPECT_EQ(state_->live_modules, 1);
  }
  EXPECT_EQ(state_->live_modules, 0);
  EXPECT_EQ(state_->live_contexts, 0);
}

TEST_F(LaunchTest, TellsOfTheDriversErrors) {
  const Device device("cuda");
  const Kernel kernel = device.prepare(Layer(kOpenLayer));
  state_->failures["cuLaunchKernel"] = 700;
  expect_error(thrown_by([&] { kernel.launch(some_tensors(), {1, 5, 7}); }), CONVTGEN_DRIVER,
               "an illegal memory access was encountered");
}

TEST_F(LaunchTest, EightThreadsLaunchAtOnce) {
  const Device device("cuda");
  state_->record = false;
  const Layer layer(kOpenLayer);
  const Kernel kernel = device.prepare(layer);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 2000; ++j) {
        kernel.launch(some_tensors(), {1, 5, 7 + j % 50});
        device.run(layer, CONVTGEN_FORWARD, some_tensors(), {1, 5, 7});
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(state_->wrong_contexts + state_->calls_without_context, 0);
  EXPECT_EQ(compiles(), 1u);
}

}  // namespace
}  // namespace convtgen::api_test
