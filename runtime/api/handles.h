// The handles of the C API, and how a wrong one is told.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/jit/device.h"

namespace convtgen::api {

enum class HandleKind : std::uint64_t {
  kLayer = 0x636f6e766c617965,
  kDevice = 0x636f6e7664657669,
  kKernel = 0x636f6e766b65726e,
};
inline constexpr std::uint64_t kDestroyed = 0xdeaddeaddeaddead;

/// What every handle begins with. In debug builds the live ones are kept in a list, so that a destroyed handle is told
/// without looking at memory that is gone.
class Handle {
 public:
  explicit Handle(HandleKind kind);
  ~Handle();
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  /// Whether `handle` is a live one of this kind. Not null.
  [[nodiscard]] static bool is(const void* handle, HandleKind kind) {
#ifndef NDEBUG
    if (!is_live(handle)) {
      return false;
    }
#endif
    return reinterpret_cast<std::uintptr_t>(handle) % alignof(Handle) == 0 &&
           static_cast<const Handle*>(handle)->magic_ == static_cast<std::uint64_t>(kind);
  }

 private:
  [[nodiscard]] static bool is_live(const void* handle);
  volatile std::uint64_t magic_;  // volatile: the last write to it would be left out otherwise
};

}  // namespace convtgen::api

struct convtgen_layer {
  convtgen::api::Handle handle{convtgen::api::HandleKind::kLayer};
  convtgen::jit::LayerKey key;
};

struct convtgen_device {
  convtgen::api::Handle handle{convtgen::api::HandleKind::kDevice};
  std::shared_ptr<convtgen::jit::JitDevice> device;
};

struct convtgen_kernel {
  convtgen::api::Handle handle{convtgen::api::HandleKind::kKernel};
  convtgen::jit::KernelPointer kernel;
};
