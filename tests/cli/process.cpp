#include "tests/cli/process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace convtgen::test {
namespace {

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) {
      std::abort();
    }
    read_end = ends[0];
    write_end = ends[1];
  }
};

[[noreturn]] void become(const std::vector<std::string>& command, const Setting& setting) {
  for (const auto& [name, value] : setting.environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  if (chdir(setting.folder.c_str()) == 0) {
    execvp(arguments[0], arguments.data());
  }
  _exit(127);
}

void read_all(int descriptor, std::string& into) {
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(descriptor, buffer.data(), buffer.size())) > 0;) {
    into.append(buffer.data(), static_cast<std::size_t>(count));
  }
  close(descriptor);
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Outcome run_on_terminal(const std::function<void()>& body) {
  Outcome outcome;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    body();
    _exit(0);
  }
  read_all(terminal, outcome.out);
  outcome.exit = wait_for(child);
  return outcome;
}

}  // namespace

Outcome run_program(const std::vector<std::string>& command, const Setting& setting) {
  if (setting.terminal) {
    return run_on_terminal([&] { become(command, setting); });
  }
  Pipe in, out, err;
  const pid_t child = fork();
  if (child == 0) {
    dup2(in.read_end, 0);
    dup2(out.write_end, 1);
    dup2(err.write_end, 2);
    for (const int descriptor : {in.read_end, in.write_end, out.read_end, out.write_end, err.read_end, err.write_end}) {
      close(descriptor);
    }
    become(command, setting);
  }
  close(in.read_end);
  close(out.write_end);
  close(err.write_end);
  Outcome outcome;
  const auto ignore_pipe = std::signal(SIGPIPE, SIG_IGN);  // a child that reads no input is no error of the test
  {
    const std::jthread reader([&] { read_all(out.read_end, outcome.out); });
    const std::jthread error_reader([&] { read_all(err.read_end, outcome.err); });
    std::size_t written = 0;
    while (written < setting.input.size()) {
      const ssize_t count = ::write(in.write_end, setting.input.data() + written, setting.input.size() - written);
      if (count <= 0) {
        break;
      }
      written += static_cast<std::size_t>(count);
    }
    close(in.write_end);
  }
  std::signal(SIGPIPE, ignore_pipe);
  outcome.exit = wait_for(child);
  return outcome;
}

std::string shown_on_terminal(const std::function<void()>& body) {
  return run_on_terminal(body).out;
}

Outcome convtgen(std::vector<std::string> arguments, const Setting& setting) {
  arguments.insert(arguments.begin(), CONVTGEN_BINARY);
  return run_program(arguments, setting);
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "convtgen-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    std::abort();
  }
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string seeds() {
  return CONVTGEN_SEEDS;
}

}  // namespace convtgen::test
