// The functions of the C API on layers.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "generator/language/language.h"
#include "generator/layer/shape.h"
#include "generator/layer/stream.h"
#include "runtime/api/guard.h"
#include "runtime/api/sizes.h"

namespace convtgen::api {
namespace {

std::unexpected<Failure> wrong_layer(std::string message) {
  return fail_with(Status::kInvalidLayer, std::move(message));
}

// A word of the language as the value it names; null leaves `value` as it is.
template <typename Value, typename Lookup>
Outcome<void> read_word(const char* word, const char* field, Lookup lookup, std::span<const Value> all, Value& value) {
  if (word == nullptr) {
    return {};
  }
  const auto found = lookup(word);
  if (!found) {
    std::vector<std::string_view> names;
    for (const Value each : all) {
      names.push_back(name_of(each));
    }
    return wrong_layer(fmt::format("{}: unknown word '{}'; legal are {}", field, word, fmt::join(names, ", ")));
  }
  value = *found;
  return {};
}

// A layer with the property `name` as `text` has it, read by the language's own parser; null leaves it out.
Outcome<Layer> with_property(std::string_view name, const char* text, const Layer& layer) {
  if (text == nullptr || *text == '\0') {
    return Layer{};
  }
  if (std::strpbrk(text, ";\n\r#{}") != nullptr) {
    return wrong_layer(fmt::format("{}: '{}' is no value of it", name, text));
  }
  auto parsed = parse_layer(fmt::format("conv_transpose2d 1 -> 1; kernel 1; dtype {}; compute {}; {} {}",
                                        name_of(layer.dtype), name_of(layer.compute), name, text));
  if (!parsed) {
    return wrong_layer(fmt::format("{}: {}", name, parsed.error().front().message));
  }
  return *std::move(parsed);
}

Outcome<void> read_chains_and_directions(const convtgen_layer_fields& fields, Layer& layer) {
  auto fuse = with_property("fuse", fields.fuse, layer);
  auto fuse_input = fuse ? with_property("fuse_input", fields.fuse_input, layer) : fuse;
  auto directions = fuse_input ? with_property("directions", fields.directions, layer) : fuse_input;
  if (!directions) {
    return std::unexpected(std::move(directions.error()));
  }
  layer.fuse = std::move(fuse->fuse);
  layer.fuse_input = std::move(fuse_input->fuse_input);
  layer.directions = std::move(directions->directions);
  return {};
}

Size size_of(std::int64_t value) {
  return value == CONVTGEN_DYNAMIC ? Size() : Size(value);
}

Outcome<Layer> layer_of(const convtgen_layer_fields& fields) {
  Layer layer;
  if (fields.dimensions < 1 || fields.dimensions > CONVTGEN_AXES) {
    return wrong_layer(fmt::format("dimensions is {}; legal are 1 to {}", fields.dimensions, CONVTGEN_AXES));
  }
  layer.dimensions = fields.dimensions;
  if (fields.bias != 0 && fields.bias != 1) {
    return wrong_layer(fmt::format("bias is {}; legal are 0 and 1", fields.bias));
  }
  layer.bias = fields.bias == 1;
  if (fields.streaming != 0 && fields.streaming != 1) {
    return wrong_layer(fmt::format("streaming is {}; legal are 0 and 1", fields.streaming));
  }
  layer.streaming = fields.streaming == 1;
  layer.in_channels = fields.in_channels;
  layer.out_channels = fields.out_channels;
  layer.groups = fields.groups;
  layer.x_channels = fields.x_channels == 0 ? Size() : Size(fields.x_channels);
  layer.y_channels = fields.y_channels == 0 ? Size() : Size(fields.y_channels);
  drop_own_channels(layer);
  layer.batch = size_of(fields.batch);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const convtgen_axis& given = fields.axes[axis];
    layer.axes[axis] = {.kernel = given.kernel,
                        .stride = given.stride,
                        .padding = {given.padding_before, given.padding_after},
                        .output_padding = given.output_padding,
                        .dilation = given.dilation,
                        .extent = size_of(given.extent)};
    const bool is_used = std::ranges::find(axes_of(layer), axis) != axes_of(layer).end();
    if (!is_used && given.extent == CONVTGEN_DYNAMIC) {
      layer.axes[axis].extent = kNoAxis.extent;
    }
  }
  auto words = read_word(fields.dtype, "dtype", dtype_named, all_dtypes(), layer.dtype);
  layer.compute = default_compute(layer.dtype);
  words = words ? read_word(fields.compute, "compute", compute_named, all_computes(), layer.compute) : words;
  words = words ? read_word(fields.layout, "layout", layout_named, all_layouts(), layer.layout) : words;
  words = words ? read_word(fields.weight_layout, "weight_layout", weight_layout_named, all_weight_layouts(),
                            layer.weight_layout)
                : words;
  words = words ? read_chains_and_directions(fields, layer) : words;
  if (!words) {
    return std::unexpected(std::move(words.error()));
  }
  if (const std::vector<Violation> violations = check_limits(layer); !violations.empty()) {
    std::string message;
    for (const Violation& violation : violations) {
      message += fmt::format("{}{}: {}", message.empty() ? "" : "\n", violation.property, violation.message);
    }
    return wrong_layer(std::move(message));
  }
  return layer;
}

// Whether the text is one layer in its one-line form: its first word names the operator.
bool is_one_line(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n;");
  return begin != std::string_view::npos && text.substr(begin).starts_with("conv_transpose");
}

Outcome<Layer> layer_of_file(std::string_view text, const char* name) {
  auto layers = parse_file(text);
  if (!layers) {
    return wrong_layer(render_text(layers.error(), text, "layers", false));
  }
  std::vector<std::string_view> names;
  for (NamedLayer& layer : *layers) {
    names.push_back(layer.name);
    if (name != nullptr ? layer.name == name : layers->size() == 1) {
      return std::move(layer.layer);
    }
  }
  return fail_with(
      Status::kInvalidArgument,
      name != nullptr
          ? fmt::format("name: the text has no layer '{}'; it has: {}", name, fmt::join(names, ", "))
          : fmt::format("name is null, and the text has {} layers: {}", names.size(), fmt::join(names, ", ")));
}

Outcome<Layer> layer_of_text(std::string_view text, const char* name) {
  if (name != nullptr || !is_one_line(text)) {
    return layer_of_file(text, name);
  }
  auto layer = parse_layer(text);
  if (!layer) {
    return wrong_layer(render_text(layer.error(), text, "layer", false));
  }
  return *std::move(layer);
}

}  // namespace
}  // namespace convtgen::api

