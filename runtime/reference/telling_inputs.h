// Inputs that show what uniform ones hide: magnitudes that differ by far, exact results, numbers that truncation makes
// wrong. An element depends on the seed and its index alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "runtime/reference/layer_inputs.h"

namespace convtgen {

/// Magnitudes of x that change from block to block of input channels, as where a kernel reads its channels in stages.
struct ChannelMagnitudes {
  /// Adjacent channels of one block, counted within a group.
  std::int64_t channels = 16;
  /// Exponents of the blocks' powers of two, used cyclically; each image starts at another one. nullopt: zeros. Not
  /// empty.
  std::vector<std::optional<int>> exponents;
};

/// x uniform in [-1, 1) times the magnitude of its block; one in 16 elements is the largest float below it. Weights
/// uniform in [-1, 1) times a power of two of their
/// output channel. They are zero unless output channel and block agree modulo the number of exponents, so that no
/// output's sum |x| * |w| is that of another magnitude's block. Bias 0.
[[nodiscard]] LayerInputs staged_inputs(const Layer& layer, const Shape& shape, std::uint64_t seed,
                                        const ChannelMagnitudes& magnitudes);

/// Every output is 0 or one element of x, times a power of two. In each block of an image one element at a random
/// place is the magnitude, the others have 22 significant bits and lie in [2^-27, 2^-26) of it. Weights: for each
/// output channel one tap of one input channel. Bias 0. f32x3 keeps all of these bits.
[[nodiscard]] LayerInputs exact_inputs(const Layer& layer, const Shape& shape, std::uint64_t seed,
                                       const ChannelMagnitudes& magnitudes);

/// Positive numbers in [1, 1 + 2^-4) that tf32 is furthest from where it is truncated: of one operand (x, or else
/// weights) the bits beyond tf32 are all ones, of the other all ones but the highest. Rounding to nearest changes
/// products by at most 2^-11 of them, truncation by almost 3 * 2^-11. Bias 0.
enum class Truncated { kX, kWeight };
[[nodiscard]] LayerInputs truncation_inputs(const Layer& layer, const Shape& shape, std::uint64_t seed,
                                            Truncated operand);

}  // namespace convtgen
