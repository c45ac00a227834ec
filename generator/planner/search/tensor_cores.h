// What the driver asks of a problem first, what several templates for tensor cores ask, and the words for what they
// refuse.
#pragma once

#include <span>
#include <string_view>

#include "generator/planner/plan/plan.h"

namespace convtgen {

/// What the templates need whose warpgroups make products, and others bring their operands.
inline constexpr Features kWarpgroups = {Feature::kTma, Feature::kSetmaxnreg, Feature::kWgmma};

/// Errors: the target lacks one of these features; the message names the newest of those, and the targets that have
/// all.
[[nodiscard]] Result<void> check_features(const Target& target, Features needs);

/// Errors: those of check_features(), or the layer's compute mode is none of these; none: all are legal.
[[nodiscard]] Result<void> check_target_and_compute(const Problem& problem, Features needs,
                                                    std::span<const Compute> computes);

/// Errors: the layer has groups of fewer channels than products are worth.
[[nodiscard]] Result<void> check_group_channels(const Layer& layer);

/// Input channels of a stage whose pixels are rows of at most 128 bytes, in 16 bits: as few as have all, or 64.
[[nodiscard]] std::int64_t row_channels(const Layer& layer);

/// Errors: the layer has an input stride, which is the stride of a layer whose gradient is wanted.
[[nodiscard]] Result<void> check_input_strides(const Layer& layer);

/// Errors: the layer has groups, or a kernel of several taps with dilation.
[[nodiscard]] Result<void> check_one_group(const Layer& layer);
[[nodiscard]] Result<void> check_no_dilation(const Layer& layer);

/// The template's parameter `type`, a WgmmaType (templates/device/printed.h), of products of elements of this type.
[[nodiscard]] std::int64_t product_type(Dtype dtype);
/// Parameters with those of such products, which are added in fp32, beside them.
[[nodiscard]] Parameters with_product_types(Parameters parameters, Dtype dtype);

/// Error: pixels with channels last, or else rows, are no whole copies of that many bytes: what is adjacent is to be a
/// multiple of that many elements.
[[nodiscard]] std::unexpected<Error> fail_extent(const Layer& layer, std::int64_t multiple, std::int64_t bytes);

/// Error: a block takes more shared memory than the target has. `what` it takes it for.
[[nodiscard]] std::unexpected<Error> fail_shared_memory(const Target& target, std::string_view what,
                                                        std::int64_t bytes);

}  // namespace convtgen
