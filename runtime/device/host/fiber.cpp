#include "runtime/device/host/fiber.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace convtgen::host {

namespace context = boost::context::detail;

Fibers::~Fibers() {
#ifdef __SANITIZE_ADDRESS__
  // Abandoned frames have left their red zones; others may be given these addresses next.
  for (const Fiber& fiber : fibers_) {
    __asan_unpoison_memory_region(fiber.stack, kStackBytes);
  }
#endif
#ifdef __SANITIZE_THREAD__
  for (const Fiber& fiber : fibers_) {
    __tsan_destroy_fiber(fiber.sanitizer);
  }
#endif
}

Result<void> Fibers::reserve(std::size_t count) {
  if (count <= fibers_.size()) {
    return {};
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t stride = kStackBytes + page;
  const std::size_t more = count - fibers_.size();
  auto mapping = GuardedMemory::map(more * stride, 0);
  if (!mapping) {
    return std::unexpected(mapping.error());
  }
  for (std::size_t i = 0; i < more; ++i) {
    std::byte* guard = mapping->data() + i * stride;
    if (mprotect(guard, page, PROT_NONE) != 0) {
      return fail(fmt::format("no guard page for a thread's stack: {}", std::strerror(errno)));
    }
  }
  for (std::size_t i = 0; i < more; ++i) {
    Fiber fiber;
    fiber.stack = mapping->data() + i * stride + page;
    // Tops at different places of a page: equal ones would all use the same lines of the cache.
    fiber.top = fiber.stack + kStackBytes - i * 576 % 4096 / 64 * 64;
#ifdef __SANITIZE_THREAD__
    fiber.sanitizer = __tsan_create_fiber(0);
#endif
    fibers_.push_back(fiber);
  }
  mappings_.push_back(std::move(*mapping));
  return {};
}

void Fibers::start(std::size_t index, Body body, void* argument) {
  Fiber& fiber = fibers_[index];
  fiber.body = body;
  fiber.argument = argument;
#ifdef __SANITIZE_ADDRESS__
  // Frames of the fiber that was here before may have been abandoned with their red zones.
  __asan_unpoison_memory_region(fiber.stack, kStackBytes);
  fiber.sanitizer = nullptr;
#endif
  fiber.context = context::make_fcontext(fiber.top, static_cast<std::size_t>(fiber.top - fiber.stack), &Fibers::enter);
}

void Fibers::enter(context::transfer_t from) {
  auto* self = static_cast<Fibers*>(from.data);
  self->owner_ = from.fctx;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &self->owner_stack_, &self->owner_stack_bytes_);
#endif
  const Fiber& fiber = self->fibers_[self->running_];
  fiber.body(fiber.argument);
  std::abort();  // a body leaves, it never returns
}

void Fibers::resume(std::size_t index) {
  Fiber& fiber = fibers_[index];
  running_ = index;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&owner_sanitizer_, fiber.stack, kStackBytes);
#endif
#ifdef __SANITIZE_THREAD__
  owner_sanitizer_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber.sanitizer, 0);
#endif
  fiber.context = context::jump_fcontext(fiber.context, this).fctx;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(owner_sanitizer_, nullptr, nullptr);
#endif
}

void Fibers::give_way(std::size_t index) {
  Fiber& fiber = fibers_[index];
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&fiber.sanitizer, owner_stack_, owner_stack_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(owner_sanitizer_, 0);
#endif
  owner_ = context::jump_fcontext(owner_, nullptr).fctx;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fiber.sanitizer, &owner_stack_, &owner_stack_bytes_);
#else
  static_cast<void>(fiber);
#endif
}

void Fibers::leave(std::size_t /*fiber*/) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(nullptr, owner_stack_, owner_stack_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(owner_sanitizer_, 0);
#endif
  context::jump_fcontext(owner_, nullptr);
  std::abort();
}

}  // namespace convtgen::host
