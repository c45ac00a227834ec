#include "runtime/reference/definition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "tests/layer/set_axes.h"
#include "tests/reference/small_layers.h"

namespace convtgen {
namespace {

using testing::small_layer;

TEST(Definition, ScatterAndGatherAgree) {
  std::mt19937 random(20'261'121);
  int with_outputs = 0;
  for (int i = 0; i < 300; ++i) {
    const Layer layer = small_layer(random);
    const Shape shape = *shape_of(layer, *known_sizes(layer));
    const LayerInputs inputs = random_inputs(layer, shape, static_cast<std::uint64_t>(i));
    const Definition all = define_all(layer, shape, inputs);
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(shape.output_elements));
    std::iota(offsets.begin(), offsets.end(), 0);
    std::shuffle(offsets.begin(), offsets.end(), random);
    const Definition some = define_at(layer, shape, inputs, offsets);
    ASSERT_EQ(all.sum.size(), offsets.size());
    with_outputs += offsets.empty() ? 0 : 1;
    std::int64_t terms = 0;
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      const auto at = static_cast<std::size_t>(offsets[k]);
      ASSERT_NEAR(some.sum[k], all.sum[at], 1e-14 * all.magnitude[at]) << "layer " << i;
      ASSERT_NEAR(some.magnitude[k], all.magnitude[at], 1e-14 * all.magnitude[at]) << "layer " << i;
      ASSERT_EQ(some.terms[k], all.terms[at]) << "layer " << i;
      ASSERT_LE(std::abs(all.sum[at]), all.magnitude[at] * (1 + 1e-14));
      terms += all.terms[at];
    }
    EXPECT_EQ(terms - (layer.bias ? shape.output_elements : 0), multiply_adds(layer, shape)) << "layer " << i;
  }
  EXPECT_GT(with_outputs, 150);
}

TEST(Definition, AWorkedExample) {
  // x = [1 2], kernel 3, stride 2, padding 1, output_padding 1: y[o] gathers x[i] w[k] with o = 2 i - 1 + k.
  Layer layer;
  layer.dimensions = 1;
  layer.axes[kHeight].extent = 1;
  set_axes(layer, &Axis::kernel, {1, 3});
  set_axes(layer, &Axis::stride, {1, 2});
  set_axes(layer, &Axis::padding, {0, 1});
  set_axes(layer, &Axis::output_padding, {0, 1});
  layer.bias = true;
  const Shape shape = *shape_of(layer, {1, {1, 2}});
  const LayerInputs inputs{make_array(Dtype::kF32, {1, 1, 1, 2}, {1, 2}),
                           make_array(Dtype::kF32, {1, 1, 1, 3}, {10, 200, -3000}),
                           make_array(Dtype::kF32, {1}, {0.5})};
  const Definition result = define_all(layer, shape, inputs);
  EXPECT_EQ(result.sum, (std::vector<double>{200.5, -3000 + 20 + 0.5, 400.5, -6000 + 0.5}));
  EXPECT_EQ(result.magnitude, (std::vector<double>{200.5, 3020.5, 400.5, 6000.5}));
  EXPECT_EQ(result.terms, (std::vector<std::int64_t>{2, 3, 2, 2}));
}

TEST(Definition, WeightsAreReadAsTheyLie) {
  // One input, one tap a place: y[co][k] = x * w(co, k).
  Layer layer;
  layer.dimensions = 1;
  layer.out_channels = 2;
  layer.axes[kHeight].extent = 1;
  set_axes(layer, &Axis::kernel, {1, 3});
  const Shape shape = *shape_of(layer, {1, {1, 1}});
  const LayerInputs inputs{make_array(Dtype::kF32, {1, 1, 1, 1}, {2}),
                           make_array(Dtype::kF32, {1, 2, 1, 3}, {1, 2, 3, 4, 5, 6}), std::nullopt};
  EXPECT_EQ(define_all(layer, shape, inputs).sum, (std::vector<double>{2, 4, 6, 8, 10, 12}));
  layer.weight_layout = WeightLayout::kChannelsLast;
  EXPECT_EQ(define_all(layer, shape, inputs).sum, (std::vector<double>{2, 6, 10, 4, 8, 12}));
  const std::vector<std::int64_t> all{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(define_at(layer, shape, inputs, all).sum, (std::vector<double>{2, 6, 10, 4, 8, 12}));
}

}  // namespace
}  // namespace convtgen
