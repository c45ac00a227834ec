// What the verbs of convtgen cache share.
#pragma once

#include <string>

#include "cli/command.h"
#include "runtime/store/store.h"

namespace convtgen::cli {

/// Adds the verb to `convtgen cache`.
void add_cache_why(CLI::App& cache, Exit& exit);

/// Whether the folder can be read; if not, the error has been printed. A missing folder is an empty cache.
[[nodiscard]] bool usable(const Store& store);
/// The digits of a key that are also in its file's name.
[[nodiscard]] std::string short_key(const Key& key);
/// How long ago an entry was used: "12 min ago", "3 h ago".
[[nodiscard]] std::string age_text(const Store::Listed& entry);

}  // namespace convtgen::cli
