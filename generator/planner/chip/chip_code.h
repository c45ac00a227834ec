// Which code runs on which chip: the one rule for all that plans, makes, names or loads code.
#pragma once

#include <array>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "generator/planner/chip/target.h"

namespace convtgen {

/// The oldest chip that kernels are made for.
inline constexpr int kOldestChip = 75;

/// Chips that run cubins for their own number alone, and whose cubins run on no other chip: Tegra's. Other chips run
/// cubins for earlier chips of the same major number. PTX runs on all later chips.
inline constexpr std::array kOwnCubinsOnly = {87, 88, 101, 110};

/// Chips without a known target of their own.
inline constexpr std::array kChipsPlannedAsOthers = {101};

[[nodiscard]] bool cubin_runs_on(const Target& made_for, int capability);
[[nodiscard]] bool ptx_runs_on(const Target& made_for, int capability);
[[nodiscard]] bool runs_on(const CodeTarget& code, int capability);

/// The target that kernels for a chip are planned for: its own if that is known, else the largest one whose cubins run
/// there. Else it is the chip's own, planned as a portable target before it: the largest chip of the newest major
/// number. Errors: a chip before kOldestChip.
[[nodiscard]] Result<Target> target_of_chip(int capability);

/// The chip whose plans the kernels for a target have: "sm_100" of "sm_101", and of a known target its own name.
[[nodiscard]] std::string planned_as(const Target& target);

/// The known target whose PTX a chip gets: its own, else one before it, the largest chip of the newest major number;
/// for Tegra's chips no later relative of their major number (8.8 gets compute_80). `compiles`, if given, are the
/// capabilities that the compiler knows.
[[nodiscard]] std::optional<Target> ptx_target_of_chip(int capability,
                                                       const std::optional<std::span<const int>>& compiles = {});

/// A GPU and its driver. Of both versions: 1000 * major + 10 * minor.
struct Chip {
  int capability = 0;       // 10 * major + minor
  int driver_version = 0;   // the newest CUDA that the driver takes; 0: as new as the compiler
  int multiprocessors = 0;  // 0: as many as the board of its target has
  std::string as = {};      // the older chip whose kernels it runs, as PTX ("sm_80"; chip_as()); empty: its own
};

/// The chip as it runs the kernels of another architecture, or its own if that is the one.
/// Errors: an unknown architecture, or one whose code does not run there: a newer one, or sm_90a on another chip. The
/// message lists what runs there.
[[nodiscard]] Result<Chip> chip_as(Chip chip, std::string_view architecture);

/// A target as it is on a chip: with the chip's number of SMs, and ceilings in proportion, as boards of an architecture
/// nearly have them.
[[nodiscard]] Target target_on(Target target, const Chip& chip);

/// An older target whose code runs on a chip: its features, and the limits of both (8.8 gives a block less shared
/// memory than 8.0), at the rates of the chip itself.
[[nodiscard]] Target within(const Target& older, Target chip);

/// What kernels for a chip are planned for: target_of_chip() on it, or the older target whose kernels it runs, within
/// it.
[[nodiscard]] Result<Target> target_for(const Chip& chip);

/// The name of a GPU in tuning records: "NVIDIA H200", and "NVIDIA H200 as sm_80" of one that runs an older chip's
/// kernels, whose times say nothing of either chip's own.
[[nodiscard]] std::string record_name(std::string_view gpu, const Chip& chip);
[[nodiscard]] bool is_of_older_chip(std::string_view record_name);

/// An NVRTC.
struct CodeCompiler {
  int version = 0;
  std::span<const int> architectures;  // capabilities that it compiles for
};

/// Why there is no code.
struct NoCode {
  enum class Cause { kChip, kCompiler, kDriver } cause = Cause::kChip;
  std::string message;
};

/// What is compiled for a chip and loaded there. For one that runs an older chip's kernels: PTX. Else:
/// 1. a cubin for target_of_chip(), if the compiler knows it;
/// 2. else PTX for ptx_target_of_chip(), if the driver is as new as the compiler;
/// 3. else the newest cubin that the compiler can make for the chip.
/// Code for another target is planned within the limits of both (within()).
/// Without a compiler: what a compiler that knows all chips makes. The driver itself judges cubins of a newer compiler.
/// Errors: the chip is too old; the compiler knows nothing that runs there, or not the older chip; the driver can't
/// take its PTX.
[[nodiscard]] std::expected<CodeTarget, NoCode> code_for_chip(const Chip& chip,
                                                              const std::optional<CodeCompiler>& compiler);

/// What a chip runs, for messages: "code for sm_87 or PTX of compute_80".
[[nodiscard]] std::string what_runs_on(int capability);

/// "12.4" of 12040.
[[nodiscard]] std::string version_text(int version);
/// "8.7" of 87.
[[nodiscard]] std::string capability_text(int capability);

}  // namespace convtgen
