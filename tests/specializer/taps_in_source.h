// The taps that the comments of an emitted source name.
//
// A comment names taps as `tap (0, 3)`, `taps (0, 3) (1, 3)` or `taps (0 to 2, 0 to 6)`: kernel row and kernel column,
// each a number or a range. A row may end in ` + r`: then it is counted from the first kernel row of a block's phase
// row, and the comment names such a tap for each of them.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/layer/layer.h"

namespace convtgen::testing_support {

using Tap = std::pair<std::int64_t, std::int64_t>;    // row and column
using Phase = std::pair<std::int64_t, std::int64_t>;  // of rows and of columns

/// All taps that a source names, as often and in the order in which it does, by their phases in the layer. Taps that
/// the layer hasn't are there too. `rows_of_r` kernel rows are meant by ` + r`; 0: one for each phase row.
[[nodiscard]] std::map<Phase, std::vector<Tap>> taps_in_source(const Layer& layer, std::string_view source,
                                                               std::int64_t rows_of_r = 0);

/// The taps of a layer, each once.
[[nodiscard]] std::map<Phase, std::vector<Tap>> taps_of(const Layer& layer);

}  // namespace convtgen::testing_support
