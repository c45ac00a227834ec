// Runs the real binary, as a user does.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace convtgen::test {

struct Outcome {
  int exit = -1;    // 128 + the signal where one ended it
  std::string out;  // standard output; on a terminal, all that was shown
  std::string err;
};

struct Setting {
  std::string input = {};                               // standard input
  std::map<std::string, std::string> environment = {};  // changes to this process's own
  std::filesystem::path folder = ".";                   // to run in
  bool terminal = false;                                // give it a terminal for stdout and stderr
};

/// Runs a program with arguments to its end.
[[nodiscard]] Outcome run_program(const std::vector<std::string>& command, const Setting& setting = {});

/// What a function of a child process shows on a terminal.
[[nodiscard]] std::string shown_on_terminal(const std::function<void()>& body);

/// Runs `convtgen` with these arguments.
[[nodiscard]] Outcome convtgen(std::vector<std::string> arguments, const Setting& setting = {});

/// A new folder, removed with all that is in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] std::string read(const std::filesystem::path& path);
void write(const std::filesystem::path& path, const std::string& text);

/// examples/seeds.convt of the project.
[[nodiscard]] std::string seeds();

}  // namespace convtgen::test
