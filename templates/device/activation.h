// Chains of activations, in the precision of the sums. NaN and infinity as PyTorch treats them.
// Needs `Parameters` with the type Sum, and fuse_kind, fuse_a, fuse_b: the steps of the fuse chain of an epilogue and,
// after them, those of x (input_activation.h).
#pragma once

#include "device/static_parameters.h"
#include "device/template.h"

// In the order of convtgen::ActivationKind (generator/layer/layer.h).
enum Activation {
  kRelu,
  kLeakyRelu,
  kGelu,
  kGeluTanh,
  kSilu,
  kMish,
  kTanh,
  kSigmoid,
  kHardtanh,
  kClamp,
  kScale,
  kAdd,
  kElu
};

// Every step of the chain in its order.
//
// The chain has so many steps, from the first on.
__device__ __forceinline__ Parameters::Sum activate(Parameters::Sum value, const int first, const int count) {
  using Sum = Parameters::Sum;
  CONVTGEN_UNROLL
  for (int i = first; i < first + count; ++i) {
    const int kind = fuse_kind[i];
    const Sum a = static_cast<Sum>(fuse_a[i]);
    const Sum b = static_cast<Sum>(fuse_b[i]);
    if (kind == kRelu) {
      value = value < 0 ? 0 : value;  // relu
    } else if (kind == kLeakyRelu) {
      value = value < 0 ? value * a : value;  // leaky_relu
    } else if (kind == kGelu) {
      value = value * static_cast<Sum>(0.5) * (1 + erf(value * static_cast<Sum>(0.70710678118654752440)));  // gelu
    } else if (kind == kGeluTanh) {
      // gelu_tanh: sqrt(2 / pi) and the cubic term of the tanh approximation
      value = value * static_cast<Sum>(0.5) *
              (1 + tanh(static_cast<Sum>(0.79788456080286535588) *
                        (value + static_cast<Sum>(0.044715) * value * value * value)));
    } else if (kind == kSilu) {
      value = value / (1 + exp(-value));  // silu
    } else if (kind == kMish) {
      // mish: tanh(log(1 + n)) = n (n + 2) / (n (n + 2) + 2) with n = exp(value). The quotient is 1 from 20 on, in fp64
      // too, and a larger n would overflow.
      const Sum n = exp(value < 20 ? value : 20);
      const Sum product = n * (n + 2);
      value = value * (product / (product + 2));
    } else if (kind == kTanh) {
      value = tanh(value);
    } else if (kind == kSigmoid) {
      value = 1 / (1 + exp(-value));  // sigmoid
    } else if (kind == kHardtanh || kind == kClamp) {
      // The upper limit wins where the limits cross; NaN passes through.
      value = value < a ? a : value;
      value = value > b ? b : value;
    } else if (kind == kScale) {
      value = value * a;
    } else if (kind == kAdd) {
      value = value + a;
    } else if (kind == kElu) {
      value = value < 0 ? a * expm1(value) : value;  // elu
    }
  }
  return value;
}
