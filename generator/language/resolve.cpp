// Syntax to a layer: defaults, what is required, and the limits.
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "generator/language/syntax.h"
#include "generator/language/text.h"
#include "generator/layer/shape.h"

namespace convtgen {

namespace {

class Resolver {
 public:
  Resolver(const Item& item, const Block& defaults, std::vector<Diagnostic>& diagnostics)
      : item_(item), defaults_(defaults), diagnostics_(diagnostics) {}

  Layer resolve() {
    if (const auto* channels = value<Channels>(PropertyKind::kChannels)) {
      layer_.in_channels = channels->in;
      layer_.out_channels = channels->out;
    }
    if (const Property* property = find(PropertyKind::kChannels)) {
      layer_.dimensions = property->dimensions;
    } else {
      missing(PropertyKind::kChannels, "conv_transpose2d, conv_transpose1d or conv_transpose3d");
    }
    if (find(PropertyKind::kKernel) == nullptr) {
      missing(PropertyKind::kKernel, "kernel");
    }
    axes<Numbers>(PropertyKind::kKernel, &Axis::kernel);
    axes<Numbers>(PropertyKind::kStride, &Axis::stride);
    axes<Paddings>(PropertyKind::kPadding, &Axis::padding);
    axes<Numbers>(PropertyKind::kOutputPadding, &Axis::output_padding);
    axes<Numbers>(PropertyKind::kDilation, &Axis::dilation);
    input();
    take(PropertyKind::kGroups, layer_.groups);
    slice(PropertyKind::kXChannels, layer_.x_channels);
    slice(PropertyKind::kYChannels, layer_.y_channels);
    drop_own_channels(layer_);
    take(PropertyKind::kBias, layer_.bias);
    take(PropertyKind::kFuse, layer_.fuse);
    take(PropertyKind::kFuseInput, layer_.fuse_input);
    take(PropertyKind::kDtype, layer_.dtype);
    layer_.compute = default_compute(layer_.dtype);
    take(PropertyKind::kCompute, layer_.compute);
    take(PropertyKind::kLayout, layer_.layout);
    take(PropertyKind::kWeightLayout, layer_.weight_layout);
    take(PropertyKind::kStreaming, layer_.streaming);
    take(PropertyKind::kDirections, layer_.directions);
    for (const Violation& violation : check_limits(layer_)) {
      judge(violation);
    }
    return std::move(layer_);
  }

 private:
  [[nodiscard]] bool own(PropertyKind kind) const { return item_.block.get(kind).has_value(); }

  // The layer's own property, else the default, else null.
  [[nodiscard]] const Property* find(PropertyKind kind) const {
    const auto& property = own(kind) ? item_.block.get(kind) : defaults_.get(kind);
    return property ? &*property : nullptr;
  }

  void mark_wrong(PropertyKind kind) { wrong_[static_cast<std::size_t>(kind)] = true; }
  [[nodiscard]] bool is_wrong(PropertyKind kind) const { return wrong_[static_cast<std::size_t>(kind)]; }

  template <typename T>
  const T* value(PropertyKind kind) {
    const Property* property = find(kind);
    const T* value = property != nullptr ? std::get_if<T>(&property->value) : nullptr;
    if (property != nullptr && value == nullptr) {
      mark_wrong(kind);
    }
    return value;
  }

  template <typename T>
  void take(PropertyKind kind, T& field) {
    if (const T* found = value<T>(kind)) {
      field = *found;
    }
  }

  void slice(PropertyKind kind, Size& channels) {
    if (const auto* found = value<std::int64_t>(kind)) {
      channels = *found;
    }
  }

  [[nodiscard]] std::string layer_words() const {
    return item_.name.empty() ? "the layer" : fmt::format("layer {}", quoted(item_.name));
  }

  void missing(PropertyKind kind, std::string_view words) {
    report(diagnostics_, item_.place, fmt::format("{} has no {}", layer_words(), words));
    mark_wrong(kind);
  }

