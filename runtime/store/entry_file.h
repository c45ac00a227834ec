// An entry as bytes in a file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "generator/support/error.h"
#include "runtime/store/key.h"

namespace convtgen {

struct Entry {
  KeyFields fields;   // of the key that it was stored under
  std::string label;  // for people: the layer, say; no part of the key
  std::string bytes;
  bool operator==(const Entry&) const = default;
};

/// "convtgen store 1\n", the label, the number of fields and the fields, the bytes, each with its length (64 bits,
/// little endian), and SHA-256 over all of that.
[[nodiscard]] std::string encode_entry(const Entry& entry);

/// Errors: another version of the format, no entry at all, one that is short, long or changed.
[[nodiscard]] Result<Entry> decode_entry(std::string_view file);
/// Decodes the fields alone: the bytes stay empty and the checksum is not verified.
[[nodiscard]] Result<Entry> decode_head(std::string_view file);

/// The field "kind", from a file's beginning. Nothing where that does not hold it.
[[nodiscard]] std::optional<std::string> decode_kind(std::string_view beginning);

/// Whether another version of this program may have written it: not for this one to judge or use. The file's first
/// kHeadBytes are enough.
[[nodiscard]] bool is_foreign_entry(std::string_view file);
inline constexpr std::size_t kHeadBytes = 64;

}  // namespace convtgen
