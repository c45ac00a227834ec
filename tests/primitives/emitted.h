// Whole kernels that use device primitives, in the form of emitted files: the primitives that are used, verbatim in one
// guarded block, then the kernel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/specializer/kernel_source.h"

namespace convtgen::testing {

/// Functions and declarations of one header in templates/device/: the paragraphs after its `#pragma once`.
struct HeaderItem {
  std::string header;  // "device/barrier.h"
  std::string name;
  std::string text;
};

/// Of all headers that hold device primitives.
[[nodiscard]] const std::vector<HeaderItem>& header_items();

struct Emitted {
  KernelSource source;
  std::vector<std::string> primitives;  // the functions in its block
};

/// `body` is the kernel, which is named "kernel". Primitives that its text names, and those that they use, stand before
/// it. A printed primitive that does not exist is left out, so that compiling the kernel fails.
[[nodiscard]] Emitted emitted(const std::string& body, int threads, int shared_bytes);

}  // namespace convtgen::testing
