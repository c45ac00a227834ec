// run_layer on a device that is only memory: its kernels are functions of the test.
#include "runtime/reference/run_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "generator/language/language.h"
#include "generator/planner/table/templates.h"
#include "runtime/device/tensor_runs.h"
#include "runtime/reference/definition.h"
#include "runtime/reference/fuse.h"

namespace convtgen {
namespace {

class MemoryBuffer : public Buffer {
 public:
  explicit MemoryBuffer(std::size_t bytes) : data(bytes) {}
  [[nodiscard]] std::uint64_t address() const override { return reinterpret_cast<std::uint64_t>(data.data()); }
  [[nodiscard]] std::size_t bytes() const override { return data.size(); }
  std::vector<std::byte> data;
};

class MemoryDevice : public Device {
 public:
  std::function<void(const Launch&)> kernel = [](const Launch&) {};
  KernelSource source;
  int launches = 0;
  std::size_t memory = std::size_t{1} << 30;

  [[nodiscard]] DeviceKind kind() const override { return DeviceKind::kHost; }
  [[nodiscard]] std::string name() const override { return "memory"; }
  Result<void> find_compiler() override { return {}; }
  Compiled<Binary> compile(const KernelSource& text, const std::string&) override {
    source = text;
    Binary binary;
    binary.kernels = kernels_in(text);
    return binary;
  }
  Result<std::unique_ptr<LoadedKernel>> load(const Binary&, const BinaryKernel&) override {
    return std::make_unique<LoadedKernel>();
  }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    if (bytes > memory) {
      return fail("out of memory");
    }
    return std::make_unique<MemoryBuffer>(bytes);
  }
  Result<void> upload(Buffer& to, std::span<const std::byte> from) override {
    std::memcpy(bytes_in(to), from.data(), from.size());
    return {};
  }
  Result<void> download(std::span<std::byte> to, const Buffer& from) override { return download_part(to, from, 0); }
  Result<void> download_part(std::span<std::byte> to, const Buffer& from, std::size_t offset) override {
    if (offset + to.size() > from.bytes()) {
      return fail("out of bounds");
    }
    std::memcpy(to.data(), bytes_in(from) + offset, to.size());
    return {};
  }
  Result<void> poison(Buffer& buffer, std::byte value) override {
    std::memset(bytes_in(buffer), static_cast<int>(value), buffer.bytes());
    return {};
  }
  Result<void> run(LoadedKernel&, const Launch& launch) override {
    ++launches;
    kernel(launch);
    return {};
  }
  Result<double> time(std::span<const KernelLaunch>, int) override { return 1.0; }

  /// The argument of the kernel parameter of this name.
  [[nodiscard]] std::uint64_t argument(const Launch& launch, std::string_view parameter) const {
    for (std::size_t i = 0; i < source.main().parameters.size(); ++i) {
      if (source.main().parameters[i].name == parameter) {
        return launch.arguments.at(i);
      }
    }
    ADD_FAILURE() << "no parameter " << parameter;
    return 0;
  }

