// Arrays in host memory, with their dtype known only at run time; and reproducible random contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "generator/support/error.h"

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

/// What a call of a layer reads: x and weight in the layer's memory orders, bias (Cout).
struct LayerInputs {
  HostArray x;
  HostArray weight;
  std::optional<HostArray> bias;
};

/// (N, C, H, W) or (N, H, W, C).
[[nodiscard]] std::vector<std::int64_t> input_shape(const Layer& layer, const Shape& shape);
[[nodiscard]] std::vector<std::int64_t> output_shape(const Layer& layer, const Shape& shape);
/// (Cin, Cout/groups, KH, KW) or (Cin, KH, KW, Cout/groups).
[[nodiscard]] std::vector<std::int64_t> weight_shape(const Layer& layer);

/// Where a weight stands: its input channel of all groups, its output channel in the group, its tap.
struct WeightPosition {
  std::int64_t in = 0, out = 0, tap = 0;
  bool operator==(const WeightPosition&) const = default;
};
[[nodiscard]] std::int64_t weight_offset(const Layer& layer, const WeightPosition& position);
[[nodiscard]] WeightPosition weight_position(const Layer& layer, std::int64_t offset);

/// x and bias in [-1, 1); weights small enough that sums stay near 1, whatever their number of terms.
[[nodiscard]] LayerInputs random_inputs(const Layer& layer, const Shape& shape, std::uint64_t seed);

/// Errors: an array's dtype or number of elements is not what the layer and the shape ask for, or the bias is missing
/// or not wanted.
[[nodiscard]] Result<void> check_inputs(const Layer& layer, const Shape& shape, const LayerInputs& inputs);

}  // namespace convtgen
