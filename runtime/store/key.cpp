#include "runtime/store/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "runtime/store/digest.h"
#include "runtime/store/format.h"

namespace convtgen {
namespace {

// What fields there are and what they mean; another one means other keys.
constexpr const char* kKeyFormat = CONVTGEN_STORE_FORMAT;

void add_field(Digest& digest, const KeyField& field) {
  for (const std::string* part : {&field.name, &field.value}) {
    digest.add(fmt::format("{}:", part->size()));
    digest.add(*part);
  }
}

KeyFields with_head(EntryKind kind, KeyFields fields) {
  const std::array head = {KeyField{"format", kKeyFormat}, KeyField{"kind", std::string(name_of(kind))}};
  fields.insert(fields.begin(), head.begin(), head.end());
  return fields;
}

// The number of the first line that differs, from 1, and what each has there.
struct Line {
  std::size_t number = 1;
  std::string_view recorded, wanted;
};

Line first_differing_line(std::string_view recorded, std::string_view wanted) {
  Line line;
  for (;; ++line.number) {
    line.recorded = recorded.substr(0, recorded.find('\n'));
    line.wanted = wanted.substr(0, wanted.find('\n'));
    const bool last = line.recorded.size() == recorded.size() || line.wanted.size() == wanted.size();
    if (line.recorded != line.wanted || last) {
      return line;
    }
    recorded.remove_prefix(line.recorded.size() + 1);
    wanted.remove_prefix(line.wanted.size() + 1);
  }
}

std::string in_short(const std::string& value, const Line& line, std::string_view text) {
  constexpr std::size_t kMost = 160;
  return fmt::format("sha256 {}, line {}: {}{}", hex_of(digest_of(value)).substr(0, 12), line.number,
                     text.substr(0, kMost), text.size() > kMost ? "..." : "");
}

FieldDifference difference(const std::string& name, const std::string* recorded, const std::string* wanted) {
  constexpr const char* kNone = "none";
  constexpr std::size_t kShort = 80;
  const auto is_short = [](const std::string* value) {
    return value == nullptr || (value->size() <= kShort && value->find('\n') == std::string::npos);
  };
  if (is_short(recorded) && is_short(wanted)) {
    return {name, recorded != nullptr ? *recorded : kNone, wanted != nullptr ? *wanted : kNone};
  }
  const auto text = [](const std::string* value) { return value != nullptr ? std::string_view(*value) : ""; };
  const Line line = first_differing_line(text(recorded), text(wanted));
  return {name, recorded != nullptr ? in_short(*recorded, line, line.recorded) : kNone,
          wanted != nullptr ? in_short(*wanted, line, line.wanted) : kNone};
}

}  // namespace

std::string_view name_of(EntryKind kind) {
  switch (kind) {
    case EntryKind::kCubin:
      return "cubin";
    case EntryKind::kPtx:
      return "ptx";
    case EntryKind::kHostLibrary:
      return "host library";
    case EntryKind::kTuningRecord:
      return "tuning record";
    case EntryKind::kChoice:
      return "choice";
  }
  return "";
}

Key::Key(EntryKind kind, KeyFields fields) : Key(with_head(kind, std::move(fields))) {}

Key::Key(KeyFields recorded) : fields_(std::move(recorded)) {
  Digest all;
  Digest family;
  for (const KeyField& field : fields_) {
    add_field(all, field);
    if (field.name != kCompilerField) {
      add_field(family, field);
    } else if (field.value.empty()) {
      any_compiler_ = true;
    }
  }
  hex_ = hex_of(all.take());
  family_ = hex_of(family.take());
}

std::string_view Key::field(std::string_view name) const {
  const auto found = std::ranges::find(fields_, name, &KeyField::name);
  return found != fields_.end() ? std::string_view(found->value) : "";
}

bool Key::accepts(const KeyFields& recorded) const {
  return std::ranges::equal(fields_, recorded, [&](const KeyField& wanted, const KeyField& found) {
    return wanted.name == found.name &&
           (wanted.value == found.value || (any_compiler_ && wanted.name == kCompilerField));
  });
}

Key kernel_key(EntryKind kind, std::string_view source, std::string_view architecture, std::string_view compiler,
               const std::vector<std::string>& options) {
  KeyFields fields = {{"source", std::string(source)},
                      {"architecture", std::string(architecture)},
                      {std::string(kCompilerField), std::string(compiler)}};
  for (const std::string& option : options) {
    fields.push_back({"option", option});
  }
  return {kind, std::move(fields)};
}

std::vector<FieldDifference> differences(const KeyFields& recorded, const KeyFields& wanted) {
  std::vector<FieldDifference> found;
  std::vector<bool> used(recorded.size(), false);
  for (const KeyField& field : wanted) {
    std::optional<std::size_t> match;
    for (std::size_t i = 0; i < recorded.size() && !match; ++i) {
      if (!used[i] && recorded[i].name == field.name) {
        match = i;
      }
    }
    if (!match) {
      found.push_back(difference(field.name, nullptr, &field.value));
      continue;
    }
    used[*match] = true;
    if (recorded[*match].value != field.value) {
      found.push_back(difference(field.name, &recorded[*match].value, &field.value));
    }
  }
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (!used[i]) {
      found.push_back(difference(recorded[i].name, &recorded[i].value, nullptr));
    }
  }
  return found;
}

}  // namespace convtgen
