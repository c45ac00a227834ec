// What holds of an import, whatever the bytes are.
#pragma once

#include <string>
#include <string_view>

namespace convtgen::onnx::test {

/// Imports the bytes in both readings. Returns the first claim that does not hold: layers are legal and their text is
/// read back as the same layers, names differ, weights have as many bytes as their shape, reasons are not empty. Empty
/// if all hold, also where the import is an error.
[[nodiscard]] std::string broken_claim(std::string_view bytes);

}  // namespace convtgen::onnx::test
