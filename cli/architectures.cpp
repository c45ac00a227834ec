#include "cli/architectures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "generator/language/suggest.h"
#include "generator/planner/chip/target.h"
#include "runtime/compile/code_here.h"
#include "runtime/device/cuda/driver.h"

namespace convtgen::cli {
namespace {

constexpr const char* kOption = "--arch";
constexpr const char* kNative = "native";
constexpr const char* kAll = "all";

/// Whether this is a chip that gets the code of another one, of a kind that is legal: "sm_121" of sm_120.
bool stands_for_other(std::string_view word, const std::vector<std::string_view>& legal) {
  const auto code = code_target_named(word);
  return code && std::ranges::find(legal, name_of(*code)) != legal.end();
}

/// Refuses other words, with the nearest one: for "sm_90" the one that differs by "a" alone.
CLI::Validator one_of(std::vector<std::string> legal) {
  const std::string description = fmt::format("{{{}}}", fmt::join(legal, ","));
  const auto check = [legal = std::move(legal)](const std::string& word) -> std::string {
    const std::vector<std::string_view> names(legal.begin(), legal.end());
    if (std::ranges::find(names, word) != names.end() || stands_for_other(word, names)) {
      return "";
    }
    const auto exact = std::ranges::find(names, word + "a");
    const std::string_view near = exact != names.end() ? *exact : nearest(word, names);
    return fmt::format("'{}' is no known architecture{} Legal are {}", word,
                       near.empty() ? "." : fmt::format("; did you mean '{}'?", near), fmt::join(names, ", "));
  };
  return {check, description};
}

/// Each architecture that the words stand for, once.
std::vector<std::string> expanded(const std::vector<std::string>& words, Architectures which) {
  std::vector<std::string> names;
  const auto add = [&](const CodeTarget& code) {
    std::string name = which == Architectures::kReal ? code.target.architecture : name_of(code);
    if (std::ranges::find(names, name) == names.end()) {
      names.push_back(std::move(name));
    }
  };
  for (const std::string& word : words) {
    if (word == kNative) {
      const auto codes = native_codes();
      if (!codes) {
        throw CLI::ValidationError(kOption, codes.error().message + "; name the architecture instead");
      }
      std::ranges::for_each(*codes, add);
    } else if (word == kAll) {
      for (const Target& target : known_targets()) {
        add({target, false});
      }
    } else if (const auto code = code_target_named(word)) {
      add(*code);
    }
  }
  return names;
}

}  // namespace

Result<std::vector<CodeTarget>> native_codes() {
  const Result<CudaDriverInfo> driver = find_cuda_driver();
  std::string why = driver ? "the driver sees no GPU" : driver.error().message;
  std::vector<CodeTarget> codes;
  for (const CudaDeviceInfo& device : driver ? driver->devices : std::vector<CudaDeviceInfo>()) {
    const auto chip = chip_here({.capability = device.capability, .driver_version = driver->version});
    if (auto code = chip ? code_here(*chip) : std::unexpected(NoCode{NoCode::Cause::kChip, chip.error().message})) {
      codes.push_back(*std::move(code));
    } else {
      why = fmt::format("{}: {}", device.name, code.error().message);
    }
  }
  if (codes.empty()) {
    return fail("native is the architecture of this machine's GPU, and " + why);
  }
  return codes;
}

void add_architectures_option(CLI::App& verb, std::vector<std::string>& architectures, Architectures which) {
  std::vector<std::string> legal = which == Architectures::kReal ? real_target_names() : code_target_names();
  legal.insert(legal.end(), {kNative, kAll});
  verb.add_option_function<std::vector<std::string>>(
          kOption,
          [&architectures, which](const std::vector<std::string>& words) { architectures = expanded(words, which); },
          "The exact architectures, one or more: --arch sm_80,sm_90a; native: of this machine's GPUs; all: of every "
          "known chip.")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->check(one_of(std::move(legal)))
      ->default_str(fmt::format("{}", fmt::join(architectures, ",")));
}

}  // namespace convtgen::cli
