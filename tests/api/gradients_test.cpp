// Gradients through the public API: their numbers on the host device, and the errors of wrong calls.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/api/fake_gpu.h"

namespace convtgen::api_test {
namespace {

constexpr const char* kAll = "; directions forward, grad_input, grad_weight, grad_bias";
constexpr std::array kDirections{CONVTGEN_FORWARD, CONVTGEN_GRAD_INPUT, CONVTGEN_GRAD_WEIGHT, CONVTGEN_GRAD_BIAS};

/// conv_transpose1d 1 -> 1 with kernel (1, 2, 3) and stride 2, by hand.
class GradientsOnHostTest : public FakeGpuTest {
 protected:
  const float x_[2] = {1, 10}, weight_[3] = {1, 2, 3}, bias_[1] = {0.5F}, grad_y_[5] = {1, -1, 2, 0, 3};
  const std::vector<float> want_x_{1 - 2 + 6, 2 + 0 + 9}, want_weight_{1 + 20, -1 + 0, 2 + 30}, want_bias_{5};
  std::vector<float> got_x_ = std::vector<float>(2), got_weight_ = std::vector<float>(3);
  std::vector<float> got_bias_ = std::vector<float>(1), got_y_ = std::vector<float>(5);
  std::vector<float> memory_ = std::vector<float>(4096);
  static constexpr const char* kText = "conv_transpose1d 1 -> 1; kernel 3; stride 2";

