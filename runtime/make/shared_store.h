// The stores of this process.
#pragma once

#include <memory>
#include <string>

#include "runtime/store/store.h"

namespace convtgen {

/// The store of a folder, one for the process; empty: the user's.
[[nodiscard]] std::shared_ptr<Store> store_of(const std::string& folder);

/// A new store with nothing on disk: what is made for this once.
[[nodiscard]] std::shared_ptr<Store> store_in_memory();

}  // namespace convtgen
