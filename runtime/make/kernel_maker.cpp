#include "runtime/make/kernel_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ranges>

#include "generator/language/language.h"
#include "runtime/compile/identity.h"
#include "runtime/compile/slow_compile.h"
#include "runtime/make/choose.h"
#include "runtime/make/stored_kernel.h"
#include "runtime/records/record.h"
#include "runtime/support/clock.h"
#include "runtime/support/counters.h"
#include "runtime/support/log.h"

namespace convtgen {
namespace {

// "89" of "sm_89", as NVRTC counts architectures.
bool knows(const Nvrtc& nvrtc, const Target& target) {
  return std::ranges::find(nvrtc.architectures, target.capability) != nvrtc.architectures.end();
}

std::string compute_name(const Target& target) {
  return name_of(CodeTarget{target, true});
}

/// What kernels for a chip are planned for.
struct Base {
  Target target;
  bool exact = true;  // cubins for the target run on the chip
};

Outcome<Base> base_of(int capability) {
  if (const auto architecture = architecture_for_capability(capability)) {
    if (auto target = target_named(*architecture)) {
      return Base{*std::move(target), true};
    }
  }
  for (const Target& target : known_targets() | std::views::reverse) {
    if (target.capability < capability && is_portable(target)) {
      return Base{target, false};
    }
  }
  return fail_with(Status::kUnsupported, target_for_capability(capability).error());
}

Outcome<MadeKernel> specialized(Problem problem, Plan plan) {
  const Clock::time_point start = Clock::now();
  MadeKernel made;
  made.problem = std::move(problem);
  made.plan = std::move(plan);
  auto source = specialize(made.problem, made.plan);
  if (!source) {
    return fail_with(Status::kInternal, source.error());
  }
  made.source = *std::move(source);
  made.generate_ms = milliseconds_since(start);
  return made;
}

/// A kernel that is generated, of the plan at `place`.
MadeKernel made_of(const Problem& problem, const Plan& plan, std::size_t place, KernelSource source) {
  MadeKernel made;
  made.problem = problem;
  made.plan = plan;
  made.place = place;
  made.source = std::move(source);
  return made;
}

/// Of the first plan that can be specialised, from the one at `from` on, or from the last where there are not so many.
Outcome<MadeKernel> specialized(const Problem& problem, std::string_view record, std::size_t from) {
  const Clock::time_point start = Clock::now();
  const auto plans = choose_plans(problem, record);
  if (!plans) {
    return std::unexpected(plans.error());
  }
  const std::function<Outcome<MadeKernel>(std::size_t, KernelSource)> make = [&](std::size_t place,
                                                                                 KernelSource source) {
    return made_of(problem, (*plans)[place], place, std::move(source));
  };
  auto made = first_that_compiles(problem, *plans, make, std::min(from, plans->size() - 1));
  if (made) {
    made->generate_ms = milliseconds_since(start);
  }
  return made;
}

/// Compiles what nobody has compiled; says before if that will take long.
Compiled<Binary> compile_source(const Nvrtc& nvrtc, const MadeKernel& made, BinaryKind kind) {
  if (const auto note = slow_compile_note(made.source)) {
    log(LogLevel::kWarning, fmt::format("{} [layer: {}]", *note, canonical_form(made.problem.layer)));
  }
  return compile_with_nvrtc(nvrtc, made.source, made.problem.target.architecture, kind);
}

}  // namespace

Key binary_key(const MadeKernel& made, BinaryKind kind, const std::string& compiler) {
  return kernel_key(kind == BinaryKind::kPtx ? EntryKind::kPtx : EntryKind::kCubin, made.source.text,
                    made.problem.target.architecture, compiler, {kNvrtcOptions.begin(), kNvrtcOptions.end()});
}

Result<Binary> find_or_compile(Store* store, const OpenNvrtc& open, const std::string& compiler, const MadeKernel& made,
                               const CodeTarget& code) {
  const BinaryKind kind = code.is_ptx ? BinaryKind::kPtx : BinaryKind::kCubin;
  const auto compile = [&]() -> Compiled<StoredKernel> {
    const auto nvrtc = open();
    if (!nvrtc) {
      return std::unexpected(nvrtc.error());
    }
    auto binary = compile_source(**nvrtc, made, kind);
    if (!binary) {
      return std::unexpected(binary.error());
    }
    binary->architecture = name_of(code);
    return StoredKernel{*std::move(binary), fmt::format("NVRTC {}.{}", (*nvrtc)->major, (*nvrtc)->minor)};
  };
  const std::string label = canonical_form(made.problem.layer);
  std::optional<Key> misplaced;  // what holds something else
  if (store != nullptr) {
    const auto make = [&]() -> Made {
      auto kernel = compile();
      if (!kernel) {
        return std::unexpected(kernel.error());
      }
      return encode_kernel(*kernel);
    };
    const Key key = binary_key(made, kind, compiler);
    const auto entry = store->get_or_make(key, make, label);
    if (!entry) {
      return std::unexpected(entry.error());
    }
    auto stored = decode_kernel(entry->bytes);
    // PTX under this key may be for an older chip, where the NVRTC of then did not know this one.
    if (stored && stored->binary.symbol == made.source.symbol && stored->binary.architecture == name_of(code) &&
        stored->binary.packing == made.source.packing) {
      return std::move(stored->binary);
    }
    misplaced = key;
  }
  auto kernel = compile();
  if (!kernel) {
    return std::unexpected(kernel.error());
  }
  if (misplaced) {
    store->insert(*misplaced, encode_kernel(*kernel), label);
  }
  return std::move(kernel->binary);
}

KernelMaker::Compiler KernelMaker::compiler() {
  const std::lock_guard lock(mutex_);
  if (!compiler_) {
    const NvrtcFile file = locate_nvrtc();
    if (!file.found()) {
      return {};  // it may come: look again
    }
    compiler_ = Compiler{file.path, file.identity};
  }
  return *compiler_;
}

// What was located may not load, and Python may know of one that no look at files finds: `compiler` is then another.
Outcome<std::shared_ptr<const Nvrtc>> KernelMaker::load(Compiler& compiler) {
  const std::lock_guard lock(mutex_);
  if (!nvrtc_ && !compiler.path.empty()) {
    if (auto opened = open_nvrtc(compiler.path)) {
      nvrtc_ = std::make_shared<const Nvrtc>(*std::move(opened));
    }
  }
  if (!nvrtc_) {
    const NvrtcSearch search = find_nvrtc();
    if (!search.found()) {
      return fail_with(Status::kNoCompiler, describe_missing_nvrtc(search));
    }
    const auto identity = library_identity(search.path);
    auto opened = open_nvrtc(search.path);
    if (!identity || !opened) {
      return fail_with(Status::kNoCompiler, identity ? opened.error() : identity.error());
    }
    nvrtc_ = std::make_shared<const Nvrtc>(*std::move(opened));
    compiler_ = Compiler{search.path, *identity};
  }
  compiler = *compiler_;
  return nvrtc_;
}

std::string KernelMaker::record_of(const Problem& problem) {
  const std::optional<Entry> record = store_->find(record_key(problem, chip_));
  return record ? record->bytes : std::string();
}

Outcome<MadeKernel> KernelMaker::generate_older(const MadeKernel& made, const Target& target) {
  const Problem problem{made.problem.layer, made.problem.direction, target};
  std::string record = record_of(problem);
  if (record.empty()) {
    std::string own = record_of(made.problem);
    const auto plans = plan(problem);
    if (plans && !own.empty() && choose_recorded(*plans, own).note.empty()) {
      record = std::move(own);
    }
  }
  return specialized(problem, record, made.place);
}

bool KernelMaker::take(MadeKernel& made, const Key& key, std::string_view bytes) {
  auto stored = decode_kernel(bytes);
  if (!stored) {
    return false;
  }
  MadeKernel found = made;
  if (stored->binary.kind == BinaryKind::kPtx && stored->binary.symbol != made.source.symbol) {
    // Made for an older architecture than the one that was planned for: its launch is what that one's plan says.
    const auto older = std::ranges::find(known_targets(), stored->binary.architecture, compute_name);
    if (older == known_targets().end()) {
      return false;
    }
    auto again = generate_older(made, *older);
    if (!again) {
      return false;
    }
    found = *std::move(again);
    found.generate_ms += made.generate_ms;
  }
  if (stored->binary.symbol != found.source.symbol || stored->binary.threads != found.source.threads ||
      stored->binary.shared_bytes != found.source.shared_bytes || stored->binary.packing != found.source.packing) {
    return false;
  }
  made = std::move(found);
  made.key = key.hex();
  made.architecture = stored->binary.architecture;
  made.compiled_by = std::move(stored->compiled_by);
  made.binary = std::move(stored->binary);
  return true;
}

bool KernelMaker::find(MadeKernel& made, BinaryKind kind, const Compiler& compiler) {
  const Key key = binary_key(made, kind, compiler.identity);
  const std::optional<Entry> entry = store_->find(key);
  return entry && take(made, key, entry->bytes);
}

void KernelMaker::note_older(int capability, const std::string& architecture, const Nvrtc& nvrtc) {
  {
    const std::lock_guard lock(mutex_);
    if (!noted_.insert(capability).second) {
      return;
    }
  }
  log(LogLevel::kWarning,
      fmt::format("NVRTC {}.{} ({}) does not know compute capability {}.{} yet: kernels are compiled to PTX for {}, "
                  "which the driver translates; a newer NVRTC makes faster ones",
                  nvrtc.major, nvrtc.minor, nvrtc.path, capability / 10, capability % 10, architecture));
}

Outcome<MadeKernel> KernelMaker::compile(MadeKernel made, int capability, bool exact, Compiler compiler,
                                         const std::stop_token& stop) {
  const auto nvrtc = load(compiler);
  if (!nvrtc) {
    return std::unexpected(nvrtc.error());
  }
  MadeKernel older = made;  // what is compiled; `made` names the key
  BinaryKind kind = BinaryKind::kCubin;
  if (!exact || !knows(**nvrtc, made.problem.target)) {
    kind = BinaryKind::kPtx;
    const Target* newest = nullptr;
    for (const Target& target : known_targets()) {
      if (target.capability <= capability && is_portable(target) && knows(**nvrtc, target)) {
        newest = &target;
      }
    }
    if (newest == nullptr) {
      return fail_with(Status::kNoCompiler,
                       fmt::format("NVRTC {}.{} ({}) compiles for nothing that compute capability {}.{} can run",
                                   (*nvrtc)->major, (*nvrtc)->minor, (*nvrtc)->path, capability / 10, capability % 10));
    }
    note_older(capability, newest->architecture, **nvrtc);
    auto again = generate_older(made, *newest);
    if (!again) {
      return again;
    }
    older = *std::move(again);
  }
  return compile_as(std::move(made), older, kind, **nvrtc, compiler, stop);
}

Outcome<MadeKernel> KernelMaker::compile_as(MadeKernel made, const MadeKernel& older, BinaryKind kind,
                                            const Nvrtc& nvrtc, const Compiler& compiler, const std::stop_token& stop) {
  const Key key = binary_key(made, kind, compiler.identity);
  std::optional<Failure> failure;
  bool ran = false;
  const auto run = [&]() -> Made {
    if (stop.stop_requested()) {
      failure = Failure{Status::kCancelled, "cancelled"};
      return fail(failure->message);
    }
    ran = true;
    count(counters().compiles);
    auto binary = compile_source(nvrtc, older, kind);
    if (!binary) {
      failure = fail_with(Status::kCompileFailed, binary.error()).error();
      return std::unexpected(binary.error());
    }
    if (kind == BinaryKind::kPtx) {
      binary->architecture = compute_name(older.problem.target);
    }
    return encode_kernel({*std::move(binary), fmt::format("NVRTC {}.{}", nvrtc.major, nvrtc.minor)});
  };
  const std::string label = canonical_form(made.problem.layer);
  const auto entry = store_->get_or_make(key, run, label);
  bool taken = entry && take(made, key, entry->bytes);
  if (entry && !taken) {
    // Whole, but not what belongs there now: of the plan before tuning, or as another version packs kernels.
    if (const Made again = run()) {
      store_->insert(key, *again, label);
      taken = take(made, key, *again);
    }
  }
  if (failure) {
    return std::unexpected(*std::move(failure));
  }
  if (!entry) {
    return fail_with(Status::kCompileFailed, entry.error());
  }
  if (!taken) {
    return fail_with(Status::kInternal, fmt::format("{} was compiled to something else", key.name()));
  }
  made.compiled = ran;
  return made;
}

Outcome<MadeKernel> KernelMaker::generate(const Layer& layer, Direction direction, const Target& target) {
  const Problem problem{layer, direction, target};
  return specialized(problem, record_of(problem), 0);
}

Outcome<MadeKernel> KernelMaker::make(const Layer& layer, Direction direction, int capability, std::stop_token stop) {
  const auto base = base_of(capability);
  if (!base) {
    return std::unexpected(base.error());
  }
  Clock::time_point start = Clock::now();
  const Problem problem{layer, direction, base->target};
  const auto plans = choose_plans(problem, record_of(problem));
  if (!plans) {
    return std::unexpected(plans.error());
  }
  const std::function<Outcome<MadeKernel>(std::size_t, KernelSource)> make = [&](std::size_t place,
                                                                                 KernelSource source) {
    MadeKernel made = made_of(problem, (*plans)[place], place, std::move(source));
    made.generate_ms = milliseconds_since(start);
    auto whole = find_or_make(std::move(made), capability, base->exact, stop);
    start = Clock::now();  // of the next plan, where this one is passed over
    return whole;
  };
  return first_that_compiles(problem, *plans, make);
}

Outcome<MadeKernel> KernelMaker::find_or_make(MadeKernel kernel, int capability, bool exact,
                                              const std::stop_token& stop) {
  const Clock::time_point start = Clock::now();
  const Compiler compiler = this->compiler();
  Outcome<MadeKernel> made = std::move(kernel);
  const bool found = (exact && find(*made, BinaryKind::kCubin, compiler)) || find(*made, BinaryKind::kPtx, compiler);
  count(found ? counters().hits : counters().misses);
  if (!found) {
    made = compile(*std::move(made), capability, exact, compiler, stop);
  }
  if (made) {
    made->compile_ms = milliseconds_since(start);
  }
  return made;
}

Outcome<MadeKernel> KernelMaker::make_cubin(const Problem& problem, const Plan& plan, std::stop_token stop) {
  auto made = specialized(problem, plan);
  if (!made) {
    return made;
  }
  const Clock::time_point start = Clock::now();
  Compiler compiler = this->compiler();
  const bool found = find(*made, BinaryKind::kCubin, compiler);
  count(found ? counters().hits : counters().misses);
  if (!found) {
    const auto nvrtc = load(compiler);
    if (!nvrtc) {
      return std::unexpected(nvrtc.error());
    }
    const MadeKernel own = *made;
    made = compile_as(*std::move(made), own, BinaryKind::kCubin, **nvrtc, compiler, stop);
  }
  if (made) {
    made->compile_ms = milliseconds_since(start);
  }
  return made;
}

}  // namespace convtgen
