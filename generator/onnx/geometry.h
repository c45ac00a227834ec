// A ConvTranspose node's arithmetic: its attributes and the shapes of x and w, as the axes of a layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/onnx/model.h"
#include "generator/onnx/options.h"
#include "generator/onnx/refusal.h"

namespace convtgen::onnx {

/// The layer of a node with f32, no bias and no activations, within all limits of layers. `x` is missing where its rank
/// is unknown; `w` are the extents of the weights, (C, M / group, k...). Errors: an attribute that is illegal or that
/// layers don't have, or whose meaning is contradictory (crops.h).
[[nodiscard]] Judged<Layer> geometry_of(const Node& node, std::int64_t opset, const std::optional<Dims>& x,
                                        const std::vector<std::int64_t>& w, const ImportOptions& options);

}  // namespace convtgen::onnx
