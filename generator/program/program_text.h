// Template programs as text; program.h has the format.
#pragma once

#include <string>
#include <string_view>

#include "generator/program/program.h"
#include "generator/support/error.h"

namespace convtgen {

/// read_program(write_program(p)) == p.
[[nodiscard]] std::string write_program(const Program& program);

/// Errors name the line of the text, and what was expected there.
[[nodiscard]] Result<Program> read_program(std::string_view text);

}  // namespace convtgen
