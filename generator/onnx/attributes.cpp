#include "generator/onnx/attributes.h"

#include <fmt/format.h>

#include <algorithm>

namespace convtgen::onnx {
namespace {

/// AttributeProto.AttributeType.
enum Type : std::int32_t { kUndefined = 0, kFloatType = 1, kIntType = 2, kStringType = 3, kIntsType = 7 };

/// Files from before IR version 2 have no types.
Judged<const Attribute*> find_typed(const Node& node, std::string_view name, Type type, std::string_view word) {
  const Attribute* attribute = find_attribute(node, name);
  if (attribute != nullptr && attribute->type != type && attribute->type != kUndefined) {
    return refuse(std::string(name), fmt::format("of type {}", attribute->type),
                  fmt::format("the operator has it as {}, type {}", word, static_cast<int>(type)));
  }
  return attribute;
}

template <typename Value>
Judged<Value> value_of(const Judged<const Attribute*>& found, Value Attribute::* member, Value otherwise) {
  if (!found) {
    return std::unexpected(found.error());
  }
  return *found != nullptr ? (*found)->*member : otherwise;
}

}  // namespace

const Attribute* find_attribute(const Node& node, std::string_view name) {
  const auto found = std::ranges::find(node.attributes, name, &Attribute::name);
  return found != node.attributes.end() ? &*found : nullptr;
}

Judged<std::int64_t> int_of(const Node& node, std::string_view name, std::int64_t otherwise) {
  return value_of(find_typed(node, name, kIntType, "INT"), &Attribute::i, otherwise);
}

Judged<float> float_of(const Node& node, std::string_view name, float otherwise) {
  return value_of(find_typed(node, name, kFloatType, "FLOAT"), &Attribute::f, otherwise);
}

Judged<std::string_view> string_of(const Node& node, std::string_view name, std::string_view otherwise) {
  return value_of(find_typed(node, name, kStringType, "STRING"), &Attribute::s, otherwise);
}

Judged<std::optional<std::vector<std::int64_t>>> ints_of(const Node& node, std::string_view name) {
  const auto found = find_typed(node, name, kIntsType, "INTS");
  if (!found) {
    return std::unexpected(found.error());
  }
  return *found != nullptr ? std::optional((*found)->ints) : std::nullopt;
}

}  // namespace convtgen::onnx
