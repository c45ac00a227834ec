#include "runtime/reference/fuse.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/reference/numbers.h"

namespace convtgen {
namespace {

double softplus(double value) {
  // log(1 + e^v) without the overflow that log1p(exp(v)) has from 710 on.
  return value > 0 ? value + std::log1p(std::exp(-value)) : std::log1p(std::exp(value));
}

bool is_monotone(const Activation& step) {
  switch (step.kind) {
    case ActivationKind::kGelu:
    case ActivationKind::kGeluTanh:
    case ActivationKind::kSilu:
    case ActivationKind::kMish:
      return false;
    case ActivationKind::kLeakyRelu:
    case ActivationKind::kElu:
      return step.a >= 0;
    default:
      return true;
  }
}

/// An upper bound of |f'| for the steps that are not monotone.
double lipschitz(const Activation& step) {
  const bool has_slope = step.kind == ActivationKind::kLeakyRelu || step.kind == ActivationKind::kElu;
  return has_slope ? std::max(1.0, std::abs(step.a)) : 1.13;  // gelu's is 1.129
}

/// What a good implementation of the step itself may be off by, in the precision of the sums.
double own_rounding(const Activation& step, double in, double out, Dtype sum) {
  const double eps = unit_roundoff(sum);
  switch (step.kind) {
    case ActivationKind::kRelu:
      return 0;
    case ActivationKind::kLeakyRelu:
    case ActivationKind::kScale:
      return 2 * eps * std::abs(out);
    case ActivationKind::kAdd:
      return eps * (std::abs(step.a) + std::abs(out));
    case ActivationKind::kHardtanh:
    case ActivationKind::kClamp:
      return eps * std::max(std::abs(step.a), std::abs(step.b));
    case ActivationKind::kElu:
      return in < 0 ? 8 * eps * std::abs(out) + least_normal(sum) * std::max(1.0, std::abs(step.a)) : 0;
    case ActivationKind::kTanh:
    case ActivationKind::kSigmoid:
      // exp() of a large argument overflows a little before its reciprocal underflows.
      return 8 * eps * std::abs(out) + least_normal(sum);
    case ActivationKind::kGelu:
    case ActivationKind::kGeluTanh:
    case ActivationKind::kSilu:
    case ActivationKind::kMish:
      // A factor between 0 and 1 that is off by some eps, or underflows, times the input.
      return 8 * eps * (std::abs(in) + std::abs(out)) + least_normal(sum) * (1 + std::abs(in));
  }
  return 0;
}

}  // namespace

double activate(const Activation& step, double value) {
  switch (step.kind) {
    case ActivationKind::kRelu:
      return value < 0 ? 0 : value;
    case ActivationKind::kLeakyRelu:
      return value < 0 ? value * step.a : value;
    case ActivationKind::kGelu:
      return 0.5 * value * (1 + std::erf(value / std::numbers::sqrt2));
    case ActivationKind::kGeluTanh: {
      const double inner = std::sqrt(2 / std::numbers::pi) * (value + 0.044715 * std::pow(value, 3));
      return 0.5 * value * (1 + std::tanh(inner));
    }
    case ActivationKind::kSilu:
      return value / (1 + std::exp(-value));
    case ActivationKind::kMish:
      return value * std::tanh(softplus(value));
    case ActivationKind::kTanh:
      return std::tanh(value);
    case ActivationKind::kSigmoid:
      return 1 / (1 + std::exp(-value));
    case ActivationKind::kHardtanh:
    case ActivationKind::kClamp:
      // torch.clamp: the upper limit wins where the limits cross, and NaN stays NaN.
      return std::isnan(value) ? value : std::min(std::max(value, step.a), step.b);
    case ActivationKind::kScale:
      return value * step.a;
    case ActivationKind::kAdd:
      return value + step.a;
    case ActivationKind::kElu:
      return value < 0 ? step.a * std::expm1(value) : value;
  }
  return value;
}

double apply_fuse(std::span<const Activation> fuse, double value) {
  for (const Activation& step : fuse) {
    value = activate(step, value);
  }
  return value;
}

Ball carry_fuse(std::span<const Activation> fuse, Ball ball, Dtype sum) {
  for (const Activation& step : fuse) {
    const double out = activate(step, ball.value);
    if (!std::isfinite(ball.value) || !std::isfinite(out)) {
      ball = {out, 0};  // nothing is near an infinity or a NaN
      continue;
    }
    const double spread = is_monotone(step) ? std::max(std::abs(activate(step, ball.value + ball.radius) - out),
                                                       std::abs(activate(step, ball.value - ball.radius) - out))
                                            : lipschitz(step) * ball.radius;
    ball = {out, spread + own_rounding(step, ball.value, out, sum)};
  }
  return ball;
}

double input_value(const Layer& layer, double x) {
  return layer.fuse_input.empty() ? x : round_to(layer.dtype, apply_fuse(layer.fuse_input, x));
}

double input_error(const Layer& layer, double x) {
  if (layer.fuse_input.empty()) {
    return 0;
  }
  const Dtype sum = layer.dtype == Dtype::kF64 ? Dtype::kF64 : Dtype::kF32;
  const Ball ball = carry_fuse(layer.fuse_input, {x, 0}, sum);
  const double value = round_to(layer.dtype, ball.value);
  const double error = std::max(round_to(layer.dtype, ball.value + ball.radius) - value,
                                value - round_to(layer.dtype, ball.value - ball.radius));
  return std::isfinite(error) ? error : 0;
}

}  // namespace convtgen
