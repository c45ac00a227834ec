// Fibers: the threads of a block, run one at a time on the stack of each. Sanitizers are notified of every switch.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <vector>

#include "generator/support/error.h"
#include "runtime/device/host/memory.h"

namespace convtgen::host {

/// Bytes of a fiber's stack; below it lies an unmapped page, and frames are probed (-fstack-clash-protection), so that
/// an overflow ends the process instead of overwriting memory.
inline constexpr std::size_t kStackBytes = 128 << 10;

/// The fibers of one worker, numbered from 0. They are started, resumed by their owner, and give way to it; one that is
/// abandoned is simply started anew. A fiber holds nothing that needs a destructor when it is abandoned.
class Fibers {
 public:
  using Body = void (*)(void* argument);

  Fibers() = default;
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;
  ~Fibers();

  /// Stacks for at least `count` fibers. Errors: no memory.
  [[nodiscard]] Result<void> reserve(std::size_t count);

  /// The next resume(fiber) calls body(argument); body ends with leave(fiber), and never returns.
  void start(std::size_t fiber, Body body, void* argument);

  /// Owner: runs a fiber until it gives way or leaves.
  void resume(std::size_t fiber);

  /// Inside `fiber`: back to the owner, until resumed.
  void give_way(std::size_t fiber);

  /// Inside `fiber`: back to the owner, for good.
  [[noreturn]] void leave(std::size_t fiber);

  /// The lowest address of a fiber's stack.
  [[nodiscard]] const std::byte* stack(std::size_t fiber) const { return fibers_[fiber].stack; }

 private:
  struct Fiber {
    std::byte* stack = nullptr;
    std::byte* top = nullptr;
    boost::context::detail::fcontext_t context = nullptr;
    Body body = nullptr;
    void* argument = nullptr;
    void* sanitizer = nullptr;  // AddressSanitizer's fake stack, or ThreadSanitizer's fiber
  };

  static void enter(boost::context::detail::transfer_t from);

  std::vector<GuardedMemory> mappings_;
  std::vector<Fiber> fibers_;
  std::size_t running_ = 0;
  boost::context::detail::fcontext_t owner_ = nullptr;
  void* owner_sanitizer_ = nullptr;
  const void* owner_stack_ = nullptr;
  std::size_t owner_stack_bytes_ = 0;
};

}  // namespace convtgen::host
