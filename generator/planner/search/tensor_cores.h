// What the driver asks of a problem first, what several templates for tensor cores ask, and the words for what they
// refuse.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "generator/planner/plan/plan.h"

namespace convtgen {

/// The modes of products of elements of the layer's type, and those of 16 bits.
inline constexpr std::array kProductModes = {Compute::kTf32, Compute::kF16, Compute::kBf16};
/// The same, and that of values of fp32 that are split in parts, whose products are added.
inline constexpr std::array kSplitModes = {Compute::kTf32, Compute::kF16, Compute::kBf16, Compute::kF32x3};
inline constexpr std::array kHalfModes = {Compute::kF16, Compute::kBf16};

/// Whether values are split in two parts: of f16, scaled by the largest magnitudes, which are found before; or of tf32.
[[nodiscard]] inline bool splits(const Layer& layer) {
  return layer.compute == Compute::kF32x3;
}

/// Of one product: what 64 positions are multiplied by.
inline constexpr std::int64_t kMostProductColumns = 256;

/// What the templates need whose warpgroups make products, and others bring their operands.
inline constexpr Features kWarpgroups = {Feature::kTma, Feature::kSetmaxnreg, Feature::kWgmma};

/// Errors: the target lacks one of these features; the message names the newest of those, and the targets that have
/// all.
[[nodiscard]] Result<void> check_features(const Target& target, Features needs);

/// Errors: those of check_features(), or the layer's compute mode is not among these; an empty list allows all.
[[nodiscard]] Result<void> check_target_and_compute(const Problem& problem, Features needs,
                                                    std::span<const Compute> computes);

/// Errors: the target lacks one of these features, or that of a warp's products in this mode; those of f16 are there
/// with half the depth too, as far as `needs` says. Where values are split: those of check_split_products() of f16.
[[nodiscard]] Result<void> check_warp_products(const Target& target, Compute compute, Features needs);

/// Errors: three products of f16 or tf32 by a warp, of values that are split, take longer than one of f32 without
/// tensor cores.
[[nodiscard]] Result<void> check_split_products(const Target& target, Compute of);

/// Input channels of a stage whose pixels are rows of at most 128 bytes, in 16 bits: as few as have all, or 64.
[[nodiscard]] std::int64_t row_channels(const Layer& layer);

/// The template's parameter `type`, a WgmmaType (templates/device/printed.h), of products of elements of this type.
[[nodiscard]] std::int64_t product_type(Dtype dtype);
/// Parameters with those of such products, which are added in fp32, added; where values are split in two of f16,
/// with the type of their sums alone.
[[nodiscard]] Parameters with_product_types(Parameters parameters, const Layer& layer);

}  // namespace convtgen
