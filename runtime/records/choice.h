// Choices in the store: what a caller measured once, for all processes of the user.
#pragma once

#include <string>
#include <string_view>

#include "runtime/store/key.h"
#include "runtime/store/store.h"

namespace convtgen {

/// Where the store keeps the choice under a caller's key.
[[nodiscard]] Key choice_key(std::string_view key);

/// The choice under a key; empty if it is missing.
[[nodiscard]] std::string stored_choice(Store& store, std::string_view key);

/// The choice under a key. If it is missing, keeps `choice`, unless another process or thread is first: then the
/// other one's is returned. The entry's label is the beginning of the key's first line. `choice` must not be empty.
[[nodiscard]] std::string keep_choice(Store& store, std::string_view key, std::string_view choice);

}  // namespace convtgen