  // One value for all axes, or one for each.
  template <typename Values, typename T>
  void axes(PropertyKind kind, T Axis::* field) {
    const auto* values = value<Values>(kind);
    if (values == nullptr) {
      return;
    }
    const auto places = axes_of(layer_);
    if (values->size() != 1 && values->size() != places.size()) {
      wrong_count(kind, text_of(*values),
                  fmt::format("{}{}", layer_.dimensions == 1 ? "one number" : axes_words() + ", or one number",
                              std::is_same_v<Values, Paddings> ? " (or before:after)" : ""));
      return;
    }
    for (const std::size_t axis : places) {
      const auto& written = values->size() == 1 ? values->front() : (*values)[axis - places.front()];
      if constexpr (std::is_same_v<Values, Numbers>) {
        layer_.axes[axis].*field = *written;  // only sizes of the input may be open
      } else {
        layer_.axes[axis].*field = written;
      }
    }
  }

  void input() {
    const auto places = axes_of(layer_);
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      layer_.axes[axis].extent = axis < places.front() ? Size(1) : std::nullopt;
    }
    const auto* numbers = value<Numbers>(PropertyKind::kInput);
    if (numbers == nullptr) {
      return;
    }
    if (numbers->size() != 1 + places.size()) {
      wrong_count(PropertyKind::kInput, text_of(*numbers), "batch x " + axes_words());
      return;
    }
    layer_.batch = numbers->front();
    for (const std::size_t axis : places) {
      layer_.axes[axis].extent = (*numbers)[1 + axis - places.front()];
    }
  }

  // "height x width".
  [[nodiscard]] std::string axes_words() const {
    std::string words;
    for (const std::size_t axis : axes_of(layer_)) {
      words += fmt::format("{}{}", words.empty() ? "" : " x ", axis_name(layer_, axis));
    }
    return words;
  }

  // Sizes as they were written.
  template <typename Values>
  static std::string text_of(const Values& values) {
    std::string written;
    for (const auto& value : values) {
      written += written.empty() ? "" : "x";
      if constexpr (std::is_same_v<Values, Paddings>) {
        written += padding_text(value);
      } else {
        written += value ? fmt::format("{}", *value) : "?";
      }
    }
    return written;
  }

  void wrong_count(PropertyKind kind, const std::string& written, std::string_view taken) {
    mark_wrong(kind);
    if (find(PropertyKind::kChannels) == nullptr) {
      return;  // it is not known how many axes the layer has
    }
    at_property(kind, own(kind),
                fmt::format("{} {} does not fit: {} takes {}", word_of(kind), written, operator_name(layer_), taken));
  }

  // At the property where that alone is wrong; else, for a default, at the layer that it does not go with.
  void at_property(PropertyKind kind, bool here, std::string message) {
    const Property* property = find(kind);
    if (property == nullptr) {
      report(diagnostics_, item_.place, std::move(message));
    } else if (here) {
      report(diagnostics_, property->place, std::move(message));
    } else {
      report(diagnostics_, item_.place,
             fmt::format("{} ({} is set by the defaults, on line {})", message, word_of(kind), property->place.line));
    }
  }

  void judge(const Violation& violation) {
    const PropertyKind kind = *property_named(violation.property);
    // A default is wrong in itself where nothing of the layer's own has a part in it.
    bool here = true;
    bool blind = is_wrong(kind);
    for (const std::string& name : violation.involved) {
      const PropertyKind other = *property_named(name);
      blind = blind || is_wrong(other);
      here = here && (own(kind) || !own(other));
    }
    if (!blind) {
      at_property(kind, here, violation.message);
    }
  }

  const Item& item_;
  const Block& defaults_;
  std::vector<Diagnostic>& diagnostics_;
  Layer layer_;
  std::array<bool, kPropertyKinds> wrong_{};  // reported already: what rests on these is not judged
};

}  // namespace

Layer resolve(const Item& item, const Block& defaults, std::vector<Diagnostic>& diagnostics) {
  return Resolver(item, defaults, diagnostics).resolve();
}

}  // namespace convtgen
