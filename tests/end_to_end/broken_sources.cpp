#include "tests/end_to_end/broken_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tests/end_to_end/own_code.h"

namespace convtgen::testing {
namespace {

/// A comparison, and what stands in its place where it is missing: true among all that must hold, false where any one
/// of several is enough.
struct Check {
  std::size_t begin;
  std::size_t end;
  const char* missing;
};

int line_of(const std::string& text, std::size_t position) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
}

/// Adds the comparisons with a bound of a condition that begins there, cut at its && and ||.
void add_comparisons(const std::string& text, std::size_t begin, char last, std::vector<Check>& checks) {
  int depth = last == ')' ? 1 : 0;
  bool is_one_of_several = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    const bool ends = last == ')' ? depth == 0 : text[i] == last;
    const bool is_outside = depth == (last == ')' ? 1 : 0);
    const bool before_or = is_outside && text.compare(i, 2, "||") == 0;
    if (ends || before_or || (is_outside && text.compare(i, 2, "&&") == 0)) {
      std::size_t end = i;
      while (text[end - 1] == ' ' || text[end - 1] == '\n') {
        --end;
      }
      const std::string comparison = text.substr(begin, end - begin);
      if (comparison.find('<') != std::string::npos || comparison.find('>') != std::string::npos) {
        checks.push_back({begin, end, is_one_of_several || before_or ? "false" : "true"});
      }
      if (ends) {
        return;
      }
      is_one_of_several = before_or;
      begin = text.find_first_not_of(" \n", i + 2);
      ++i;
    }
  }
}

std::vector<Check> bound_checks(const std::string& text) {
  std::vector<Check> checks;
  for (std::size_t at = text.find("if ("); at != std::string::npos; at = text.find("if (", at + 1)) {
    add_comparisons(text, at + 4, ')', checks);
  }
  for (std::size_t at = text.find("const bool "); at != std::string::npos; at = text.find("const bool ", at + 1)) {
    const std::size_t value = text.find(" = ", at);
    add_comparisons(text, text.find_first_not_of(" \n", value + 2), ';', checks);
  }
  return checks;
}

}  // namespace

std::vector<Mutant> without_bound_checks(const std::string& text) {
  std::vector<Mutant> mutants;
  for (const auto& [begin, end, missing] : bound_checks(text)) {
    mutants.push_back({fmt::format("line {}: {}", line_of(text, begin), text.substr(begin, end - begin)), begin, end,
                       missing, false});
  }
  return mutants;
}

Broken broken(const std::string& text, bool bound_checks, const volatile int* chosen) {
  // Primitives have conditions of their own, which are no bound checks; the host device has its own primitives.
  const std::size_t guard = text.find("#endif");
  const std::size_t kernels = guard == std::string::npos ? 0 : text.find('\n', guard) + 1;
  const std::size_t end = std::max(end_of_own_code(text), kernels);
  const std::string body = text.substr(kernels, end - kernels);
  std::vector<Mutant> mutants = mutants_of(body);
  if (bound_checks) {
    std::ranges::move(without_bound_checks(body), std::back_inserter(mutants));
  }
  return {text.substr(0, kernels) + choosing_function(chosen) + "\n" + switched(body, mutants) + text.substr(end),
          std::move(mutants)};
}

std::string judge(HostDevice& device, const Layer& layer, LoadedLayer& loaded, const InputSizes& sizes,
                  const LayerInputs& inputs, const Reference& reference, std::uint64_t seed, std::int64_t blocks) {
  device.set_seed(seed);
  Result<LayerCall> call = make_call(device, loaded, sizes, inputs);
  if (!call) {
    return "NO CALL: " + call.error().message;
  }
  if (blocks > 0) {
    call->launches.back().blocks = blocks;
  }
  if (const Result<void> run = run_call(device, loaded, *call); !run) {
    return fmt::format("seed {}: {}", seed, run.error().message);
  }
  const Result<Verification> verified = verify_call(device, layer, *call, reference);
  if (!verified) {
    return "NOT VERIFIED: " + verified.error().message;
  }
  return verified->passed() ? "" : fmt::format("seed {}: {}", seed, describe(*verified, layer));
}

}  // namespace convtgen::testing
