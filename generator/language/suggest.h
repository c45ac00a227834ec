// What the user may have meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace convtgen {

/// The number of insertions, deletions, replacements and swaps of neighbours that make `b` of `a`, letter case aside.
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

/// The candidate that the word is most likely a slip of, or another name of ("float32" for "f32"); empty if none is
/// near.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// For a well-known activation that the language has no word for, "relu6" or "ELU": the chain that computes the same,
/// "hardtanh(0, 6)", or empty if unknown. Null where the word is no such activation. These are near to words
/// of other mathematics ("elu" to "relu"), so do not call nearest() for them.
[[nodiscard]] std::optional<std::string_view> same_chain(std::string_view activation);

/// "f64, f32, f16 or bf16"
[[nodiscard]] std::string alternatives(std::span<const std::string_view> words);

}  // namespace convtgen
