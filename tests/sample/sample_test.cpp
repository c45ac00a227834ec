// The sample shows every class, is the same for a seed and another for another one, and is all where that is wanted.
#include "tests/sample/sample.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace convtgen::testing {
namespace {

/// A variable of the environment, as it was again afterwards.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) {
      before_ = before;
    }
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// A hundred candidates of ten colours (a single candidate has one of these), and of three sizes.
std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back({"number " + std::to_string(i),
                   {"colour " + std::to_string(i == 42 ? 9 : i % 9), "size " + std::to_string(i % 3)}});
  }
  return all;
}

class Sample : public ::testing::Test {
 protected:
  Variable seed_{"CONVTGEN_TEST_SEED", "a seed"};
  Variable all_{"CONVTGEN_TEST_ALL", nullptr};
  Variable only_{"CONVTGEN_TEST_ONLY", nullptr};
};

TEST_F(Sample, ShowsEveryClass) {
  const std::vector<Candidate> all = candidates();
  for (const std::size_t count : {std::size_t{0}, std::size_t{10}, std::size_t{30}}) {
    for (int seed = 0; seed < 50; ++seed) {
      const Variable other("CONVTGEN_TEST_SEED", std::to_string(seed).c_str());
      std::set<std::string> shown;
      const std::vector<std::size_t> drawn = sample(all, count);
      for (const std::size_t i : drawn) {
        shown.insert(all[i].classes.begin(), all[i].classes.end());
      }
      EXPECT_EQ(shown.size(), 13U);
      EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), drawn.size());
      EXPECT_GE(drawn.size(), count);
      EXPECT_LE(drawn.size(), std::max(count, std::size_t{13}));
    }
  }
}

TEST_F(Sample, IsTheSeeds) {
  const std::vector<std::size_t> drawn = sample(candidates(), 20);
  EXPECT_EQ(sample(candidates(), 20), drawn);
  const Variable other("CONVTGEN_TEST_SEED", "another seed");
  EXPECT_NE(sample(candidates(), 20), drawn);
}

TEST_F(Sample, OfEverySeedTogetherIsAll) {
  std::set<std::size_t> seen;
  for (int seed = 0; seed < 200; ++seed) {
    const Variable other("CONVTGEN_TEST_SEED", std::to_string(seed).c_str());
    const std::vector<std::size_t> drawn = sample(candidates(), 20);
    seen.insert(drawn.begin(), drawn.end());
  }
  EXPECT_EQ(seen.size(), 100U);
}

TEST_F(Sample, IsAllWhereThatIsWantedOrThereAreNoMore) {
  EXPECT_EQ(sample(candidates(), 1000).size(), 100U);
  const Variable all("CONVTGEN_TEST_ALL", "1");
  EXPECT_EQ(sample(candidates(), 1).size(), 100U);
}

TEST_F(Sample, IsWhatIsNamed) {
  const Variable only("CONVTGEN_TEST_ONLY", "number 42");
  EXPECT_EQ(sample(candidates(), 20), std::vector<std::size_t>{42});
}

TEST(PartOf, EveryCaseIsInOnePart) {
  const std::vector<std::size_t> drawn = {5, 3, 8, 1, 9};
  EXPECT_EQ(part_of(drawn, 0, 3), (std::vector<std::size_t>{5, 1}));
  EXPECT_EQ(part_of(drawn, 1, 3), (std::vector<std::size_t>{3, 9}));
  EXPECT_EQ(part_of(drawn, 2, 3), std::vector<std::size_t>{8});
}

TEST_F(Sample, HasNoEmptyParts) {
  EXPECT_EQ(number_of_parts(8, candidates), 8U);
  for (const auto& [text, parts] : {std::pair{"number 4", 8U}, {"number 42", 1U}, {"no such number", 0U}}) {
    const Variable only("CONVTGEN_TEST_ONLY", text);
    EXPECT_EQ(number_of_parts(8, candidates), parts) << text;
  }
}

}  // namespace
}  // namespace convtgen::testing
