#include "generator/planner/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "generator/planner/chip_code.h"

namespace convtgen {
namespace {

constexpr SmRates kH200 = {.clock_hz = 1.7e9,
                           .tensor_columns_per_cycle = 2,
                           .least_product_cycles = 17,
                           .l2_bytes_per_cycle = 24,
                           .shared_bytes_per_cycle = 128,
                           .copied_bytes_per_cycle = 16};

// Shared-memory limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". Ceilings of
// sm_90a were measured on an H200 (a large copy; fp32, tf32 and fp16 matrix products); the others are the data sheets'
// of the largest chip.
const std::array kTargets = {
    Target{"sm_75", 75, 72, 64 * 1024, 64 * 1024, 0.672e12, 16.3e12, 0.51e12},                       // Quadro RTX 8000
    Target{"sm_80", 80, 108, 163 * 1024, 164 * 1024, 2.04e12, 19.5e12, 9.7e12},                      // A100 80 GB
    Target{"sm_86", 86, 84, 99 * 1024, 100 * 1024, 0.936e12, 35.6e12, 0.56e12},                      // RTX 3090
    Target{"sm_89", 89, 142, 99 * 1024, 100 * 1024, 0.864e12, 91.6e12, 1.4e12},                      // L40S
    Target{"sm_90a", 90, 132, 227 * 1024, 228 * 1024, 4.2e12, 51e12, 34e12, 360e12, 715e12, kH200},  // H200
    Target{"sm_100", 100, 148, 227 * 1024, 228 * 1024, 8.0e12, 75e12, 37e12},                        // B200
    Target{"sm_120", 120, 188, 99 * 1024, 100 * 1024, 1.79e12, 125e12, 1.95e12},  // RTX PRO 6000 Blackwell
};

// 87 of "sm_87" or, with that prefix, "compute_87".
std::optional<int> capability_in(std::string_view name, std::string_view prefix) {
  int capability = 0;
  if (!name.starts_with(prefix)) {
    return std::nullopt;
  }
  name.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), capability);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(capability) : std::nullopt;
}

// Of a chip that there is no known target for, what it gets.
std::optional<CodeTarget> code_of_other_chip(std::string_view name) {
  for (const int chip : kChipsPlannedAsOthers) {
    if (capability_in(name, "sm_") == chip) {
      return CodeTarget{*target_of_chip(chip), false};
    }
    if (capability_in(name, "compute_") == chip) {
      return CodeTarget{*ptx_target_of_chip(chip), true};
    }
  }
  return std::nullopt;
}

}  // namespace

std::span<const Target> known_targets() {
  return kTargets;
}

Result<Target> target_named(std::string_view architecture) {
  for (const Target& target : kTargets) {
    if (target.architecture == architecture) {
      return target;
    }
  }
  if (const std::optional<int> capability = capability_in(architecture, "sm_")) {
    if (Result<Target> own = target_of_chip(*capability); own && own->architecture == architecture) {
      return own;
    }
  }
  return fail(
      fmt::format("unknown architecture '{}'; known are {}", architecture, fmt::join(real_target_names(), ", ")));
}

bool is_portable(const Target& target) {
  return !target.architecture.ends_with('a');
}

std::string name_of(const CodeTarget& code) {
  const std::string& real = code.target.architecture;
  return code.is_ptx ? "compute_" + real.substr(real.find('_') + 1) : real;
}

Result<CodeTarget> code_target_named(std::string_view name) {
  for (const Target& target : kTargets) {
    for (const bool is_ptx : {false, true}) {
      CodeTarget code{target, is_ptx};
      if (name_of(code) != name) {
        continue;
      }
      if (is_ptx && !is_portable(target)) {
        return fail(fmt::format("{}: PTX of an 'a' architecture runs on that chip alone, as {} does; legal are {}",
                                name, target.architecture, fmt::join(code_target_names(), ", ")));
      }
      return code;
    }
  }
  if (const std::optional<CodeTarget> code = code_of_other_chip(name)) {
    return *code;
  }
  if (Result<Target> own = target_named(name)) {
    return CodeTarget{*std::move(own), false};
  }
  return fail(fmt::format("unknown architecture '{}'; legal are {}", name, fmt::join(code_target_names(), ", ")));
}

std::vector<std::string> real_target_names() {
  std::vector<Target> targets(kTargets.begin(), kTargets.end());
  for (const int chip : kChipsPlannedAsOthers) {
    if (Target target = *target_of_chip(chip); target.capability == chip) {
      targets.push_back(std::move(target));
    }
  }
  std::ranges::sort(targets, {}, &Target::capability);
  std::vector<std::string> names;
  for (const Target& target : targets) {
    names.push_back(target.architecture);
  }
  return names;
}

std::vector<std::string> code_target_names() {
  std::vector<std::string> names = real_target_names();
  for (const Target& target : kTargets) {
    if (is_portable(target)) {
      names.push_back(name_of(CodeTarget{target, true}));
    }
  }
  return names;
}

}  // namespace convtgen
