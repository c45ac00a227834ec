// Layers whose kernels read packed weights, from source to verified numbers on the host device.
#include <gtest/gtest.h>

#include <convtgen/host.h>
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "generator/planner/candidates.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/definition.h"
#include "runtime/reference/run_layer.h"
#include "tests/reference/packed_layer.h"

namespace convtgen::testing {
namespace {

constexpr InputSizes kSizes{2, {3, 5}};

class PackedByHand : public ::testing::Test {
 protected:
  [[nodiscard]] Result<LoadedLayer> load(KernelSource source) const {
    return load_source(*device_, layer_.problem, layer_.plan, std::move(source));
  }
  [[nodiscard]] LayerInputs inputs(std::uint64_t seed) const {
    return random_inputs(layer_.problem.layer, shape_of(layer_.problem.layer, kSizes).value(), seed);
  }
  /// What is wrong with the call's output; empty where it is right.
  [[nodiscard]] std::string judged(const LayerCall& call, const LayerInputs& from) const {
    const auto verified = verify_call(*device_, layer_.problem.layer, call, from);
    EXPECT_TRUE(verified) << verified.error().message;
    return verified->passed() ? "" : describe(*verified, layer_.problem.layer);
  }

  std::unique_ptr<HostDevice> device_ = open_host_device().value();
  PackedLayer layer_ = packed_layer();
};

TEST_F(PackedByHand, IsVerifiedAndTimed) {
  auto loaded = load(layer_.source);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const LayerInputs from = inputs(1);
  const auto call = make_call(*device_, *loaded, kSizes, from);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->workspace->bytes(), 80u);
  const auto ran = run_call(*device_, *loaded, *call);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(judged(*call, from), "");
  ASSERT_TRUE(device_->poison(*call->workspace, std::byte{0xff}));
  const auto time = time_call(*device_, *loaded, *call, 1);
  ASSERT_TRUE(time) << "packing is part of each timed call: " << time.error().message;
  EXPECT_GT(*time, 0);
  EXPECT_EQ(judged(*call, from), "");
}

TEST_F(PackedByHand, EveryKernelOfABinaryIsFoundByItsName) {
  const auto binary = device_->compile(layer_.source, "");
  ASSERT_TRUE(binary) << binary.error().message;
  EXPECT_EQ(binary->kernels, (std::vector<BinaryKernel>{{"pack_weights", 16, 0}, {"convolve", 64, 0}}));
  for (const BinaryKernel& kernel : binary->kernels) {
    EXPECT_TRUE(device_->load(*binary, kernel));
  }
  Binary misnamed = *binary;
  misnamed.symbol = "another";
  const auto missing = device_->load(misnamed);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "a library for the host device has no kernel 'another'");
}

TEST_F(PackedByHand, WeightsThatAreNotPackedAreFound) {
  auto loaded = load(layer_.source);
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto call = make_call(*device_, *loaded, kSizes, inputs(1));
  ASSERT_TRUE(call);
  call->launches[0].blocks = 0;
  const auto ran = run_call(*device_, *loaded, *call);
  ASSERT_FALSE(ran);
  EXPECT_NE(ran.error().message.find("global buffer 'packed'"), std::string::npos) << ran.error().message;
  EXPECT_NE(ran.error().message.find("nothing has written"), std::string::npos) << ran.error().message;
}

TEST_F(PackedByHand, AFaultOfThePackingKernelNamesItAndItsArray) {
  KernelSource source = layer_.source;
  const std::size_t check = source.text.find("if (i < 20)");
  source.text.replace(check, 11, "if (i < 21)");
  auto loaded = load(std::move(source));
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto call = make_call(*device_, *loaded, kSizes, inputs(1));
  ASSERT_TRUE(call);
  const auto ran = run_call(*device_, *loaded, *call);
  ASSERT_FALSE(ran);
  EXPECT_NE(ran.error().message.find("pack_weights"), std::string::npos) << ran.error().message;
  EXPECT_NE(ran.error().message.find("global buffer '"), std::string::npos) << ran.error().message;
}

