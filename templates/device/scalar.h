// Elements of templates that multiply one number at a time: what memory holds, and what products are added in.
// Needs `Parameters` with the types Element and Sum, and element_kind.
#pragma once

#include "device/convert.h"
#include "device/static_parameters.h"

enum ElementKind { kPlain, kF16, kBf16 };

__device__ __forceinline__ Parameters::Sum widen(Parameters::Element value) {
  if constexpr (Parameters::element_kind == kF16) {
    return half_to_float(value);
  } else if constexpr (Parameters::element_kind == kBf16) {
    return bfloat16_to_float(value);
  } else {
    return value;
  }
}

__device__ __forceinline__ Parameters::Element narrow(Parameters::Sum value) {
  if constexpr (Parameters::element_kind == kF16) {
    return float_to_half(value);
  } else if constexpr (Parameters::element_kind == kBf16) {
    return float_to_bfloat16(value);
  } else {
    return value;
  }
}
