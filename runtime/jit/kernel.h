// A layer made ready on one device.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "generator/recipe/call_form.h"
#include "runtime/compile/binary.h"
#include "runtime/support/failure.h"

namespace convtgen::jit {

/// Facts about a prepared kernel.
struct KernelFacts {
  Problem problem;
  Plan plan;
  KernelSource source;
  std::string layer_text;  // canonical
  std::string plan_text;
  std::string key;           // of the binary, in hexadecimal; empty on the host device
  std::string architecture;  // "sm_90a", "compute_89" for PTX, "host"
  CallForm form;
};

/// Thread-safe: any number of threads may launch it at once. It must not be destroyed before its launches are over and
/// the CUDA graphs that hold it are gone.
class PreparedKernel {
 public:
  explicit PreparedKernel(KernelFacts facts) : facts_(std::move(facts)) {}
  virtual ~PreparedKernel() = default;
  PreparedKernel(const PreparedKernel&) = delete;
  PreparedKernel& operator=(const PreparedKernel&) = delete;

  [[nodiscard]] const KernelFacts& facts() const { return facts_; }

  /// Enqueues one call on `stream` (a CUstream; null is the default stream), or on the host device runs it to its end.
  /// On a GPU: no lock, no allocation and no text unless something is wrong or the kernel is not yet loaded in
  /// the calling thread's context.
  /// Errors: those of CallForm::call(); kNotPrepared in a capture in such a context; the driver's.
  [[nodiscard]] virtual Outcome<void> launch(const Arrays& arrays, const InputSizes& sizes, void* stream) = 0;

  /// Makes launches in the calling thread's context free of loading. Errors: the driver's.
  [[nodiscard]] virtual Outcome<void> ready_here() { return {}; }

  /// Whether work on `stream` is being captured now.
  [[nodiscard]] virtual bool capturing(void* stream) const {
    (void)stream;
    return false;
  }

  /// When it was last used, by the clock of its device.
  std::atomic<std::uint64_t> last_use{0};
  /// Whether a CUDA graph may hold it, so that its device must not release it.
  std::atomic<bool> pinned{false};

 private:
  KernelFacts facts_;
};

}  // namespace convtgen::jit
