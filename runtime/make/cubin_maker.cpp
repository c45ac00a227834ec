#include "runtime/make/cubin_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "generator/language/language.h"
#include "generator/layer/directions.h"
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

std::string code_name(const Target& target, BinaryKind kind) {
  return name_of(CodeTarget{target, kind == BinaryKind::kPtx});
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

/// Of the first plan that can be specialised, from the one at `from` on, or from the last where there are not so many.
Outcome<MadeKernel> generate_first(const Problem& problem, std::string_view record, std::size_t from) {
  const auto plans = choose_plans(problem, record);
  if (!plans) {
    return std::unexpected(plans.error());
  }
  return first_kernel(
      problem, *plans, [](MadeKernel generated) { return generated; }, std::min(from, plans->size() - 1));
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

CubinMaker::Compiler CubinMaker::compiler() {
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
Outcome<std::shared_ptr<const Nvrtc>> CubinMaker::load(Compiler& compiler) {
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

Outcome<MadeKernel> CubinMaker::generate_older(const MadeKernel& made, const Target& target) {
  const Problem problem{made.problem.layer, made.problem.direction, target};
  std::string record = stored_record(*store_, problem, chip_);
  if (record.empty()) {
    std::string own = stored_record(*store_, made.problem, chip_);
    const auto plans = plan(problem);
    if (plans && !own.empty() && choose_recorded(*plans, own).note.empty()) {
      record = std::move(own);
    }
  }
  return generate_first(problem, record, made.place);
}

bool CubinMaker::take(MadeKernel& made, const Wanted& wanted, std::string_view bytes) {
  auto stored = decode_kernel(bytes);
  if (!stored) {
    return false;
  }
  MadeKernel found = made;
  if (wanted.capability && stored->binary.kind == BinaryKind::kPtx && stored->binary.symbol != made.source.symbol) {
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
  const std::string code = code_name(found.problem.target, stored->binary.kind);
  if (stored->binary.architecture != code || stored->binary.symbol != found.source.symbol ||
      stored->binary.kernels != kernels_in(found.source)) {
    return false;
  }
  made = std::move(found);
  made.architecture = stored->binary.architecture;
  made.compiled_by = std::move(stored->compiled_by);
  made.binary = std::move(stored->binary);
  return true;
}

KeptKernel CubinMaker::kept(const MadeKernel& made, BinaryKind kind, const Wanted& wanted, const Compiler& compiler) {
  return {.key = binary_key(made, kind, compiler.identity),
          .label = canonical_form(in_direction(made.problem.layer, made.problem.direction)),
          .take = [this, wanted](MadeKernel& kernel, std::string_view bytes) { return take(kernel, wanted, bytes); },
          .compile = {}};
}

void CubinMaker::note_older(int capability, const std::string& architecture, const Nvrtc& nvrtc) {
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

Outcome<MadeKernel> CubinMaker::compile(MadeKernel made, const Wanted& wanted, Compiler compiler,
                                        const std::stop_token& stop) {
  const auto nvrtc = load(compiler);
  if (!nvrtc) {
    return std::unexpected(nvrtc.error());
  }
  MadeKernel older = made;  // what is compiled; `made` names the key
  BinaryKind kind = wanted.kind;
  if (wanted.capability && (kind == BinaryKind::kPtx || !knows(**nvrtc, made.problem.target))) {
    const int capability = *wanted.capability;
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
  KeptKernel kept = this->kept(made, kind, wanted, compiler);
  kept.compile = [&]() -> Made {
    count(counters().compiles);
    auto binary = compile_source(**nvrtc, older, kind);
    if (!binary) {
      return std::unexpected(binary.error());
    }
    binary->architecture = code_name(older.problem.target, kind);
    return encode_kernel({*std::move(binary), fmt::format("NVRTC {}.{}", (*nvrtc)->major, (*nvrtc)->minor)});
  };
  return find_or_compile_kept(*store_, kept, std::move(made), stop);
}

Outcome<MadeKernel> CubinMaker::generate(const Layer& layer, Direction direction, const Target& target) {
  Problem problem{layer, direction, target};
  problem.target.chip = chip_;
  return generate_first(problem, stored_record(*store_, problem, chip_), 0);
}

Outcome<MadeKernel> CubinMaker::make_for_chip(const Layer& layer, Direction direction, int capability,
                                              const std::stop_token& stop) {
  const auto base = base_of(capability);
  if (!base) {
    return std::unexpected(base.error());
  }
  Problem problem{layer, direction, base->target};
  problem.target.chip = chip_;
  const auto plans = choose_plans(problem, stored_record(*store_, problem, chip_));
  if (!plans) {
    return std::unexpected(plans.error());
  }
  const Wanted wanted{base->exact ? BinaryKind::kCubin : BinaryKind::kPtx, capability};
  return first_kernel(problem, *plans,
                      [&](MadeKernel generated) { return find_or_make(std::move(generated), wanted, stop); });
}

Outcome<MadeKernel> CubinMaker::find_or_compile(MadeKernel generated, BinaryKind kind, const std::stop_token& stop) {
  return find_or_make(std::move(generated), {kind}, stop);
}

Outcome<MadeKernel> CubinMaker::find_or_make(MadeKernel kernel, const Wanted& wanted, const std::stop_token& stop) {
  const Clock::time_point start = Clock::now();
  const Compiler compiler = this->compiler();
  // A chip also runs PTX that was made where NVRTC did not know its target.
  const auto find = [&](BinaryKind kind) { return find_kept(*store_, kept(kernel, kind, wanted, compiler), kernel); };
  const bool found =
      find(wanted.kind) || (wanted.capability && wanted.kind == BinaryKind::kCubin && find(BinaryKind::kPtx));
  count(found ? counters().hits : counters().misses);
  Outcome<MadeKernel> made = std::move(kernel);
  if (!found) {
    made = compile(*std::move(made), wanted, compiler, stop);
  }
  if (made) {
    made->compile_ms = milliseconds_since(start);
  }
  return made;
}

}  // namespace convtgen
