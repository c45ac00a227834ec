#include "runtime/make/compile_ahead.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace convtgen {

CompileAhead::CompileAhead(std::vector<PlannedKernel> kernels, PlanMaker make, std::size_t threads)
    : kernels_(std::move(kernels)), make_(std::move(make)), results_(kernels_.size()) {
  const std::size_t most = std::min(std::max<std::size_t>(threads, 1), kernels_.size());
  for (std::size_t i = 0; i < most; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

CompileAhead::~CompileAhead() {
  for (std::jthread& thread : threads_) {
    thread.request_stop();  // all, before the first is waited for
  }
}

std::size_t CompileAhead::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

Outcome<MadeKernel> CompileAhead::take(std::size_t index) {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return results_[index].has_value(); });
  return std::exchange(*results_[index], fail_with(Status::kInternal, "the kernel was taken already"));
}

void CompileAhead::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (next_ < kernels_.size() && !stop.stop_requested()) {
    const std::size_t index = next_++;
    lock.unlock();
    Outcome<MadeKernel> result = fail_with(Status::kInternal, "");
    try {
      result = make_(kernels_[index].problem, kernels_[index].plan);
    } catch (const std::exception& error) {  // no memory; it must not end the process
      result = fail_with(Status::kOutOfMemory, error.what());
    }
    lock.lock();
    results_[index] = std::move(result);
    ++done_;
    finished_.notify_all();
  }
}

}  // namespace convtgen
