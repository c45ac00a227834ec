#include "generator/onnx/geometry.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/layer/shape.h"
#include "generator/onnx/attributes.h"
#include "generator/onnx/crops.h"
#include "generator/onnx/shown.h"

namespace convtgen::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

/// A list with `count` numbers from `least` to the largest extent; `otherwise` for each where the node lacks it.
Judged<Numbers> list_of(const Node& node, std::string_view name, std::size_t count, std::int64_t least,
                        std::int64_t otherwise) {
  const auto given = ints_of(node, name);
  if (!given) {
    return std::unexpected(given.error());
  }
  if (!*given) {
    return Numbers(count, otherwise);
  }
  const Numbers& numbers = **given;
  if (numbers.size() != count) {
    return refuse(std::string(name), shown(numbers),
                  fmt::format("has {} numbers; the weights' shape has room for {}", numbers.size(), count));
  }
  if (std::ranges::any_of(numbers, [&](std::int64_t n) { return n < least || n > kMaxExtent; })) {
    return refuse(std::string(name), shown(numbers), fmt::format("legal are numbers from {} to {}", least, kMaxExtent));
  }
  return numbers;
}

Judged<AutoPad> auto_pad_of(const Node& node) {
  const auto word = string_of(node, "auto_pad", "NOTSET");
  if (!word) {
    return std::unexpected(word.error());
  }
  if (*word == "NOTSET") {
    return AutoPad::kNotSet;
  }
  const AutoPad auto_pad = *word == "SAME_UPPER"   ? AutoPad::kSameUpper
                           : *word == "SAME_LOWER" ? AutoPad::kSameLower
                           : *word == "VALID"      ? AutoPad::kValid
                                                   : AutoPad::kNotSet;
  if (auto_pad == AutoPad::kNotSet) {
    return refuse("auto_pad", shown(*word), "legal are NOTSET, SAME_UPPER, SAME_LOWER, VALID");
  }
  if (const Attribute* pads = find_attribute(node, "pads"); pads != nullptr) {
    return refuse("auto_pad", shown(*word),
                  fmt::format("can't be used together with pads, which are {}", shown(pads->ints)));
  }
  return auto_pad;
}

/// The lists of a node's attributes.
struct Lists {
  Numbers strides, dilations, output_padding, pads;
  std::optional<Numbers> output_shape;
  AutoPad auto_pad = AutoPad::kNotSet;
};

Judged<Lists> lists_of(const Node& node, const Numbers& kernel) {
  const std::size_t axes = kernel.size();
  const auto shape = ints_of(node, "kernel_shape");
  if (!shape) {
    return std::unexpected(shape.error());
  }
  if (*shape && **shape != kernel) {
    return refuse("kernel_shape", shown(**shape), fmt::format("the weights have {}", shown(kernel)));
  }
  Lists lists;
  const auto read = [&](std::string_view name, std::size_t count, std::int64_t least, std::int64_t otherwise,
                        Numbers& into) -> Judged<void> {
    auto numbers = list_of(node, name, count, least, otherwise);
    if (!numbers) {
      return std::unexpected(numbers.error());
    }
    into = *std::move(numbers);
    return {};
  };
  auto done = read("strides", axes, 1, 1, lists.strides);
  done = done ? read("dilations", axes, 1, 1, lists.dilations) : done;
  done = done ? read("output_padding", axes, 0, 0, lists.output_padding) : done;
  done = done ? read("pads", 2 * axes, 0, 0, lists.pads) : done;
  if (!done) {
    return std::unexpected(done.error());
  }
  if (find_attribute(node, "output_shape") != nullptr) {
    auto output_shape = list_of(node, "output_shape", axes, 1, 1);
    if (!output_shape) {
      return std::unexpected(output_shape.error());
    }
    lists.output_shape = *std::move(output_shape);
  }
  const auto auto_pad = auto_pad_of(node);
  if (!auto_pad) {
    return std::unexpected(auto_pad.error());
  }
  lists.auto_pad = *auto_pad;
  return lists;
}

/// The axis with its crop as padding and output_padding. Errors: positions that would be added before the first.
Judged<void> set_crop(const Crop& crop, std::string_view attribute, Axis& axis) {
  if (crop.before < 0) {
    return refuse(std::string(attribute), fmt::format("{}", crop.before),
                  "adds positions before the first that a tap reaches, which layers don't have");
  }
  axis.padding = {crop.before, std::max<std::int64_t>(0, crop.after)};
  axis.output_padding += std::max<std::int64_t>(0, -crop.after);
  return {};
}

