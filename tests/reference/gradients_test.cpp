// The definitions of the gradients, against each other and by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "runtime/reference/definition.h"
#include "tests/layer/set_axes.h"
#include "tests/reference/small_layers.h"

namespace convtgen {
namespace {

using testing::small_layer;

constexpr Role kGradients[] = {Role::kGradX, Role::kGradWeight, Role::kGradBias};

/// All arrays that any direction reads.
LayerInputs all_inputs(const Layer& layer, const Shape& shape, std::uint64_t seed) {
  LayerInputs inputs = random_inputs(layer, shape, seed);
  inputs.grad_y = random_array(layer.dtype, output_shape(layer, shape), seed * 4 + 3, 1.0);
  return inputs;
}

double product(const std::vector<double>& a, const HostArray& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b.at(static_cast<std::int64_t>(i));
  }
  return sum;
}

std::int64_t count(const Definition& definition) {
  return std::accumulate(definition.terms.begin(), definition.terms.end(), std::int64_t{0});
}

// <y(x, w), g> = <x, grad_x(g, w)> = <w, grad_weight(x, g)>: what makes them gradients of each other.
TEST(Gradients, AreAdjoint) {
  std::mt19937 random(20'261'124);
  std::array<int, 4> of_dimensions{};
  int grouped = 0, strided = 0, uneven = 0;
  for (int i = 0; i < 400; ++i) {
    Layer layer = small_layer(random);
    layer.bias = true;
    const Shape shape = *shape_of(layer, *known_sizes(layer));
    const LayerInputs inputs = all_inputs(layer, shape, static_cast<std::uint64_t>(i));
    LayerInputs linear = inputs;
    linear.bias = make_array(layer.dtype, {layer.out_channels});
    const Definition y = define_all(layer, shape, linear);
    const Definition grad_x = define_all(layer, shape, inputs, Role::kGradX);
    const Definition grad_weight = define_all(layer, shape, inputs, Role::kGradWeight);
    const Definition grad_bias = define_all(layer, shape, inputs, Role::kGradBias);
    double size = 0;
    for (std::size_t k = 0; k < y.magnitude.size(); ++k) {
      size += y.magnitude[k] * std::abs(inputs.grad_y.at(static_cast<std::int64_t>(k)));
    }
    const double want = product(y.sum, inputs.grad_y);
    EXPECT_NEAR(product(grad_x.sum, inputs.x), want, 1e-12 * size) << "layer " << i;
    EXPECT_NEAR(product(grad_weight.sum, inputs.weight), want, 1e-12 * size) << "layer " << i;
    const double of_bias = product(define_all(layer, shape, inputs).sum, inputs.grad_y) - want;
    EXPECT_NEAR(product(grad_bias.sum, *inputs.bias), of_bias, 1e-12 * (size + static_cast<double>(y.sum.size())));
    EXPECT_EQ(count(grad_x), multiply_adds(layer, shape)) << "layer " << i;
    EXPECT_EQ(count(grad_weight), multiply_adds(layer, shape)) << "layer " << i;
    EXPECT_EQ(count(grad_bias), shape.output_elements) << "layer " << i;
    of_dimensions.at(static_cast<std::size_t>(layer.dimensions)) += want != 0 ? 1 : 0;
    grouped += layer.groups > 1 ? 1 : 0;
    strided += layer.axes[kWidth].stride > 1 ? 1 : 0;
    uneven += layer.axes[kWidth].padding.before != layer.axes[kWidth].padding.after ? 1 : 0;
  }
  EXPECT_GT(std::ranges::min(std::span(of_dimensions).subspan(1)), 40);
  EXPECT_GT(std::min({grouped, strided, uneven}), 100);
}

TEST(Gradients, OfAllElementsAndOfSomeAgree) {
  std::mt19937 random(20'261'125);
  for (int i = 0; i < 200; ++i) {
    const Layer layer = small_layer(random);
    const Shape shape = *shape_of(layer, *known_sizes(layer));
    const LayerInputs inputs = all_inputs(layer, shape, static_cast<std::uint64_t>(i));
    for (const Role role : kGradients) {
      const Definition all = define_all(layer, shape, inputs, role);
      ASSERT_EQ(static_cast<std::int64_t>(all.sum.size()), element_count(shape, role));
      std::vector<std::int64_t> offsets(all.sum.size());
      std::iota(offsets.begin(), offsets.end(), 0);
      std::shuffle(offsets.begin(), offsets.end(), random);
      const Definition some = define_at(layer, shape, inputs, offsets, role);
      for (std::size_t k = 0; k < offsets.size(); ++k) {
        const auto at = static_cast<std::size_t>(offsets[k]);
        ASSERT_NEAR(some.sum[k], all.sum[at], 1e-14 * all.magnitude[at]) << "layer " << i << ", " << name_of(role);
        ASSERT_NEAR(some.magnitude[k], all.magnitude[at], 1e-14 * all.magnitude[at]) << "layer " << i;
        ASSERT_EQ(some.terms[k], all.terms[at]) << "layer " << i << ", " << name_of(role);
        ASSERT_LE(std::abs(all.sum[at]), all.magnitude[at] * (1 + 1e-14));
      }
    }
  }
}

using Numbers = std::vector<double>;
using Counts = std::vector<std::int64_t>;

TEST(Gradients, AWorkedExample) {
  // o = 2 i - 1 + k: place 0 of the input goes to 0 and 1 by the taps 1 and 2, place 1 to 1, 2 and 3.
  Layer layer;
  layer.axes[kHeight] = kNoAxis;
  layer.dimensions = 1;
  set_axes(layer, &Axis::kernel, {3});
  set_axes(layer, &Axis::stride, {2});
  set_axes(layer, &Axis::padding, {1});
  set_axes(layer, &Axis::output_padding, {1});
  const Shape shape = *shape_of(layer, {1, {1, 1, 2}});
  LayerInputs inputs;
  inputs.x = make_array(Dtype::kF32, {1, 1, 1, 2}, {1, 2});
  inputs.weight = make_array(Dtype::kF32, {1, 1, 1, 3}, {10, 200, -3000});
  inputs.grad_y = make_array(Dtype::kF32, {1, 1, 1, 4}, {1, 10, 100, 1000});
  const Definition grad_x = define_all(layer, shape, inputs, Role::kGradX);
  EXPECT_EQ(grad_x.sum, (Numbers{200 - 30'000, 100 + 20'000 - 3'000'000}));
  EXPECT_EQ(grad_x.magnitude, (Numbers{30'200, 3'020'100}));
  EXPECT_EQ(grad_x.terms, (Counts{2, 3}));
  const Definition grad_weight = define_all(layer, shape, inputs, Role::kGradWeight);
  EXPECT_EQ(grad_weight.sum, (Numbers{20, 1 + 200, 10 + 2000}));
  EXPECT_EQ(grad_weight.terms, (Counts{1, 2, 2}));
  const Definition grad_bias = define_all(layer, shape, inputs, Role::kGradBias);
  EXPECT_EQ(grad_bias.sum, Numbers{1111});
  EXPECT_EQ(grad_bias.terms, Counts{4});
}

TEST(Gradients, GroupsStayApart) {
  Layer layer;
  layer.in_channels = 2;
  layer.out_channels = 4;
  layer.groups = 2;
  const Shape shape = *shape_of(layer, {1, {1, 1}});
  LayerInputs inputs;
  inputs.x = make_array(Dtype::kF32, {1, 2, 1, 1}, {3, 5});
  inputs.weight = make_array(Dtype::kF32, {2, 2, 1, 1}, {10, 20, 30, 40});
  inputs.grad_y = make_array(Dtype::kF32, {1, 4, 1, 1}, {1, 2, 3, 4});
  EXPECT_EQ(define_all(layer, shape, inputs, Role::kGradX).sum, (Numbers{1 * 10 + 2 * 20, 3 * 30 + 4 * 40}));
  EXPECT_EQ(define_all(layer, shape, inputs, Role::kGradWeight).sum, (Numbers{3, 6, 15, 20}));
  EXPECT_EQ(define_all(layer, shape, inputs, Role::kGradBias).sum, (Numbers{1, 2, 3, 4}));
}

TEST(Gradients, LieAsTheWeightsDo) {
  Layer layer;
  layer.out_channels = 2;
  set_axes(layer, &Axis::kernel, {1, 3});
  const Shape shape = *shape_of(layer, {1, {1, 1}});
  LayerInputs inputs;
  inputs.x = make_array(Dtype::kF32, {1, 1, 1, 1}, {2});
  inputs.grad_y = make_array(Dtype::kF32, {1, 2, 1, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(define_all(layer, shape, inputs, Role::kGradWeight).sum, (Numbers{2, 4, 6, 8, 10, 12}));
  layer.weight_layout = WeightLayout::kChannelsLast;
  EXPECT_EQ(define_all(layer, shape, inputs, Role::kGradWeight).sum, (Numbers{2, 8, 4, 10, 6, 12}));
}

TEST(Gradients, OfAnEmptyBatchAreZeros) {
  Layer layer;
  layer.in_channels = 2;
  layer.out_channels = 3;
  const Shape shape = *shape_of(layer, {0, {4, 4}});
  const LayerInputs inputs = all_inputs(layer, shape, 1);
  EXPECT_EQ(define_all(layer, shape, inputs, Role::kGradWeight).sum, Numbers(6));
  EXPECT_EQ(define_all(layer, shape, inputs, Role::kGradBias).terms, Counts(3));
  EXPECT_TRUE(define_all(layer, shape, inputs, Role::kGradX).sum.empty());
}

// Rows, images and the batch are summed apart: one after the other, 2^22 terms would be off by more.
TEST(Gradients, SumsOfMillionsOfTermsAreExactEnoughForF64) {
  Layer layer;
  layer.dtype = Dtype::kF64;
  layer.compute = Compute::kF64;
  const Shape shape = *shape_of(layer, {4, {1, 1 << 20}});
  LayerInputs inputs;
  inputs.x = make_array(Dtype::kF64, input_shape(layer, shape));
  inputs.grad_y = make_array(Dtype::kF64, output_shape(layer, shape));
  for (std::int64_t i = 0; i < inputs.x.size(); ++i) {
    inputs.x.set(i, 0.1);
    inputs.grad_y.set(i, 1);
  }
  const double want = 0.1 * static_cast<double>(inputs.x.size());
  EXPECT_NEAR(define_all(layer, shape, inputs, Role::kGradWeight).sum[0], want, 1e-13 * want);
}

}  // namespace
}  // namespace convtgen
