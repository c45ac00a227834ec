#include "tests/onnx/build_model.h"

#include <functional>
#include <numeric>
#include <protozero/pbf_writer.hpp>

namespace convtgen::onnx::test {
namespace {

using Writer = protozero::pbf_writer;

/// The message that `write` writes.
template <typename Write>
std::string message(Write&& write) {
  std::string bytes;
  Writer writer(bytes);
  write(writer);
  return bytes;
}

Attribute attribute(const std::string& name, int type, const std::function<void(Writer&)>& write) {
  return {message([&](Writer& to) {
    to.add_string(1, name);
    write(to);
    to.add_int32(20, type);
  })};
}

std::string tensor(const std::string& name, int element_type, const Numbers& dims,
                   const std::function<void(Writer&)>& write) {
  return message([&](Writer& to) {
    for (const std::int64_t extent : dims) {
      to.add_int64(1, extent);
    }
    to.add_int32(2, element_type);
    to.add_string(8, name);
    write(to);
  });
}

}  // namespace

Attribute ints(const std::string& name, const Numbers& values, bool is_packed) {
  return attribute(name, 7, [&](Writer& to) {
    if (is_packed) {
      to.add_packed_int64(8, values.begin(), values.end());
      return;
    }
    for (const std::int64_t each : values) {
      to.add_int64(8, each);
    }
  });
}

Attribute whole(const std::string& name, std::int64_t value) {
  return attribute(name, 2, [&](Writer& to) { to.add_int64(3, value); });
}

Attribute real(const std::string& name, float value) {
  return attribute(name, 1, [&](Writer& to) { to.add_float(2, value); });
}

Attribute text(const std::string& name, const std::string& value) {
  return attribute(name, 3, [&](Writer& to) { to.add_bytes(4, value); });
}

Attribute graph(const std::string& name, const std::string& graph) {
  return attribute(name, 5, [&](Writer& to) { to.add_message(6, graph); });
}

std::string floats(const std::string& name, const Numbers& dims) {
  const auto count = std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  return raw(name, 1, dims, std::string(static_cast<std::size_t>(count) * 4, '\0'));
}

std::string raw(const std::string& name, int element_type, const Numbers& dims, const std::string& bytes) {
  return tensor(name, element_type, dims, [&](Writer& to) { to.add_bytes(9, bytes); });
}

std::string whole_tensor(const std::string& name, const Numbers& values) {
  return tensor(name, 7, {static_cast<std::int64_t>(values.size())},
                [&](Writer& to) { to.add_packed_int64(7, values.begin(), values.end()); });
}

std::string value(const std::string& name, const Numbers& dims, int element_type) {
  const std::string shape = message([&](Writer& to) {
    for (const std::int64_t extent : dims) {
      to.add_message(1, message([&](Writer& dim) {
                       if (extent >= 0) {
                         dim.add_int64(1, extent);
                       } else {
                         dim.add_string(2, "n");
                       }
                     }));
    }
  });
  const std::string type = message([&](Writer& to) {
    to.add_int32(1, element_type);
    to.add_message(2, shape);
  });
  return message([&](Writer& to) {
    to.add_string(1, name);
    to.add_message(2, message([&](Writer& tensor_type) { tensor_type.add_message(1, type); }));
  });
}

std::string node(const NodeFields& fields) {
  return message([&](Writer& to) {
    for (const std::string& input : fields.inputs) {
      to.add_string(1, input);
    }
    for (const std::string& output : fields.outputs) {
      to.add_string(2, output);
    }
    to.add_string(3, fields.name);
    to.add_string(4, fields.op_type);
    for (const Attribute& each : fields.attributes) {
      to.add_message(5, each.bytes);
    }
    to.add_string(7, fields.domain);
  });
}

std::string graph_bytes(const GraphFields& fields) {
  return message([&](Writer& to) {
    const auto add = [&to](int field, const std::vector<std::string>& messages) {
      for (const std::string& each : messages) {
        to.add_message(static_cast<std::uint32_t>(field), each);
      }
    };
    add(1, fields.nodes);
    add(5, fields.initializers);
    add(11, fields.inputs);
    add(12, fields.outputs);
    add(13, fields.values);
  });
}

std::string model(std::int64_t opset, const GraphFields& fields) {
  return message([&](Writer& to) {
    to.add_int64(1, 8);
    to.add_message(7, graph_bytes(fields));
    to.add_message(8, message([&](Writer& import) { import.add_int64(2, opset); }));
  });
}

std::string one_node(std::int64_t opset, const std::vector<Attribute>& attributes) {
  return model(opset, {.nodes = {node({"ConvTranspose", {"x", "w"}, {"y"}, attributes, "up"})},
                       .inputs = {value("x", {1, 2, 5})},
                       .outputs = {value("y", {1, 3, -1})},
                       .initializers = {floats("w", {2, 3, 4})}});
}

}  // namespace convtgen::onnx::test
