// From a plan to a binary: its source, the store's entry where there is one, else what a compiler makes.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <stop_token>
#include <string>

#include "generator/planner/plan/plan.h"
#include "generator/specializer/first_source.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/compile/binary.h"
#include "runtime/support/failure.h"

namespace convtgen {

/// A kernel's source, its binary, and how it came about.
struct MadeKernel {
  Problem problem;
  Plan plan;
  std::size_t place = 0;  // of the plan in the list: 0 unless some were skipped
  KernelSource source;
  Binary binary;
  std::string key;           // in the store, hexadecimal; empty where no store keeps it
  std::string architecture;  // that it was compiled for: "sm_90a", or "compute_89" for PTX; empty of a host library
  std::string compiled_by;   // "NVRTC 13.0"; empty where a device compiled it
  bool compiled = false;     // in this call, else the store had it
  double generate_ms = 0, compile_ms = 0;
};

/// A kernel of a given source, not yet compiled.
[[nodiscard]] MadeKernel generated_kernel(Problem problem, Plan plan, KernelSource source);
/// The same with the source of the plan. Errors: kInternal, it has none.
[[nodiscard]] Outcome<MadeKernel> generate_kernel(const Problem& problem, const Plan& plan);

/// What `finish` makes of the first plan, from `from` on, that can be specialised and compiled. A plan is passed over,
/// with a warning in the log, where it has no source or where `finish` fails for ever (Failure::lasting): the
/// compiler's verdict on the source, which may be another one for another plan. Errors: where no plan is left, the
/// error of the first one; any other error of `finish` at once.
using FinishKernel = std::function<Outcome<MadeKernel>(MadeKernel generated)>;
[[nodiscard]] Outcome<MadeKernel> first_kernel(const Problem& problem, std::span<const Plan> plans,
                                               const FinishKernel& finish, std::size_t from = 0,
                                               const Specializer& specializer = specialize);

/// What makes kernels, whatever they run on. Thread-safe.
class KernelMaker {
 public:
  virtual ~KernelMaker() = default;

  /// What make() and make_first() make of a GPU's kernels: kCubin or kPtx.
  [[nodiscard]] virtual BinaryKind kind() const { return BinaryKind::kCubin; }

  /// The kernel of one plan, for the problem's own target.
  /// Errors: kInternal, no source of the plan; those of find_or_compile().
  [[nodiscard]] Outcome<MadeKernel> make(const Problem& problem, const Plan& plan, const std::stop_token& stop = {});

  /// The kernel of the first of these plans, the best one first, that can be specialised and compiled.
  /// Errors: if all fail, the error of the first.
  [[nodiscard]] Outcome<MadeKernel> make_first(const Problem& problem, std::span<const Plan> plans,
                                               const std::stop_token& stop = {});

  /// The binary of a kernel that is generated, for exactly its target: the store's, else compiled and put there. Of a
  /// GPU's `kind` is kCubin or kPtx.
  /// Errors: kNoCompiler; kCompileFailed, with the compiler's log; kCancelled.
  [[nodiscard]] virtual Outcome<MadeKernel> find_or_compile(MadeKernel generated, BinaryKind kind,
                                                            const std::stop_token& stop = {}) = 0;
};

}  // namespace convtgen
