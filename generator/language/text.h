// UTF-8 in bytes: what may stand in a message, and what may not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace convtgen {

/// Bytes of the well-formed UTF-8 character at the start of the text, or 0 if it is ill-formed.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

/// The text fit for a message or a terminal: control characters and bytes that are no UTF-8 become '?'; tabs stay.
[[nodiscard]] std::string visible(std::string_view text);

/// Why bytes are no text of a layer file as a whole: "the file is UTF-16; save it as UTF-8". Empty where they may be
/// one. A NUL here and there is an error of its place instead.
[[nodiscard]] std::string why_not_text(std::string_view bytes);

/// The text in single quotes for a message, made visible, and shortened where it is long.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace convtgen
