// The handles of the C API, and how a wrong one is told.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "convtgen/convtgen.h"
#include "runtime/api/held_layer.h"
#include "runtime/jit/device.h"

namespace convtgen::api {

/// The table of a process' handles. A handle is no address: it holds the place of its object in the table, its kind,
/// and how many objects had the place before. So one that was destroyed, or never was one, is told without a look at
/// memory that it may not point to, whatever has come in its place.
namespace table {

/// A handle of `object`, of a kind from 1 to 3. Throws std::bad_alloc.
[[nodiscard]] void* insert(void* object, unsigned kind);
/// The object, or null where `handle` is no live one of this kind. No lock and no allocation.
[[nodiscard]] void* find(const void* handle, unsigned kind) noexcept;
/// The object, whose handle is none from now on; null as find().
[[nodiscard]] void* take(const void* handle, unsigned kind) noexcept;

}  // namespace table

/// What a handle stands for.
template <typename Handle>
struct Held;
template <>
struct Held<convtgen_layer> {
  static constexpr unsigned kKind = 1;
  using Object = HeldLayer;
};
template <>
struct Held<convtgen_device> {
  static constexpr unsigned kKind = 2;
  using Object = std::shared_ptr<jit::JitDevice>;
};
template <>
struct Held<convtgen_kernel> {
  static constexpr unsigned kKind = 3;
  using Object = jit::KernelPointer;
};

template <typename Handle>
[[nodiscard]] Handle* make_handle(typename Held<Handle>::Object object) {
  auto own = std::make_unique<typename Held<Handle>::Object>(std::move(object));
  void* handle = table::insert(own.get(), Held<Handle>::kKind);
  (void)own.release();
  return static_cast<Handle*>(handle);
}

/// Null where `handle` is null, of another kind, or destroyed.
template <typename Handle>
[[nodiscard]] typename Held<Handle>::Object* find(const Handle* handle) noexcept {
  return static_cast<typename Held<Handle>::Object*>(table::find(handle, Held<Handle>::kKind));
}

/// Nothing is done where find() gives null.
template <typename Handle>
void destroy(const Handle* handle) noexcept {
  delete static_cast<typename Held<Handle>::Object*>(table::take(handle, Held<Handle>::kKind));
}

}  // namespace convtgen::api
