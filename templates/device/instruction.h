// Sizes that follow from the type of products whose operands are elements as they are: 32 bits, rounded to tf32, or 16.
// Needs `Parameters` with type (a WgmmaType).
#pragma once

#include "device/printed.h"
#include "device/static_parameters.h"

constexpr int kBytes = Parameters::type == kWgmmaTf32 ? 4 : 2;  // of an element
constexpr int kInstructionK = 32 / kBytes;                      // channels, or positions, of one product
constexpr int kVector = 16 / kBytes;                            // elements of a 16-byte vector
