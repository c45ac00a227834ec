// Which cases a run of the tests takes where there are more than it has time for. The same seed always takes the same.
//
// CONVTGEN_TEST_SEED   any text, which chooses (default "1"; tests/run.sh: the sources' digest)
// CONVTGEN_TEST_ALL    if set: all cases
// CONVTGEN_TEST_ONLY   if set: only cases whose names contain this text, to repeat a failure by its test program. A
//                      program then has only the tests that have such a case, so CTest's list is not for it
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace convtgen::testing {

/// A case that may be taken, and what it shows.
struct Candidate {
  std::string name;  // no other candidate has it
  std::vector<std::string> classes;
};

/// FNV-1a, the same everywhere.
[[nodiscard]] std::uint64_t hash_of(std::string_view text);

[[nodiscard]] std::string test_seed();
[[nodiscard]] bool tests_all();

/// Random numbers that this text chooses.
[[nodiscard]] std::mt19937_64 seeded_by(std::string_view text);

/// The indices of at least `count` candidates, or of all if there are fewer, in the order in which they were drawn. The
/// class that was drawn least gets the next one, and it goes on until each class was drawn.
[[nodiscard]] std::vector<std::size_t> sample(const std::vector<Candidate>& all, std::size_t count);

/// Part `part` of `parts` of a sample that several tests run: every `parts`th.
[[nodiscard]] std::vector<std::size_t> part_of(const std::vector<std::size_t>& drawn, std::size_t part,
                                               std::size_t parts);

/// The number of such tests, so that each of them has a case: `most`, of a sample of at least as many whatever the
/// seed; fewer where CONVTGEN_TEST_ONLY leaves fewer of the candidates, which are made only there.
[[nodiscard]] std::size_t number_of_parts(std::size_t most, const std::function<std::vector<Candidate>()>& candidates);

}  // namespace convtgen::testing
