#include "generator/language/text.h"

#include <fmt/format.h>

namespace convtgen {

std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&byte](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last; ++i) {
      if ((byte(i) & 0xC0U) != 0x80U) {
        return false;
      }
    }
    return true;
  };
  const unsigned lead = byte(0);
  if (text.empty()) {
    return 0;
  }
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF && continues(1, 1)) {
    return 2;
  }
  // No overlong forms, no surrogates, nothing above U+10FFFF.
  if (lead >= 0xE0 && lead <= 0xEF && continues(1, 2) && !(lead == 0xE0 && byte(1) < 0xA0) &&
      !(lead == 0xED && byte(1) > 0x9F)) {
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4 && continues(1, 3) && !(lead == 0xF0 && byte(1) < 0x90) &&
      !(lead == 0xF4 && byte(1) > 0x8F)) {
    return 4;
  }
  return 0;
}

std::string why_not_text(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr std::size_t kJudged = 4096;  // bytes that are looked at
  if (bytes.starts_with("\xFF\xFE\0\0"sv) || bytes.starts_with("\0\0\xFE\xFF"sv)) {
    return "the file is UTF-32; save it as UTF-8";
  }
  if (bytes.starts_with("\xFF\xFE"sv) || bytes.starts_with("\xFE\xFF"sv)) {
    return "the file is UTF-16; save it as UTF-8";
  }
  bytes = bytes.substr(0, kJudged);
  std::size_t nuls[2] = {};  // at even and odd places
  std::size_t wrong = 0;     // bytes that are no UTF-8, and control characters
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = utf8_length(bytes.substr(i));
    const auto byte = static_cast<unsigned char>(bytes[i]);
    nuls[i % 2] += byte == 0 ? 1 : 0;
    wrong += length == 0 || (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f ? 1 : 0;
    i += length == 0 ? 1 : length;
  }
  // ASCII in UTF-16 without its mark: every other byte is 0.
  if (bytes.size() >= 4 && nuls[0] + nuls[1] >= bytes.size() / 2 && (nuls[0] == 0 || nuls[1] == 0)) {
    return "the file is UTF-16; save it as UTF-8";
  }
  return wrong > 4 && wrong > bytes.size() / 10 ? "the file is no text; a layer file is UTF-8" : "";
}

std::string visible(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are control characters as well.
    const bool shown = length > 1 ? !(byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0)
                                  : length == 1 && (byte == '\t' || (byte >= 0x20 && byte != 0x7f));
    result += shown ? text.substr(i, length) : "?";
    i += length == 0 ? 1 : length;
  }
  return result;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  if (text.size() <= kLongest) {
    return fmt::format("'{}'", visible(text));
  }
  return fmt::format("'{}...'", visible(text.substr(0, kLongest - 3)));
}

}  // namespace convtgen
