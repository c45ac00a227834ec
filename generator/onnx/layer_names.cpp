#include "generator/onnx/layer_names.h"

#include <fmt/format.h>

namespace convtgen::onnx {

std::string LayerNames::name_for(std::string_view node) {
  constexpr std::size_t kMost = 100;  // names of files are made of it
  std::string name;
  for (const char c : node) {
    const bool is_digit = c >= '0' && c <= '9';
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter || is_digit) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
    if (name.size() >= kMost) {
      break;
    }
  }
  while (!name.empty() && name.back() == '_') {
    name.pop_back();
  }
  if (name.empty()) {
    name = "conv_transpose";
  } else if (name.front() >= '0' && name.front() <= '9') {
    name.insert(0, "_");
  }
  std::string result = name;
  for (int& count = counts_[name]; !taken_.insert(result).second;) {
    result = fmt::format("{}_{}", name, ++count + 1);
  }
  return result;
}

}  // namespace convtgen::onnx