 private:
  static std::byte* bytes_in(const Buffer& buffer) { return reinterpret_cast<std::byte*>(buffer.address()); }
};

struct Setting {
  Problem problem;
  Plan plan;
  InputSizes sizes;
  Shape shape;
  LayerInputs inputs;
};

Setting setting_of(const std::string& text, InputSizes sizes) {
  Setting s;
  s.problem = {*parse_layer(text), Direction::kForward, *target_named("sm_90a")};
  s.plan = kDirect.plans(s.problem)->front();  // which needs no packed weights
  s.sizes = sizes;
  s.shape = *shape_of(s.problem.layer, sizes);
  s.inputs = random_inputs(s.problem.layer, s.shape, 3);
  return s;
}

/// A kernel that is right: it reads what the arguments point to.
void compute(const MemoryDevice& device, const Setting& s, const Launch& launch) {
  LayerInputs seen = s.inputs;
  const auto fetch = [&](HostArray& array, std::string_view name) {
    std::memcpy(array.bytes.data(), reinterpret_cast<const void*>(device.argument(launch, name)), array.bytes.size());
  };
  fetch(seen.x, "x");
  fetch(seen.weight, "weight");
  if (seen.bias) {
    fetch(*seen.bias, "bias");
  }
  const Definition definition = define_all(s.problem.layer, s.shape, seen);
  HostArray y = make_array(s.problem.layer.dtype, output_shape(s.problem.layer, s.shape));
  for (std::int64_t i = 0; i < y.size(); ++i) {
    y.set(i, apply_fuse(s.problem.layer.fuse, definition.sum[static_cast<std::size_t>(i)]));
  }
  std::memcpy(reinterpret_cast<void*>(device.argument(launch, "y")), y.bytes.data(), y.bytes.size());
}

/// The same of channels of larger tensors.
void compute_slices(const MemoryDevice& device, const Setting& s, const Launch& launch) {
  const auto runs = [&](Role role) {
    return runs_of(*std::ranges::find(s.plan.launch.tensors, role, &Tensor::role), quantities_of(s.shape),
                   bytes_of(s.problem.layer.dtype));
  };
  LayerInputs seen = s.inputs;
  const TensorRuns x = runs(Role::kX), y = runs(Role::kY);
  copy_runs(x, reinterpret_cast<const std::byte*>(device.argument(launch, "x")), x.pitch, seen.x.bytes.data(), x.run);
  const Definition definition = define_all(s.problem.layer, s.shape, seen);
  HostArray made = make_array(s.problem.layer.dtype, output_shape(s.problem.layer, s.shape));
  for (std::int64_t i = 0; i < made.size(); ++i) {
    made.set(i, definition.sum[static_cast<std::size_t>(i)]);
  }
  copy_runs(y, made.bytes.data(), y.run, reinterpret_cast<std::byte*>(device.argument(launch, "y")), y.pitch);
}

constexpr const char* kStatic = "conv_transpose2d 4 -> 6; kernel 3x2; stride 2; bias; fuse relu; input 2x9x11";
constexpr const char* kDynamic = "conv_transpose2d 4 -> 6; kernel 3x2; stride 2; dtype f16; layout nhwc";

TEST(RunLayer, ArgumentsAreBoundByName) {
  for (const char* text : {kStatic, kDynamic}) {
    MemoryDevice device;
    const Setting s = setting_of(text, {2, {9, 11}});
    device.kernel = [&](const Launch& launch) {
      EXPECT_EQ(launch.threads, s.plan.launch.main().threads);
      EXPECT_EQ(launch.shared_bytes, s.plan.launch.main().shared_bytes);
      EXPECT_GT(launch.blocks, 0);
      EXPECT_EQ(launch.arguments.size(), device.source.main().parameters.size());
      if (!s.problem.layer.axes[kHeight].extent) {
        EXPECT_EQ(device.argument(launch, "height"), 9U);
        EXPECT_EQ(device.argument(launch, "width"), 11U);
      }
      compute(device, s, launch);
    };
    const auto run = run_layer(device, s.problem, s.plan, s.sizes, s.inputs);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(device.launches, 1);
    EXPECT_FALSE(run->verification.arrays.front().sampled);
    EXPECT_EQ(run->verification.arrays.front().comparison.checked, s.shape.output_elements);
    EXPECT_TRUE(run->verification.passed()) << describe(run->verification, s.problem.layer);
  }
}

TEST(RunLayer, OutputsThatNobodyWritesAreFound) {
  MemoryDevice device;
  const Setting s = setting_of(kStatic, {2, {9, 11}});
  const auto nothing = run_layer(device, s.problem, s.plan, s.sizes, s.inputs);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->verification.arrays.front().comparison.wrong, s.shape.output_elements);
  EXPECT_FALSE(nothing->verification.passed());

