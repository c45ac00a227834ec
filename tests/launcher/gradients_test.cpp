// Launch code of all directions: what it binds, over the fake driver; that its results are right, on the host device;
// and its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/launcher/host_call.h"
#include "tests/launcher/over_fake_driver.h"

namespace convtgen::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kGradientLayers =
    "layer up { conv_transpose2d 8 -> 6; kernel 4; stride 2; padding 1; bias; "
    "directions forward, grad_input, grad_weight, grad_bias }\n"
    "layer plain { conv_transpose2d 4 -> 8; kernel 3x5; dilation 2x1; dtype f16; layout nhwc; input 2x?x9; "
    "directions grad_input, grad_weight }\n"
    "layer line { conv_transpose1d 4 -> 2; kernel 8; stride 4; dtype f64; input 3x20; directions grad_weight }\n"
    "layer volume { conv_transpose3d 4 -> 3; kernel 3x2x3; stride 2x1x2; padding 1x0x1; bias; input 2x?x?x6; "
    "directions grad_input, grad_weight, grad_bias }\n";

class Gradients : public OverFakeDriver {
 protected:
  void make_set(bool host) {
    set_.generate(kGradientLayers, host ? "sm_75,compute_80" : "sm_80,sm_90a", host,
                  {{"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC}});
    set_.build(strict_compilers().front());
  }
  [[nodiscard]] const SetKernelFacts* kernel(const std::string& name) const {
    const auto* const* each = set_.function<const SetKernelFacts* const* (*)()>("kernels")();
    while (*each != nullptr && name != (*each)->name) {
      ++each;
    }
    return *each;
  }
  int launch(const std::string& name, const SetTensors& tensors, const SetInput& input) const {
    return set_.function<KernelLaunch>("kernel_launch")(kernel(name), &tensors, &input, nullptr);
  }
};

TEST_F(Gradients, FunctionsBindTheirTensors) {
  make_set(false);
  enter_context(9, 0);
  float* const x = at<float>(0x1000000);
  float* const weight = at<float>(0x2000000);
  float* const grad_x = at<float>(0x4000000);
  float* const grad_y = at<float>(0x5000000);
  float* const grad_weight = at<float>(0x6000000);
  float* const grad_bias = at<float>(0x7000000);
  void* const workspace = at<void>(0x8000000);
  const std::size_t bytes = std::size_t{1} << 30;
  const auto addresses = [&](std::size_t first) {  // those of tensors, of all launches from this one on
    std::set<std::uint64_t> seen;
    for (std::size_t i = first; i < state_->launches.size(); ++i) {
      for (const std::uint64_t argument : state_->launches[i].arguments) {
        if (argument >= 0x1000000 && argument < 0x8000000) {
          seen.insert(argument);
        }
      }
    }
    return seen;
  };

  using Three =
      int (*)(const float*, const float*, float*, void*, std::size_t, std::int64_t, std::int64_t, std::int64_t, void*);
  ASSERT_EQ(set_.function<Three>("up_grad_input")(grad_y, weight, grad_x, workspace, bytes, 2, 9, 20, nullptr), 0)
      << set_.last_error();
  EXPECT_THAT(addresses(0), ElementsAre(0x2000000, 0x4000000, 0x5000000));
  std::size_t launched = state_->launches.size();

  using Four = int (*)(const float*, const float*, float*, float*, void*, std::size_t, std::int64_t, std::int64_t,
                       std::int64_t, void*);
  ASSERT_EQ(
      set_.function<Four>("up_grad_weight")(x, grad_y, grad_weight, grad_bias, workspace, bytes, 2, 9, 20, nullptr), 0)
      << set_.last_error();
  EXPECT_THAT(addresses(launched), ElementsAre(0x1000000, 0x5000000, 0x6000000, 0x7000000));
  launched = state_->launches.size();

  using Two = int (*)(const float*, float*, void*, std::size_t, std::int64_t, std::int64_t, std::int64_t, void*);
  ASSERT_EQ(set_.function<Two>("up_grad_bias")(grad_y, grad_bias, workspace, bytes, 2, 9, 20, nullptr), 0)
      << set_.last_error();
  EXPECT_THAT(addresses(launched), ElementsAre(0x5000000, 0x7000000));
}

TEST_F(Gradients, WrongTensorsAreNamed) {
  make_set(false);
  enter_context(9, 0);
  void* const a = at<void>(0x1000000);
  void* const b = at<void>(0x2000000);
  void* const c = at<void>(0x3000000);
  void* const d = at<void>(0x4000000);
  const auto refused = [&](const std::string& name, const SetTensors& tensors) {
    const bool is_plain = name.starts_with("plain");
    EXPECT_EQ(launch(name, tensors, is_plain ? SetInput{-1, {-1, 8, -1}} : SetInput{2, {1, 9, 20}}), 1);
    return set_.last_error();
  };
  EXPECT_EQ(refused("up_grad_input", {.weight = a, .grad_x = c}), "up_grad_input: grad_y is null");
  EXPECT_EQ(refused("up_grad_input", {.grad_y = a, .grad_x = c}),
            "up_grad_input: weight is null: the kernel reads the weights in each call, so each call needs them");
  EXPECT_EQ(refused("up_grad_input", {.weight = a, .grad_y = b}), "up_grad_input: grad_x is null");
  EXPECT_EQ(refused("up_grad_input", {.x = d, .weight = a, .grad_y = b, .grad_x = c}),
            "up_grad_input: x must be null: the call has grad_x, grad_y and weight");
  EXPECT_EQ(refused("up_grad_input", {.weight = a, .bias = d, .grad_y = b, .grad_x = c}),
            "up_grad_input: bias must be null: the call has grad_x, grad_y and weight");
  EXPECT_EQ(refused("up_grad_weight", {.x = a, .grad_y = b, .grad_weight = c}), "up_grad_weight: grad_bias is null");
  EXPECT_EQ(refused("up_grad_weight", {.x = a, .grad_y = b, .grad_bias = c}), "up_grad_weight: grad_weight is null");
  EXPECT_EQ(refused("up_grad_weight", {.grad_y = b, .grad_weight = c, .grad_bias = d}), "up_grad_weight: x is null");
  EXPECT_EQ(refused("up_grad_weight", {.x = a, .y = d, .grad_y = b, .grad_weight = c}),
            "up_grad_weight: y must be null: the call has grad_weight, grad_bias, x and grad_y");
  EXPECT_EQ(refused("up_grad_weight", {.x = a, .grad_y = b, .grad_weight = c, .grad_bias = c}),
            "up_grad_weight: grad_weight overlaps grad_bias");
  EXPECT_EQ(refused("up_grad_bias", {.grad_bias = c}), "up_grad_bias: grad_y is null");
  EXPECT_EQ(refused("up_grad_bias", {.x = a, .grad_y = b, .grad_bias = c}),
            "up_grad_bias: x must be null: the call has grad_bias and grad_y");
  EXPECT_EQ(refused("plain_grad_weight", {.x = a, .grad_y = b, .grad_weight = c, .grad_bias = d}),
            "plain_grad_weight: grad_bias must be null: the layer has no bias");
  EXPECT_TRUE(state_->launches.empty());
}

TEST_F(Gradients, RightByTheDefinitionOnTheHostDevice) {
  make_set(true);
  ASSERT_EQ(set_.function<int (*)(int)>("use_host")(1), 0) << set_.last_error();
  std::map<std::string, std::size_t> written;
  const auto* const* each = set_.function<const SetKernelFacts* const* (*)()>("kernels")();
  for (; *each != nullptr; ++each) {
    const std::map<std::string, InputSizes> sizes = {{"line", {.batch = 3, .extents = {1, 20}}},
                                                     {"plain", {.batch = 2, .extents = {4, 9}}},
                                                     {"up", {.batch = 2, .extents = {5, 7}}},
                                                     {"volume", {.batch = 2, .extents = {3, 4, 6}}}};
    HostCall call(set_, *each, sizes.at((*each)->layer));
    ASSERT_EQ(call.launch(), 0) << set_.last_error();
    call.expect_right();
    written[(*each)->name] = call.results();
  }
  EXPECT_THAT(written, ElementsAre(std::pair("line_grad_weight", 1), std::pair("plain_grad_input", 1),
                                   std::pair("plain_grad_weight", 1), std::pair("up_forward", 1),
                                   std::pair("up_grad_bias", 1), std::pair("up_grad_input", 1),
                                   std::pair("up_grad_weight", 2), std::pair("volume_grad_bias", 1),
                                   std::pair("volume_grad_input", 1), std::pair("volume_grad_weight", 2)));

  for (const char* name : {"up_grad_weight", "up_grad_bias"}) {
    HostCall empty(set_, kernel(name), {.batch = 0, .extents = {5, 7}});
    ASSERT_EQ(empty.launch(), 0) << set_.last_error();
    EXPECT_TRUE(empty.all_zero()) << name << " of an empty batch";
  }
}

}  // namespace
}  // namespace convtgen::test
