// The handles of the C API, and how a wrong one is detected.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "convtgen/convtgen.h"
#include "runtime/api/held_layer.h"
#include "runtime/jit/device.h"

namespace convtgen::api {

/// The table of a process' handles. A handle is not an address: it holds the slot of its object in the table, its kind,
/// and how many objects had the slot before (the generation). So a destroyed or invalid handle is detected without
/// reading memory that it might not point to, even if the slot has another object now.
namespace table {

/// A handle of `object`, of a kind from 1 to 3. Throws std::bad_alloc.
[[nodiscard]] void* insert(void* object, unsigned kind);
/// The object, or null where `handle` is no live one of this kind. No lock and no allocation.
[[nodiscard]] void* find(const void* handle, unsigned kind) noexcept;
/// Removes the handle and returns its object; null as in find().
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

/// Does nothing where find() returns null.
template <typename Handle>
void destroy(const Handle* handle) noexcept {
  delete static_cast<typename Held<Handle>::Object*>(table::take(handle, Held<Handle>::kKind));
}

}  // namespace convtgen::api
