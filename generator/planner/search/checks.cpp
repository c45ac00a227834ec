#include "generator/planner/search/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace convtgen {

Result<void> first_error(const Checks& checks) {
  const auto failed = std::ranges::find(checks, false, &Result<void>::has_value);
  return failed == checks.end() ? Result<void>() : *failed;
}

Result<void> check_axes(const Layer& layer, bool takes_depth) {
  return require(takes_depth || layer.dimensions < 3, "three axes; it takes two");
}

Result<void> check_slices(const Layer& layer, bool takes_slices) {
  return takes_slices
             ? Result<void>()
             : first_error({check_whole("x_channels", layer.x_channels), check_whole("y_channels", layer.y_channels)});
}

Result<void> check_whole(std::string_view property, const Size& all) {
  return require(!all, "{} {}; it takes whole tensors", property, all.value_or(0));
}

Result<void> check_slice_pitches(const Layer& layer, std::int64_t alignment) {
  const std::int64_t bytes = bytes_of(layer.dtype);
  const auto refuse = [&](std::string_view property, const Size& channels, bool is_input) -> Result<void> {
    std::int64_t pitch = channels.value_or(0) * bytes;
    if (pitch == 0 || alignment <= bytes || pitch % alignment == 0) {
      return {};
    }
    if (layer.layout == Layout::kNhwc) {
      return fail(fmt::format("{} {}; copies of {} bytes take multiples of {}", property, *channels, alignment,
                              alignment / bytes));
    }
    for (const std::size_t number : axes_of(layer)) {
      const Axis& axis = layer.axes[number];
      if (axis.extent) {
        pitch *= (is_input ? *axis.extent : output_extent(axis, *axis.extent)) % alignment;
      }
    }
    return require(pitch % alignment == 0,
                   "{} {}; the bytes of the tensor's images are no multiple of {}, which are copied together", property,
                   *channels, alignment);
  };
  return first_error({refuse("x_channels", layer.x_channels, true), refuse("y_channels", layer.y_channels, false)});
}

Result<void> check_streaming(const Layer& layer, bool streams) {
  return require(streams || !layer.streaming,
                 "streaming; the bits of its outputs depend on where they are in a call, or on inputs of others");
}

Result<void> check_fuse_input(const Layer& layer, FuseInput taken) {
  if (layer.fuse_input.empty() || taken == FuseInput::kAny) {
    return {};
  }
  if (taken == FuseInput::kNone) {
    return fail("fuse_input; it takes none");
  }
  const auto other = std::ranges::find_if_not(layer.fuse_input, keeps_zero);
  return require(
      other == layer.fuse_input.end(),
      "fuse_input {}, which makes another number of 0; it takes activations that keep 0, since it applies them "
      "to the zeros around the image too",
      other == layer.fuse_input.end() ? "" : name_of(other->kind));
}

Result<void> check_input_strides(const Layer& layer) {
  for (const std::size_t axis : axes_of(layer)) {
    if (layer.axes[axis].input_stride != 1) {
      return fail(fmt::format("stride {} in {}; as a gradient of the input it takes 1", layer.axes[axis].input_stride,
                              axis_name(layer, axis)));
    }
  }
  return {};
}

Result<void> check_one_group(const Layer& layer) {
  return require(layer.groups == 1, "{} groups; it takes 1", layer.groups);
}

Result<void> check_one_group_without_strides(const Layer& layer) {
  return first_error({check_input_strides(layer), check_one_group(layer)});
}

Result<void> check_group_channels(const Layer& layer, std::int64_t least_in, std::int64_t least_out) {
  const std::int64_t group_in = layer.in_channels / layer.groups, group_out = layer.out_channels / layer.groups;
  return first_error({require(layer.groups == 1 || group_in >= least_in,
                              "groups of {} input channels; tensor cores need {}", group_in, least_in),
                      require(layer.groups == 1 || group_out >= least_out,
                              "groups of {} output channels; tensor cores need {}", group_out, least_out)});
}

Result<void> check_no_dilation(const Layer& layer) {
  for (const std::size_t axis : axes_of(layer)) {
    if (layer.axes[axis].dilation != 1 && layer.axes[axis].kernel != 1) {
      return fail(fmt::format("dilation {} in {}; it takes 1", layer.axes[axis].dilation, axis_name(layer, axis)));
    }
  }
  return {};
}

Result<void> check_dense(const Layer& layer) {
  return first_error({check_one_group(layer), check_no_dilation(layer)});
}

Result<void> check_dense_pixels(const Layer& layer) {
  return first_error(
      {require(layer.layout == Layout::kNhwc, "layout nchw; it takes nhwc, whose pixels are rows of channels"),
       check_dense(layer)});
}

Result<void> check_patches(const Layer& layer) {
  for (const std::size_t number : axes_of(layer)) {
    const Axis& axis = layer.axes[number];
    if (axis.kernel != axis.stride) {
      return fail(
          fmt::format("a kernel of {} and a stride of {} in {}; it takes kernels that are as large as their stride",
                      axis.kernel, axis.stride, axis_name(layer, number)));
    }
    if (axis.padding.before != 0 || axis.padding.after != 0 || axis.output_padding != 0) {
      return fail(fmt::format("padding in {}; it takes none, so that each pixel makes outputs of its own alone",
                              axis_name(layer, number)));
    }
  }
  return {};
}

std::unexpected<Error> fail_extent(const Layer& layer, std::int64_t multiple, std::int64_t bytes) {
  const bool channels_last = layer.layout == Layout::kNhwc;
  const std::string copies = fmt::format("copies of {} bytes take multiples of {}", bytes, multiple);
  return channels_last               ? fail(fmt::format("{} input channels; {}", layer.in_channels, copies))
         : layer.axes[kWidth].extent ? fail(fmt::format("a width of {}; {}", *layer.axes[kWidth].extent, copies))
                                     : fail(fmt::format("an open width; {}", copies));
}

std::unexpected<Error> fail_shared_memory(const Target& target, std::string_view what, std::int64_t bytes) {
  return fail(fmt::format("{} take {:.1f} KiB of shared memory at the least; a block of {} has {:.1f} KiB", what,
                          static_cast<double>(bytes) / 1024, target.architecture,
                          static_cast<double>(target.max_shared_bytes) / 1024));
}

}  // namespace convtgen
