// The environment of this process.
#pragma once

#include <string>

namespace convtgen {

/// The value of an environment variable; "" when it is not set.
[[nodiscard]] std::string environment(const char* name);

}  // namespace convtgen
