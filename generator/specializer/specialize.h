// A template program with a plan's parameters becomes source text: specialize() without the search for the program.
#pragma once

#include <string>
#include <string_view>

#include "generator/planner/plan/launch_plan.h"
#include "generator/program/program.h"
#include "generator/specializer/kernel_source.h"

namespace convtgen {

/// The residual source of a program below the comment `head`, its kernels called `symbol` and their suffixes, for an
/// architecture ("sm_90a"). Errors name the template's file and line, or the parameter; others are a primitive that the
/// architecture lacks, a kernel that the program lacks, a parameter of a kernel that the launch plan has nothing for.
[[nodiscard]] Result<KernelSource> specialize_program(const Program& program, const Parameters& parameters,
                                                      std::string_view head, std::string_view symbol,
                                                      std::string_view architecture, const LaunchPlan& launch);

/// The same for the program's last kernel alone, whose arguments are left unbound.
[[nodiscard]] Result<KernelSource> specialize_program(const Program& program, const Parameters& parameters,
                                                      std::string_view head, std::string_view symbol,
                                                      std::string_view architecture);

}  // namespace convtgen
