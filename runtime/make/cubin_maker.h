// Kernels for GPUs: the store's, else NVRTC's.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

#include "generator/planner/chip/chip_code.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/make/kept_kernel.h"
#include "runtime/make/kernel_maker.h"
#include "runtime/store/store.h"

namespace convtgen {

/// The key under which the store keeps a kernel that is generated and not yet compiled. `compiler` is the identity of
/// the NVRTC that makes it; empty without an NVRTC: then an entry of any compiler matches.
[[nodiscard]] Key binary_key(const MadeKernel& made, BinaryKind kind, const std::string& compiler);

/// Cubins and PTX. NVRTC is loaded only where something must be compiled. A kernel is compiled once, over all
/// processes, by the store's lock for its key.
class CubinMaker final : public KernelMaker {
 public:
  /// `name` is the GPU's, which selects tuning records.
  explicit CubinMaker(std::shared_ptr<Store> store, std::string name = {}, BinaryKind kind = BinaryKind::kCubin)
      : store_(std::move(store)), chip_(std::move(name)), kind_(kind) {}

  [[nodiscard]] BinaryKind kind() const override { return kind_; }

  /// A kernel for a chip: the code that code_for_chip() names, with one note where that is planned or made for another
  /// chip. Plans that can't be specialised or compiled are passed over.
  /// Errors: kUnsupported, no plan or too old a chip; kDriver, an old one; kNoCompiler; kCompileFailed with the
  /// compiler's log; kCancelled.
  [[nodiscard]] Outcome<MadeKernel> make_for_chip(const Layer& layer, Direction direction, const Chip& chip,
                                                  const std::stop_token& stop = {});

  /// The source for a target, of the plan that a tuning record names, else of the planner's first, or of the next one
  /// where that can't be specialised; nothing is compiled.
  /// Errors: kUnsupported, no plan; kInternal, no source of any.
  [[nodiscard]] Outcome<MadeKernel> generate(const Layer& layer, Direction direction, const Target& target);

  /// Errors: kCompileFailed also where NVRTC does not know the target.
  [[nodiscard]] Outcome<MadeKernel> find_or_compile(MadeKernel generated, BinaryKind kind,
                                                    const std::stop_token& stop = {}) override;

 private:
  /// The NVRTC of this machine, as far as it is known without loading it.
  struct Compiler {
    std::string path;      // empty: none was found so
    std::string identity;  // empty with it
  };

  /// Which code a kernel needs.
  struct Wanted {
    BinaryKind kind = BinaryKind::kCubin;
    /// If code for an older target is allowed, for what runs it; nullopt if the target must be exactly the kernel's
    /// own.
    std::optional<Chip> chip = {};
  };

  /// The source for an older target, where `made` can't be compiled. Its plan is by a record for that target, else
  /// by the chip's own record if that target has the plan too, else the planner's first. It skips as many plans
  /// as `made` did.
  [[nodiscard]] Outcome<MadeKernel> generate_older(const MadeKernel& made, const Target& target);
  /// The binary of a kernel that is generated: the store's, else compiled.
  [[nodiscard]] Outcome<MadeKernel> find_or_make(MadeKernel kernel, const Wanted& wanted, const std::stop_token& stop);
  /// The kernel from the store; it is not compiled.
  [[nodiscard]] KeptKernel kept(const MadeKernel& made, BinaryKind kind, const Wanted& wanted,
                                const Compiler& compiler);
  /// KeptKernel::take.
  [[nodiscard]] bool take(MadeKernel& made, const Wanted& wanted, std::string_view bytes);
  [[nodiscard]] Outcome<MadeKernel> compile(MadeKernel made, const Wanted& wanted, Compiler compiler,
                                            const std::stop_token& stop);
  [[nodiscard]] Compiler compiler();
  [[nodiscard]] Outcome<std::shared_ptr<const Nvrtc>> load(Compiler& compiler);
  void note_code(const Chip& chip, const MadeKernel& made);

  std::shared_ptr<Store> store_;
  std::string chip_;
  BinaryKind kind_;
  std::mutex mutex_;
  std::optional<Compiler> compiler_;
  std::shared_ptr<const Nvrtc> nvrtc_;
  std::set<int> noted_;  // capabilities
};

}  // namespace convtgen
