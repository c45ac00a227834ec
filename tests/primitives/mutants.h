// Kernels with one synchronisation broken each.
#pragma once

#include <string>
#include <vector>

namespace convtgen::testing {

struct Mutant {
  std::string name;  // where and what: "line 24: mbarrier_wait(...) deleted", lines counted from the body's first
  std::string body;
};

/// Of a kernel's body: each call of a synchronisation primitive deleted in turn (barriers, waits, fences, commits,
/// arrivals, initialisations; those of templates/device/ and __syncthreads(), __syncwarp()); each
/// mbarrier_arrive_expect() without its bytes; each parity that is waited for flipped, and the one that never changes.
[[nodiscard]] std::vector<Mutant> mutants_of(const std::string& body);

}  // namespace convtgen::testing
