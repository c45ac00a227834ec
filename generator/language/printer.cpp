// Layers back to text.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/language/language.h"
#include "generator/layer/shape.h"

namespace convtgen {

namespace {

struct Line {
  std::string_view word;
  std::string value;  // empty for a flag
};

std::string print_size(const Size& size) {
  return size ? fmt::format("{}", *size) : "?";
}

std::string print_fuse(const std::vector<Activation>& chain) {
  std::string text;
  for (const Activation& step : chain) {
    text += text.empty() ? "" : ", ";
    text += name_of(step.kind);
    // fmt prints the shortest digits that read back as the same number. Adding 0 makes 0 of -0: the two are equal, and
    // equal layers must print alike.
    switch (argument_count(step.kind)) {
      case 1:
        text += fmt::format("({})", step.a + 0.0);
        break;
      case 2:
        text += fmt::format("({}, {})", step.a + 0.0, step.b + 0.0);
        break;
      default:
        break;
    }
  }
  return text;
}

// The properties in their fixed order: what is required and the arithmetic always, others where they differ
// from their defaults.
std::vector<Line> lines_of(const Layer& layer) {
  const Layer plain;
  std::vector<Line> lines;
  lines.push_back({operator_name(layer), fmt::format("{} -> {}", layer.in_channels, layer.out_channels)});
  lines.push_back({"kernel", axes_text(layer, &Axis::kernel)});
  const auto unless_usual = [&](std::string_view word, auto property) {
    if (std::ranges::any_of(layer.axes, [&](const Axis& axis) { return axis.*property != kNoAxis.*property; })) {
      lines.push_back({word, axes_text(layer, property)});
    }
  };
  unless_usual("stride", &Axis::stride);
  unless_usual("padding", &Axis::padding);
  unless_usual("output_padding", &Axis::output_padding);
  unless_usual("dilation", &Axis::dilation);
  if (layer.groups != plain.groups) {
    lines.push_back({"groups", fmt::format("{}", layer.groups)});
  }
  const auto if_sliced = [&](std::string_view word, const Size& channels) {
    if (channels) {
      lines.push_back({word, fmt::format("{}", *channels)});
    }
  };
  if_sliced("x_channels", layer.x_channels);
  if_sliced("y_channels", layer.y_channels);
  const auto is_known = [&](std::size_t axis) { return layer.axes[axis].extent.has_value(); };
  if (layer.batch || std::ranges::any_of(axes_of(layer), is_known)) {
    std::string text = print_size(layer.batch);
    for (const std::size_t axis : axes_of(layer)) {
      text += "x" + print_size(layer.axes[axis].extent);
    }
    lines.push_back({"input", std::move(text)});
  }
  if (layer.bias) {
    lines.push_back({"bias", ""});
  }
  if (!layer.fuse.empty()) {
    lines.push_back({"fuse", print_fuse(layer.fuse)});
  }
  if (!layer.fuse_input.empty()) {
    lines.push_back({"fuse_input", print_fuse(layer.fuse_input)});
  }
  lines.push_back({"dtype", std::string(name_of(layer.dtype))});
  lines.push_back({"compute", std::string(name_of(layer.compute))});
  lines.push_back({"layout", std::string(name_of(layer.layout))});
  if (layer.weight_layout != plain.weight_layout) {
    lines.push_back({"weight_layout", std::string(name_of(layer.weight_layout))});
  }
  if (layer.streaming) {
    lines.push_back({"streaming", ""});
  }
  if (layer.directions != plain.directions) {
    std::string names;
    for (const Direction direction : layer.directions) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(direction));
    }
    lines.push_back({"directions", std::move(names)});
  }
  return lines;
}

}  // namespace

std::string canonical_form(const Layer& layer) {
  std::string text;
  for (const Line& line : lines_of(layer)) {
    text += text.empty() ? "" : "; ";
    text += line.word;
    text += line.value.empty() ? "" : " " + line.value;
  }
  return text;
}

std::string print_layer(const NamedLayer& named) {
  const std::vector<Line> lines = lines_of(named.layer);
  std::size_t width = 0;  // of the words that have a value in the column; the operator stands apart
  for (const Line& line : lines) {
    if (!line.value.empty() && line.word != operator_name(named.layer)) {
      width = std::max(width, line.word.size());
    }
  }
  std::string text = fmt::format("layer {} {{\n", named.name);
  for (const Line& line : lines) {
    if (line.value.empty()) {
      text += fmt::format("  {}\n", line.word);
    } else {
      text += fmt::format("  {:<{}} {}\n", line.word, line.word == operator_name(named.layer) ? 0 : width, line.value);
    }
  }
  return text + "}\n";
}

}  // namespace convtgen
