#include "generator/planner/chip/chip_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>
#include <vector>

namespace convtgen {
namespace {

bool own_cubins_only(int capability) {
  return std::ranges::find(kOwnCubinsOnly, capability) != kOwnCubinsOnly.end();
}

bool same_major(int one, int other) {
  return one / 10 == other / 10;
}

bool compiles_for(std::span<const int> architectures, int capability) {
  return std::ranges::find(architectures, capability) != architectures.end();
}

// Which of two targets a chip that has neither is planned as: the one of the newer major number, then the larger chip.
bool stands_before(const Target& one, const Target& other) {
  const auto rank = [](const Target& target) {
    return std::tuple(target.capability / 10, target.multiprocessors, target.capability);
  };
  return rank(one) < rank(other);
}

// Of the targets before a chip whose source other chips can have too. There is one for each chip from kOldestChip on.
const Target& portable_before(int capability) {
  const Target* best = &known_targets().front();
  for (const Target& target : known_targets()) {
    if (target.capability <= capability && is_portable(target) && stands_before(*best, target)) {
      best = &target;
    }
  }
  return *best;
}

std::unexpected<NoCode> no_code(NoCode::Cause cause, std::string message) {
  return std::unexpected(NoCode{cause, std::move(message)});
}

std::string compiler_text(const CodeCompiler& compiler) {
  return fmt::format("NVRTC {}", version_text(compiler.version));
}

constexpr std::array kCeilings = {&Target::f32_flops, &Target::f64_flops, &Target::tf32_flops, &Target::f16_flops,
                                  &Target::bf16_flops};

constexpr std::string_view kAs = " as ";  // in names of records

bool driver_takes(const Chip& chip, const CodeCompiler& compiler) {
  return chip.driver_version == 0 || chip.driver_version >= compiler.version;
}

// Of a chip that runs an older one's kernels.
std::expected<CodeTarget, NoCode> code_of_older(const Chip& chip, const std::optional<CodeCompiler>& compiler) {
  const Result<Target> older = target_for(chip);
  if (!older) {
    return no_code(NoCode::Cause::kChip, older.error().message);
  }
  CodeTarget code{*older, true};
  if (compiler && !compiles_for(compiler->architectures, older->capability)) {
    return no_code(NoCode::Cause::kCompiler,
                   fmt::format("{} makes no PTX of {}, only of sm_{}", compiler_text(*compiler), name_of(code),
                               fmt::join(compiler->architectures, ", sm_")));
  }
  if (compiler && !driver_takes(chip, *compiler)) {
    return no_code(NoCode::Cause::kDriver,
                   fmt::format("{} makes PTX of {}, and the driver takes PTX up to CUDA {} only; take an NVRTC up to "
                               "that, or run the kernels of the chip itself, {}",
                               compiler_text(*compiler), name_of(code), version_text(chip.driver_version),
                               target_of_chip(chip.capability)->architecture));
  }
  return code;
}

}  // namespace

bool cubin_runs_on(const Target& made_for, int capability) {
  if (made_for.capability == capability) {
    return true;
  }
  return is_portable(made_for) && !own_cubins_only(made_for.capability) && !own_cubins_only(capability) &&
         same_major(made_for.capability, capability) && made_for.capability < capability;
}

bool ptx_runs_on(const Target& made_for, int capability) {
  return is_portable(made_for) ? made_for.capability <= capability : made_for.capability == capability;
}

bool runs_on(const CodeTarget& code, int capability) {
  return code.is_ptx ? ptx_runs_on(code.target, capability) : cubin_runs_on(code.target, capability);
}

Result<Target> target_of_chip(int capability) {
  if (capability < kOldestChip) {
    return fail(fmt::format("no kernels are made for compute capability {}; the oldest chip is {}",
                            capability_text(capability), capability_text(kOldestChip)));
  }
  const Target* best = nullptr;
  for (const Target& target : known_targets()) {
    if (cubin_runs_on(target, capability) &&
        (best == nullptr || target.capability == capability || stands_before(*best, target))) {
      best = &target;
    }
  }
  if (best != nullptr) {
    return *best;
  }
  Target own = portable_before(capability);
  own.architecture = fmt::format("sm_{}", capability);
  own.capability = capability;
  return own;
}

std::string planned_as(const Target& target) {
  const bool known = std::ranges::any_of(known_targets(),
                                         [&](const Target& each) { return each.architecture == target.architecture; });
  return known ? target.architecture : portable_before(target.capability).architecture;
}

std::optional<Target> ptx_target_of_chip(int capability, const std::optional<std::span<const int>>& compiles) {
  const Target* best = nullptr;
  for (const Target& target : known_targets()) {
    const bool later_relative =
        own_cubins_only(capability) && same_major(target.capability, capability) && target.capability % 10 != 0;
    const bool is_own = target.capability == capability;
    if (is_portable(target) && ptx_runs_on(target, capability) && (is_own || !later_relative) &&
        (!compiles || compiles_for(*compiles, target.capability)) &&
        (best == nullptr || is_own || stands_before(*best, target))) {
      best = &target;
    }
  }
  return best != nullptr ? std::optional(*best) : std::nullopt;
}

Result<Chip> chip_as(Chip chip, std::string_view architecture) {
  const Result<Target> own = target_of_chip(chip.capability);
  if (!own) {
    return std::unexpected(own.error());
  }
  chip.as.clear();
  if (own->architecture == architecture) {
    return chip;
  }
  std::vector<std::string_view> legal;
  for (const Target& target : known_targets()) {
    if (ptx_runs_on(target, chip.capability)) {
      legal.push_back(target.architecture);
    }
  }
  if (std::ranges::find(legal, architecture) == legal.end()) {
    const bool known = std::ranges::find(known_targets(), architecture, &Target::architecture) != known_targets().end();
    return fail(fmt::format("{}architecture '{}'{}; a GPU of compute capability {} runs kernels for {}",
                            known ? "" : "unknown ", architecture, known ? " does not run here" : "",
                            capability_text(chip.capability), fmt::join(legal, ", ")));
  }
  chip.as = architecture;
  return chip;
}

Target target_on(Target target, const Chip& chip) {
  if (chip.multiprocessors > 0) {
    const double times = static_cast<double>(chip.multiprocessors) / target.multiprocessors;
    for (double Target::* const rate : kCeilings) {
      target.*rate *= times;
    }
    target.bytes_per_second *= times;
    target.multiprocessors = chip.multiprocessors;
  }
  return target;
}

Target within(const Target& older, Target chip) {
  for (int Target::* const limit :
       {&Target::max_shared_bytes, &Target::shared_bytes_per_sm, &Target::max_threads_per_sm}) {
    chip.*limit = std::min(older.*limit, chip.*limit);
  }
  for (double Target::* const rate : kCeilings) {
    chip.*rate = older.*rate > 0 ? chip.*rate : 0;  // tensor cores take the older chip's types
  }
  chip.architecture = older.architecture;
  chip.capability = older.capability;
  chip.features = older.features;
  return chip;
}

Result<Target> target_for(const Chip& chip) {
  const Result<Target> known = target_of_chip(chip.capability);
  if (!known) {
    return known;
  }
  Target own = target_on(*known, chip);
  if (chip.as.empty()) {
    return own;
  }
  const Result<Target> older = target_named(chip.as);
  return older ? within(*older, std::move(own)) : older;
}

std::string record_name(std::string_view gpu, const Chip& chip) {
  return chip.as.empty() ? std::string(gpu) : fmt::format("{}{}{}", gpu, kAs, chip.as);
}

bool is_of_older_chip(std::string_view record_name) {
  return record_name.contains(fmt::format("{}sm_", kAs));
}

std::expected<CodeTarget, NoCode> code_for_chip(const Chip& chip, const std::optional<CodeCompiler>& compiler) {
  const int capability = chip.capability;
  if (!chip.as.empty()) {
    return code_of_older(chip, compiler);
  }
  const Result<Target> own = target_of_chip(capability);
  if (!own) {
    return no_code(NoCode::Cause::kChip, own.error().message);
  }
  if (!compiler || compiles_for(compiler->architectures, own->capability)) {
    return CodeTarget{target_on(*own, chip), false};
  }
  const std::optional<Target> virtual_target = ptx_target_of_chip(capability, compiler->architectures);
  if (virtual_target && driver_takes(chip, *compiler)) {
    return CodeTarget{within(*virtual_target, target_on(*own, chip)), true};
  }
  for (const Target& target : known_targets() | std::views::reverse) {
    if (cubin_runs_on(target, capability) && compiles_for(compiler->architectures, target.capability)) {
      return CodeTarget{within(target, target_on(*own, chip)), false};
    }
  }
  if (!virtual_target) {
    return no_code(NoCode::Cause::kCompiler,
                   fmt::format("{} compiles for nothing that compute capability {} can run, only for sm_{}; the chip "
                               "runs {}",
                               compiler_text(*compiler), capability_text(capability),
                               fmt::join(compiler->architectures, ", sm_"), what_runs_on(capability)));
  }
  return no_code(
      NoCode::Cause::kDriver,
      fmt::format("{} does not know compute capability {}, so it would make PTX of {}, and the driver "
                  "takes PTX up to CUDA {} only; take an NVRTC that makes code for {}, or one up to CUDA {}",
                  compiler_text(*compiler), capability_text(capability), name_of(CodeTarget{*virtual_target, true}),
                  version_text(chip.driver_version), own->architecture, version_text(chip.driver_version)));
}

std::string what_runs_on(int capability) {
  const Result<Target> own = target_of_chip(capability);
  if (!own) {
    return "nothing that is made here";
  }
  const std::optional<Target> virtual_target = ptx_target_of_chip(capability);
  return fmt::format("code for {}{}", own->architecture,
                     virtual_target ? fmt::format(" or PTX of {}", name_of(CodeTarget{*virtual_target, true})) : "");
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string capability_text(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

}  // namespace convtgen
