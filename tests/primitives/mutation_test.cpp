// Every barrier, wait, fence, arrival, expectation and phase of the whole kernels is needed: with any one of them
// broken, a run on the host device fails within 20 seeds; as they are, they are right for 200; a run tries
// some.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "tests/primitives/mutants.h"
#include "tests/primitives/on_host.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

constexpr std::uint64_t kSeeds = 20;

struct Seeds {
  std::uint64_t begin, end;
};
// Of the kernels as they are: the first $CONVTGEN_TEST_SEEDS, or 40 of 200, or all of those.
Seeds many_seeds() {
  constexpr std::uint64_t kParts = 5, kPart = 40;
  if (const char* text = std::getenv("CONVTGEN_TEST_SEEDS"); text != nullptr && *text != '\0') {
    return {0, std::strtoull(text, nullptr, 10)};
  }
  const std::uint64_t part = hash_of(test_seed()) % kParts;
  return tests_all() ? Seeds{0, kParts * kPart} : Seeds{part * kPart, (part + 1) * kPart};
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

Case pipeline(const std::string& name) {
  const std::vector<Case> all = pipeline_cases();
  return *std::ranges::find(all, name, &Case::name);
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const Case& one : pipeline_cases()) {
    result.push_back(one.name);
  }
  return result;
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

TEST(Mutants, AreThoseOfEachStatement) {
  const std::string body = R"(void kernel() {
  if (a) { mbarrier_init(&full[i], 1); }
  mbarrier_arrive_expect(&full[f(i, 2)], bytes);
  if (b)
    mbarrier_wait(&full[i],
                  (i & 1) ^ 1);
  while (!mbarrier_test(x, 0)) {}
  not_a_fence();
  wgmma_wait(1);
  __syncthreads();
}
)";
  std::string text;
  for (const Mutant& one : mutants_of(body)) {
    const std::string with = changed(body, one);
    const auto [left, right] = std::ranges::mismatch(body, with);
    const auto at = static_cast<std::size_t>(right - with.begin());
    text += one.name + " -> " + with.substr(at, with.find('\n', at) - at) + "\n";
  }
  EXPECT_EQ(text, R"(line 2: mbarrier_init(&full[i], 1); deleted -> ; }
line 3: mbarrier_arrive_expect(&full[f(i, 2)], bytes); deleted -> ;
line 3: mbarrier_arrive_expect(&full[f(i, 2)], bytes); without its bytes -> (&full[f(i, 2)]);
line 5: mbarrier_wait(&full[i],
                  (i & 1) ^ 1); deleted -> ;
line 5: mbarrier_wait(&full[i],
                  (i & 1) ^ 1); with its parity flipped -> (i & 1) ^ 1) ^ 1);
line 5: mbarrier_wait(&full[i],
                  (i & 1) ^ 1); with a parity that never changes -> 0) ^ 1);
line 9: wgmma_wait(1); deleted -> ;
line 10: __syncthreads(); deleted -> ;
)");
}

TEST(Mutants, StandInOneTextWithItsLines) {
  const std::string body = R"(  if (a) mbarrier_wait(&full[i],
                       i & 1);
  mbarrier_arrive_expect(&full, 4);
)";
  EXPECT_EQ(switched(body, mutants_of(body)),
            R"(  if (a) { if (is_mutant(1)) { ; } else mbarrier_wait(&full[i],
                       (is_mutant(2) ? ((i & 1) ^ 1) : is_mutant(3) ? (i & 0) : (i & 1))); }
  { if (is_mutant(4)) { ; } else if (is_mutant(5)) { mbarrier_arrive(&full); } else mbarrier_arrive_expect(&full, 4); }
)");
}

volatile int chosen = 0;  // which mutant runs

class Mutation : public ::testing::TestWithParam<std::string> {};

TEST_P(Mutation, EverySynchronisationIsNeeded) {
  const Case whole = pipeline(GetParam());
  const std::vector<Mutant> mutants = mutants_of(whole.body);
  EXPECT_GE(mutants.size(), whole.maps.empty() ? 4 : 17);
  Case with_all = whole;
  with_all.body = choosing_function(&chosen) + "\n" + switched(whole.body, mutants);
  Result<CaseOnHost> on_host = CaseOnHost::make(with_all);
  ASSERT_TRUE(on_host) << on_host.error().message;
  for (std::size_t i = 0; i <= mutants.size(); ++i) {
    chosen = static_cast<int>(i);
    std::string verdict;
    for (std::uint64_t seed = 0; verdict.empty() && seed < kSeeds; ++seed) {
      if (const std::string wrong = on_host->run(seed); !wrong.empty()) {
        verdict = fmt::format("seed {}: {}", seed, first_line(wrong));
      }
    }
    if (i == 0) {
      ASSERT_EQ(verdict, "") << "the kernel as it is";
      continue;
    }
    fmt::print("{}\n    {}\n", mutants[i - 1].name, verdict.empty() ? "SURVIVED" : verdict);
    EXPECT_NE(verdict, "") << mutants[i - 1].name << " within " << kSeeds << " seeds";
  }
}

INSTANTIATE_TEST_SUITE_P(Pipeline, Mutation, ::testing::ValuesIn(names()), name_of);

class AsTheyAre : public ::testing::TestWithParam<std::string> {};

TEST_P(AsTheyAre, RightForEverySeed) {
  const Case whole = pipeline(GetParam());
  std::mutex mutex;
  // Two copies of the kernel, each with half of the seeds.
  side_by_side(2, [&](std::size_t half) {
    Result<CaseOnHost> on_host = CaseOnHost::make(whole);
    std::string wrong = on_host ? "" : on_host.error().message;
    const auto [begin, end] = many_seeds();
    std::uint64_t seed = begin + half;
    for (; wrong.empty() && seed < end; seed += 2) {
      wrong = on_host->run(seed);
    }
    const std::lock_guard lock(mutex);
    EXPECT_EQ(wrong, "") << "before seed " << seed;
  });
}

INSTANTIATE_TEST_SUITE_P(Pipeline, AsTheyAre, ::testing::ValuesIn(names()), name_of);

}  // namespace
}  // namespace convtgen::testing
