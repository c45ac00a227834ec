// A recipe's kernels on a Device: loading them, and launching a call.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "generator/recipe/call_form.h"
#include "runtime/device/device.h"

namespace convtgen {

/// In the recipe's order.
using LoadedKernels = std::vector<std::unique_ptr<LoadedKernel>>;

/// All kernels of a recipe, from its binary. Errors: the binary has other kernels; those of Device::load().
[[nodiscard]] Result<LoadedKernels> load_kernels(Device& device, const Recipe& recipe, const Binary& binary);

/// The launches of a call, one a kernel; with 0 blocks for a kernel that the call does not need. `arrays` must be those
/// that the call was checked with. Errors: a tensor map with sizes that are not legal.
[[nodiscard]] Result<std::vector<Launch>> launches_of(const CallForm& form, const Arrays& arrays, const Call& call);

/// Runs them to their end, in order. Errors: those of Device::run().
[[nodiscard]] Result<void> run_launches(Device& device, const LoadedKernels& kernels, std::span<const Launch> launches);

/// Milliseconds of all of them, as Device::time() measures; 0 where none has blocks. Errors: those of Device::time().
[[nodiscard]] Result<double> time_launches(Device& device, const LoadedKernels& kernels,
                                           std::span<const Launch> launches, int repeats);

}  // namespace convtgen
