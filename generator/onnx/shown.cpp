#include "generator/onnx/shown.h"

#include <fmt/ranges.h>

namespace convtgen::onnx {

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 120;
  std::string result;
  for (const char c : text) {
    if (result.size() >= kMost) {
      return result + "...";
    }
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

std::string shown(std::span<const std::int64_t> numbers) {
  constexpr std::size_t kMost = 16;
  const auto first = numbers.first(std::min(numbers.size(), kMost));
  return fmt::format("[{}{}]", fmt::join(first, ", "), first.size() < numbers.size() ? ", ..." : "");
}

std::string shown(const Dims& dims) {
  constexpr std::size_t kMost = 16;
  std::string text;
  for (std::size_t i = 0; i < dims.size() && i < kMost; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : "x", dims[i] ? std::to_string(*dims[i]) : "?");
  }
  return text + (dims.size() > kMost ? "x..." : "");
}

std::string shown(const Node& node) {
  if (!node.name.empty()) {
    return shown(node.name);
  }
  return fmt::format("{} that gives '{}'", shown(node.op_type),
                     node.outputs.empty() ? "" : shown(node.outputs.front()));
}

}  // namespace convtgen::onnx
