#include "runtime/api/handles.h"

#include <mutex>
#include <set>

namespace convtgen::api {
namespace {

struct Live {
  std::mutex mutex;
  std::set<const void*> handles;
};

// Never destroyed: handles may be destroyed while the process ends.
Live& live() {
  static Live& all = *new Live;
  return all;
}

}  // namespace

Handle::Handle(HandleKind kind) : magic_(static_cast<std::uint64_t>(kind)) {
#ifndef NDEBUG
  const std::lock_guard lock(live().mutex);
  live().handles.insert(this);
#endif
}

Handle::~Handle() {
  magic_ = kDestroyed;
#ifndef NDEBUG
  const std::lock_guard lock(live().mutex);
  live().handles.erase(this);
#endif
}

bool Handle::is_live(const void* handle) {
  const std::lock_guard lock(live().mutex);
  return live().handles.contains(handle);
}

}  // namespace convtgen::api
