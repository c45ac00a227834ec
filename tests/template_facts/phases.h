// What the facts of templates share whose products have all phases at once.
#pragma once

#include "tests/template_facts/forward_gemm.h"

namespace convtgen::testing {

/// Few shifts, and strides that are not too large.
inline void short_kernels_of_phases(DrawnAxis& drawn, RandomNumbers& random) {
  Axis& axis = drawn.axis;
  axis.dilation = 1;
  axis.stride = axis.stride > 5 && random() % 2 == 0 ? 1 + axis.stride % 4 : axis.stride;
  axis.kernel = axis.kernel > 5 * axis.stride ? axis.stride * random.between(1, 4) : axis.kernel;
}

}  // namespace convtgen::testing
