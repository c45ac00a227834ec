// Tensor maps in the chip's form, made by the driver.
#pragma once

#include "generator/recipe/tensor_map.h"
#include "generator/support/error.h"
#include "runtime/device/cuda/driver.h"

namespace convtgen {

/// Errors: check_tensor_map()'s; a driver without TMA; the driver's own error.
[[nodiscard]] Result<cuda::EncodedTensorMap> encode_tensor_map(const CudaDriver& driver, const TensorMap& map);

}  // namespace convtgen
