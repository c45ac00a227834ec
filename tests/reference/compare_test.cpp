#include "runtime/reference/compare.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "runtime/reference/fuse.h"
#include "runtime/reference/numbers.h"
#include "runtime/reference/telling_inputs.h"
#include "tests/layer/set_axes.h"

namespace convtgen {
namespace {

struct Case {
  Layer layer;
  Shape shape;
  LayerInputs inputs;
  Definition definition;
  HostArray y;  // the definition, rounded
};

Case make_case(Dtype dtype, std::vector<Activation> fuse = {}, Compute compute = Compute::kF32) {
  Case c;
  c.layer.in_channels = 4;
  c.layer.out_channels = 3;
  set_axes(c.layer, &Axis::kernel, {3, 3});
  set_axes(c.layer, &Axis::stride, {2, 1});
  c.layer.bias = true;
  c.layer.fuse = std::move(fuse);
  c.layer.dtype = dtype;
  c.layer.compute = dtype == Dtype::kF32 ? compute : default_compute(dtype);
  c.shape = *shape_of(c.layer, {2, {9, 11}});
  c.inputs = random_inputs(c.layer, c.shape, 11);
  c.definition = define_all(c.layer, c.shape, c.inputs);
  std::vector<double> values = c.definition.sum;
  for (double& value : values) {
    value = apply_fuse(c.layer.fuse, value);
  }
  c.y = make_array(dtype, output_shape(c.layer, c.shape), values);
  return c;
}

Comparison compare(const Case& c) {
  return convtgen::compare(c.layer, c.shape, c.definition, c.y);
}

TEST(Compare, TheRoundedDefinitionPasses) {
  for (const Dtype dtype : {Dtype::kF64, Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
    for (const std::vector<Activation>& fuse : {std::vector<Activation>{},
                                                {{ActivationKind::kGelu}},
                                                {{ActivationKind::kScale, 1e-6}},
                                                {{ActivationKind::kScale, 1e6}, {ActivationKind::kTanh}},
                                                {{ActivationKind::kAdd, 1e5}}}) {
      const Case c = make_case(dtype, fuse);
      const Comparison result = compare(c);
      EXPECT_TRUE(result.passed()) << name_of(dtype) << ": " << describe(result, c.layer);
      EXPECT_EQ(result.checked, c.shape.output_elements);
    }
  }
}

TEST(Compare, OneElementOffIsFoundAndNamed) {
  for (const Dtype dtype : {Dtype::kF64, Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
    Case c = make_case(dtype);
    const ElementPosition at{1, 2, {0, 7, 4}};
    const std::int64_t offset = offset_of(c.layer, c.shape, Role::kY, at);
    const double right = c.y.at(offset);
    c.y.set(offset, right + (dtype == Dtype::kF64 ? 1e-12 : dtype == Dtype::kF32 ? 1e-4 : 0.1));
    const Comparison result = compare(c);
    EXPECT_FALSE(result.passed());
    EXPECT_EQ(result.wrong, 1);
    ASSERT_TRUE(result.worst);
    EXPECT_EQ(result.worst->at, at);
    EXPECT_EQ(result.worst->got, c.y.at(offset));
    EXPECT_NE(describe(result, c.layer).find("y[n=1, c=2, y=7, x=4]"), std::string::npos);
  }
}

TEST(Compare, PoisonNeverPasses) {
  for (const Dtype dtype : {Dtype::kF64, Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
    Case c = make_case(dtype);
    const auto element = static_cast<std::size_t>(bytes_of(dtype));
    std::memset(c.y.bytes.data() + 17 * element, 0xff, element);
    const Comparison result = compare(c);
    EXPECT_EQ(result.wrong, 1);
    EXPECT_FALSE(result.passed());
    ASSERT_TRUE(result.worst);
    EXPECT_TRUE(std::isnan(result.worst->got));
  }
}

TEST(Compare, InfinitiesAndNanMustMatch) {
  Case c = make_case(Dtype::kF32);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  c.definition.sum[3] = kInf;
  c.definition.magnitude[3] = kInf;
  c.definition.sum[5] = std::nan("");
  c.definition.magnitude[5] = std::nan("");
  c.y.set(3, kInf);
  c.y.set(5, std::nan(""));
  EXPECT_TRUE(compare(c).passed()) << describe(compare(c), c.layer);
  c.y.set(3, -kInf);
  EXPECT_EQ(compare(c).wrong, 1);
  c.y.set(3, 1e38);
  EXPECT_EQ(compare(c).wrong, 1);
  c.y.set(3, kInf);
  c.y.set(5, 0);
  EXPECT_EQ(compare(c).wrong, 1);
  c.y.set(5, std::nan(""));
  c.y.set(6, kInf);  // where a number should be
  EXPECT_EQ(compare(c).wrong, 1);
  EXPECT_FALSE(compare(c).passed());
}

TEST(Compare, OverflowOfTheDtypeIsInfinity) {
  Case c = make_case(Dtype::kF16, {{ActivationKind::kScale, 1e6}});
  EXPECT_TRUE(compare(c).passed()) << describe(compare(c), c.layer);
  bool any = false;
  for (std::int64_t i = 0; i < c.y.size(); ++i) {
    if (std::isinf(c.y.at(i))) {
      any = true;
      c.y.set(i, 65504);
      break;
    }
  }
  EXPECT_TRUE(any);
  EXPECT_EQ(compare(c).wrong, 1);
}

TEST(Compare, ErrorsOfTheComputeModePassAndLargerOnesDoNot) {
  const auto perturbed = [](Compute compute, double relative) {
    Case c = make_case(Dtype::kF32, {}, compute);
    for (std::int64_t i = 0; i < c.y.size(); ++i) {
      c.y.set(i, c.definition.sum[static_cast<std::size_t>(i)] * (1 + (i % 2 == 0 ? relative : -relative)));
    }
    return compare(c);
  };
  EXPECT_TRUE(perturbed(Compute::kTf32, 3e-4).passed());
  EXPECT_FALSE(perturbed(Compute::kTf32, 2e-3).passed());
  EXPECT_FALSE(perturbed(Compute::kF32, 3e-4).passed());
  EXPECT_FALSE(perturbed(Compute::kF32x3, 3e-4).passed());
  EXPECT_TRUE(perturbed(Compute::kF32x3, 2e-7).passed());
  // Inside every element's own bound, but too much for all of them together.
  Case c = make_case(Dtype::kF32, {}, Compute::kTf32);
  for (std::int64_t i = 0; i < c.y.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    c.y.set(i, c.definition.sum[at] + 9e-4 * c.definition.magnitude[at]);
  }
  const Comparison creeping = compare(c);
  EXPECT_EQ(creeping.wrong, 0);
  EXPECT_FALSE(creeping.passed());
}

/// The layer's results if x and weights lose their 13 low bits, of x after `added` was added to its bits.
HostArray results_in_tf32(const Layer& layer, const Shape& shape, const LayerInputs& inputs, std::uint32_t added_to_x,
                          std::uint32_t added_to_weight) {
  const auto narrowed = [](const HostArray& array, std::uint32_t added) {
    HostArray result = array;
    for (std::int64_t i = 0; i < array.size(); ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(array.at(i)));
      result.set(i, std::bit_cast<float>((bits + added) & ~0x1fffU));
    }
    return result;
  };
  LayerInputs narrow = inputs;
  narrow.x = narrowed(inputs.x, added_to_x);
  narrow.weight = narrowed(inputs.weight, added_to_weight);
  return make_array(Dtype::kF32, output_shape(layer, shape), define_all(layer, shape, narrow).sum);
}

// Each element counts, whatever its number of terms is.
TEST(Compare, TruncatedOperandsOfTf32AreWrongAndRoundedOnesAreNot) {
  for (const std::int64_t channels : {1, 5, 64, 1024}) {
    Layer layer;
    layer.in_channels = channels;
    layer.out_channels = 4;
    layer.compute = Compute::kTf32;
    const Shape shape = *shape_of(layer, {2, {3, 5}});
    for (const Truncated operand : {Truncated::kX, Truncated::kWeight}) {
      const LayerInputs inputs = truncation_inputs(layer, shape, 7, operand);
      const Definition definition = define_all(layer, shape, inputs);
      const auto judged = [&](std::uint32_t added_to_x, std::uint32_t added_to_weight) {
        const HostArray y = results_in_tf32(layer, shape, inputs, added_to_x, added_to_weight);
        return convtgen::compare(layer, shape, definition, y);
      };
      EXPECT_TRUE(judged(0x1000, 0x1000).passed()) << channels << " channels";
      EXPECT_EQ(judged(operand == Truncated::kX ? 0 : 0x1000, operand == Truncated::kX ? 0x1000 : 0).wrong,
                shape.output_elements)
          << channels << " channels";
    }
  }
}

TEST(Compare, CancellationIsNotAnError) {
  // A single output near zero: one rounding of the sum is large against it.
  Layer layer;
  layer.in_channels = 3;
  const Shape shape = *shape_of(layer, {1, {1, 1}});
  const LayerInputs inputs{make_array(Dtype::kF32, {1, 3, 1, 1}, {1, 1, 1}),
                           make_array(Dtype::kF32, {3, 1, 1, 1}, {1.0, 0x1p-24 + 0x1p-40, -1.0}), std::nullopt};
  const Definition definition = define_all(layer, shape, inputs);
  const HostArray y = make_array(Dtype::kF32, {1, 1, 1, 1}, {0x1p-23});  // 1 + 2^-24.. rounds up to 1 + 2^-23
  EXPECT_TRUE(convtgen::compare(layer, shape, definition, y).passed());
  const HostArray far = make_array(Dtype::kF32, {1, 1, 1, 1}, {1e-4});
  EXPECT_FALSE(convtgen::compare(layer, shape, definition, far).passed());
}

// What hardtanh leaves alone are sums near zero, and few: their errors are those of all sums, and chance is large.
TEST(Compare, FewSmallResultsOfLargeSumsAreJudgedByTheSums) {
  Layer layer;
  layer.in_channels = 16;
  layer.out_channels = 4;
  set_axes(layer, &Axis::kernel, {3, 3});
  layer.compute = Compute::kTf32;
  layer.fuse = {{ActivationKind::kHardtanh, 0, 0.05}};
  const Shape shape = *shape_of(layer, {1, {5, 7}});
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const LayerInputs inputs = random_inputs(layer, shape, seed);
    HostArray y = results_in_tf32(layer, shape, inputs, 0x1000, 0x1000);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      y.set(i, apply_fuse(layer.fuse, y.at(i)));
    }
    const Comparison result = convtgen::compare(layer, shape, define_all(layer, shape, inputs), y);
    EXPECT_TRUE(result.passed()) << "seed " << seed << ": " << describe(result, layer);
  }
}

// Adding 40,000 terms one after the other in fp32 is right, and less accurate than the bound of short sums.
TEST(Compare, LongSumsAreAsAccurateAsFp32Adds) {
  Case c;
  c.layer.in_channels = 40'000;
  c.layer.out_channels = 2;
  set_axes(c.layer, &Axis::kernel, {1, 1});
  c.shape = *shape_of(c.layer, {1, {4, 8}});
  c.inputs = random_inputs(c.layer, c.shape, 5);
  c.definition = define_all(c.layer, c.shape, c.inputs);
  const std::int64_t pixels = 32;
  std::vector<double> values;
  for (std::int64_t i = 0; i < c.shape.output_elements; ++i) {
    float sum = 0;
    for (std::int64_t ci = 0; ci < c.layer.in_channels; ++ci) {
      sum = std::fmaf(static_cast<float>(c.inputs.x.at(ci * pixels + i % pixels)),
                      static_cast<float>(c.inputs.weight.at(ci * 2 + i / pixels)), sum);
    }
    values.push_back(sum);
  }
  c.y = make_array(Dtype::kF32, output_shape(c.layer, c.shape), values);
  Comparison result = compare(c);
  EXPECT_GT(result.relative_l2, relative_l2_limit(Compute::kF32));
  EXPECT_TRUE(result.passed()) << describe(result, c.layer);
  for (std::int64_t i = 0; i < c.y.size(); ++i) {
    c.y.set(i, c.definition.sum[static_cast<std::size_t>(i)] * (1 + (i % 2 == 0 ? 2e-5 : -2e-5)));
  }
  EXPECT_FALSE(compare(c).passed());
}

TEST(Compare, NothingToCheckPasses) {
  Layer layer;
  const Shape shape = *shape_of(layer, {0, {4, 4}});
  const LayerInputs inputs = random_inputs(layer, shape, 1);
  const Definition definition = define_all(layer, shape, inputs);
  const Comparison result = convtgen::compare(layer, shape, definition, make_array(Dtype::kF32, {0, 1, 4, 4}));
  EXPECT_TRUE(result.passed());
  EXPECT_EQ(result.checked, 0);
  EXPECT_FALSE(result.worst);
}

TEST(Compare, SamplesAreNamedByTheirOffsets) {
  Case c = make_case(Dtype::kF32);
  const std::vector<std::int64_t> offsets{3, 17, 40};
  const Definition definition = define_at(c.layer, c.shape, c.inputs, offsets);
  HostArray y = make_array(Dtype::kF32, {3}, {c.y.at(3), c.y.at(17) + 1, c.y.at(40)});
  const Comparison result = convtgen::compare(c.layer, c.shape, definition, y, offsets);
  EXPECT_EQ(result.wrong, 1);
  EXPECT_EQ(offset_of(c.layer, c.shape, Role::kY, result.worst->at), 17);
}

/// The definition's elements as a sum in fp32 makes them, each product and sum rounded.
HostArray in_f32(const Case& c) {
  HostArray y = make_array(Dtype::kF32, output_shape(c.layer, c.shape), std::vector<double>(c.definition.sum.size()));
  for (std::size_t i = 0; i < c.definition.sum.size(); ++i) {
    const double least = least_subnormal(Dtype::kF32);  // up to half of it is lost in each term
    y.set(static_cast<std::int64_t>(i),
          c.definition.sum[i] + (i % 2 == 0 ? 0.5 : -0.5) * least * static_cast<double>(c.definition.terms[i]));
  }
  return y;
}

TEST(Compare, SumsBelowTheNormalNumbersAreRoundedAbsolutely) {
  Case c = make_case(Dtype::kF32);
  c.layer.bias = false;
  c.inputs.bias = {};
  c.inputs.x = random_array(Dtype::kF32, input_shape(c.layer, c.shape), 1, 1e-42);
  c.definition = define_all(c.layer, c.shape, c.inputs);
  c.y = in_f32(c);
  const Comparison result = compare(c);
  EXPECT_GT(result.relative_l2, 1e-4) << "the case shows nothing";
  EXPECT_TRUE(result.passed()) << describe(result, c.layer);
  c.y = make_array(Dtype::kF32, output_shape(c.layer, c.shape), std::vector<double>(c.definition.sum.size()));
  EXPECT_FALSE(compare(c).passed()) << "zeros are no result of these";
}

TEST(Compare, Tf32RoundsOperandsBelowTheNormalNumbersAbsolutely) {
  Case c = make_case(Dtype::kF32, {}, Compute::kTf32);
  c.layer.bias = false;
  c.inputs.bias = {};
  c.inputs.x = random_array(Dtype::kF32, input_shape(c.layer, c.shape), 1, 1e-42);
  c.definition = define_all(c.layer, c.shape, c.inputs);
  c.y = make_array(Dtype::kF32, output_shape(c.layer, c.shape), std::vector<double>(c.definition.sum.size()));
  EXPECT_FALSE(compare(c).passed());
  const Operands operands{.largest = 1, .nan = {}};  // 1e-42 is less than half of tf32's least number
  EXPECT_TRUE(convtgen::compare(c.layer, c.shape, c.definition, c.y, {}, Role::kY, operands).passed());
}

TEST(Compare, NaNIsLegalWhereAWeightThatIsNotFiniteMeetsAZeroOutside) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  Case c = make_case(Dtype::kF32);
  // Of input channel 1, output channel 2, tap (0, 0): rows 0, 2, ... of the output read it, but the last one.
  c.inputs.weight.set(weight_offset(c.layer, {1, 2, 0}), kInfinite);
  c.definition = define_all(c.layer, c.shape, c.inputs);
  const Operands operands{.nan = NanLimit(c.layer, c.shape, Role::kY, c.inputs.weight)};
  const auto compared = [&](const ElementPosition& at, double value) {
    HostArray y = make_array(Dtype::kF32, output_shape(c.layer, c.shape), c.definition.sum);
    y.set(offset_of(c.layer, c.shape, Role::kY, at), value);
    return convtgen::compare(c.layer, c.shape, c.definition, y, {}, Role::kY, operands);
  };
  const ElementPosition outside{0, 2, {0, 18, 3}};  // after the last row of the input
  EXPECT_TRUE(compared(outside, kNan).passed());
  EXPECT_EQ(compared(outside, kNan).limited, 1);
  EXPECT_NE(describe(compared(outside, kNan), c.layer).find("1 are NaN, as the README's limits say"),
            std::string::npos);
  EXPECT_FALSE(compared(outside, kInfinite).passed()) << "NaN alone";
  EXPECT_FALSE(compared({0, 2, {0, 4, 3}}, kNan).passed()) << "inside";
  EXPECT_FALSE(compared({0, 2, {0, 17, 3}}, kNan).passed()) << "of another phase";
  EXPECT_FALSE(compared({0, 1, {0, 18, 3}}, kNan).passed()) << "of another channel";
  EXPECT_TRUE(NanLimit(c.layer, c.shape, Role::kGradWeight, c.inputs.weight).is_empty());
}

TEST(Compare, NaNIsLegalWhereAnInputThatIsNotFiniteMeetsAZeroTapOfThePlan) {
  // The layer's strides are 2 and 1, its kernel is 3x2: rows of the second phase have no tap (2, kw).
  Case c = make_case(Dtype::kF32);
  set_axes(c.layer, &Axis::stride, {2, 1});
  set_axes(c.layer, &Axis::kernel, {3, 2});
  c.shape = *shape_of(c.layer, {2, {9, 11}});
  c.inputs = random_inputs(c.layer, c.shape, 11);
  c.inputs.x.set(offset_of(c.layer, c.shape, Role::kX, {1, 2, {0, 4, 5}}), std::numeric_limits<double>::infinity());
  NanLimit limit(c.layer, c.shape, Role::kY, c.inputs.weight);
  EXPECT_FALSE(limit.allows_nan({1, 0, {0, 11, 5}})) << "of plans without such taps";
  limit.add_zero_taps(c.inputs.x);
  EXPECT_TRUE(limit.allows_nan({1, 0, {0, 11, 5}}));
  EXPECT_TRUE(limit.allows_nan({1, 1, {0, 11, 6}})) << "in all channels";
  EXPECT_FALSE(limit.allows_nan({1, 0, {0, 10, 5}})) << "which has the tap";
  EXPECT_FALSE(limit.allows_nan({1, 0, {0, 9, 5}})) << "which has another one";
  EXPECT_FALSE(limit.allows_nan({1, 0, {0, 12, 5}})) << "of a position that it is not near";
  EXPECT_FALSE(limit.allows_nan({1, 0, {0, 11, 7}}));
  EXPECT_FALSE(limit.allows_nan({0, 0, {0, 11, 5}})) << "of another image";
}

TEST(Compare, NaNOfAGradientOfTheInput) {
  Case c = make_case(Dtype::kF32);
  set_axes(c.layer, &Axis::padding, {Padding{1, 1}, Padding{1, 1}});
  c.shape = *shape_of(c.layer, {2, {9, 11}});
  c.inputs = random_inputs(c.layer, c.shape, 11, Direction::kGradInput);
  c.inputs.weight.set(weight_offset(c.layer, {1, 2, 0}), std::numeric_limits<double>::quiet_NaN());
  const NanLimit limit(c.layer, c.shape, Role::kGradX, c.inputs.weight);
  EXPECT_TRUE(limit.allows_nan({0, 1, {0, 0, 5}})) << "the tap before the first row of grad_y";
  EXPECT_FALSE(limit.allows_nan({0, 1, {0, 1, 5}}));
  EXPECT_FALSE(limit.allows_nan({0, 0, {0, 0, 5}})) << "of another channel";
}

/// x as `fuse_input` makes it, in place of the activations.
TEST(Compare, AnActivatedInputIsTheInputOfTheLayerWithoutTheChain) {
  for (const char* rest : {"dtype f64; fuse_input sigmoid", "dtype f32; fuse_input add(100), scale(0.01)",
                           "dtype f16; fuse_input gelu, add(0.5)", "dtype bf16; layout nhwc; fuse_input elu(0.5)"}) {
    SCOPED_TRACE(rest);
    const Layer layer =
        parse_layer(std::string("conv_transpose2d 6 -> 4; kernel 3; stride 2; padding 1; groups 2; bias; ") + rest)
            .value();
    const Shape shape = shape_of(layer, {2, {1, 5, 6}}).value();
    const LayerInputs inputs = random_inputs(layer, shape, 7);
    Layer plain = layer;
    plain.fuse_input.clear();
    LayerInputs activated = inputs;
    activated.x = activated_input(layer, inputs.x);
    EXPECT_NE(activated.x.bytes, inputs.x.bytes);
    const Definition definition = define_all(layer, shape, inputs), wanted = define_all(plain, shape, activated);
    EXPECT_EQ(definition.sum, wanted.sum);
    EXPECT_EQ(definition.magnitude, wanted.magnitude);
    EXPECT_TRUE(wanted.carried.empty());
    std::vector<std::int64_t> offsets(definition.sum.size());
    std::iota(offsets.begin(), offsets.end(), std::int64_t{0});
    const Definition gathered = define_at(layer, shape, inputs, offsets);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      EXPECT_NEAR(gathered.sum[i], definition.sum[i], 1e-15 * definition.magnitude[i]);
      EXPECT_NEAR(gathered.carried[i], definition.carried[i], 1e-12 * definition.carried[i]);
    }
    // The results of x that is off by what a kernel's may be are right, and those of x as it is are wrong.
    LayerInputs off = activated;
    for (std::int64_t i = 0; i < off.x.size(); ++i) {
      off.x.set(i, activated.x.at(i) + (i % 2 == 0 ? 1 : -1) * input_error(layer, inputs.x.at(i)));
    }
    const auto judged = [&](const LayerInputs& of) {
      const HostArray y = make_array(layer.dtype, output_shape(layer, shape), define_all(plain, shape, of).sum);
      return convtgen::compare(layer, shape, definition, y).wrong;
    };
    EXPECT_EQ(judged(off), 0);
    EXPECT_GT(judged(inputs), 0);
  }
}

}  // namespace
}  // namespace convtgen