  device.kernel = [&](const Launch& launch) {
    auto* last = reinterpret_cast<float*>(device.argument(launch, "y")) + s.shape.output_elements - 1;
    const float poison = *last;
    compute(device, s, launch);
    *last = poison;
  };
  const auto all_but_one = run_layer(device, s.problem, s.plan, s.sizes, s.inputs);
  ASSERT_TRUE(all_but_one);
  EXPECT_EQ(all_but_one->verification.arrays.front().comparison.wrong, 1);
  EXPECT_EQ(all_but_one->verification.arrays.front().comparison.worst->at, (ElementPosition{1, 5, {0, 18, 21}}));
}

TEST(RunLayer, LargeLayersAreSampled) {
  MemoryDevice device;
  const Setting s = setting_of(kStatic, {2, {9, 11}});
  bool border_is_wrong = false;
  device.kernel = [&](const Launch& launch) {
    compute(device, s, launch);
    if (border_is_wrong) {
      reinterpret_cast<float*>(device.argument(launch, "y"))[5 * 22] += 1;  // row 5, column 0
    }
  };
  VerifyOptions options;
  options.most_for_all = 100;
  options.samples = {.random = 5, .most_borders = 10'000, .seed = 1};
  double told = 0;
  options.progress = [&](double fraction) { told = fraction; };
  const auto right = run_layer(device, s.problem, s.plan, s.sizes, s.inputs, options);
  ASSERT_TRUE(right);
  EXPECT_TRUE(right->verification.arrays.front().sampled);
  EXPECT_TRUE(right->verification.arrays.front().all_borders);
  EXPECT_LT(right->verification.arrays.front().comparison.checked, s.shape.output_elements);
  EXPECT_TRUE(right->verification.passed());
  EXPECT_EQ(told, 1.0);
  border_is_wrong = true;
  const auto wrong = run_layer(device, s.problem, s.plan, s.sizes, s.inputs, options);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->verification.arrays.front().comparison.wrong, 1);
  EXPECT_EQ(wrong->verification.arrays.front().comparison.worst->at, (ElementPosition{0, 0, {0, 5, 0}}));
}

TEST(RunLayer, ChannelsOfATensorAreReadAndWrittenAlone) {
  for (const std::string layout : {"nchw", "nhwc"}) {
    MemoryDevice device;
    const Setting s = setting_of(
        "conv_transpose2d 4 -> 6; kernel 3x2; stride 2; x_channels 7; y_channels 10; layout " + layout, {2, {9, 11}});
    std::int64_t changed = -1;  // an element of y's tensor
    device.kernel = [&](const Launch& launch) {
      // NaN lies between the channels of x.
      const auto* x = reinterpret_cast<const float*>(device.argument(launch, "x"));
      EXPECT_TRUE(std::isnan(x[layout == "nhwc" ? 4 : 4 * 99]));
      compute_slices(device, s, launch);
      if (changed >= 0) {
        reinterpret_cast<float*>(device.argument(launch, "y"))[changed] = 0;
      }
    };
    for (const std::int64_t most_for_all : {std::int64_t{1} << 30, std::int64_t{100}}) {
      VerifyOptions options;
      options.most_for_all = most_for_all;
      const auto run = run_layer(device, s.problem, s.plan, s.sizes, s.inputs, options);
      ASSERT_TRUE(run) << run.error().message;
      EXPECT_EQ(run->verification.arrays.front().sampled, most_for_all == 100);
      EXPECT_TRUE(run->verification.passed()) << layout << describe(run->verification, s.problem.layer);
    }
    changed = layout == "nhwc" ? 6 : 6 * s.shape.out[kHeight] * s.shape.out[kWidth];
    const auto beyond = run_layer(device, s.problem, s.plan, s.sizes, s.inputs);
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().message, "y: the kernel wrote into other channels of its tensor");
  }
}

