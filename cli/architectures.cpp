#include "cli/architectures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "generator/language/suggest.h"
#include "generator/planner/target.h"
#include "runtime/device/cuda/driver.h"

namespace convtgen::cli {
namespace {

constexpr const char* kOption = "--arch";
constexpr const char* kNative = "native";
constexpr const char* kAll = "all";

std::vector<std::string> real_architectures() {
  std::vector<std::string> names;
  for (const Target& target : known_targets()) {
    names.push_back(target.architecture);
  }
  return names;
}

/// Refuses other words, with the nearest one: for "sm_90" the one that differs by "a" alone.
CLI::Validator one_of(std::vector<std::string> legal) {
  const std::string description = fmt::format("{{{}}}", fmt::join(legal, ","));
  const auto check = [legal = std::move(legal)](const std::string& word) -> std::string {
    const std::vector<std::string_view> names(legal.begin(), legal.end());
    if (std::ranges::find(names, word) != names.end()) {
      return "";
    }
    const auto exact = std::ranges::find(names, word + "a");
    const std::string_view near = exact != names.end() ? *exact : nearest(word, names);
    return fmt::format("'{}' is no known architecture{} Legal are {}", word,
                       near.empty() ? "." : fmt::format("; did you mean '{}'?", near), fmt::join(names, ", "));
  };
  return {check, description};
}

/// Those of this machine's GPUs, in their order. Throws the error to print if there is none.
std::vector<std::string> native_architectures() {
  const Result<CudaDriverInfo> driver = find_cuda_driver();
  std::vector<std::string> names;
  for (const CudaDeviceInfo& device : driver ? driver->devices : std::vector<CudaDeviceInfo>()) {
    if (!device.architecture.empty()) {
      names.push_back(device.architecture);
    }
  }
  if (names.empty()) {
    throw CLI::ValidationError(
        kOption, fmt::format("native is the architecture of this machine's GPU, and {}; name the "
                             "architecture instead",
                             driver ? "there is none that kernels are made for" : driver.error().message));
  }
  return names;
}

/// Each architecture that the words stand for, once.
std::vector<std::string> expanded(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    for (const std::string& name : word == kNative ? native_architectures()
                                   : word == kAll  ? real_architectures()
                                                   : std::vector{word}) {
      if (std::ranges::find(names, name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  return names;
}

}  // namespace

void add_architectures_option(CLI::App& verb, std::vector<std::string>& architectures, Architectures which) {
  std::vector<std::string> legal = which == Architectures::kReal ? real_architectures() : code_target_names();
  legal.insert(legal.end(), {kNative, kAll});
  verb.add_option_function<std::vector<std::string>>(
          kOption, [&architectures](const std::vector<std::string>& words) { architectures = expanded(words); },
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
