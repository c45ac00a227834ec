// What the facts of the templates without tensor cores share.
#pragma once

#include <cstdint>

namespace convtgen::testing {

/// Taps or phases that a source writes out; it goes over more by loops.
inline constexpr std::int64_t kMostWrittenOut = 256;

}  // namespace convtgen::testing
