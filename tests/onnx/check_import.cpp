#include "tests/onnx/check_import.h"

#include <fmt/format.h>

#include <set>

#include "generator/language/language.h"
#include "generator/layer/shape.h"
#include "generator/onnx/import.h"
#include "generator/onnx/tensor.h"

namespace convtgen::onnx::test {
namespace {

bool is_printable(std::string_view text) {
  for (const char c : text) {
    if (c < ' ' || c > '~') {
      return false;
    }
  }
  return true;
}

bool has_its_bytes(const Elements& elements, Dtype dtype) {
  const auto count = element_count(elements.shape);
  if (elements.external) {
    return elements.bytes == nullptr;
  }
  return count && elements.bytes != nullptr &&
         static_cast<std::int64_t>(elements.bytes->size()) == *count * bytes_of(dtype);
}

std::string broken_claim_of(const Imported& imported) {
  std::set<std::string> names;
  std::string file;
  std::vector<NamedLayer> layers;
  for (const ImportedLayer& each : imported.layers) {
    const Layer& layer = each.layer.layer;
    if (const auto violations = check_limits(layer); !violations.empty()) {
      return fmt::format("layer '{}' is illegal: {}", each.layer.name, violations.front().message);
    }
    if (!names.insert(each.layer.name).second) {
      return fmt::format("two layers are called '{}'", each.layer.name);
    }
    if ((each.weight && !has_its_bytes(*each.weight, layer.dtype)) ||
        (each.bias && !has_its_bytes(*each.bias, layer.dtype))) {
      return fmt::format("layer '{}' has weights or a bias of another size", each.layer.name);
    }
    if (!is_printable(each.node) || !is_printable(each.input) || !is_printable(each.output)) {
      return fmt::format("layer '{}' has names that are not printable", each.layer.name);
    }
    file += print_layer(each.layer);
    layers.push_back(each.layer);
  }
  for (const NotTaken& row : imported.not_taken) {
    if (row.why.attribute.empty() || row.why.reason.empty() || !is_printable(row.node) ||
        !is_printable(row.why.value) || !is_printable(row.why.reason)) {
      return fmt::format("a row lacks its reason, or is not printable: {}", row.why.reason);
    }
  }
  return layers.empty() || parse_file(file) == layers ? "" : "the layers' text is not read back as the same layers";
}

}  // namespace

std::string broken_claim(std::string_view bytes) {
  for (const AutoPadAs reading : {AutoPadAs::kStandard, AutoPadAs::kOnnxRuntime}) {
    const auto imported = import_model(bytes, {.auto_pad_as = reading});
    std::string broken =
        imported ? broken_claim_of(*imported) : (imported.error().message.empty() ? "an error has no message" : "");
    if (!broken.empty()) {
      return broken;
    }
  }
  return "";
}

}  // namespace convtgen::onnx::test
