// The functions that a kernel has in the header and in its launch code: one text for both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/launcher/launcher.h"
#include "generator/layer/stream.h"

namespace convtgen {

/// A parameter of a C function.
struct CParameter {
  std::string type;  // "const float*"
  std::string name;
};

/// What the functions of a kernel take.
struct Signature {
  std::string function;            // "net_up_forward"
  std::vector<CParameter> arrays;  // by their roles, those that are read first: "x", "weight", "bias", "y"
  std::vector<CParameter> sizes;   // those that the layer leaves open: "batch", "height", "width" or "length"
  // What a call of the general function gives: "batch", or "-1" where it is known.
  std::string batch;
  std::vector<std::string> extents;  // depth, height, width
  std::optional<Stream> stream;      // of a layer with `streaming`
};

[[nodiscard]] Signature signature_of(const LayerSet& set, const SetKernel& kernel);

/// "x", "weight", ...
[[nodiscard]] std::vector<std::string> names_of(const std::vector<CParameter>& parameters);

/// `head` and "(a, b, c)" in lines of at most 120 columns, those after the first indented below the first parameter.
[[nodiscard]] std::string wrapped(const std::string& head, const std::vector<std::string>& parts);

/// The names and parameters of all functions of a kernel, in their order: call, sizes, workspace, prepare, where it
/// reads weights, keeps_weights, and of a layer with `streaming`, stream.
struct CFunction {
  std::string result;  // "int"
  std::string suffix;  // "", "_sizes", ...
  std::vector<CParameter> parameters;
};
[[nodiscard]] std::vector<CFunction> functions_of(const LayerSet& set, const Signature& signature);

/// "int net_up_forward(const float* x, ...)", without what follows.
[[nodiscard]] std::string prototype(const CFunction& function, const std::string& name);

}  // namespace convtgen
