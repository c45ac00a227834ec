// Arrays in host memory, with their dtype known only at run time; and reproducible random contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/layer/layer.h"

namespace convtgen {

/// Elements in C order, as they stand in memory (f16 and bf16 as 16-bit patterns).
struct HostArray {
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] double at(std::int64_t index) const;
  /// Rounds to the dtype.
  void set(std::int64_t index, double value);
};

/// Zeros.
[[nodiscard]] HostArray make_array(Dtype dtype, std::vector<std::int64_t> shape);
/// Every element rounded to the dtype.
[[nodiscard]] HostArray make_array(Dtype dtype, std::vector<std::int64_t> shape, const std::vector<double>& values);

/// The mixing step of SplitMix64 (Steele, Lea, Flood 2014), as a hash of seed and index.
[[nodiscard]] std::uint64_t mix_bits(std::uint64_t value);

/// Uniform in [-amplitude, amplitude), rounded to the dtype. An element depends on the seed and its index alone.
[[nodiscard]] HostArray random_array(Dtype dtype, std::vector<std::int64_t> shape, std::uint64_t seed,
                                     double amplitude);

/// "512x4x4"
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace convtgen