Judged<void> set_axes(const Lists& lists, const Numbers& kernel, std::int64_t opset, const ImportOptions& options,
                      Layer& layer) {
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    Axis& axis = layer.axes[kAxes - kernel.size() + i];
    axis.kernel = kernel[i];
    axis.stride = lists.strides[i];
    axis.dilation = lists.dilations[i];
    axis.output_padding = lists.output_padding[i];
    // Numbers below 2^31 whose products fit 64 bits.
    const CropInput input{.opset = opset,
                          .auto_pad = lists.auto_pad,
                          .stride = axis.stride,
                          .reach = axis.dilation * (axis.kernel - 1) + 1,
                          .output_padding = axis.output_padding,
                          .pads = {lists.pads[i], lists.pads[i + kernel.size()]},
                          .extent = axis.extent,
                          .output_shape = lists.output_shape ? Size((*lists.output_shape)[i]) : std::nullopt};
    const auto crop = crop_of_axis(input, options);
    if (!crop) {
      return std::unexpected(crop.error());
    }
    if (auto done = set_crop(*crop, lists.output_shape ? "output_shape" : "auto_pad", axis); !done) {
      return done;
    }
  }
  return {};
}

/// ONNX's word for what breaks a limit of layers.
std::string attribute_of(std::string_view property) {
  return property == "kernel"           ? "W"
         : property == "stride"         ? "strides"
         : property == "padding"        ? "pads"
         : property == "dilation"       ? "dilations"
         : property == "output_padding" ? "output_padding"
         : property == "groups"         ? "group"
         : property == "input"          ? "X"
                                        : "W";
}

/// A limit of layers that the node breaks, as an attribute or an input with its value.
std::unexpected<Refusal> refuse_limit(const Node& node, const std::optional<Dims>& x, const Numbers& w,
                                      const Lists& lists, const Violation& violation) {
  std::string name = attribute_of(violation.property);
  if (lists.output_shape && (name == "output_padding" || name == "pads")) {
    name = "output_shape";  // which they come from
  }
  const Attribute* given = find_attribute(node, name);
  const std::string value = given == nullptr  ? (name == "X" && x ? shown(*x) : shown(w))
                            : name == "group" ? fmt::format("{}", given->i)
                                              : shown(given->ints);
  return refuse(name, value, violation.message);
}

}  // namespace

Judged<Layer> geometry_of(const Node& node, std::int64_t opset, const std::optional<Dims>& x, const Numbers& w,
                          const ImportOptions& options) {
  if (w.size() < 3 || w.size() - 2 > kAxes) {
    return refuse("W", shown(w), "has another number of axes than 3 to 5: layers have 1 to 3 spatial axes");
  }
  if (std::ranges::any_of(w, [](std::int64_t extent) { return extent < 1 || extent > kMaxExtent; })) {
    return refuse("W", shown(w), fmt::format("legal are extents from 1 to {}", kMaxExtent));
  }
  const Numbers kernel(w.begin() + 2, w.end());
  const auto group = int_of(node, "group", 1);
  const auto lists = group ? lists_of(node, kernel) : Judged<Lists>(std::unexpected(group.error()));
  if (!lists) {
    return std::unexpected(lists.error());
  }
  if (*group < 1 || *group > kMaxExtent) {
    return refuse("group", fmt::format("{}", *group), fmt::format("legal are numbers from 1 to {}", kMaxExtent));
  }
  if (x && x->size() != w.size()) {
    return refuse("X", shown(*x), fmt::format("the weights {} have another number of axes", shown(w)));
  }
  if (x && (*x)[1] && *(*x)[1] != w[0]) {
    return refuse("X", shown(*x), fmt::format("the weights {} take {} channels", shown(w), w[0]));
  }
  Layer layer;
  layer.dimensions = static_cast<int>(kernel.size());
  layer.axes.fill(kNoAxis);
  layer.in_channels = w[0];
  layer.out_channels = w[1] * *group;
  layer.groups = *group;
  const auto extent_of = [&](std::size_t i) -> Size {
    const bool is_known = x && (*x)[i] && *(*x)[i] <= kMaxExtent && (i == 0 || *(*x)[i] > 0);
    return is_known ? (*x)[i] : std::nullopt;
  };
  layer.batch = extent_of(0);
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    layer.axes[kAxes - kernel.size() + i].extent = extent_of(2 + i);
  }
  if (auto done = set_axes(*lists, kernel, opset, options, layer); !done) {
    return std::unexpected(done.error());
  }
  if (const std::vector<Violation> violations = check_limits(layer); !violations.empty()) {
    return refuse_limit(node, x, w, *lists, violations.front());
  }
  return layer;
}

}  // namespace convtgen::onnx
