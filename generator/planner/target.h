// The chips that kernels are made for: an exact architecture name and the limits and ceilings that plans depend on.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/planner/cost_factors.h"
#include "generator/support/error.h"

namespace convtgen {

/// What an SM does in a cycle: measured ones (docs/kernel-notes.md) of chips that kernels for tensor cores are made
/// for, else 0.
struct SmRates {
  double clock_hz = 0;                  // under load
  double tensor_columns_per_cycle = 0;  // of products of 64 positions and 32 bytes of depth
  double least_product_cycles = 0;      // of such a product, however narrow
  double l2_bytes_per_cycle = 0;        // that an SM gets while all of them ask
  double shared_bytes_per_cycle = 0;    // that its shared memory gives or takes
  double copied_bytes_per_cycle = 0;    // that asynchronous copies put there
};

struct Target {
  std::string architecture;     // exact: "sm_90a", not 90
  int capability = 0;           // 10 * major + minor: 75 ... 120
  int multiprocessors = 0;      // of the largest chip of this architecture
  int max_shared_bytes = 0;     // dynamic shared memory one block may ask for
  int shared_bytes_per_sm = 0;  // shared memory all blocks of an SM share
  double bytes_per_second = 0;  // device memory
  double f32_flops = 0;         // ceilings, in flop/s; a multiply-add is two
  double f64_flops = 0;
  double tf32_flops = 0;  // of tensor cores where kernels for them are made, else 0
  double f16_flops = 0;   // f16 and bf16 likewise
  SmRates sm = {};
  double launch_seconds = 3e-6;           // of a kernel, until its first loads have come
  double packed_bytes_per_second = 1e12;  // of weights
  CostFactors factors = {};               // fitted to what calls took
  std::string chip = {};                  // "NVIDIA H200", whose shipped records are preferred; "": any
};

/// Every known target, oldest first: sm_75, sm_80, sm_86, sm_89, sm_90a, sm_100, sm_120.
[[nodiscard]] std::span<const Target> known_targets();

/// A known target, or that of a chip which is planned as another one ("sm_87"; chip_code.h).
/// Errors: unknown architecture; the message lists the legal ones.
[[nodiscard]] Result<Target> target_named(std::string_view architecture);

/// Whether what is compiled for it runs on later chips too: not that of an "a" architecture.
[[nodiscard]] bool is_portable(const Target& target);

/// What a binary is made for.
struct CodeTarget {
  Target target;        // whose source and plan it has
  bool is_ptx = false;  // PTX, for that chip and all later ones
  bool operator==(const CodeTarget& other) const {
    return target.architecture == other.target.architecture && is_ptx == other.is_ptx;
  }
};

/// "sm_90a" of a cubin, "compute_80" of PTX.
[[nodiscard]] std::string name_of(const CodeTarget& code);

/// The inverse; of a chip that gets the code of another one, that code: sm_120 of "sm_121", compute_80 of "compute_87".
/// Errors: an unknown name, or PTX that no later chip would run ("compute_90a"); the message lists the legal ones.
[[nodiscard]] Result<CodeTarget> code_target_named(std::string_view name);

/// The names that code_target_named() takes, except those of chips that get the code of another one: first the real
/// architectures, then the virtual ones.
[[nodiscard]] std::vector<std::string> code_target_names();
[[nodiscard]] std::vector<std::string> real_target_names();

}  // namespace convtgen
