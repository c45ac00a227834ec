#include "runtime/reference/host_array.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstring>
#include <functional>
#include <numeric>

#include "runtime/reference/numbers.h"
#include "runtime/reference/parallel.h"

namespace convtgen {
namespace {

template <typename T>
T load(const std::vector<std::byte>& bytes, std::int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void store(std::vector<std::byte>& bytes, std::int64_t index, T value) {
  std::memcpy(bytes.data() + static_cast<std::size_t>(index) * sizeof(T), &value, sizeof(T));
}

/// All 65,536 values: decoding them one by one is slow where arrays are large.
const std::vector<double>& f16_values() {
  static const std::vector<double> values = [] {
    std::vector<double> table(65536);
    for (std::size_t i = 0; i < table.size(); ++i) {
      table[i] = decode_f16(static_cast<std::uint16_t>(i));
    }
    return table;
  }();
  return values;
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>{});
}

}  // namespace

std::uint64_t mix_bits(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
  value = (value ^ value >> 27) * 0x94d049bb133111ebU;
  return value ^ value >> 31;
}

std::int64_t HostArray::size() const {
  return product(shape);
}

double HostArray::at(std::int64_t index) const {
  switch (dtype) {
    case Dtype::kF64:
      return load<double>(bytes, index);
    case Dtype::kF32:
      return load<float>(bytes, index);
    case Dtype::kF16:
      return f16_values()[load<std::uint16_t>(bytes, index)];
    case Dtype::kBf16:
      return decode_bf16(load<std::uint16_t>(bytes, index));
  }
  return 0;
}

void HostArray::set(std::int64_t index, double value) {
  switch (dtype) {
    case Dtype::kF64:
      return store(bytes, index, value);
    case Dtype::kF32:
      return store(bytes, index, static_cast<float>(value));
    case Dtype::kF16:
      return store(bytes, index, encode_f16(value));
    case Dtype::kBf16:
      return store(bytes, index, encode_bf16(value));
  }
}

HostArray make_array(Dtype dtype, std::vector<std::int64_t> shape) {
  HostArray array{dtype, std::move(shape), {}};
  array.bytes.resize(static_cast<std::size_t>(array.size() * bytes_of(dtype)));
  return array;
}

HostArray make_array(Dtype dtype, std::vector<std::int64_t> shape, const std::vector<double>& values) {
  HostArray array = make_array(dtype, std::move(shape));
  for (std::int64_t i = 0; i < array.size(); ++i) {
    array.set(i, values[static_cast<std::size_t>(i)]);
  }
  return array;
}

HostArray random_array(Dtype dtype, std::vector<std::int64_t> shape, std::uint64_t seed, double amplitude) {
  HostArray array = make_array(dtype, std::move(shape));
  const std::uint64_t stream = mix_bits(seed + 0x9e3779b97f4a7c15U);
  parallel_for(array.size(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t bits = mix_bits(stream + static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U);
      const double unit = static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;  // [-1, 1)
      array.set(i, unit * amplitude);
    }
  });
  return array;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "a scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace convtgen
