#include "runtime/reference/fuse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/reference/numbers.h"

namespace convtgen {
namespace {

const std::vector<std::vector<Activation>> kChains = {
    {},
    {{ActivationKind::kRelu}},
    {{ActivationKind::kLeakyRelu, 0.1}},
    {{ActivationKind::kLeakyRelu, -2}},
    {{ActivationKind::kGelu}},
    {{ActivationKind::kGeluTanh}},
    {{ActivationKind::kSilu}},
    {{ActivationKind::kMish}},
    {{ActivationKind::kTanh}},
    {{ActivationKind::kSigmoid}},
    {{ActivationKind::kHardtanh, -1, 1}},
    {{ActivationKind::kClamp, 2, -1}},
    {{ActivationKind::kScale, -3}},
    {{ActivationKind::kAdd, 5}},
    {{ActivationKind::kElu, 1}},
    {{ActivationKind::kElu, -0.5}},
    {{ActivationKind::kScale, 100}, {ActivationKind::kGelu}, {ActivationKind::kAdd, -2}, {ActivationKind::kSilu}},
    {{ActivationKind::kMish}, {ActivationKind::kMish}, {ActivationKind::kScale, 0.01}, {ActivationKind::kGeluTanh}},
};

TEST(Fuse, TheBallHoldsEveryImageOfItsPoints) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (const auto& chain : kChains) {
    for (int i = 0; i < 3000; ++i) {
      const double value = unit(random) * std::pow(10, 3 * unit(random));
      const double radius = std::abs(unit(random)) * std::pow(10, -3 + 3 * unit(random));
      const Ball ball = carry_fuse(chain, {value, radius}, Dtype::kF64);
      ASSERT_EQ(ball.value, apply_fuse(chain, value));
      for (int k = 0; k < 5; ++k) {
        const double inside = value + radius * (k == 0 ? 1 : k == 1 ? -1 : unit(random));
        ASSERT_LE(std::abs(apply_fuse(chain, inside) - ball.value), ball.radius + 1e-12 * (1 + std::abs(value)))
            << value << " +- " << radius << " at " << inside;
      }
    }
  }
}

TEST(Fuse, TheBallHoldsTheChainInSinglePrecision) {
  // The formulas of the kernels, in float: a point ball covers what they may be off by.
  std::mt19937_64 random(4);
  std::uniform_real_distribution<float> unit(-1, 1);
  const auto in_float = [](ActivationKind kind, float v) {
    switch (kind) {
      case ActivationKind::kGelu:
        return v * 0.5F * (1 + std::erf(v * 0.70710678F));
      case ActivationKind::kGeluTanh:
        return v * 0.5F * (1 + std::tanh(0.79788456F * (v + 0.044715F * v * v * v)));
      case ActivationKind::kSilu:
        return v / (1 + std::exp(-v));
      case ActivationKind::kMish: {
        const float n = std::exp(v < 20 ? v : 20);
        const float product = n * (n + 2);
        return v * (product / (product + 2));
      }
      case ActivationKind::kSigmoid:
        return 1 / (1 + std::exp(-v));
      default:
        return std::tanh(v);
    }
  };
  for (const ActivationKind kind : {ActivationKind::kGelu, ActivationKind::kGeluTanh, ActivationKind::kSilu,
                                    ActivationKind::kMish, ActivationKind::kSigmoid, ActivationKind::kTanh}) {
    for (int i = 0; i < 20'000; ++i) {
      const float value = unit(random) * std::pow(10.0F, 2 * unit(random));
      const Activation step{kind};
      const Ball ball = carry_fuse({&step, 1}, {value, 0}, Dtype::kF32);
      ASSERT_LE(std::abs(in_float(kind, value) - ball.value), ball.radius) << name_of(kind) << " of " << value;
      ASSERT_LE(ball.radius, 1e-6 * (std::abs(value) + 1));  // and covers no more than that
    }
  }
}

TEST(Fuse, InfinitiesAndNanCarryNoRadius) {
  const Activation silu{ActivationKind::kSilu};
  EXPECT_TRUE(std::isnan(carry_fuse({&silu, 1}, {-INFINITY, 0}, Dtype::kF32).value));
  const Activation clamp{ActivationKind::kClamp, -1, 1};
  const Ball ball = carry_fuse({&clamp, 1}, {INFINITY, 0}, Dtype::kF32);
  EXPECT_EQ(ball.value, 1);
  EXPECT_EQ(ball.radius, 0);
  EXPECT_TRUE(std::isnan(carry_fuse({&clamp, 1}, {NAN, 0}, Dtype::kF32).value));
}

}  // namespace
}  // namespace convtgen
