// A compiled kernel as the bytes of a store's entry.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/compile/binary.h"

namespace convtgen {

/// What is stored of a kernel; the rest is made anew from its layer.
struct StoredKernel {
  Binary binary;            // its architecture as it was compiled: "sm_90a", "compute_89"
  std::string compiled_by;  // "NVRTC 13.0"
};

[[nodiscard]] std::string encode_kernel(const StoredKernel& kernel);
/// Nothing where encode_kernel() did not write the bytes.
[[nodiscard]] std::optional<StoredKernel> decode_kernel(std::string_view bytes);
/// Whether the bytes are those of a kernel as another version of convtgen packs it.
[[nodiscard]] bool is_packed_otherwise(std::string_view bytes);

}  // namespace convtgen
