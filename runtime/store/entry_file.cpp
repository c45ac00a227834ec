#include "runtime/store/entry_file.h"

#include <cstdint>
#include <optional>

#include "runtime/store/digest.h"
#include "runtime/store/format.h"

namespace convtgen {
namespace {

constexpr std::string_view kMagic = "convtgen store ";
constexpr std::string_view kHead = "convtgen store " CONVTGEN_STORE_FORMAT "\n";
static_assert(kHead.size() <= kHeadBytes);
constexpr std::size_t kNumberBytes = 8;

void add_number(std::string& to, std::uint64_t number) {
  for (std::size_t i = 0; i < kNumberBytes; ++i) {
    to += static_cast<char>(number >> (8 * i) & 255);
  }
}

void add_text(std::string& to, std::string_view text) {
  add_number(to, text.size());
  to += text;
}

// Reads what add_number and add_text wrote; never beyond the end.
class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}

  std::optional<std::uint64_t> number() {
    if (rest_.size() < kNumberBytes) {
      return std::nullopt;
    }
    std::uint64_t number = 0;
    for (std::size_t i = kNumberBytes; i-- > 0;) {
      number = number << 8 | static_cast<unsigned char>(rest_[i]);
    }
    rest_.remove_prefix(kNumberBytes);
    return number;
  }

  std::optional<std::string_view> text() {
    const std::optional<std::uint64_t> size = number();
    if (!size || *size > rest_.size()) {
      return std::nullopt;
    }
    const std::string_view text = rest_.substr(0, *size);
    rest_.remove_prefix(*size);
    return text;
  }

  [[nodiscard]] std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

struct Field {
  std::string_view name, value;
};

std::optional<Field> next_field(Reader& reader) {
  const auto name = reader.text();
  const auto value = name ? reader.text() : std::nullopt;
  return value ? std::optional(Field{*name, *value}) : std::nullopt;
}

Result<Entry> decode_fields(Reader& reader) {
  const auto label = reader.text();
  const auto count = reader.number();
  if (!label || !count) {
    return fail("it is cut short");
  }
  Entry entry;
  entry.label = *label;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const std::optional<Field> field = next_field(reader);
    if (!field) {
      return fail("it is cut short");
    }
    entry.fields.push_back({std::string(field->name), std::string(field->value)});
  }
  return entry;
}

Result<Reader> after_head(std::string_view file) {
  if (is_foreign_entry(file)) {
    return fail("another version of the store wrote it");
  }
  if (!file.starts_with(kHead)) {
    return fail("it is no entry of the store");
  }
  return Reader(file.substr(kHead.size()));
}

}  // namespace

std::string encode_entry(const Entry& entry) {
  std::string file(kHead);
  add_text(file, entry.label);
  add_number(file, entry.fields.size());
  for (const KeyField& field : entry.fields) {
    add_text(file, field.name);
    add_text(file, field.value);
  }
  add_text(file, entry.bytes);
  file += digest_of(file);
  return file;
}

Result<Entry> decode_entry(std::string_view file) {
  if (Result<Reader> head = after_head(file); !head) {
    return std::unexpected(head.error());
  }
  if (file.size() < kHead.size() + Digest::kBytes) {
    return fail("it is cut short");
  }
  const std::string_view content = file.substr(0, file.size() - Digest::kBytes);
  if (digest_of(content) != file.substr(content.size())) {
    return fail("it does not match its checksum");
  }
  Reader reader(content.substr(kHead.size()));
  Result<Entry> entry = decode_fields(reader);
  if (!entry) {
    return entry;
  }
  const auto bytes = reader.text();
  if (!bytes || reader.left() != 0) {
    return fail("its lengths do not add up");
  }
  entry->bytes = *bytes;
  return entry;
}

Result<Entry> decode_head(std::string_view file) {
  Result<Reader> reader = after_head(file);
  if (!reader) {
    return std::unexpected(reader.error());
  }
  return decode_fields(*reader);
}

std::optional<std::string> decode_kind(std::string_view beginning) {
  Result<Reader> reader = after_head(beginning);
  if (!reader || !reader->text() || !reader->number()) {
    return std::nullopt;
  }
  while (const std::optional<Field> field = next_field(*reader)) {
    if (field->name == "kind") {
      return std::string(field->value);
    }
  }
  return std::nullopt;
}

bool is_foreign_entry(std::string_view file) {
  return file.starts_with(kMagic) && file.size() >= kHead.size() && !file.starts_with(kHead);
}

}  // namespace convtgen
