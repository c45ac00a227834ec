#include "generator/launcher/signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/launcher/names.h"
#include "generator/recipe/recipe.h"

namespace convtgen {
namespace {

constexpr std::size_t kColumns = 120;

// The 16-bit floats are their bits: C99 has no types for them, and CUDA's are not there without CUDA's headers.
std::string_view element_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
      return "double";
    case Dtype::kF32:
      return "float";
    default:
      return "uint16_t";
  }
}

std::vector<std::string> parts_of(const std::vector<CParameter>& parameters) {
  std::vector<std::string> parts;
  for (const CParameter& parameter : parameters) {
    parts.push_back(parameter.type + " " + parameter.name);
  }
  return parts.empty() ? std::vector<std::string>{"void"} : parts;
}

}  // namespace

Signature signature_of(const LayerSet& set, const SetKernel& kernel) {
  const Layer& layer = kernel.layer;
  Signature signature;
  signature.function = set.name_space + "_" + stem_of(kernel.layer_name, kernel.direction);
  const std::string written = fmt::format("{}*", element_type(layer.dtype));
  const std::string read = "const " + written;
  const Roles roles = roles_of(layer, kernel.direction);
  for (const Role role : roles.read) {
    signature.arrays.push_back({read, std::string(name_of(role))});
  }
  for (const Role role : roles.written) {
    signature.arrays.push_back({written, std::string(name_of(role))});
  }
  const auto size = [&](const Size& known, std::string_view name) -> std::string {
    if (known) {
      return "-1";
    }
    signature.sizes.push_back({"int64_t", std::string(name)});
    return std::string(name);
  };
  signature.batch = size(layer.batch, "batch");
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    signature.extents.push_back(size(layer.axes[axis].extent, axis_name(layer, axis)));
  }
  if (layer.streaming) {
    signature.stream = stream_of(layer.axes[kWidth]);
  }
  return signature;
}

std::vector<std::string> names_of(const std::vector<CParameter>& parameters) {
  std::vector<std::string> names;
  for (const CParameter& parameter : parameters) {
    names.push_back(parameter.name);
  }
  return names;
}

std::string wrapped(const std::string& head, const std::vector<std::string>& parts) {
  std::string text = head + (parts.empty() ? "()" : "(");
  std::size_t begin = text.rfind('\n') + 1;
  const std::string indent(text.size() - begin, ' ');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string part = parts[i] + (i + 1 < parts.size() ? "," : ")");
    if (i > 0 && text.size() - begin + 1 + part.size() + 2 > kColumns) {  // with what follows, ";" or " {"
      text += "\n";
      begin = text.size();
      text += indent;
    } else if (i > 0) {
      text += " ";
    }
    text += part;
  }
  return text;
}

std::vector<CFunction> functions_of(const LayerSet& set, const Signature& signature) {
  std::vector<CParameter> call = signature.arrays;
  call.push_back({"void*", "workspace"});
  call.push_back({"size_t", "workspace_bytes"});
  call.insert(call.end(), signature.sizes.begin(), signature.sizes.end());
  call.push_back({"void*", "stream"});
  const std::vector<CParameter> open = signature.sizes;
  std::vector<CParameter> sizes = open;
  sizes.push_back({set.name_space + "_sizes*", "sizes"});
  std::vector<CFunction> functions = {{"int", "", std::move(call)},
                                      {"int", "_sizes", std::move(sizes)},
                                      {"size_t", "_workspace", open},
                                      {"int", "_prepare", {}}};
  if (std::ranges::find(signature.arrays, name_of(Role::kWeight), &CParameter::name) != signature.arrays.end()) {
    functions.push_back({"int", "_keeps_weights", {{"int*", "keeps"}}});
  }
  if (signature.stream) {
    functions.push_back({"void", "_stream", {{set.name_space + "_stream*", "stream"}}});
  }
  return functions;
}

std::string prototype(const CFunction& function, const std::string& name) {
  return wrapped(fmt::format("{} {}{}", function.result, name, function.suffix), parts_of(function.parameters));
}

}  // namespace convtgen
