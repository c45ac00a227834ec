// What facts of templates for kernels that are as large as their strides share.
#pragma once

#include "tests/template_facts/drawer.h"

namespace convtgen::testing {

/// Kernels of one to eight taps, each as large as its stride.
inline void equal_strides(DrawnAxis& drawn, RandomNumbers& random) {
  Axis& axis = drawn.axis;
  axis.kernel = random.one_of(random.weighted({2, 6, 3, 1}), {{1, 1}, {2, 2}, {4, 4}, {3, 8}});
  axis.stride = axis.kernel;
  axis.dilation = axis.kernel == 1 ? axis.dilation : 1;
}

}  // namespace convtgen::testing
