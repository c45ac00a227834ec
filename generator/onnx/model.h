// An ONNX model as its file has it: the fields of onnx.proto's messages that an import reads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/support/error.h"

namespace convtgen::onnx {

/// Where a tensor's bytes are if they are not in the model: a file, named relative to the model's folder.
struct ExternalData {
  std::string location;
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;  // to the end of the file where it is missing
  bool operator==(const ExternalData&) const = default;
};

/// TensorProto. The elements are in `raw`, in one of the vectors, or in another file.
struct Tensor {
  std::string_view name;
  std::vector<std::int64_t> dims;
  std::int32_t element_type = 0;  // TensorProto.DataType
  std::optional<std::string_view> raw;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int32_t> int32s;  // of 16-bit floats, their bits
  std::vector<std::int64_t> int64s;
  std::optional<ExternalData> external;
};

struct Graph;

/// AttributeProto.
struct Attribute {
  std::string_view name;
  std::int32_t type = 0;  // AttributeProto.AttributeType; 0 in files from before it was written
  float f = 0;
  std::int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::optional<Tensor> tensor;
  std::vector<Graph> graphs;
};

/// NodeProto. A missing optional input has an empty name.
struct Node {
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;
  std::vector<std::string_view> inputs, outputs;
  std::vector<Attribute> attributes;
};

/// The extents of a value. An extent that the file leaves open, or names with a symbol, has no value.
using Dims = std::vector<std::optional<std::int64_t>>;

/// ValueInfoProto, if it is of a tensor.
struct ValueInfo {
  std::string_view name;
  std::int32_t element_type = 0;
  std::optional<Dims> dims;  // missing where the rank is unknown
};

/// GraphProto.
struct Graph {
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs, values;
};

/// FunctionProto.
struct Function {
  std::string_view name, domain;
  std::vector<Node> nodes;
};

/// ModelProto.
struct Model {
  std::map<std::string_view, std::int64_t> opsets;  // by domain; "ai.onnx" is ""
  Graph graph;
  std::vector<Function> functions;
};

/// Reads a model. Its views point into `bytes`.
/// Errors: the bytes are cut short, or are not an ONNX model.
[[nodiscard]] Result<Model> read_model(std::string_view bytes);

}  // namespace convtgen::onnx
