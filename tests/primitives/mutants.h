// Kernels with one synchronisation broken each.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace convtgen::testing {

/// A change of a kernel's text in one place.
struct Mutant {
  std::string name;  // where and what: "line 24: mbarrier_wait(...) deleted", lines counted from the text's first
  std::size_t begin = 0, end = 0;  // a statement with its semicolon, or an expression
  std::string by;                  // stands in its place
  bool is_statement = false;
};

/// Of a kernel's body: each call of a synchronisation primitive deleted, one at a time (barriers, waits, fences,
/// commits, arrivals, initialisations; those of templates/device/ and __syncthreads(), __syncwarp()); each
/// mbarrier_arrive_expect() without its bytes; each parity that is waited for flipped, and the one that never changes.
[[nodiscard]] std::vector<Mutant> mutants_of(const std::string& body);

/// The text with this change.
[[nodiscard]] std::string changed(const std::string& text, const Mutant& mutant);

/// The text together with mutants of it, so that one compile serves all: while `*chosen` is i + 1 it is mutant i, while
/// it is 0 the text as it is. Lines stay. Ranges lie apart, in one another, or are equal. The text needs, before it,
/// the function that chooses.
[[nodiscard]] std::string switched(const std::string& text, const std::vector<Mutant>& mutants);

/// The function is_mutant(number) that chooses, on one line without its end. `*chosen` outlives the kernel.
[[nodiscard]] std::string choosing_function(const volatile int* chosen);

}  // namespace convtgen::testing