using namespace convtgen;
using namespace convtgen::api;

extern "C" {

convtgen_status convtgen_layer_fields_init(convtgen_layer_fields* fields) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = check_not_null(fields, "fields"); !checked) {
      return checked;
    }
    constexpr convtgen_axis kAxis{.kernel = 1,
                                  .stride = 1,
                                  .padding_before = 0,
                                  .padding_after = 0,
                                  .output_padding = 0,
                                  .dilation = 1,
                                  .extent = CONVTGEN_DYNAMIC};
    *fields = {.struct_size = sizeof(convtgen_layer_fields),
               .dimensions = 2,
               .bias = 0,
               .in_channels = 1,
               .out_channels = 1,
               .groups = 1,
               .batch = CONVTGEN_DYNAMIC,
               .axes = {kAxis, kAxis, kAxis},
               .fuse = nullptr,
               .dtype = nullptr,
               .compute = nullptr,
               .layout = nullptr,
               .weight_layout = nullptr,
               .directions = nullptr,
               .streaming = 0,
               .fuse_input = nullptr,
               .x_channels = 0,
               .y_channels = 0};
    return {};
  });
}

convtgen_status convtgen_layer_create(const convtgen_layer_fields* fields, convtgen_layer** layer) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = first_failure(clear_output(layer, "layer"), check_struct(fields, "fields")); !checked) {
      return checked;
    }
    auto made = layer_of(*fields);
    if (!made) {
      return std::unexpected(std::move(made.error()));
    }
    *layer = make_handle<convtgen_layer>(HeldLayer(*std::move(made)));
    return {};
  });
}

convtgen_status convtgen_layer_parse(const char* text, const char* name, convtgen_layer** layer) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = first_failure(clear_output(layer, "layer"), check_not_null(text, "text")); !checked) {
      return checked;
    }
    auto made = layer_of_text(text, name);
    if (!made) {
      return std::unexpected(std::move(made.error()));
    }
    *layer = make_handle<convtgen_layer>(HeldLayer(*std::move(made)));
    return {};
  });
}

const char* convtgen_layer_text(const convtgen_layer* layer) {
  const HeldLayer* own = find(layer);
  return own != nullptr ? own->text().c_str() : "";
}

convtgen_status convtgen_layer_shape(const convtgen_layer* layer, const convtgen_sizes* sizes, convtgen_shape* shape) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = first_failure(check_handle(layer, "layer"), check_struct(shape, "shape")); !checked) {
      return checked;
    }
    *shape = {};
    shape->struct_size = sizeof(convtgen_shape);
    const Layer& own = find(layer)->layer();
    const auto judged = shape_of(own, sizes_given(own, sizes));
    if (!judged) {
      return fail_with(Status::kInvalidArgument, judged.error());
    }
    shape->batch = judged->batch;
    shape->in_channels = judged->in_channels;
    shape->out_channels = judged->out_channels;
    std::ranges::copy(judged->in, shape->in);
    std::ranges::copy(judged->out, shape->out);
    shape->x_elements = judged->input_elements;
    shape->weight_elements = judged->weight_elements;
    shape->bias_elements = own.bias ? judged->out_channels : 0;
    shape->y_elements = judged->output_elements;
    shape->element_bytes = bytes_of(own.dtype);
    return {};
  });
}

convtgen_status convtgen_layer_stream(const convtgen_layer* layer, convtgen_stream* stream) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = first_failure(check_handle(layer, "layer"), check_struct(stream, "stream")); !checked) {
      return checked;
    }
    *stream = {.struct_size = sizeof(convtgen_stream), .context = 0, .stride = 0, .delay = 0, .rest = 0};
    const Layer& own = find(layer)->layer();
    if (!own.streaming) {
      return fail_with(Status::kInvalidArgument, "layer: it has no 'streaming', which makes bits of chunks the same");
    }
    const Stream made = stream_of(own.axes[kWidth]);
    stream->context = made.context;
    stream->stride = made.stride;
    stream->delay = made.delay;
    stream->rest = made.rest;
    return {};
  });
}

void convtgen_layer_destroy(convtgen_layer* layer) {
  destroy(layer);
}

}  // extern "C"
