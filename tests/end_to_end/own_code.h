// Where an emitted source's own code ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace convtgen::testing {

/// Where the device primitives begin, which stand last: the host device has its own.
[[nodiscard]] inline std::size_t end_of_own_code(std::string_view source) {
  return std::min(source.find("\n// ---- Device primitives ----\n"), source.size());
}

}  // namespace convtgen::testing
