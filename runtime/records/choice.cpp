#include "runtime/records/choice.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace convtgen {
namespace {

// One line of a list. Control characters would change the terminal that prints it.
std::string label_of(std::string_view key) {
  constexpr std::size_t kMost = 120;
  std::string label(key.substr(0, key.find('\n')).substr(0, kMost));
  std::ranges::replace_if(label, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  return label;
}

}  // namespace

Key choice_key(std::string_view key) {
  return {EntryKind::kChoice, {{"choice", std::string(key)}}};
}

std::string stored_choice(Store& store, std::string_view key) {
  std::optional<Entry> entry = store.find(choice_key(key));
  return entry ? std::move(entry->bytes) : std::string();
}

std::string keep_choice(Store& store, std::string_view key, std::string_view choice) {
  Compiled<Entry> entry = store.get_or_make(choice_key(key), [&] { return Made(std::string(choice)); }, label_of(key));
  return entry ? std::move(entry->bytes) : std::string(choice);
}

}  // namespace convtgen
