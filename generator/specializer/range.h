// What integer terms can be, found from loops' bounds, remainders and constants.
#pragma once

#include <optional>
#include <string_view>

#include "generator/specializer/term.h"

namespace convtgen {

/// All values of an integer term lie in it; nothing where no bound is known.
[[nodiscard]] std::optional<Range> range_of(const Term& term);

/// What a comparison in this type gives, if the ranges of both sides decide it and neither changes anything.
[[nodiscard]] std::optional<bool> compare_ranges(std::string_view op, Scalar type, const Term& a, const Term& b);

}  // namespace convtgen
