#include "runtime/device/cuda/cuda_tensor_map.h"

namespace convtgen {
namespace {

cuda::TensorMapDataType data_type(TensorMap::Element element) {
  switch (element) {
    case TensorMap::Element::kU8:
      return cuda::kTensorMapUint8;
    case TensorMap::Element::kU16:
      return cuda::kTensorMapUint16;
    case TensorMap::Element::kU32:
      return cuda::kTensorMapUint32;
    case TensorMap::Element::kF16:
      return cuda::kTensorMapFloat16;
    case TensorMap::Element::kBf16:
      return cuda::kTensorMapBfloat16;
    case TensorMap::Element::kF32:
      return cuda::kTensorMapFloat32;
    case TensorMap::Element::kTf32:
      return cuda::kTensorMapTfloat32;
    case TensorMap::Element::kF64:
      return cuda::kTensorMapFloat64;
  }
  return cuda::kTensorMapUint8;
}

}  // namespace

Result<cuda::EncodedTensorMap> encode_tensor_map(const CudaDriver& driver, const TensorMap& map) {
  if (const Result<void> legal = check_tensor_map(map); !legal) {
    return std::unexpected(legal.error());
  }
  if (driver.api().tensor_map_encode_tiled == nullptr) {
    return fail("tensor maps need a driver for CUDA 12.0 or later");
  }
  cuda::EncodedTensorMap encoded{};
  // The driver's pitches begin with that of dimension 1.
  const cuda::Status status = driver.api().tensor_map_encode_tiled(
      &encoded, data_type(map.element), static_cast<std::uint32_t>(map.rank), reinterpret_cast<void*>(map.address),
      map.sizes.data(), map.pitches.data() + 1, map.box.data(), map.steps.data(), cuda::kTensorMapInterleaveNone,
      static_cast<cuda::TensorMapSwizzle>(map.swizzle), cuda::kTensorMapL2Promotion128,
      static_cast<cuda::TensorMapFill>(map.fill));
  if (const Result<void> done = driver.check(status, "encoding a tensor map"); !done) {
    return std::unexpected(done.error());
  }
  return encoded;
}

}  // namespace convtgen
