// What a tensor of a model holds: its types, its elements, its numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/onnx/model.h"
#include "generator/support/error.h"

namespace convtgen::onnx {

/// TensorProto.DataType.
inline constexpr std::int32_t kFloat = 1, kInt32 = 6, kInt64 = 7, kFloat16 = 10, kDouble = 11, kBfloat16 = 16;

/// The dtype of elements that layers can have, if it is one.
[[nodiscard]] std::optional<Dtype> dtype_of(std::int32_t element_type);

/// "FLOAT16", as ONNX calls it; "type 99" for numbers that it does not have.
[[nodiscard]] std::string element_type_name(std::int32_t element_type);

/// The product of the extents, if they are not negative and it fits 64 bits.
[[nodiscard]] std::optional<std::int64_t> element_count(std::span<const std::int64_t> dims);

/// The elements of a tensor of a dtype, little-endian, if the model itself holds them.
/// Errors: as many bytes as the extents need are not there.
[[nodiscard]] Result<std::string> bytes_of_elements(const Tensor& tensor);

/// The elements of a small tensor of whole numbers (INT32 or INT64), if it is one and the model holds them.
[[nodiscard]] std::optional<std::vector<std::int64_t>> whole_numbers(const Tensor& tensor);

/// The elements of a small tensor of floats, if it is one and the model holds them.
[[nodiscard]] std::optional<std::vector<double>> real_numbers(const Tensor& tensor);

/// The one element of a tensor of floats.
[[nodiscard]] std::optional<double> only_number(const Tensor& tensor);

/// The number whose decimal text is the shortest that is still the float `value`: 0.2 of 0.200000003.
[[nodiscard]] double shortest_of_float(float value);

}  // namespace convtgen::onnx
