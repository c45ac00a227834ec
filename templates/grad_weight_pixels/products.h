// Part of the template `grad_weight_pixels`: the operands of a stage's products.
#pragma once

#include "grad_weight/box_places.h"

// ---- Products ----

constexpr int kOtherRegisters = 36;  // of a thread, besides accumulators and fragments
