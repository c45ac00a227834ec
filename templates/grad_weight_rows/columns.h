// Part of the template `grad_weight_rows`: the rows and columns of its products.
#pragma once

#include "device/static_parameters.h"

// Kernel rows in the columns of the products, not in their rows.
constexpr int kColumnRows = Parameters::rows_in_columns ? Parameters::taps_h : 1;

// Whether the kernel is as large as its strides: then each position has a patch of grad_y of its own.
constexpr bool kPatches = Parameters::kernel_h == Parameters::stride_h &&
                          Parameters::kernel_w == Parameters::stride_w && Parameters::padding_h == 0 &&
                          Parameters::padding_w == 0 && Parameters::dilation_h == 1 && Parameters::dilation_w == 1 &&
                          Parameters::output_padding_h == 0 && Parameters::output_padding_w == 0 &&
                          !Parameters::rows_in_columns;

// Two adjacent taps of eight channels in a warp's 16 rows, not one tap of 16: a thread loads both taps at once.
constexpr bool kPairedTaps = kPatches && Parameters::stride_w % 2 == 0 && Parameters::taps_w % 2 == 0;

// Whether the consumers sum up the rows of grad_y for the bias. Each element of a patch is in one fragment.
constexpr bool kSumsRows = kPatches && Parameters::has_bias && Parameters::kernel_h % Parameters::taps_h == 0 &&
                           Parameters::kernel_w % Parameters::taps_w == 0;
// Whether fragments of tf32 are rounded after that.
constexpr bool kRoundsSummed = !Parameters::splits;
