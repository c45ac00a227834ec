#include "generator/onnx/tensor.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace convtgen::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they are");

/// More than any shape, list of scales or number that an import reads.
constexpr std::int64_t kSmall = 64;

template <typename Element>
std::string copied(const std::vector<Element>& elements) {
  return std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(Element));
}

/// The low 16 bits of each.
std::string copied_halves(const std::vector<std::int32_t>& elements) {
  std::vector<std::uint16_t> halves(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    halves[i] = static_cast<std::uint16_t>(elements[i]);
  }
  return copied(halves);
}

double value_of_half(std::uint16_t bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  if (exponent == 31) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}

template <typename Element>
Element element_at(const std::string& bytes, std::size_t index) {
  Element element;
  std::memcpy(&element, bytes.data() + index * sizeof(Element), sizeof(Element));
  return element;
}

std::optional<std::int64_t> small_count(const Tensor& tensor) {
  const auto count = tensor.dims.size() <= kSmall ? element_count(tensor.dims) : std::nullopt;
  return !tensor.external && count && *count <= kSmall ? count : std::nullopt;
}

}  // namespace

std::optional<Dtype> dtype_of(std::int32_t element_type) {
  switch (element_type) {
    case kFloat:
      return Dtype::kF32;
    case kFloat16:
      return Dtype::kF16;
    case kDouble:
      return Dtype::kF64;
    case kBfloat16:
      return Dtype::kBf16;
    default:
      return std::nullopt;
  }
}

std::string element_type_name(std::int32_t element_type) {
  constexpr std::array kNames = {"UNDEFINED", "FLOAT",  "UINT8",     "INT8",       "UINT16",  "INT16",
                                 "INT32",     "INT64",  "STRING",    "BOOL",       "FLOAT16", "DOUBLE",
                                 "UINT32",    "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
  const auto index = static_cast<std::size_t>(element_type);
  return element_type >= 0 && index < kNames.size() ? kNames[index] : fmt::format("type {}", element_type);
}

std::optional<std::int64_t> element_count(std::span<const std::int64_t> dims) {
  std::int64_t count = 1;
  for (const std::int64_t extent : dims) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
      return std::nullopt;
    }
  }
  return count;
}

Result<std::string> bytes_of_elements(const Tensor& tensor) {
  const std::optional<Dtype> dtype = dtype_of(tensor.element_type);
  const auto count = element_count(tensor.dims);
  std::int64_t wanted = 0;
  if (!dtype || !count || __builtin_mul_overflow(*count, bytes_of(*dtype), &wanted)) {
    return fail("a tensor of other elements, or of more than 64 bits can count");
  }
  std::string bytes;
  if (tensor.raw) {
    bytes = *tensor.raw;
  } else if (*dtype == Dtype::kF32) {
    bytes = copied(tensor.floats);
  } else if (*dtype == Dtype::kF64) {
    bytes = copied(tensor.doubles);
  } else {
    bytes = copied_halves(tensor.int32s);
  }
  if (static_cast<std::int64_t>(bytes.size()) != wanted) {
    return fail(fmt::format("holds {} bytes; its {} elements take {}", bytes.size(), *count, wanted));
  }
  return bytes;
}

std::optional<std::vector<std::int64_t>> whole_numbers(const Tensor& tensor) {
  const auto count = small_count(tensor);
  if (!count || (tensor.element_type != kInt32 && tensor.element_type != kInt64)) {
    return std::nullopt;
  }
  const auto size = static_cast<std::size_t>(*count);
  std::vector<std::int64_t> numbers;
  if (!tensor.raw) {
    numbers = tensor.element_type == kInt64 ? tensor.int64s
                                            : std::vector<std::int64_t>(tensor.int32s.begin(), tensor.int32s.end());
    return numbers.size() == size ? std::optional(numbers) : std::nullopt;
  }
  const std::size_t width = tensor.element_type == kInt64 ? 8 : 4;
  if (tensor.raw->size() != size * width) {
    return std::nullopt;
  }
  const std::string bytes(*tensor.raw);
  for (std::size_t i = 0; i < size; ++i) {
    numbers.push_back(width == 8 ? element_at<std::int64_t>(bytes, i) : element_at<std::int32_t>(bytes, i));
  }
  return numbers;
}

std::optional<std::vector<double>> real_numbers(const Tensor& tensor) {
  const std::optional<Dtype> dtype = dtype_of(tensor.element_type);
  if (!dtype || !small_count(tensor)) {
    return std::nullopt;
  }
  const Result<std::string> bytes = bytes_of_elements(tensor);
  if (!bytes) {
    return std::nullopt;
  }
  std::vector<double> numbers;
  const std::size_t size = bytes->size() / static_cast<std::size_t>(bytes_of(*dtype));
  for (std::size_t i = 0; i < size; ++i) {
    switch (*dtype) {
      case Dtype::kF32:
        numbers.push_back(shortest_of_float(element_at<float>(*bytes, i)));
        break;
      case Dtype::kF64:
        numbers.push_back(element_at<double>(*bytes, i));
        break;
      case Dtype::kF16:
        numbers.push_back(value_of_half(element_at<std::uint16_t>(*bytes, i)));
        break;
      case Dtype::kBf16:
        numbers.push_back(std::bit_cast<float>(std::uint32_t{element_at<std::uint16_t>(*bytes, i)} << 16));
        break;
    }
  }
  return numbers;
}

std::optional<double> only_number(const Tensor& tensor) {
  const auto numbers = real_numbers(tensor);
  return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
}

double shortest_of_float(float value) {
  if (!std::isfinite(value)) {
    return value;
  }
  const std::string text = fmt::format("{}", value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);  // not std::stod, which reads as the locale says
  return result;
}

}  // namespace convtgen::onnx
