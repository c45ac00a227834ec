#include "runtime/device/host/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

extern char** environ;

namespace convtgen::host {

Result<ProcessResult> run_process(const std::vector<std::string>& arguments) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
    return fail(fmt::format("no pipe for {}: {}", arguments[0], std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 2);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  if (error != 0) {
    close(pipe_ends[0]);
    return fail(fmt::format("{} can't be started: {}", arguments[0], std::strerror(error)));
  }
  ProcessResult result;
  char chunk[4096];
  for (;;) {
    const ssize_t got = read(pipe_ends[0], chunk, sizeof chunk);
    if (got > 0) {
      result.output.append(chunk, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
  close(pipe_ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return fail(fmt::format("{} was not waited for: {}", arguments[0], std::strerror(errno)));
    }
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

Result<std::string> path_of_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    std::error_code ignored;
    return std::filesystem::absolute(name, ignored).string();
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return fail(fmt::format("{} is not on PATH", name));
}

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error).string();
  if (error) {
    path = "/tmp";
  }
  path += "/convtgen-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return fail(fmt::format("no temporary folder {}: {}", path, std::strerror(errno)));
  }
  return TemporaryFolder(path);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& from) noexcept : path_(std::exchange(from.path_, {})) {}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) {
    return fail(fmt::format("{} can't be read: {}", path, std::strerror(errno)));
  }
  return std::move(bytes).str();
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    return fail(fmt::format("{} can't be written: {}", path, std::strerror(errno)));
  }
  return {};
}

}  // namespace convtgen::host
