// The words of the language, and back.
#include "generator/layer/layer.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/reference/fuse.h"

namespace convtgen {
namespace {

template <typename Enum>
void expect_round_trip(std::span<const Enum> values, std::optional<Enum> (*named)(std::string_view)) {
  std::set<std::string_view> names;
  for (const Enum value : values) {
    EXPECT_EQ(named(name_of(value)), value) << name_of(value);
    names.insert(name_of(value));
  }
  EXPECT_EQ(names.size(), values.size()) << "two values share a name";
  EXPECT_EQ(named("nonsense"), std::nullopt);
  EXPECT_EQ(named(""), std::nullopt);
}

TEST(Layer, EveryNameLeadsBackToItsValue) {
  expect_round_trip(all_dtypes(), dtype_named);
  expect_round_trip(all_computes(), compute_named);
  expect_round_trip(all_layouts(), layout_named);
  expect_round_trip(all_weight_layouts(), weight_layout_named);
  expect_round_trip(all_directions(), direction_named);
  expect_round_trip(all_activations(), activation_named);
  EXPECT_EQ(all_dtypes().size(), 4U);
  EXPECT_EQ(all_computes().size(), 6U);
  EXPECT_EQ(all_layouts().size(), 2U);
  EXPECT_EQ(all_weight_layouts().size(), 2U);
  EXPECT_EQ(all_directions().size(), 4U);
  EXPECT_EQ(all_activations().size(), 13U);
}

TEST(Layer, NamesAreTheLanguagesOwn) {
  EXPECT_EQ(name_of(Dtype::kBf16), "bf16");
  EXPECT_EQ(name_of(Compute::kF32x3), "f32x3");
  EXPECT_EQ(name_of(Layout::kNhwc), "nhwc");
  EXPECT_EQ(name_of(WeightLayout::kContiguous), "contiguous");
  EXPECT_EQ(name_of(WeightLayout::kChannelsLast), "channels_last");
  EXPECT_EQ(name_of(Direction::kGradWeight), "grad_weight");
  EXPECT_EQ(name_of(Direction::kGradBias), "grad_bias");
  EXPECT_EQ(name_of(ActivationKind::kLeakyRelu), "leaky_relu");
  EXPECT_EQ(name_of(ActivationKind::kGeluTanh), "gelu_tanh");
  EXPECT_EQ(name_of(ActivationKind::kAdd), "add");
}

TEST(Layer, ArgumentCounts) {
  for (const ActivationKind kind : all_activations()) {
    int expected = 0;
    if (kind == ActivationKind::kLeakyRelu || kind == ActivationKind::kScale || kind == ActivationKind::kAdd ||
        kind == ActivationKind::kElu) {
      expected = 1;
    } else if (kind == ActivationKind::kHardtanh || kind == ActivationKind::kClamp) {
      expected = 2;
    }
    EXPECT_EQ(argument_count(kind), expected) << name_of(kind);
    EXPECT_EQ(default_argument(kind), kind == ActivationKind::kElu ? std::optional(1.0) : std::nullopt);
  }
}

TEST(Layer, ActivationsThatKeepZeroDoSoByTheirDefinition) {
  for (const ActivationKind kind : all_activations()) {
    for (const double a : {-1.5, 0.0, 0.5}) {
      for (const double b : {-0.5, 0.0, 2.0}) {
        const Activation step{kind, argument_count(kind) > 0 ? a : 0, argument_count(kind) > 1 ? b : 0};
        if (kind != ActivationKind::kHardtanh || a <= b) {
          EXPECT_EQ(keeps_zero(step), activate(step, 0) == 0) << name_of(kind) << ' ' << a << ' ' << b;
        }
      }
    }
  }
}

TEST(Layer, DtypesHaveSizesAndComputeModes) {
  EXPECT_EQ(bytes_of(Dtype::kF64), 8);
  EXPECT_EQ(bytes_of(Dtype::kF32), 4);
  EXPECT_EQ(bytes_of(Dtype::kF16), 2);
  EXPECT_EQ(bytes_of(Dtype::kBf16), 2);
  for (const Dtype dtype : all_dtypes()) {
    EXPECT_EQ(name_of(default_compute(dtype)), name_of(dtype));
    EXPECT_EQ(computes_of(dtype).front(), default_compute(dtype));
    EXPECT_EQ(computes_of(dtype).size(), dtype == Dtype::kF32 ? 3U : 1U);
  }
}

}  // namespace
}  // namespace convtgen
