// The transposed convolutions of an ONNX model as layers. No file is read: bytes in, values out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/onnx/model.h"
#include "generator/onnx/options.h"
#include "generator/onnx/refusal.h"
#include "generator/support/error.h"

namespace convtgen::onnx {

/// Weights or a bias. The elements are little-endian. Nodes that have the same tensor share its bytes.
struct Elements {
  std::vector<std::int64_t> shape;
  std::shared_ptr<const std::string> bytes;  // null where another file has them
  std::optional<ExternalData> external;
};

/// A ConvTranspose that became a layer.
struct ImportedLayer {
  NamedLayer layer;
  std::string node;                // its name in the model
  std::string input, output;       // the values that are x and y, the latter after the fused nodes
  std::optional<Elements> weight;  // missing where the model's caller gives them
  std::optional<Elements> bias;
  std::vector<std::string> notes;  // what else the user should know
};

/// A ConvTranspose that did not, and why.
struct NotTaken {
  std::string node;
  Refusal why;
};

struct Imported {
  std::vector<ImportedLayer> layers;  // in the order of the model
  std::vector<NotTaken> not_taken;
};

/// Errors: the bytes are no ONNX model, or one of an operator set that is unknown.
[[nodiscard]] Result<Imported> import_model(std::string_view bytes, const ImportOptions& options = {});

/// "onnxruntime", "standard"
[[nodiscard]] std::optional<AutoPadAs> auto_pad_as_named(std::string_view name);

}  // namespace convtgen::onnx
