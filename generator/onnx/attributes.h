// A node's attributes by name, with the types that the operator gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "generator/onnx/model.h"
#include "generator/onnx/refusal.h"

namespace convtgen::onnx {

/// The first attribute of this name, or null.
[[nodiscard]] const Attribute* find_attribute(const Node& node, std::string_view name);

// Each returns the default where the node lacks the attribute. Errors: it has another type.
[[nodiscard]] Judged<std::int64_t> int_of(const Node& node, std::string_view name, std::int64_t otherwise);
[[nodiscard]] Judged<float> float_of(const Node& node, std::string_view name, float otherwise);
[[nodiscard]] Judged<std::string_view> string_of(const Node& node, std::string_view name, std::string_view otherwise);
[[nodiscard]] Judged<std::optional<std::vector<std::int64_t>>> ints_of(const Node& node, std::string_view name);

}  // namespace convtgen::onnx