TEST(RunLayer, CallsMayShareInputsAndAReference) {
  for (const std::int64_t most_for_all : {std::int64_t{1} << 30, std::int64_t{100}}) {
    MemoryDevice device;
    const Setting s = setting_of(kStatic, {2, {9, 11}});
    const Layer& layer = s.problem.layer;
    auto loaded = load_layer(device, s.problem, s.plan);
    ASSERT_TRUE(loaded);
    const auto inputs = upload_inputs(device, layer, s.sizes, s.inputs);
    ASSERT_TRUE(inputs) << inputs.error().message;
    VerifyOptions options;
    options.most_for_all = most_for_all;
    const Reference reference = make_reference(layer, s.shape, s.inputs, options);
    EXPECT_EQ(reference.arrays.front().samples.has_value(), most_for_all == 100);
    for (const bool idle : {false, true, false}) {  // what one call wrote is no result of the next
      device.kernel = [&](const Launch& launch) {
        if (!idle) {
          compute(device, s, launch);
        }
      };
      const auto call = make_call(device, *loaded, *inputs);
      ASSERT_TRUE(call) << call.error().message;
      EXPECT_EQ(call->buffers.of(Role::kX), inputs->buffers.of(Role::kX));
      ASSERT_TRUE(run_call(device, *loaded, *call));
      const auto verified = verify_call(device, layer, *call, reference);
      ASSERT_TRUE(verified) << verified.error().message;
      EXPECT_EQ(verified->arrays.front().sampled, reference.arrays.front().samples.has_value());
      EXPECT_EQ(verified->arrays.front().comparison.wrong, idle ? verified->arrays.front().comparison.checked : 0);
      EXPECT_EQ(verified->passed(), !idle);
    }
  }
}

TEST(RunLayer, SamplesAreReadInPieces) {
  MemoryDevice device;
  const Setting s = setting_of(kStatic, {2, {9, 11}});
  device.kernel = [&](const Launch& launch) { compute(device, s, launch); };
  const auto run = run_layer(device, s.problem, s.plan, s.sizes, s.inputs);
  ASSERT_TRUE(run);
  const HostArray y = *read_output(device, s.problem.layer, run->call);
  const std::vector<std::int64_t> offsets{0, 1, 7, 8, 9, 100, y.size() - 1};
  const auto samples = read_samples(device, s.problem.layer, run->call, offsets, Role::kY, 4 * 8);
  ASSERT_TRUE(samples) << samples.error().message;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    EXPECT_EQ(samples->at(static_cast<std::int64_t>(i)), y.at(offsets[i]));
  }
}

TEST(RunLayer, AnEmptyBatchLaunchesNothing) {
  MemoryDevice device;
  const Setting s = setting_of(kDynamic, {0, {9, 11}});
  const auto run = run_layer(device, s.problem, s.plan, s.sizes, s.inputs);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(device.launches, 0);
  EXPECT_TRUE(run->verification.passed());
}

TEST(RunLayer, ErrorsNameWhatIsWrong) {
  MemoryDevice device;
  const Setting s = setting_of(kStatic, {2, {9, 11}});
  LayerInputs no_bias = s.inputs;
  no_bias.bias.reset();
  const auto missing = run_layer(device, s.problem, s.plan, s.sizes, no_bias);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("bias"), std::string::npos);
  const auto sizes = run_layer(device, s.problem, s.plan, {2, {9, 12}}, s.inputs);
  ASSERT_FALSE(sizes);
  EXPECT_NE(sizes.error().message.find("width"), std::string::npos) << sizes.error().message;
  device.memory = 4000;
  const auto memory = run_layer(device, s.problem, s.plan, s.sizes, s.inputs);
  ASSERT_FALSE(memory);
  EXPECT_NE(memory.error().message.find("y: no 20064 bytes"), std::string::npos) << memory.error().message;
}

}  // namespace
}  // namespace convtgen
