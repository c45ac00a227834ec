// The manifest: a description of the generated kernels for build systems and programs.
#pragma once

#include <string>
#include <vector>

#include "cli/files.h"
#include "generator/planner/plan/plan.h"
#include "generator/specializer/kernel_source.h"

namespace convtgen::cli {

/// One kernel and its file.
struct Product {
  std::string layer;  // its name
  Problem problem;
  Plan plan;
  KernelSource source;
  std::string architecture;  // "sm_80", "compute_80", or of a host library that of its source
  std::string kind;          // "source", "cubin", "ptx", "host"
  OutputFile file;
};

/// A JSON object of all kernels; no paths, times or names of this machine.
[[nodiscard]] std::string manifest_text(const std::vector<Product>& products);

}  // namespace convtgen::cli
