// Runs a program and keeps what it says.
#pragma once

#include <string>
#include <vector>

#include "generator/support/error.h"

namespace convtgen::host {

struct ProcessResult {
  int status = 0;      // the exit code, or 128 + the signal
  std::string output;  // stdout and stderr together
};

/// Finds arguments[0] along PATH; stdin is empty. Errors: it can't be started.
[[nodiscard]] Result<ProcessResult> run_process(const std::vector<std::string>& arguments);

/// The file that run_process() starts by this name. Errors: there is none along PATH.
[[nodiscard]] Result<std::string> path_of_program(const std::string& name);

/// A new folder that only this user can enter, gone with the object.
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
  std::string path_;
};

/// Errors name the path and the system's reason.
[[nodiscard]] Result<std::string> read_file(const std::string& path);
[[nodiscard]] Result<void> write_file(const std::string& path, std::string_view bytes);

}  // namespace convtgen::host
