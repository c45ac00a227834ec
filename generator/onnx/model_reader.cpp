// read_model: onnx.proto's field numbers.
#include <fmt/format.h>

#include <charconv>
#include <exception>

#define PROTOZERO_USE_VIEW std::string_view
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "generator/onnx/model.h"

namespace convtgen::onnx {
namespace {

using Message = protozero::pbf_reader;
using Wire = protozero::pbf_wire_type;

constexpr std::uint32_t varint(std::uint32_t field) {
  return protozero::tag_and_type(field, Wire::varint);
}
constexpr std::uint32_t bytes_field(std::uint32_t field) {
  return protozero::tag_and_type(field, Wire::length_delimited);
}
constexpr std::uint32_t fixed32(std::uint32_t field) {
  return protozero::tag_and_type(field, Wire::fixed32);
}
constexpr std::uint32_t fixed64(std::uint32_t field) {
  return protozero::tag_and_type(field, Wire::fixed64);
}

/// Graphs lie in attributes of nodes of graphs. Real models have two or three levels.
constexpr int kMaxDepth = 32;

struct TooDeep : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "its graphs are nested too deeply"; }
};

template <typename Range, typename Value>
void append(const Range& range, std::vector<Value>& values) {
  for (const auto value : range) {
    values.push_back(static_cast<Value>(value));
  }
}

ExternalData read_external(const std::vector<std::string_view>& entries) {
  ExternalData external;
  for (const std::string_view entry : entries) {
    std::string_view key, value;
    for (Message message(entry); message.next();) {
      switch (message.tag_and_type()) {
        case bytes_field(1):
          key = message.get_view();
          break;
        case bytes_field(2):
          value = message.get_view();
          break;
        default:
          message.skip();
      }
    }
    std::int64_t number = -1;  // what is not a number is never a legal place
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size()) {
      number = -1;
    }
    if (key == "location") {
      external.location = value;
    } else if (key == "offset") {
      external.offset = number;
    } else if (key == "length") {
      external.length = number;
    }
  }
  return external;
}

Tensor read_tensor(std::string_view bytes) {
  constexpr std::int64_t kExternal = 1;
  Tensor tensor;
  std::vector<std::string_view> entries;
  bool is_external = false;
  for (Message message(bytes); message.next();) {
    switch (message.tag_and_type()) {
      case varint(1):
        tensor.dims.push_back(message.get_int64());
        break;
      case bytes_field(1):
        append(message.get_packed_int64(), tensor.dims);
        break;
      case varint(2):
        tensor.element_type = message.get_int32();
        break;
      case fixed32(4):
        tensor.floats.push_back(message.get_float());
        break;
      case bytes_field(4):
        append(message.get_packed_float(), tensor.floats);
        break;
      case varint(5):
        tensor.int32s.push_back(message.get_int32());
        break;
      case bytes_field(5):
        append(message.get_packed_int32(), tensor.int32s);
        break;
      case varint(7):
        tensor.int64s.push_back(message.get_int64());
        break;
      case bytes_field(7):
        append(message.get_packed_int64(), tensor.int64s);
        break;
      case bytes_field(8):
        tensor.name = message.get_view();
        break;
      case bytes_field(9):
        tensor.raw = message.get_view();
        break;
      case fixed64(10):
        tensor.doubles.push_back(message.get_double());
        break;
      case bytes_field(10):
        append(message.get_packed_double(), tensor.doubles);
        break;
      case bytes_field(13):
        entries.push_back(message.get_view());
        break;
      case varint(14):
        is_external = message.get_int64() == kExternal;
        break;
      default:
        message.skip();
    }
  }
  if (is_external) {
    tensor.external = read_external(entries);
  }
  return tensor;
}

Dims read_dims(std::string_view bytes) {
  Dims dims;
  for (Message message(bytes); message.next();) {
    if (message.tag_and_type() != bytes_field(1)) {
      message.skip();
      continue;
    }
    dims.emplace_back();
    for (Message dim = message.get_message(); dim.next();) {
      if (dim.tag_and_type() == varint(1)) {
        const std::int64_t extent = dim.get_int64();
        dims.back() = extent >= 0 ? std::optional(extent) : std::nullopt;
      } else {
        dim.skip();
      }
    }
  }
  return dims;
}

ValueInfo read_value_info(std::string_view bytes) {
  ValueInfo info;
  for (Message message(bytes); message.next();) {
    switch (message.tag_and_type()) {
      case bytes_field(1):
        info.name = message.get_view();
        break;
      case bytes_field(2):
        for (Message type = message.get_message(); type.next();) {
          if (type.tag_and_type() != bytes_field(1)) {
            type.skip();
            continue;
          }
          for (Message tensor = type.get_message(); tensor.next();) {
            switch (tensor.tag_and_type()) {
              case varint(1):
                info.element_type = tensor.get_int32();
                break;
              case bytes_field(2):
                info.dims = read_dims(tensor.get_view());
                break;
              default:
                tensor.skip();
            }
          }
        }
        break;
      default:
        message.skip();
    }
  }
  return info;
}

