#include "runtime/support/counters.h"

namespace convtgen {

Counters& counters() {
  static Counters all;
  return all;
}

}  // namespace convtgen
