// Models as bytes, written field by field: what onnx.helper makes, and what it refuses to make.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace convtgen::onnx::test {

using Numbers = std::vector<std::int64_t>;

/// Messages of onnx.proto as bytes.
struct Attribute {
  std::string bytes;
};
[[nodiscard]] Attribute ints(const std::string& name, const Numbers& values, bool is_packed = false);
[[nodiscard]] Attribute whole(const std::string& name, std::int64_t value);
[[nodiscard]] Attribute real(const std::string& name, float value);
[[nodiscard]] Attribute text(const std::string& name, const std::string& value);
[[nodiscard]] Attribute graph(const std::string& name, const std::string& graph);

/// A tensor of element type 1 (FLOAT) with as many floats as the extents need, in raw_data.
[[nodiscard]] std::string floats(const std::string& name, const Numbers& dims);
/// A tensor with these bytes as raw_data.
[[nodiscard]] std::string raw(const std::string& name, int element_type, const Numbers& dims, const std::string& bytes);
[[nodiscard]] std::string whole_tensor(const std::string& name, const Numbers& values);

/// ValueInfoProto of FLOAT; -1 is an extent without a number.
[[nodiscard]] std::string value(const std::string& name, const Numbers& dims, int element_type = 1);

struct NodeFields {
  std::string op_type;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> attributes = {};
  std::string name = {};
  std::string domain = {};
};
[[nodiscard]] std::string node(const NodeFields& fields);

struct GraphFields {
  std::vector<std::string> nodes;  // messages
  std::vector<std::string> inputs = {}, outputs = {}, initializers = {}, values = {};
};
[[nodiscard]] std::string graph_bytes(const GraphFields& fields);
[[nodiscard]] std::string model(std::int64_t opset, const GraphFields& fields);

/// A model with one ConvTranspose "up" of x (1, 2, 5) with weights (2, 3, 4).
[[nodiscard]] std::string one_node(std::int64_t opset, const std::vector<Attribute>& attributes);

}  // namespace convtgen::onnx::test
