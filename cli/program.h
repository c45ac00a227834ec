// The whole program, for main() alone.
#pragma once

namespace convtgen::cli {

/// Runs the verb that is named. Returns the program's exit code.
[[nodiscard]] int run_program(int argc, char** argv);

}  // namespace convtgen::cli
