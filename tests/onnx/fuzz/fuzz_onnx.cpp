// Any bytes as a model: an error, or layers and rows that hold what check_import.h lists.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/onnx/check_import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string broken =
      convtgen::onnx::test::broken_claim(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!broken.empty()) {
    std::fprintf(stderr, "does not hold: %s\n", broken.c_str());
    std::abort();
  }
  return 0;
}
