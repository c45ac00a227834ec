// The stores of this process.
#pragma once

#include <memory>
#include <string>

#include "runtime/store/store.h"

namespace convtgen {

/// The store of a folder, one for the process; empty: the user's.
[[nodiscard]] std::shared_ptr<Store> store_of(const std::string& folder);

}  // namespace convtgen
