#include "tests/end_to_end/narrow_offsets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <regex>

#include "tests/end_to_end/own_code.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

/// The name of the function that stands there.
std::string function_at(const std::string& text, std::size_t at) {
  const std::size_t device = text.rfind("\n__device__", at);
  const std::size_t kernel = text.rfind("\nextern \"C\"", at);
  if (device == std::string::npos || (kernel != std::string::npos && kernel > device)) {
    return "kernel";
  }
  const std::size_t end = text.find('(', device);
  return text.substr(text.rfind(' ', end) + 1, end - text.rfind(' ', end) - 1);
}

}  // namespace

std::size_t after_packing(const KernelSource& source) {
  const bool has_packing = source.recipe.kernels.size() > 1;
  const std::size_t packs = has_packing ? source.text.find("extern \"C\" __global__") : 0;
  return has_packing ? source.text.find("\n}\n", packs) : 0;
}

void NarrowOffsets::add(const std::string& layer, const KernelSource& source, std::size_t begin, Judge judge) {
  static const std::regex wide(R"(static_cast<long long>\([^()]*\)|\* \d+ll\b|\b\d+ll \*|const long long \w+)");
  const std::string& text = source.text;
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(end_of_own_code(text));
  for (std::sregex_iterator found(text.begin() + static_cast<std::ptrdiff_t>(begin), end, wide), none; found != none;
       ++found) {
    const auto at = begin + static_cast<std::size_t>(found->position());
    const std::string what = found->str();
    // The same in all sources of a template.
    const std::string place = function_at(text, at) + ": " + std::regex_replace(what, std::regex(R"(\d+ll)"), "#ll");
    if (unseen_.contains(place)) {
      skipped_.insert(place);
      continue;
    }
    const std::string narrow = std::regex_replace(what, std::regex("long long|ll"), what.contains("long") ? "int" : "");
    const std::size_t start = text.rfind('\n', at) + 1;
    Narrowed narrowed{layer, text.substr(start, text.find('\n', at) - start), source, judge};
    narrowed.source.text.replace(at, what.size(), narrow);
    // Ints wrap, as they do on a chip.
    narrowed.source.text.insert(0, "#pragma GCC optimize(\"wrapv\")\n");
    places_[place].push_back(std::move(narrowed));
  }
}

void NarrowOffsets::expect_shown(std::size_t count) const {
  EXPECT_EQ(skipped_, unseen_);
  EXPECT_FALSE(places_.empty());
  std::vector<Candidate> candidates;
  for (const auto& [place, sources] : places_) {
    candidates.push_back({fmt::format("{}: {}", template_name_, place), {"place"}});
  }
  for (const std::size_t drawn : sample(candidates, std::min(count, candidates.size()))) {
    const std::vector<Narrowed>& sources = std::next(places_.begin(), static_cast<std::ptrdiff_t>(drawn))->second;
    std::string verdict;
    for (auto each = sources.begin(); each != sources.end() && verdict.empty(); ++each) {
      verdict = each->judge(each->source);
      ASSERT_FALSE(verdict.starts_with(kDoesNotCompile)) << each->line << ": " << verdict;
      if (!verdict.empty()) {
        fmt::print("{}\n    {}: {}\n", each->line, each->layer, verdict.substr(0, verdict.find('\n')));
      }
    }
    EXPECT_NE(verdict, "") << candidates[drawn].name << " is not shown, last in " << sources.back().layer << ": "
                           << sources.back().line;
  }
}

}  // namespace convtgen::testing
