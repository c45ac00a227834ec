#include "runtime/jit/counters.h"

namespace convtgen::jit {

Counters& counters() {
  static Counters all;
  return all;
}

}  // namespace convtgen::jit
