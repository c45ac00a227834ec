#include "runtime/make/cubin_maker.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/language/language.h"
#include "generator/layer/directions.h"
#include "generator/planner/candidates.h"
#include "runtime/compile/code_here.h"
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

std::string code_name(const Target& target, BinaryKind kind) {
  return name_of(CodeTarget{target, kind == BinaryKind::kPtx});
}

Status status_of(NoCode::Cause cause) {
  switch (cause) {
    case NoCode::Cause::kChip:
      return Status::kUnsupported;
    case NoCode::Cause::kCompiler:
      return Status::kNoCompiler;
    case NoCode::Cause::kDriver:
      return Status::kDriver;
  }
  return Status::kInternal;
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
  if (const auto note = slow_compile_note(made.plan, made.source)) {
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
  const Problem problem{made.problem.layer, made.problem.direction,
                        planned_for(within(target, made.problem.target), made.problem.target.chip)};
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
  if (wanted.chip && stored->binary.symbol != made.source.symbol) {
    // Made for an older target than the one that was planned for: its launch is what that one's plan says.
    const auto older = code_target_named(stored->binary.architecture);
    if (!older) {
      return false;
    }
    auto again = generate_older(made, older->target);
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

void CubinMaker::note_code(const Chip& chip, const MadeKernel& made) {
  const auto code = code_target_named(made.architecture);
  const std::string note = code ? note_of_code(chip, *code, made.compiled_by) : std::string();
  if (note.empty()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!noted_.insert(chip.capability).second) {
      return;
    }
  }
  // A cubin for an earlier chip of the same kind is what its chips run anyway.
  const bool usual = !code->is_ptx && code->target.capability != chip.capability;
  log(usual ? LogLevel::kInfo : LogLevel::kWarning, note);
}

Outcome<MadeKernel> CubinMaker::compile(MadeKernel made, const Wanted& wanted, Compiler compiler,
                                        const std::stop_token& stop) {
  const auto nvrtc = load(compiler);
  if (!nvrtc) {
    return std::unexpected(nvrtc.error());
  }
  MadeKernel older = made;  // what is compiled; `made` names the key
  BinaryKind kind = wanted.kind;
  if (wanted.chip) {
    auto code = code_for_chip(*wanted.chip, code_compiler(**nvrtc));
    if (!code) {
      return fail_with(status_of(code.error().cause), fmt::format("{} ({})", code.error().message, (*nvrtc)->path));
    }
    kind = code->is_ptx ? BinaryKind::kPtx : BinaryKind::kCubin;
    if (code->target.architecture != made.problem.target.architecture) {
      auto again = generate_older(made, code->target);
      if (!again) {
        return again;
      }
      older = *std::move(again);
    }
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
  const Problem problem{layer, direction, planned_for(target, chip_)};
  return generate_first(problem, stored_record(*store_, problem, chip_), 0);
}

Outcome<MadeKernel> CubinMaker::make_for_chip(const Layer& layer, Direction direction, const Chip& chip,
                                              const std::stop_token& stop) {
  const auto target = target_for(chip);
  if (!target) {
    return fail_with(Status::kUnsupported, target.error());
  }
  const Problem problem{layer, direction, planned_for(*target, record_name(chip_, chip))};
  const auto plans = choose_plans(problem, stored_record(*store_, problem, problem.target.chip));
  if (!plans) {
    return std::unexpected(plans.error());
  }
  const Wanted wanted{chip.as.empty() ? BinaryKind::kCubin : BinaryKind::kPtx, chip};
  auto made = first_kernel(problem, *plans,
                           [&](MadeKernel generated) { return find_or_make(std::move(generated), wanted, stop); });
  if (made) {
    note_code(chip, *made);
  }
  return made;
}

Outcome<MadeKernel> CubinMaker::find_or_compile(MadeKernel generated, BinaryKind kind, const std::stop_token& stop) {
  return find_or_make(std::move(generated), {kind}, stop);
}

Outcome<MadeKernel> CubinMaker::find_or_make(MadeKernel kernel, const Wanted& wanted, const std::stop_token& stop) {
  const Clock::time_point start = Clock::now();
  const Compiler compiler = this->compiler();
  // A chip also runs PTX that was made where NVRTC did not know its target.
  const auto find = [&](BinaryKind kind) { return find_kept(*store_, kept(kernel, kind, wanted, compiler), kernel); };
  const bool found = find(wanted.kind) || (wanted.chip && wanted.kind == BinaryKind::kCubin && find(BinaryKind::kPtx));
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
