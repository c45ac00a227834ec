// What every verb has: its exit code, and the function that adds it to the command line.
#pragma once

#include <CLI/CLI.hpp>

namespace convtgen::cli {

/// The program's exit code.
enum class Exit {
  kOk = 0,
  kWrong = 1,  // the input or the result is wrong
  kUsage = 2,  // the command line is wrong, or this machine lacks something
};

/// The worse of two exit codes.
[[nodiscard]] inline Exit worse(Exit a, Exit b) {
  return a > b ? a : b;
}

// Each adds its verb to the app; when the verb is given, parsing runs it and sets `exit`.
void add_check(CLI::App& app, Exit& exit);
void add_new(CLI::App& app, Exit& exit);
void add_fmt(CLI::App& app, Exit& exit);
void add_emit(CLI::App& app, Exit& exit);
void add_explain(CLI::App& app, Exit& exit);
void add_import(CLI::App& app, Exit& exit);
void add_compile(CLI::App& app, Exit& exit);
void add_launcher(CLI::App& app, Exit& exit);
void add_run(CLI::App& app, Exit& exit);
void add_tune(CLI::App& app, Exit& exit);
void add_cache(CLI::App& app, Exit& exit);
void add_doctor(CLI::App& app, Exit& exit);
void add_completion(CLI::App& app, Exit& exit);
/// Knows the verbs that were added before it.
void add_help(CLI::App& app, Exit& exit);

}  // namespace convtgen::cli