  /// At a multiple of 128 bytes, as many as the kernel needs.
  void* workspace(const Kernel& kernel, const Sizes& sizes) {
    EXPECT_LE(kernel.workspace(sizes) + 128, memory_.size() * sizeof(float));
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
    return address((begin + 127) / 128 * 128);
  }
};

TEST_F(GradientsOnHostTest, EachDirectionComputesItsOwn) {
  const Device device("host");
  const Layer layer(std::string(kText) + "; bias" + kAll);
  std::vector<std::size_t> told;
  const std::vector<Kernel> kernels =
      device.prepare_all({&layer, &layer, &layer, &layer}, {kDirections.begin(), kDirections.end()}, 1,
                         [&](std::size_t index, std::size_t, std::size_t, convtgen_status status) {
                           EXPECT_EQ(status, CONVTGEN_OK);
                           told.push_back(index);
                           return true;
                         });
  EXPECT_EQ(told.size(), 4U);
  ASSERT_EQ(kernels.size(), 4U);
  const Sizes sizes(1, 2);
  const std::size_t bytes = 4096;
  kernels[0].launch(Tensors::forward(x_, weight_, bias_, got_y_.data(), workspace(kernels[0], sizes), bytes), sizes);
  EXPECT_EQ(got_y_, (std::vector<float>{1.5F, 2.5F, 13.5F, 20.5F, 30.5F}));
  kernels[1].launch(Tensors::for_grad_input(grad_y_, weight_, got_x_.data(), workspace(kernels[1], sizes), bytes),
                    sizes);
  EXPECT_EQ(got_x_, want_x_);
  kernels[2].launch(
      Tensors::for_grad_weight(x_, grad_y_, got_weight_.data(), got_bias_.data(), workspace(kernels[2], sizes), bytes),
      sizes);
  EXPECT_EQ(got_weight_, want_weight_);
  EXPECT_EQ(got_bias_, want_bias_);
  got_bias_ = {9};
  kernels[3].launch(Tensors::for_grad_bias(grad_y_, got_bias_.data(), workspace(kernels[3], sizes), bytes), sizes);
  EXPECT_EQ(got_bias_, want_bias_);

  // Of an empty batch all are zeros, and nothing that is read has an address.
  kernels[2].launch(Tensors::for_grad_weight(nullptr, nullptr, got_weight_.data(), got_bias_.data(),
                                             workspace(kernels[2], sizes), bytes),
                    {0, 2});
  EXPECT_EQ(got_weight_, std::vector<float>(3));
  EXPECT_EQ(got_bias_, std::vector<float>(1));
  kernels[1].launch({}, {0, 2});
}

// The same numbers along the depth of a volume.
TEST_F(GradientsOnHostTest, OfThreeAxes) {
  const Device device("host");
  const Layer layer("conv_transpose3d 1 -> 1; kernel 3x1x1; stride 2x1x1; bias" + std::string(kAll));
  const Sizes sizes(1, 2, 1, 1);
  const std::size_t bytes = 4096;
  const auto launch = [&](convtgen_direction direction, const auto& tensors_with) {
    const Kernel kernel = device.prepare(layer, direction);
    kernel.launch(tensors_with(workspace(kernel, sizes)), sizes);
  };
  launch(CONVTGEN_FORWARD,
         [&](void* memory) { return Tensors::forward(x_, weight_, bias_, got_y_.data(), memory, bytes); });
  EXPECT_EQ(got_y_, (std::vector<float>{1.5F, 2.5F, 13.5F, 20.5F, 30.5F}));
  launch(CONVTGEN_GRAD_INPUT,
         [&](void* memory) { return Tensors::for_grad_input(grad_y_, weight_, got_x_.data(), memory, bytes); });
  EXPECT_EQ(got_x_, want_x_);
  launch(CONVTGEN_GRAD_WEIGHT, [&](void* memory) {
    return Tensors::for_grad_weight(x_, grad_y_, got_weight_.data(), got_bias_.data(), memory, bytes);
  });
  EXPECT_EQ(got_weight_, want_weight_);
  EXPECT_EQ(got_bias_, want_bias_);
  got_bias_ = {9};
  launch(CONVTGEN_GRAD_BIAS,
         [&](void* memory) { return Tensors::for_grad_bias(grad_y_, got_bias_.data(), memory, bytes); });
  EXPECT_EQ(got_bias_, want_bias_);
}

TEST_F(GradientsOnHostTest, ALayerWithoutABiasHasNoneToWrite) {
  const Device device("host");
  const Layer layer(std::string(kText) + "; directions grad_weight");
  const Kernel kernel = device.prepare(layer, CONVTGEN_GRAD_WEIGHT);
  const Sizes sizes(1, 2);
  kernel.launch(Tensors::for_grad_weight(x_, grad_y_, got_weight_.data(), nullptr, workspace(kernel, sizes), 4096),
                sizes);
  EXPECT_EQ(got_weight_, want_weight_);
  expect_error(thrown_by([&] {
                 kernel.launch(Tensors::for_grad_weight(x_, grad_y_, got_weight_.data(), got_bias_.data(),
                                                        workspace(kernel, sizes), 4096),
                               sizes);
               }),
               CONVTGEN_INVALID_ARGUMENT, "grad_bias must be null: the layer has no bias");
  std::fill(got_weight_.begin(), got_weight_.end(), 9.0F);
  device.run(layer, CONVTGEN_GRAD_WEIGHT,
             Tensors::for_grad_weight(x_, grad_y_, got_weight_.data(), nullptr, workspace(kernel, sizes), 4096), sizes);
  EXPECT_EQ(got_weight_, want_weight_);
}

TEST_F(GradientsOnHostTest, EachDirectionIsTuned) {
  const Device device("host");
  const Layer layer(std::string(kText) + "; bias" + kAll);
  const Sizes sizes(1, 2);
  for (const convtgen_direction direction : {CONVTGEN_GRAD_INPUT, CONVTGEN_GRAD_WEIGHT, CONVTGEN_GRAD_BIAS}) {
    int measured = 0;
    const auto count = [&](const char*, double) { return ++measured > 0; };
    EXPECT_GT(device.tune(layer, direction, sizes, {.progress = count}), 0);
    EXPECT_GT(measured, 0) << "no record of another direction serves";
    const int before = measured;
    EXPECT_GT(device.tune(layer, direction, sizes, {.progress = count}), 0);
    EXPECT_EQ(measured, before);
  }
  const Layer forward(kText);
  expect_error(thrown_by([&] { device.tune(forward, CONVTGEN_GRAD_INPUT, sizes); }), CONVTGEN_INVALID_ARGUMENT,
               "directions: the layer has forward, and a kernel for grad_input is wanted");
}

class GradientsTest : public FakeGpuTest {
 protected:
  void* const x_ = address(0x10000000);
  void* const weight_ = address(0x20000000);
  void* const y_ = address(0x40000000);
  void* const grad_y_ = address(0x50000000);
  void* const grad_x_ = address(0x60000000);
  void* const grad_weight_ = address(0x70000000);
  void* const grad_bias_ = address(0x80000000);
  void* const workspace_ = address(0x100000000);
  static constexpr std::size_t kBytes = std::size_t{1} << 30;
};

TEST_F(GradientsTest, WrongTensorsAreNamed) {
  const Device device("cuda");
  const Layer layer(std::string(kOpenLayer) + kAll);
  const auto wrong = [&](convtgen_direction direction, const Tensors& right, auto change, const std::string& words) {
    const Kernel kernel = device.prepare(layer, direction);
    Tensors tensors = right;
    change(tensors);
    expect_error(thrown_by([&] { kernel.launch(tensors, {2, 5, 7}); }), CONVTGEN_INVALID_ARGUMENT, words);
    EXPECT_TRUE(state_->launches.empty()) << words;
    kernel.launch(right, {2, 5, 7});
    EXPECT_FALSE(state_->launches.empty()) << words;
    state_->launches.clear();
  };
  const Tensors input = Tensors::for_grad_input(grad_y_, weight_, grad_x_, workspace_, kBytes);
  wrong(CONVTGEN_GRAD_INPUT, input, [](Tensors& t) { t.grad_y = nullptr; }, "grad_y is null");
  wrong(CONVTGEN_GRAD_INPUT, input, [](Tensors& t) { t.grad_x = nullptr; }, "grad_x is null");
  wrong(CONVTGEN_GRAD_INPUT, input, [](Tensors& t) { t.weight = nullptr; }, "weight is null");
  wrong(
      CONVTGEN_GRAD_INPUT, input, [&](Tensors& t) { t.x = x_; },
      "x must be null: the call has grad_x, grad_y and weight");
  wrong(
      CONVTGEN_GRAD_INPUT, input, [&](Tensors& t) { t.bias = x_; },
      "bias must be null: the call has grad_x, grad_y and weight");
  wrong(CONVTGEN_GRAD_INPUT, input, [&](Tensors& t) { t.grad_x = grad_y_; }, "grad_x overlaps grad_y");

  const Tensors both = Tensors::for_grad_weight(x_, grad_y_, grad_weight_, grad_bias_, workspace_, kBytes);
  wrong(CONVTGEN_GRAD_WEIGHT, both, [](Tensors& t) { t.x = nullptr; }, "x is null");
  wrong(CONVTGEN_GRAD_WEIGHT, both, [](Tensors& t) { t.grad_weight = nullptr; }, "grad_weight is null");
  wrong(
      CONVTGEN_GRAD_WEIGHT, both, [](Tensors& t) { t.grad_bias = nullptr; },
      "grad_bias is null, and the layer has a bias");
  wrong(
      CONVTGEN_GRAD_WEIGHT, both, [&](Tensors& t) { t.y = y_; },
      "y must be null: the call has grad_weight, grad_bias, x and grad_y");

  const Tensors bias = Tensors::for_grad_bias(grad_y_, grad_bias_, workspace_, kBytes);
  wrong(CONVTGEN_GRAD_BIAS, bias, [](Tensors& t) { t.grad_y = nullptr; }, "grad_y is null");
  wrong(CONVTGEN_GRAD_BIAS, bias, [](Tensors& t) { t.grad_bias = nullptr; }, "grad_bias is null");
  wrong(
      CONVTGEN_GRAD_BIAS, bias, [&](Tensors& t) { t.grad_weight = grad_weight_; },
      "grad_weight must be null: the call has grad_bias and grad_y");
}

TEST_F(GradientsTest, AGradientOfWeightsIsAlignedToWhatIsStoredAtOnce) {
  const Device device("cuda");
  const Layer layer("conv_transpose2d 2048 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 32x8x6; dtype f16; " +
                    std::string("layout nhwc; directions grad_weight"));
  const Kernel kernel = device.prepare(layer, CONVTGEN_GRAD_WEIGHT);
  const auto launch = [&](std::uint64_t at) {
    kernel.launch(Tensors::for_grad_weight(x_, grad_y_, address(at), nullptr, workspace_, kBytes), {32, 8, 6});
  };
  expect_error(thrown_by([&] { launch(0x70000008); }), CONVTGEN_INVALID_ARGUMENT,
               "grad_weight (0x70000008) is misaligned: a multiple of 16 bytes is needed");
  EXPECT_TRUE(state_->launches.empty());
  launch(0x70000010);
  EXPECT_FALSE(state_->launches.empty());
}

TEST_F(GradientsTest, DirectionsThatTheLayerLacks) {
  const Device device("cuda");
  const auto refused = [&](const std::string& text, convtgen_direction direction, const std::string& words) {
    expect_error(thrown_by([&] { (void)device.prepare(Layer(text), direction); }), CONVTGEN_INVALID_ARGUMENT, words);
    expect_error(thrown_by([&] { device.run(Layer(text), direction, {}, {1, 5, 7}); }), CONVTGEN_INVALID_ARGUMENT,
                 words);
  };
  refused(std::string(kOpenLayer) + "; directions forward, grad_weight", CONVTGEN_GRAD_INPUT,
          "directions: the layer has forward, grad_weight, and a kernel for grad_input is wanted; legal is 'directions "
          "forward, grad_input, grad_weight'");
  refused("conv_transpose2d 8 -> 6; kernel 4", CONVTGEN_GRAD_BIAS, "directions: grad_bias is of layers with 'bias'");
  refused(std::string(kOpenLayer) + "; fuse relu", CONVTGEN_GRAD_INPUT,
          "fuse: gradients are those of the convolution alone; leave the activations out of the layer and apply them "
          "outside of it");
  const Layer forward(kOpenLayer), trained(std::string(kOpenLayer) + kAll);
  expect_error(
      thrown_by([&] { (void)device.prepare_all({&trained, &forward}, {CONVTGEN_GRAD_INPUT, CONVTGEN_GRAD_INPUT}); }),
      CONVTGEN_INVALID_ARGUMENT, "layers[1]: directions: the layer has forward, and a kernel for grad_input is wanted");
  expect_error(thrown_by([&] { (void)device.prepare_all({&trained, &forward}, std::vector{CONVTGEN_GRAD_INPUT}); }),
               CONVTGEN_INVALID_ARGUMENT, "directions has 1 places; legal is one for each of the 2 layers");
}

TEST_F(GradientsTest, AFusedLayerHasNone) {
  LayerFields fields;
  fields.fuse = "relu";
  fields.directions = "forward, grad_weight";
  expect_error(thrown_by([&] { (void)Layer(fields); }), CONVTGEN_INVALID_LAYER,
               "fuse: gradients are those of the convolution alone");
  fields.fuse = "none";
  EXPECT_NE(Layer(fields).text(), "");
}

}  // namespace
}  // namespace convtgen::api_test
