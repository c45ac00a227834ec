// Part of the template `grad_weight_pixels`: the operands of a stage's products.
#pragma once

#include "grad_weight/box_places.h"

// ---- Products ----

constexpr int kOtherRegisters = 36;  // of a thread, beside accumulators and fragments

__device__ __forceinline__ void load_fragment(unsigned int (&fragment)[4], const unsigned char* shared, int offset,
                                              const int step, const Place& place) {
  load_part(fragment, shared, offset, 0, step, place);
}