// As launch code of a build runs both kernels, from one library.
TEST_F(PackedByHand, ALibraryRunsBothKernels) {
  const auto portable = open_host_device({.portable = true}).value();
  const auto binary = portable->compile(layer_.source, "");
  ASSERT_TRUE(binary) << binary.error().message;
  const LayerInputs from = inputs(2);
  std::vector<std::byte> workspace(80, std::byte{0xff});
  HostArray y =
      make_array(Dtype::kF32, output_shape(layer_.problem.layer, shape_of(layer_.problem.layer, kSizes).value()));
  const auto array = [](const std::vector<std::byte>& bytes, int kind) {
    return convtgen_host_array{const_cast<std::byte*>(bytes.data()), bytes.size(), kind};
  };
  std::vector<convtgen_host_array> arrays = {
      array(from.x.bytes, CONVTGEN_HOST_READ), array(from.weight.bytes, CONVTGEN_HOST_READ),
      array(from.bias->bytes, CONVTGEN_HOST_READ), array(y.bytes, CONVTGEN_HOST_WRITTEN),
      array(workspace, CONVTGEN_HOST_WRITTEN)};
  const auto of_array = [](int place) { return convtgen_host_argument{0, place, nullptr}; };
  const auto integer = [](std::uint64_t value) { return convtgen_host_argument{value, -1, nullptr}; };
  const std::vector<convtgen_host_argument> packing = {of_array(1), of_array(4)};
  const std::vector<convtgen_host_argument> main = {of_array(0), of_array(4), of_array(2), of_array(3),
                                                    integer(2),  integer(3),  integer(5)};
  std::vector<convtgen_host_kernel> kernels = {{"pack_weights", 16, 0, 2, packing.data(), packing.size()},
                                               {"convolve", 64, 0, 2, main.data(), main.size()}};
  const auto call = [&] {
    convtgen_host_call_fields fields{};
    fields.struct_size = sizeof fields;
    fields.library = binary->bytes.data();
    fields.library_bytes = binary->bytes.size();
    fields.arrays = arrays.data();
    fields.array_count = arrays.size();
    fields.kernels = kernels.data();
    fields.kernel_count = kernels.size();
    return convtgen_host_call(&fields);
  };
  for (int i = 0; i < 2; ++i) {  // packed once
    std::ranges::fill(y.bytes, std::byte{0xff});
    ASSERT_EQ(call(), CONVTGEN_OK) << convtgen_last_error();
    const Layer& layer = layer_.problem.layer;
    const Shape shape = shape_of(layer, kSizes).value();
    const Comparison comparison = compare(layer, shape, define_all(layer, shape, from), y);
    EXPECT_TRUE(comparison.passed()) << describe(comparison, layer);
    if (i == 0) {
      kernels.erase(kernels.begin());
      arrays[4].kind = CONVTGEN_HOST_READ;
    }
  }
  arrays[4].kind = CONVTGEN_HOST_SCRATCH;
  EXPECT_EQ(call(), CONVTGEN_KERNEL_FAULT) << "nobody has packed them";
  kernels[0].symbol = "another";
  EXPECT_EQ(call(), CONVTGEN_UNSUPPORTED);
  EXPECT_STREQ(convtgen_last_error(), "a library for the host device has no kernel 'another'");
}

/// The first plan of a layer that reads packed weights.
Plan first_packed(const Problem& problem) {
  const std::vector<Plan> plans = plan(problem).value();
  const auto found = std::ranges::find_if(plans, [](const Plan& each) { return each.launch.packed_bytes() > 0; });
  EXPECT_NE(found, plans.end());
  return found != plans.end() ? *found : plans.front();
}

class PackedPlan : public ::testing::TestWithParam<const char*> {};

TEST_P(PackedPlan, WeightsStayInTheirWorkspaces) {
  const Problem problem{parse_layer(GetParam()).value(), Direction::kForward, target_named("sm_90a").value()};
  const InputSizes sizes{1, {5, 8}};
  const Shape shape = shape_of(problem.layer, sizes).value();
  const std::unique_ptr<HostDevice> device = open_host_device().value();
  const Plan chosen = first_packed(problem);
  auto loaded = load_layer(*device, problem, chosen);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->kernels.size(), 2u);
  EXPECT_EQ(loaded->form.kept_bytes(), chosen.launch.packed_bytes());
  const LayerInputs inputs[] = {random_inputs(problem.layer, shape, 1), random_inputs(problem.layer, shape, 2)};
  LayerCall calls[] = {make_call(*device, *loaded, sizes, inputs[0]).value(),
                       make_call(*device, *loaded, sizes, inputs[1]).value()};
  const auto run = [&](int i) {
    EXPECT_TRUE(device->poison(*calls[i].buffers.of(Role::kY), std::byte{0xff}));
    const auto ran = run_call(*device, *loaded, calls[i]);
    ASSERT_TRUE(ran) << ran.error().message;
    const auto verified = verify_call(*device, problem.layer, calls[i], inputs[i]);
    ASSERT_TRUE(verified) << verified.error().message;
    EXPECT_TRUE(verified->passed()) << describe(*verified, problem.layer);
  };
  for (std::uint64_t seed = 0; seed < 3; ++seed) {  // whatever the order of threads and blocks
    device->set_seed(seed);
    run(0);
  }
  run(1);
  for (LayerCall& call : calls) {
    call.launches[0].blocks = 0;  // as a call without weights
    EXPECT_TRUE(device->poison(*call.buffers.of(Role::kWeight), std::byte{0xff}));
  }
  run(0);
  run(1);
  EXPECT_TRUE(device->poison(*calls[0].workspace, std::byte{0xff}));
  EXPECT_FALSE(run_call(*device, *loaded, calls[0])) << "nobody has packed them";
}

INSTANTIATE_TEST_SUITE_P(
    Layers, PackedPlan,
    ::testing::Values(
        "conv_transpose2d 20 -> 12; kernel 4; stride 2; padding 1; bias; compute tf32; input 1x5x8",
        "conv_transpose2d 24 -> 16; kernel 3; dtype f16; layout nhwc; fuse relu; input ?x?x8",
        "conv_transpose2d 16 -> 40; kernel 2; stride 2; dtype bf16; input ?x5x8",
        // f32x3: a thread packs one depth, several, or more than it can hold, of more taps than a column has threads;
        // phase rows apart, groups, channels and columns beyond the last.
        "conv_transpose2d 20 -> 12; kernel 3; compute f32x3; input 1x5x8",
        "conv_transpose2d 300 -> 12; kernel 3; compute f32x3; layout nhwc; input 1x5x8",
        "conv_transpose2d 20 -> 8; kernel 12; padding 6; compute f32x3; input 1x5x8",
        "conv_transpose2d 72 -> 40; kernel 4; stride 2; padding 1; groups 2; compute f32x3; input 1x5x8"));

}  // namespace
}  // namespace convtgen::testing
