// A template compiled directly: its own text, with a plan's values in place of the defaults. What the specializer makes
// of it must compute the same bits.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "generator/planner/plan/plan.h"
#include "generator/program/program.h"
#include "generator/support/error.h"

namespace convtgen::templatec {

/// A header that can stand in place of the template's "parameters.h".
/// Errors: a parameter without a value, or a value of another kind than the program declares.
[[nodiscard]] Result<std::string> parameters_header(const Program& program, const Parameters& parameters);

/// One text of the template and all that it includes; device primitives are guarded as in emitted sources.
/// `read` gives the text of a file by its name from the template's folder or the shared one.
[[nodiscard]] Result<std::string> template_as_it_stands(
    const Program& program, const Parameters& parameters,
    const std::function<std::optional<std::string>(const std::string&)>& read);

}  // namespace convtgen::templatec
