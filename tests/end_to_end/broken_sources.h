// An emitted source with one barrier, one step of its pipeline or one bound check missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/device/host/host_device.h"
#include "runtime/reference/run_layer.h"
#include "tests/primitives/mutants.h"

namespace convtgen::testing {

/// The source without one comparison of its ifs and of the bools that it names, each in turn: with "true" in its place,
/// where it is one of several that are joined by || with "false".
[[nodiscard]] std::vector<Mutant> without_bound_checks(const std::string& text);

/// A source together with mutants of it: while *chosen is i + 1 it is mutant i, while it is 0 the source as it was.
struct Broken {
  std::string text;
  std::vector<Mutant> mutants;
};
/// With the mutants of mutants_of(), and the same if `bound_checks`, between the declarations of device primitives and
/// these; lines are counted from there. `*chosen` outlives the kernel.
[[nodiscard]] Broken broken(const std::string& text, bool bound_checks, const volatile int* chosen);

/// Runs a kernel with this seed; empty where its results are those of the reference, else what was wrong. `blocks` is
/// how many are launched, of a kernel that goes on to other tiles; 0: as many as the plan has.
[[nodiscard]] std::string judge(HostDevice& device, const Layer& layer, LoadedLayer& loaded, const InputSizes& sizes,
                                const LayerInputs& inputs, const Reference& reference, std::uint64_t seed,
                                std::int64_t blocks = 0);

}  // namespace convtgen::testing
