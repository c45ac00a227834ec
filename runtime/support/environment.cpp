#include "runtime/support/environment.h"

#include <cstdlib>

namespace convtgen {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace convtgen
