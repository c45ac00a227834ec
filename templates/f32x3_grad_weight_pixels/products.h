// Part of the template `f32x3_grad_weight_pixels`: the operands of a stage's products, which are where copies put them.
#pragma once

// ---- Products ----
#include "grad_weight/box_places.h"
