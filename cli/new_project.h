// The files of the project that `convtgen new` writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"

namespace convtgen::cli {

struct ProjectFile {
  std::string name;
  std::string text;
};

/// The layer's sizes, and small ones with outputs where it leaves them open.
[[nodiscard]] InputSizes small_sizes(const Layer& layer);

/// The files of a project that runs the layer in all its directions at these sizes, which are the layer's where it has
/// them and have outputs.
[[nodiscard]] std::vector<ProjectFile> project_files(const NamedLayer& layer, const InputSizes& sizes);

}  // namespace convtgen::cli
