// From the kernels of a layer set to the C code that launches them: for programs that are built with their kernels and
// ship with nothing of this project but, where they need it, the host device.
//
// A set has one public header, the support code that its kernels share (support/, with the set's namespace for "ns"),
// and for each kernel a file of its own, which depends on that kernel alone: a build remakes what a change touches.
#pragma once

#include <string>
#include <vector>

#include "generator/planner/chip/target.h"
#include "generator/planner/plan/plan.h"
#include "generator/specializer/kernel_source.h"

namespace convtgen {

/// How a program gets its kernels.
enum class LaunchFormat {
  kCubin,   // compiled beforehand and embedded; loaded by the CUDA driver, which is opened at run time
  kSource,  // compiled by nvcc with the launch code; launched through the CUDA runtime
};

/// The layers that a program is given together.
struct LayerSet {
  std::string name_space;  // "net": functions are net_up_forward() in C, net::up_forward() in C++
  std::string header;      // "net.h"
  LaunchFormat format = LaunchFormat::kCubin;
  bool host = false;                // also run on the host device, with the source for the first architecture
  std::vector<CodeTarget> targets;  // at least one, each once
};

/// One layer in one direction.
struct SetKernel {
  std::string layer_name;
  Layer layer;
  Direction direction = Direction::kForward;
};

/// The kernel as it was made for one of the set's targets.
struct TargetKernel {
  CodeTarget code;
  Plan plan;
  KernelSource source;
};

struct TextFile {
  std::string name;
  std::string text;
};

/// Errors: a namespace or a header that can't be one; no architectures.
[[nodiscard]] Result<void> check_set(const LayerSet& set);

/// The header, NS_support.h and NS_support.c (.cu for kSource). Errors: those of check_set(); two kernels of one name.
[[nodiscard]] Result<std::vector<TextFile>> shared_files(const LayerSet& set, const std::vector<SetKernel>& kernels);

/// NS_<stem>.c or .cu, and NS_<stem>_host.c where the set has the host device; `made` has the kernel for each of the
/// set's targets, in their order. They find binaries and sources by the names of generator/launcher/names.h: cubins,
/// PTX and host libraries along the assembler's include path (-Xassembler -I<folder>), sources along nvcc's.
/// Errors: those of check_set().
[[nodiscard]] Result<std::vector<TextFile>> kernel_files(const LayerSet& set, const SetKernel& kernel,
                                                         const std::vector<TargetKernel>& made);

}  // namespace convtgen
