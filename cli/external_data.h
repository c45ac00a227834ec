// Tensors of a model that lie in other files.
#pragma once

#include <filesystem>
#include <string>

#include "generator/onnx/import.h"
#include "generator/support/error.h"

namespace convtgen::cli {

/// The bytes of weights or a bias of `dtype`, from the model or from a file in `folder`, which is the model's.
/// Errors: a path that leads out of the folder, also through symbolic links; a file that can't be read, or that is too
/// short.
[[nodiscard]] Result<std::string> read_elements(const onnx::Elements& elements, Dtype dtype,
                                                const std::filesystem::path& folder);

}  // namespace convtgen::cli
