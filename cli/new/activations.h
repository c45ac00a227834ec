// The activations of a layer's `fuse` and `fuse_input`, as PyTorch defines them.
#pragma once

#include <algorithm>
#include <cmath>

namespace activations {

inline double relu(double v) {
  return v < 0 ? 0 : v;
}

inline double leaky_relu(double v, double slope) {
  return v < 0 ? v * slope : v;
}

inline double elu(double v, double alpha) {
  return v < 0 ? alpha * std::expm1(v) : v;
}

inline double gelu(double v) {
  return 0.5 * v * std::erfc(-v / std::sqrt(2.0));
}

inline double gelu_tanh(double v) {
  const double two_over_pi = 2 / std::acos(-1.0);
  return 0.5 * v * (1 + std::tanh(std::sqrt(two_over_pi) * (v + 0.044715 * v * v * v)));
}

inline double sigmoid(double v) {
  return 1 / (1 + std::exp(-v));
}

inline double silu(double v) {
  return v * sigmoid(v);
}

inline double mish(double v) {
  return v * std::tanh(std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v))));
}

inline double tanh(double v) {
  return std::tanh(v);
}

inline double clamp(double v, double low, double high) {
  return std::min(std::max(v, low), high);
}

inline double hardtanh(double v, double low, double high) {
  return clamp(v, low, high);
}

inline double scale(double v, double factor) {
  return v * factor;
}

inline double add(double v, double summand) {
  return v + summand;
}

}  // namespace activations
