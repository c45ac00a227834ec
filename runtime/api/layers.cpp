// The functions of the C API on layers.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "generator/language/language.h"
#include "generator/layer/shape.h"
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

// The chain of a "fuse" property, read by the language's own parser.
Outcome<void> read_fuse(const char* text, Layer& layer) {
  if (text == nullptr || *text == '\0') {
    return {};
  }
  if (std::strpbrk(text, ";\n\r#{}") != nullptr) {
    return wrong_layer(fmt::format("fuse: '{}' is no chain of activations", text));
  }
  const std::string line = fmt::format("conv_transpose2d 1 -> 1; kernel 1; dtype {}; compute {}; fuse {}",
                                       name_of(layer.dtype), name_of(layer.compute), text);
  const auto parsed = parse_layer(line);
  if (!parsed) {
    return wrong_layer(fmt::format("fuse: {}", parsed.error().front().message));
  }
  layer.fuse = parsed->fuse;
  return {};
}

Size size_of(std::int64_t value) {
  return value == CONVTGEN_DYNAMIC ? Size() : Size(value);
}

Outcome<Layer> layer_of(const convtgen_layer_fields& fields) {
  Layer layer;
  if (fields.dimensions != 1 && fields.dimensions != 2) {
    return wrong_layer(fmt::format("dimensions is {}; legal are 1 and 2", fields.dimensions));
  }
  layer.dimensions = fields.dimensions;
  if (fields.bias != 0 && fields.bias != 1) {
    return wrong_layer(fmt::format("bias is {}; legal are 0 and 1", fields.bias));
  }
  layer.bias = fields.bias == 1;
  layer.in_channels = fields.in_channels;
  layer.out_channels = fields.out_channels;
  for (std::size_t i = 0; i < 2; ++i) {
    layer.axes[kHeight + i] = {.kernel = fields.kernel[i],
                               .stride = fields.stride[i],
                               .padding = fields.padding[i],
                               .output_padding = fields.output_padding[i],
                               .dilation = fields.dilation[i]};
  }
  layer.groups = fields.groups;
  layer.batch = size_of(fields.batch);
  layer.axes[kHeight].extent =
      fields.dimensions == 1 && fields.height == CONVTGEN_DYNAMIC ? Size(1) : size_of(fields.height);
  layer.axes[kWidth].extent = size_of(fields.width);
  auto words = read_word(fields.dtype, "dtype", dtype_named, all_dtypes(), layer.dtype);
  layer.compute = default_compute(layer.dtype);
  words = words ? read_word(fields.compute, "compute", compute_named, all_computes(), layer.compute) : words;
  words = words ? read_word(fields.layout, "layout", layout_named, all_layouts(), layer.layout) : words;
  words = words ? read_fuse(fields.fuse, layer) : words;
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
    *fields = {.struct_size = sizeof(convtgen_layer_fields),
               .dimensions = 2,
               .bias = 0,
               .in_channels = 1,
               .out_channels = 1,
               .kernel = {1, 1},
               .stride = {1, 1},
               .padding = {0, 0},
               .output_padding = {0, 0},
               .dilation = {1, 1},
               .groups = 1,
               .batch = CONVTGEN_DYNAMIC,
               .height = CONVTGEN_DYNAMIC,
               .width = CONVTGEN_DYNAMIC,
               .fuse = nullptr,
               .dtype = nullptr,
               .compute = nullptr,
               .layout = nullptr};
    return {};
  });
}

convtgen_status convtgen_layer_create(const convtgen_layer_fields* fields, convtgen_layer** layer) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = first_failure(clear_output(layer, "layer"), check_not_null(fields, "fields")); !checked) {
      return checked;
    }
    if (fields->struct_size != sizeof(convtgen_layer_fields)) {
      return fail_with(Status::kInvalidArgument,
                       fmt::format("fields: struct_size is {}; legal is {}: call convtgen_layer_fields_init() first",
                                   fields->struct_size, sizeof(convtgen_layer_fields)));
    }
    auto made = layer_of(*fields);
    if (!made) {
      return std::unexpected(std::move(made.error()));
    }
    *layer = make_handle<convtgen_layer>(jit::LayerKey(*std::move(made)));
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
    *layer = make_handle<convtgen_layer>(jit::LayerKey(*std::move(made)));
    return {};
  });
}

const char* convtgen_layer_text(const convtgen_layer* layer) {
  const jit::LayerKey* own = find(layer);
  return own != nullptr ? own->text().c_str() : "";
}

convtgen_status convtgen_layer_shape(const convtgen_layer* layer, int64_t batch, int64_t height, int64_t width,
                                     convtgen_shape* shape) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = first_failure(check_handle(layer, "layer"), check_not_null(shape, "shape")); !checked) {
      return checked;
    }
    if (shape->struct_size != sizeof(convtgen_shape)) {
      return fail_with(Status::kInvalidArgument, fmt::format("shape: struct_size is {}; legal is {}",
                                                             shape->struct_size, sizeof(convtgen_shape)));
    }
    *shape = {};
    shape->struct_size = sizeof(convtgen_shape);
    const Layer& own = find(layer)->layer();
    if (own.dimensions > 2) {
      return fail_with(Status::kUnsupported,
                       fmt::format("{}: convtgen_shape has no depth; legal are conv_transpose1d and conv_transpose2d",
                                   operator_name(own)));
    }
    const auto judged = shape_of(own, sizes_given(own, batch, height, width));
    if (!judged) {
      return fail_with(Status::kInvalidArgument, judged.error());
    }
    shape->batch = judged->batch;
    shape->in_channels = judged->in_channels;
    shape->in_height = judged->in[kHeight];
    shape->in_width = judged->in[kWidth];
    shape->out_channels = judged->out_channels;
    shape->out_height = judged->out[kHeight];
    shape->out_width = judged->out[kWidth];
    shape->x_elements = judged->input_elements;
    shape->weight_elements = judged->weight_elements;
    shape->bias_elements = own.bias ? judged->out_channels : 0;
    shape->y_elements = judged->output_elements;
    shape->element_bytes = bytes_of(own.dtype);
    return {};
  });
}

void convtgen_layer_destroy(convtgen_layer* layer) {
  destroy(layer);
}

}  // extern "C"
