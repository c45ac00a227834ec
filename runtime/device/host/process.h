// Runs a program and keeps its output.
#pragma once

#include <string>
#include <vector>

#include "generator/support/error.h"

namespace convtgen::host {

struct ProcessResult {
  int status = 0;      // the exit code, or 128 + the signal, as in a shell
  std::string output;  // stdout and stderr together
};

/// Finds arguments[0] along PATH; stdin is empty. SIGCHLD may be ignored here, or have a handler that waits for every
/// child. Errors: it can't be started; a shell that can't run it has printed the reason in `output`.
[[nodiscard]] Result<ProcessResult> run_process(const std::vector<std::string>& arguments);

/// From now on each program of run_process() is in a process group of its own, which end_processes() can end. For a
/// program that ends its children itself when a signal ends it: a terminal's Ctrl-C no longer reaches them.
void group_processes();

/// Sends SIGTERM to all groups that are running. None begins afterwards: for a program that a signal is about to end.
void end_processes();

/// The file that run_process() starts by this name. Errors: not found along PATH.
[[nodiscard]] Result<std::string> path_of_program(const std::string& name);

/// A new folder that only this user can enter, gone with the object. Those that
/// killed processes of this user have left are removed when one is made.
class TemporaryFolder {
 public:
  [[nodiscard]] static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& from) noexcept;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  /// False where another process may be removing it.
  [[nodiscard]] bool hold();
  std::string path_;
  int held_ = -1;  // the descriptor of a locked file in it: while the lock is held the folder is in use
};

/// Removes the folders of all live objects: for a program that a signal is about to end.
void remove_temporary_folders();

/// Errors name the path and the system's reason.
[[nodiscard]] Result<std::string> read_file(const std::string& path);
[[nodiscard]] Result<void> write_file(const std::string& path, std::string_view bytes);

}  // namespace convtgen::host
