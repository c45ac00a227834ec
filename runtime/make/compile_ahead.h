// Kernels that other threads compile before they are needed.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/make/kernel_maker.h"

namespace convtgen {

struct PlannedKernel {
  Problem problem;
  Plan plan;
};

/// Called from several threads at a time.
using PlanMaker = std::function<Outcome<MadeKernel>(const Problem& problem, const Plan& plan)>;

/// Compiles a list of kernels, several at a time, in the order of the list.
class CompileAhead {
 public:
  /// `threads` that compile, at least 1.
  CompileAhead(std::vector<PlannedKernel> kernels, PlanMaker make, std::size_t threads);
  /// Waits for what is being compiled; the rest of the list is not begun.
  ~CompileAhead();
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;

  /// How many compiles have ended, successful or not.
  [[nodiscard]] std::size_t done() const;
  [[nodiscard]] std::size_t count() const { return kernels_.size(); }

  /// Waits for the kernel at a place of the list and moves it out; once for each place.
  /// Errors: the errors of making it.
  [[nodiscard]] Outcome<MadeKernel> take(std::size_t index);

 private:
  void work(const std::stop_token& stop);

  const std::vector<PlannedKernel> kernels_;
  const PlanMaker make_;
  mutable std::mutex mutex_;
  std::condition_variable finished_;
  std::size_t next_ = 0;  // to be begun
  std::size_t done_ = 0;
  std::vector<std::optional<Outcome<MadeKernel>>> results_;
  std::vector<std::jthread> threads_;
};

}  // namespace convtgen
