// A template program with a plan's parameters becomes source text: specialize() without the search for the program.
#pragma once

#include <string>
#include <string_view>

#include "generator/specializer/kernel_source.h"
#include "generator/specializer/program.h"

namespace convtgen {

/// The residual source of a program below the comment `head`, its kernel called `symbol`, for an architecture
/// ("sm_90a"), launched in clusters of `cluster` blocks. Other launch sizes are the caller's. Errors name the
/// template's file and line, or the parameter; one is a primitive that the architecture lacks.
[[nodiscard]] Result<KernelSource> specialize_program(const Program& program, const Parameters& parameters,
                                                      std::string_view head, std::string_view symbol,
                                                      std::string_view architecture, int cluster = 1);

/// The committed program of a template as text. Errors: there is none of that name; the message lists them.
[[nodiscard]] Result<std::string_view> program_text_named(std::string_view template_name);

}  // namespace convtgen
