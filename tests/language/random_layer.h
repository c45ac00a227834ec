// Random legal layers that reach every property of the language.
#pragma once

#include <cstdint>
#include <functional>
#include <random>

#include "generator/layer/layer.h"

namespace convtgen::testing_support {

/// A whole number from the closed range [least, most]; where it comes from is the caller's affair.
using Pick = std::function<std::int64_t(std::int64_t least, std::int64_t most)>;

/// A legal layer (check_limits finds nothing), mostly of small numbers, sometimes of the largest.
[[nodiscard]] Layer random_layer(const Pick& pick);

/// Numbers from a seeded engine, the same on every platform.
[[nodiscard]] Pick seeded(std::uint64_t seed);

}  // namespace convtgen::testing_support
