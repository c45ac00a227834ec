// What templates ask of a layer, whatever its sizes: conditions, each with the words that refuse a layer without it.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/planner/plan/plan.h"

namespace convtgen {

/// Errors: the condition does not hold; the words say what the layer has, and what would be taken.
template <typename... Args>
[[nodiscard]] Result<void> require(bool condition, fmt::format_string<Args...> words, Args&&... args) {
  return condition ? Result<void>() : fail(fmt::format(words, std::forward<Args>(args)...));
}

/// What is checked one after the other. All of it is evaluated: what can be asked only after another check is a
/// function of its own.
using Checks = std::vector<Result<void>>;
/// Errors: the first of these.
[[nodiscard]] Result<void> first_error(const Checks& checks);

/// Errors: the layer has three axes, and the template takes none of depth.
[[nodiscard]] Result<void> check_axes(const Layer& layer, bool takes_depth);

/// Errors: x or y is channels of a larger tensor, and the template takes none such.
[[nodiscard]] Result<void> check_slices(const Layer& layer, bool takes_slices);

/// Errors: the property, "x_channels" or "y_channels", says that they are of a tensor with more channels, `all`.
[[nodiscard]] Result<void> check_whole(std::string_view property, const Size& all);

/// Errors: such a tensor's pixels (nhwc) or images (nchw) are no multiples of so many bytes, which are loaded or stored
/// together. With 0 bytes, single elements are.
[[nodiscard]] Result<void> check_slice_pitches(const Layer& layer, std::int64_t alignment);

/// Errors: the layer is to run by chunks with the same bits, and the template does not make them (Template::streams).
[[nodiscard]] Result<void> check_streaming(const Layer& layer, bool streams);

/// Which layers with `fuse_input` a template takes. Some apply activations to zeros outside of the image too.
enum class FuseInput { kNone, kKeepingZero, kAny };

/// Errors: the layer has a chain there that the template does not take.
[[nodiscard]] Result<void> check_fuse_input(const Layer& layer, FuseInput taken);

/// Errors: the layer has an input stride, which is the stride of a layer whose gradient is wanted.
[[nodiscard]] Result<void> check_input_strides(const Layer& layer);
/// Errors: that, or the layer has groups.
[[nodiscard]] Result<void> check_one_group_without_strides(const Layer& layer);

/// Errors: the layer has groups, or a kernel of several taps with dilation; of both, the first.
[[nodiscard]] Result<void> check_one_group(const Layer& layer);
[[nodiscard]] Result<void> check_no_dilation(const Layer& layer);
[[nodiscard]] Result<void> check_dense(const Layer& layer);

/// Errors: the layer is not nhwc, whose pixels are rows of channels; or those of check_dense().
[[nodiscard]] Result<void> check_dense_pixels(const Layer& layer);

/// Errors: a kernel is not as large as its stride, or there is padding: a pixel's outputs are not its own alone.
[[nodiscard]] Result<void> check_patches(const Layer& layer);

/// Errors: the layer has groups of fewer channels than products are worth, input and output.
[[nodiscard]] Result<void> check_group_channels(const Layer& layer, std::int64_t least_in = 16,
                                                std::int64_t least_out = 8);

/// Error: pixels with channels last, or else rows, are no whole copies of that many bytes: what is adjacent is to be a
/// multiple of that many elements.
[[nodiscard]] std::unexpected<Error> fail_extent(const Layer& layer, std::int64_t multiple, std::int64_t bytes);

/// Error: a block takes more shared memory than the target has. `what` it takes it for.
[[nodiscard]] std::unexpected<Error> fail_shared_memory(const Target& target, std::string_view what,
                                                        std::int64_t bytes);

}  // namespace convtgen