Graph read_graph(std::string_view bytes, int depth);

Attribute read_attribute(std::string_view bytes, int depth) {
  Attribute attribute;
  for (Message message(bytes); message.next();) {
    switch (message.tag_and_type()) {
      case bytes_field(1):
        attribute.name = message.get_view();
        break;
      case fixed32(2):
        attribute.f = message.get_float();
        break;
      case varint(3):
        attribute.i = message.get_int64();
        break;
      case bytes_field(4):
        attribute.s = message.get_view();
        break;
      case bytes_field(5):
        attribute.tensor = read_tensor(message.get_view());
        break;
      case bytes_field(6):
      case bytes_field(11):
        attribute.graphs.push_back(read_graph(message.get_view(), depth + 1));
        break;
      case fixed32(7):
        attribute.floats.push_back(message.get_float());
        break;
      case bytes_field(7):
        append(message.get_packed_float(), attribute.floats);
        break;
      case varint(8):
        attribute.ints.push_back(message.get_int64());
        break;
      case bytes_field(8):
        append(message.get_packed_int64(), attribute.ints);
        break;
      case varint(20):
        attribute.type = message.get_int32();
        break;
      default:
        message.skip();
    }
  }
  return attribute;
}

Node read_node(std::string_view bytes, int depth) {
  Node node;
  for (Message message(bytes); message.next();) {
    switch (message.tag_and_type()) {
      case bytes_field(1):
        node.inputs.push_back(message.get_view());
        break;
      case bytes_field(2):
        node.outputs.push_back(message.get_view());
        break;
      case bytes_field(3):
        node.name = message.get_view();
        break;
      case bytes_field(4):
        node.op_type = message.get_view();
        break;
      case bytes_field(5):
        node.attributes.push_back(read_attribute(message.get_view(), depth));
        break;
      case bytes_field(7):
        node.domain = message.get_view();
        break;
      default:
        message.skip();
    }
  }
  return node;
}

Graph read_graph(std::string_view bytes, int depth) {
  if (depth > kMaxDepth) {
    throw TooDeep();
  }
  Graph graph;
  for (Message message(bytes); message.next();) {
    switch (message.tag_and_type()) {
      case bytes_field(1):
        graph.nodes.push_back(read_node(message.get_view(), depth));
        break;
      case bytes_field(5):
        graph.initializers.push_back(read_tensor(message.get_view()));
        break;
      case bytes_field(11):
        graph.inputs.push_back(read_value_info(message.get_view()));
        break;
      case bytes_field(12):
        graph.outputs.push_back(read_value_info(message.get_view()));
        break;
      case bytes_field(13):
        graph.values.push_back(read_value_info(message.get_view()));
        break;
      default:
        message.skip();
    }
  }
  return graph;
}

Function read_function(std::string_view bytes) {
  Function function;
  for (Message message(bytes); message.next();) {
    switch (message.tag_and_type()) {
      case bytes_field(1):
        function.name = message.get_view();
        break;
      case bytes_field(7):
        function.nodes.push_back(read_node(message.get_view(), 0));
        break;
      case bytes_field(10):
        function.domain = message.get_view();
        break;
      default:
        message.skip();
    }
  }
  return function;
}

void read_opset(std::string_view bytes, Model& model) {
  std::string_view domain;
  std::int64_t version = 0;
  for (Message message(bytes); message.next();) {
    switch (message.tag_and_type()) {
      case bytes_field(1):
        domain = message.get_view();
        break;
      case varint(2):
        version = message.get_int64();
        break;
      default:
        message.skip();
    }
  }
  model.opsets[domain == "ai.onnx" ? "" : domain] = version;
}

}  // namespace

Result<Model> read_model(std::string_view bytes) {
  Model model;
  bool has_graph = false;
  try {
    for (Message message(bytes); message.next();) {
      switch (message.tag_and_type()) {
        case bytes_field(7):
          model.graph = read_graph(message.get_view(), 0);
          has_graph = true;
          break;
        case bytes_field(8):
          read_opset(message.get_view(), model);
          break;
        case bytes_field(25):
          model.functions.push_back(read_function(message.get_view()));
          break;
        default:
          message.skip();
      }
    }
  } catch (const protozero::exception& error) {
    return fail(fmt::format("not an ONNX model, or one that is cut short ({})", error.what()));
  } catch (const TooDeep& error) {
    return fail(fmt::format("not an ONNX model that can be read: {}; at most {} levels are supported", error.what(),
                            kMaxDepth));
  }
  if (!has_graph) {
    return fail("not an ONNX model: it holds no graph");
  }
  return model;
}

}  // namespace convtgen::onnx
