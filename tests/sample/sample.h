// Which cases a run of the tests takes where there are more than it has time for. The same seed always takes the same.
//
// CONVTGEN_TEST_SEED   any text, which chooses (default "1"; tests/run.sh: the sources' digest)
// CONVTGEN_TEST_ALL    if set: all cases
// CONVTGEN_TEST_ONLY   if set: only cases whose names contain this text, to repeat a failure
#pragma once

#include <cstddef>
#include <cstdint>
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

/// The indices of at least `count` candidates, or of all if there are fewer, in the order in which they were drawn. The
/// class that was drawn least gets the next one, and it goes on until each class was drawn.
[[nodiscard]] std::vector<std::size_t> sample(const std::vector<Candidate>& all, std::size_t count);

/// Part `part` of `parts` of a sample that several tests run: every `parts`th.
[[nodiscard]] std::vector<std::size_t> part_of(const std::vector<std::size_t>& drawn, std::size_t part,
                                               std::size_t parts);

}  // namespace convtgen::testing
