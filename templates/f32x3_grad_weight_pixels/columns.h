// Part of the template `f32x3_grad_weight_pixels`: the columns of its products.
#pragma once

// Kernel rows in the columns of the products. All taps are in their rows.
constexpr int kColumnRows = 1;
