// Why a node is not taken.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace convtgen::onnx {

/// The attribute or the input that is at fault, its value as text, and the reason in words for the user.
struct Refusal {
  std::string attribute;
  std::string value;
  std::string reason;
  bool operator==(const Refusal&) const = default;
};

template <typename T>
using Judged = std::expected<T, Refusal>;

/// Shorthand for `return refuse("strides", "[0]", "...")` from a function that returns a Judged.
[[nodiscard]] inline std::unexpected<Refusal> refuse(std::string attribute, std::string value, std::string reason) {
  return std::unexpected(Refusal{std::move(attribute), std::move(value), std::move(reason)});
}

}  // namespace convtgen::onnx
