// Staging element by element, for templates that multiply one number at a time.
// Needs `Parameters` with the types Element and Sum, element_kind, and `asynchronous`: elements are as wide as what
// products are added in, and the chip has asynchronous copies.
#pragma once

#include "device/async_copy.h"
#include "device/scalar.h"
#include "device/static_parameters.h"

// Copies an element to shared memory asynchronously, or zero; `from` may be read in both cases.
__device__ __forceinline__ void copy_element(Parameters::Sum* to, const Parameters::Element* from, bool is_inside) {
  if (sizeof(Parameters::Element) == 4) {
    async_copy_4(to, from, is_inside ? 4 : 0);
  } else {
    async_copy_8(to, from, is_inside ? 8 : 0);
  }
}

// Puts an element to shared memory as what products are added in{with is_inside: , or zero}. Asynchronously, the block
// waits for it later. {with legal: `legal` is any address of the elements that may be read.}
__device__ __forceinline__ void stage_element(Parameters::Sum* to, const Parameters::Element* from, bool is_inside,
                                              const Parameters::Element* legal) {
  if (Parameters::asynchronous) {
    copy_element(to, is_inside ? from : legal, is_inside);
  } else {
    *to = is_inside ? widen(*from) : static_cast<Parameters::Sum>(0);
  }
}
