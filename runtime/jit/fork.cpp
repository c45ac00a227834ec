#include "runtime/jit/fork.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace convtgen::jit {
namespace {

std::atomic<bool> started = false;
std::atomic<bool> lost = false;

}  // namespace

void note_cuda_start() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] {
      if (started) {
        lost = true;
      }
    });
  });
  started = true;
}

bool cuda_lost_in_fork() {
  return lost.load(std::memory_order_relaxed);
}

Failure forked_failure() {
  return {Status::kForked,
          "this process was forked after CUDA had been started in its parent, and CUDA can't be used in such a child; "
          "fork before the first device is opened, or start a new process (Python: the start method 'spawn')"};
}

}  // namespace convtgen::jit
