// Names of a file, fit for a message.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "generator/onnx/model.h"

namespace convtgen::onnx {

/// The text, with control characters and bytes that are not ASCII as "\x1b", cut after 120 characters.
[[nodiscard]] std::string shown(std::string_view text);

/// "[1, 2]"
[[nodiscard]] std::string shown(std::span<const std::int64_t> numbers);

/// "1x3x?x64"
[[nodiscard]] std::string shown(const Dims& dims);

/// The node's name, or "ConvTranspose that gives 'y'" where it has none.
[[nodiscard]] std::string shown(const Node& node);

}  // namespace convtgen::onnx
