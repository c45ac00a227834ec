// From a problem to a binary: the store's where it has one, else NVRTC's.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/compile/nvrtc.h"
#include "runtime/store/store.h"
#include "runtime/support/failure.h"

namespace convtgen {

/// A kernel's source, its binary, and how it came about.
struct MadeKernel {
  Problem problem;
  Plan plan;
  std::size_t place = 0;  // of the plan among those of choose_plans(): 0 unless some were passed over
  KernelSource source;
  Binary binary;
  std::string key;           // hexadecimal
  std::string architecture;  // that it was compiled for: "sm_90a", or "compute_89" for PTX
  std::string compiled_by;   // "NVRTC 13.0"
  bool compiled = false;     // in this call; else the store had it
  double generate_ms = 0, compile_ms = 0;
};

/// The key under which the store keeps a kernel that is generated and not yet compiled. `compiler` is the identity of
/// the NVRTC that makes it; empty where there is none, then what any made serves.
[[nodiscard]] Key binary_key(const MadeKernel& made, BinaryKind kind, const std::string& compiler);

/// The binary of a kernel for exactly this code target: the store's, which the engine above may have put there, else
/// compiled and put there. `store` may be null; `compiler` is the identity of the NVRTC that `open` gives, which is
/// asked for only where something must be compiled.
/// Errors: those of the compiler.
using OpenNvrtc = std::function<Result<const Nvrtc*>()>;
[[nodiscard]] Result<Binary> find_or_compile(Store* store, const OpenNvrtc& open, const std::string& compiler,
                                             const MadeKernel& made, const CodeTarget& code);

/// Thread-safe. The store's lock for a key makes it one compile a kernel, over all processes.
class KernelMaker {
 public:
  /// `chip` is the GPU's name: tuning records are of one.
  explicit KernelMaker(std::shared_ptr<Store> store, std::string chip = {})
      : store_(std::move(store)), chip_(std::move(chip)) {}

  /// A kernel for a chip of this compute capability (10 * major + minor): a cubin for its architecture, or where this
  /// NVRTC does not know that yet, PTX of the newest older one that it knows, with one note. NVRTC is loaded only where
  /// something must be compiled. Plans that can't be specialised or compiled are passed over.
  /// Errors: kUnsupported, no plan; kNoCompiler; kCompileFailed with the compiler's log; kCancelled.
  [[nodiscard]] Outcome<MadeKernel> make(const Layer& layer, Direction direction, int capability, std::stop_token stop);

  /// The kernel of one plan, whatever records say: a cubin for the problem's own target, under the key that make()
  /// looks for once a record names the plan. NVRTC is loaded only where something must be compiled. Errors: kInternal,
  /// no source of the plan; kNoCompiler; kCompileFailed, also where NVRTC does not know the target; kCancelled.
  [[nodiscard]] Outcome<MadeKernel> make_cubin(const Problem& problem, const Plan& plan, std::stop_token stop = {});

  /// The source for a target, of the plan that a tuning record names, else of the planner's first, or of the next one
  /// where that can't be specialised; nothing is compiled.
  /// Errors: kUnsupported, no plan; kInternal, no source of any.
  [[nodiscard]] Outcome<MadeKernel> generate(const Layer& layer, Direction direction, const Target& target);

 private:
  /// The NVRTC of this machine, as far as it is known without loading it.
  struct Compiler {
    std::string path;      // empty: none was found so
    std::string identity;  // empty with it
  };

  /// The bytes of the tuning record of a problem on this chip; empty where there is none.
  [[nodiscard]] std::string record_of(const Problem& problem);
  /// What an older target's PTX is made from where `made` can't be compiled: of the plan that a record for that target
  /// names, or the chip's own record where that target has its plan too, else of the planner's first; as many are
  /// passed over as for `made`.
  [[nodiscard]] Outcome<MadeKernel> generate_older(const MadeKernel& made, const Target& target);
  /// The binary of a kernel that is generated: the store's, else compiled.
  [[nodiscard]] Outcome<MadeKernel> find_or_make(MadeKernel kernel, int capability, bool exact,
                                                 const std::stop_token& stop);
  /// Makes `made` what an entry's bytes hold. False where that is not what belongs under its key.
  [[nodiscard]] bool take(MadeKernel& made, const Key& key, std::string_view bytes);
  [[nodiscard]] Outcome<MadeKernel> compile(MadeKernel made, int capability, bool exact, Compiler compiler,
                                            const std::stop_token& stop);
  /// `older` is what is compiled, `made` what the key is of: the same but where NVRTC does not know the chip.
  [[nodiscard]] Outcome<MadeKernel> compile_as(MadeKernel made, const MadeKernel& older, BinaryKind kind,
                                               const Nvrtc& nvrtc, const Compiler& compiler,
                                               const std::stop_token& stop);
  [[nodiscard]] bool find(MadeKernel& made, BinaryKind kind, const Compiler& compiler);
  [[nodiscard]] Compiler compiler();
  [[nodiscard]] Outcome<std::shared_ptr<const Nvrtc>> load(Compiler& compiler);
  void note_older(int capability, const std::string& architecture, const Nvrtc& nvrtc);

  std::shared_ptr<Store> store_;
  std::string chip_;
  std::mutex mutex_;
  std::optional<Compiler> compiler_;
  std::shared_ptr<const Nvrtc> nvrtc_;
  std::set<int> noted_;  // capabilities
};

}  // namespace convtgen
