// Part of the template `grad_weight_rows`: the columns of its products.
#pragma once

#include "device/static_parameters.h"

// Kernel rows in the columns of the products, not in their rows.
constexpr int kColumnRows = Parameters::rows_in_columns ? Parameters::taps_h : 1;
