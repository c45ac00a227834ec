#include "tests/sample/sample.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

namespace convtgen::testing {
namespace {

std::string text_from(const char* variable, const char* otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : text;
}

struct Class {
  int drawn = 0;
  std::map<std::pair<std::uint64_t, std::string>, std::size_t> rest;  // in the seed's order
};

}  // namespace

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

std::string test_seed() {
  return text_from("CONVTGEN_TEST_SEED", "1");
}

std::mt19937_64 seeded_by(std::string_view text) {
  std::seed_seq seeds(text.begin(), text.end());
  return std::mt19937_64(seeds);
}

bool tests_all() {
  return std::getenv("CONVTGEN_TEST_ALL") != nullptr;
}

std::vector<std::size_t> sample(const std::vector<Candidate>& all, std::size_t count) {
  const std::string only = text_from("CONVTGEN_TEST_ONLY", "");
  const std::string seed = test_seed();
  const auto place_of = [&](std::size_t i) { return std::pair(hash_of(seed + all[i].name), all[i].name); };
  std::map<std::string, Class> classes;
  std::vector<std::size_t> drawn;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].name.contains(only)) {
      continue;
    }
    if (tests_all() || !only.empty()) {
      drawn.push_back(i);
      continue;
    }
    for (const std::string& name : all[i].classes) {
      classes[name].rest.emplace(place_of(i), i);
    }
  }
  const auto is_undrawn = [](const auto& each) { return each.second.drawn == 0; };
  while (drawn.size() < count || std::ranges::any_of(classes, is_undrawn)) {
    std::erase_if(classes, [](const auto& each) { return each.second.rest.empty(); });
    if (classes.empty()) {
      break;
    }
    const auto least = std::ranges::min_element(
        classes, {}, [](const auto& each) { return std::pair(each.second.drawn, each.second.rest.begin()->first); });
    const std::size_t next = least->second.rest.begin()->second;
    drawn.push_back(next);
    for (const std::string& name : all[next].classes) {
      Class& each = classes.at(name);
      ++each.drawn;
      each.rest.erase(place_of(next));
    }
  }
  return drawn;
}

std::vector<std::size_t> part_of(const std::vector<std::size_t>& drawn, std::size_t part, std::size_t parts) {
  std::vector<std::size_t> out;
  for (std::size_t i = part; i < drawn.size(); i += parts) {
    out.push_back(drawn[i]);
  }
  return out;
}

std::size_t number_of_parts(std::size_t most, const std::function<std::vector<Candidate>()>& candidates) {
  return text_from("CONVTGEN_TEST_ONLY", "").empty() ? most : std::min(most, sample(candidates(), 0).size());
}

}  // namespace convtgen::testing
