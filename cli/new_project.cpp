#include "cli/new_project.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "convtgen_cli_embedded.h"
#include "generator/language/language.h"

namespace convtgen::cli {
namespace {

using Values = std::map<std::string, std::string, std::less<>>;

/// A template's text with a value in each @name@.
std::string filled_in(std::string_view text, const Values& values) {
  std::string result;
  for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@')) {
    const std::size_t end = text.find('@', at + 1);
    result += text.substr(0, at);
    result += values.at(std::string(text.substr(at + 1, end - at - 1)));
    text.remove_prefix(end + 1);
  }
  return result.append(text);
}

template <typename Property>
std::string per_axis(const Layer& layer, const Property& property) {
  std::vector<std::int64_t> numbers;
  std::ranges::transform(layer.axes, std::back_inserter(numbers), property);
  return fmt::format("{}", fmt::join(numbers, ", "));
}

/// "  v = activations::leaky_relu(v, 0.2);", one a line.
std::string chain_text(const std::vector<Activation>& chain) {
  std::string text;
  for (const Activation& step : chain) {
    const double arguments[] = {step.a + 0.0, step.b + 0.0};  // 0 of -0, as the layer's text has it
    text += fmt::format("  v = activations::{}(v", name_of(step.kind));
    for (int i = 0; i < argument_count(step.kind); ++i) {
      text += fmt::format(", {}", arguments[i]);
    }
    text += ");\n";
  }
  return text;
}

/// How large the numbers are that a chain computes with, apart from its input: its rounding errors are parts of that.
double size_of(const std::vector<Activation>& chain) {
  double size = 1;
  for (const Activation& step : chain) {
    if (step.kind == ActivationKind::kAdd) {
      size += std::abs(step.a);
    } else if (step.kind == ActivationKind::kScale || step.kind == ActivationKind::kLeakyRelu ||
               step.kind == ActivationKind::kElu) {
      size *= std::max(1.0, std::abs(step.a));
    }
  }
  return size;
}

double rounding_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
      return 1e-12;
    case Dtype::kF32:
      return 1e-5;
    case Dtype::kF16:
      return 1e-3;
    case Dtype::kBf16:
      return 8e-3;
  }
  return 0;
}

/// The program's numbers are exact in every compute mode, until activations change x.
double rounding_of_sums(const Layer& layer) {
  const double sums = layer.dtype == Dtype::kF64 ? 1e-12 : 1e-5;
  if (layer.fuse_input.empty()) {
    return sums;
  }
  return sums + size_of(layer.fuse_input) * (layer.compute == Compute::kTf32 ? 2e-3 : rounding_of(layer.dtype));
}

std::string_view element_text(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
      return new_files::f64();
    case Dtype::kF32:
      return new_files::f32();
    case Dtype::kF16:
      return new_files::f16();
    case Dtype::kBf16:
      return new_files::bf16();
  }
  return {};
}

std::string_view direction_text(Direction direction) {
  switch (direction) {
    case Direction::kForward:
      return new_files::forward();
    case Direction::kGradInput:
      return new_files::grad_input();
    case Direction::kGradWeight:
      return new_files::grad_weight();
    case Direction::kGradBias:
      return new_files::grad_bias();
  }
  return {};
}

/// "(n * kXChannels + ci) * product(kIn) + place", or channels last.
std::string index_text(const Layer& layer, std::string_view channel, std::string_view channels,
                       std::string_view extents) {
  return layer.layout == Layout::kNchw
             ? fmt::format("(n * {1} + {0}) * product({2}) + place", channel, channels, extents)
             : fmt::format("(n * product({2}) + place) * {1} + {0}", channel, channels, extents);
}

