// Part of the template `grad_weight_gemm`: the columns of its products.
#pragma once

// Kernel rows in the columns of the products. All taps are in their rows.
constexpr int kColumnRows = 1;
// Two adjacent taps of eight channels in a warp's 16 rows, not one tap of 16.
constexpr bool kPairedTaps = false;
// Whether the consumers sum up the rows of grad_y for the bias.
constexpr bool kSumsRows = false;
constexpr bool kRoundsSummed = true;
