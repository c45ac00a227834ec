// The chips that kernels are made for: an exact architecture name and the limits and ceilings that plans depend on.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/planner/chip/features.h"
#include "generator/support/error.h"

namespace convtgen {

/// What an SM does in a cycle, as the cost models of tensor-core templates count it. Measured on the H200
/// (docs/kernel-notes.md); 0 where no template that is offered on the chip asks.
struct SmRates {
  double clock_hz = 0;                  // under load
  double tensor_columns_per_cycle = 0;  // of wgmma's products of 64 positions and 32 bytes of depth
  double least_product_cycles = 0;      // of such a product, however narrow
  double mma_cycles = 0;          // of mma.sync's product of 16 x 8 and 32 bytes of depth, while all warps make some
  double l2_bytes_per_cycle = 0;  // that an SM gets while all of them ask
  double shared_bytes_per_cycle = 0;  // that its shared memory gives or takes
  double copied_bytes_per_cycle = 0;  // that asynchronous copies put there
};

/// Where a target's rates come from.
enum class RateSource {
  kMeasured,   // on its board
  kDataSheet,  // of its board
};

/// Facts of an architecture, and the rates of one board of it: the largest for data centres or workstations.
struct Target {
  std::string architecture;     // exact: "sm_90a", not 90
  int capability = 0;           // 10 * major + minor: 75 ... 121
  std::string_view board = {};  // whose rates these are: "H200"
  RateSource rates = RateSource::kDataSheet;
  Features features = {};
  int multiprocessors = 0;
  int max_shared_bytes = 0;          // dynamic shared memory one block may ask for
  int shared_bytes_per_sm = 0;       // shared memory all blocks of an SM share
  int reserved_shared_bytes = 1024;  // of that, for each block
  int max_threads_per_sm = 0;
  double bytes_per_second = 0;  // device memory
  double f32_flops = 0;         // ceilings, in flop/s; a multiply-add is two
  double f64_flops = 0;
  double tf32_flops = 0;  // of tensor cores, accumulators f32; 0: they don't take the type
  double f16_flops = 0;
  double bf16_flops = 0;
  SmRates sm = {};
  double launch_seconds = 3e-6;           // of a kernel, until its first loads have come; measured on the H200
  double packed_bytes_per_second = 1e12;  // of weights, likewise
};

/// Every known target, oldest first.
[[nodiscard]] std::span<const Target> known_targets();

/// A known target, or that of a chip which is planned as another one ("sm_101"; chip_code.h).
/// Errors: unknown architecture; the message lists the legal ones.
[[nodiscard]] Result<Target> target_named(std::string_view architecture);

/// The target with the rates of the class of boards that a GPU of this name is of ("NVIDIA GeForce RTX 4070"): GeForce
/// boards' tensor cores are half as fast with f32 accumulators. The rates are then those of the largest GeForce board
/// of the architecture. The limits stay, and so does a target of any other name.
[[nodiscard]] Target target_of_gpu(Target target, std::string_view gpu);

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

/// The inverse; of a chip that gets the code of another one, that code: compute_100 of "compute_101".
/// Errors: an unknown name, or PTX that no later chip would run ("compute_90a"); the message lists the legal ones.
[[nodiscard]] Result<CodeTarget> code_target_named(std::string_view name);

/// The names that code_target_named() takes, except those of chips that get the code of another one: first the real
/// architectures, then the virtual ones.
[[nodiscard]] std::vector<std::string> code_target_names();
[[nodiscard]] std::vector<std::string> real_target_names();

}  // namespace convtgen