Values values_of_layer(const NamedLayer& named, const InputSizes& sizes) {
  const Layer& layer = named.layer;
  std::vector<std::int64_t> numbers{sizes.batch};
  Extents out;
  for (const std::size_t axis : axes_of(layer)) {
    numbers.push_back(sizes.extents[axis]);
    out[axis] = output_extent(layer.axes[axis], sizes.extents[axis]);
  }
  std::string checks, directions;
  std::vector<std::string_view> names;
  const Values of_forward{{"fuse_input", chain_text(layer.fuse_input)}, {"fuse", chain_text(layer.fuse)}};
  for (const Direction direction : layer.directions) {
    names.push_back(name_of(direction));
    directions += filled_in(direction_text(direction), of_forward);
    checks += fmt::format("  right = {}_is_right(call) && right;\n", names.back());
  }
  const bool is_fused = !layer.fuse.empty() || !layer.fuse_input.empty();
  const bool is_contiguous = layer.weight_layout == WeightLayout::kContiguous;
  return {
      {"version", CONVTGEN_VERSION},
      {"name", named.name},
      {"layer", canonical_form(layer)},
      {"in_channels", fmt::to_string(layer.in_channels)},
      {"out_channels", fmt::to_string(layer.out_channels)},
      {"groups", fmt::to_string(layer.groups)},
      {"x_channels", fmt::to_string(x_tensor_channels(layer))},
      {"y_channels", fmt::to_string(y_tensor_channels(layer))},
      {"kernel", per_axis(layer, [](const Axis& axis) { return axis.kernel; })},
      {"stride", per_axis(layer, [](const Axis& axis) { return axis.stride; })},
      {"padding", per_axis(layer, [](const Axis& axis) { return axis.padding.before; })},
      {"dilation", per_axis(layer, [](const Axis& axis) { return axis.dilation; })},
      {"has_bias", layer.bias ? "true" : "false"},
      {"batch", fmt::to_string(sizes.batch)},
      {"in_extents", fmt::format("{}", fmt::join(sizes.extents, ", "))},
      {"out_extents", fmt::format("{}", fmt::join(out, ", "))},
      {"sizes", fmt::format("{}", fmt::join(numbers, ", "))},
      {"input", fmt::format("{}", fmt::join(numbers, "x"))},
      {"x_index", index_text(layer, "ci", "kXChannels", "kIn")},
      {"y_index", index_text(layer, "co", "kYChannels", "kOut")},
      {"weight_index", is_contiguous ? "(ci * (kOutChannels / kGroups) + co_of_group) * product(kKernel) + tap"
                                     : "(ci * product(kKernel) + tap) * (kOutChannels / kGroups) + co_of_group"},
      {"sum_rounding", fmt::to_string(rounding_of_sums(layer))},
      {"activation_size", fmt::to_string(size_of(layer.fuse))},
      {"element_rounding", fmt::to_string(rounding_of(layer.dtype))},
      {"element", std::string(element_text(layer.dtype))},
      {"activations_include", is_fused ? "#include \"activations.h\"\n" : ""},
      {"activations_row", is_fused ? "| `activations.h` | the layer's activations, and others |\n" : ""},
      {"directions", std::move(directions)},
      {"direction_names", fmt::format("{}", fmt::join(names, ", "))},
      {"checks", std::move(checks)},
  };
}

}  // namespace

InputSizes small_sizes(const Layer& layer) {
  constexpr std::int64_t kBatch = 2;
  constexpr Extents kSmall{4, 5, 6};
  InputSizes sizes{.batch = layer.batch.value_or(kBatch)};
  for (const std::size_t axis : axes_of(layer)) {
    const Axis& own = layer.axes[axis];
    const std::int64_t extent = own.extent.value_or(kSmall[axis]), out = output_extent(own, extent);
    sizes.extents[axis] = out >= 1 ? extent : extent + (own.stride - out) / own.stride;  // each adds a stride to `out`
  }
  return sizes;
}

std::vector<ProjectFile> project_files(const NamedLayer& layer, const InputSizes& sizes) {
  const Values values = values_of_layer(layer, sizes);
  std::vector<ProjectFile> files{{"layers.convt", print_layer(layer)},
                                 {"main.cpp", filled_in(new_files::main(), values)},
                                 {"arrays.h", std::string(new_files::arrays())},
                                 {"CMakeLists.txt", filled_in(new_files::cmake_lists(), values)},
                                 {"README.md", filled_in(new_files::readme(), values)}};
  if (!values.at("activations_include").empty()) {
    files.push_back({"activations.h", std::string(new_files::activations())});
  }
  return files;
}

}  // namespace convtgen::cli
