#include "runtime/device/host/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "runtime/store/directory.h"
#include "runtime/store/file_size_signal.h"

extern char** environ;

namespace convtgen::host {
namespace {

struct LiveFolders {
  std::mutex mutex;
  std::set<std::string> paths;
};

/// Never destroyed: remove_temporary_folders() may be called while the program ends.
LiveFolders& live_folders() {
  static auto* const all = new LiveFolders;
  return *all;
}

struct LiveGroups {
  std::mutex mutex;
  bool are_made = false;
  std::set<pid_t> leaders;
};

/// Never destroyed: end_processes() may be called while the program ends.
LiveGroups& live_groups() {
  static auto* const all = new LiveGroups;
  return *all;
}

/// mkdtemp(), recorded for remove_temporary_folders().
bool make_live_folder(std::string& path) {
  const std::lock_guard lock(live_folders().mutex);
  const bool made = mkdtemp(path.data()) != nullptr;
  if (made) {
    live_folders().paths.insert(path);
  }
  return made;
}

// The shell keeps the program's status: a parent that ignores SIGCHLD, or whose handler waits for all children, can't
// learn it from the system. Its own end, if it comes early, is a status that is missing.
constexpr const char* kScript = "\"$@\" 3>&-\necho $? >&3\n";
constexpr int kStatusDescriptor = 3;
// What a shell gives for a program that can't be run, or is not there.
constexpr int kCanNotRun = 126;
constexpr int kNotFound = 127;

// A pipe whose ends are above the descriptors that the child is given.
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  // False with errno.
  [[nodiscard]] bool open() {
    int made[2];
    if (pipe2(made, O_CLOEXEC) != 0) {
      return false;
    }
    for (int i = 0; i < 2; ++i) {
      ends[i] = fcntl(made[i], F_DUPFD_CLOEXEC, kStatusDescriptor + 1);
    }
    const int error = errno;
    close(made[0]);
    close(made[1]);
    errno = error;
    return ends[0] >= 0 && ends[1] >= 0;
  }
  void close_end(int i) {
    if (ends[i] >= 0) {
      close(std::exchange(ends[i], -1));
    }
  }
  // All that is written until nobody has the other end.
  [[nodiscard]] std::string read_all() {
    close_end(1);
    std::string text;
    char chunk[4096];
    for (;;) {
      const ssize_t got = read(ends[0], chunk, sizeof chunk);
      if (got > 0) {
        text.append(chunk, static_cast<std::size_t>(got));
      } else if (got == 0 || errno != EINTR) {
        return text;
      }
    }
  }
};

// Starts the shell with its output and the status going to these pipes. Returns the error of posix_spawn.
int spawn(pid_t& child, const std::vector<std::string>& arguments, const Pipe& output, const Pipe& status) {
  std::vector<char*> argv;
  for (const char* word : {"sh", "-c", kScript, "sh"}) {
    argv.push_back(const_cast<char*>(word));
  }
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, output.ends[1], 2);
  posix_spawn_file_actions_adddup2(&actions, status.ends[1], kStatusDescriptor);
  // A signal that is ignored stays so in a child, and the shell has to wait for its own.
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGCHLD);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  const std::lock_guard lock(live_groups().mutex);
  const bool own_group = live_groups().are_made;
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | (own_group ? POSIX_SPAWN_SETPGROUP : 0));
  const int error = posix_spawn(&child, "/bin/sh", &actions, &attributes, argv.data(), environ);
  if (own_group && error == 0) {
    live_groups().leaders.insert(child);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<ProcessResult> run_process(const std::vector<std::string>& arguments) {
  const auto not_started = [&](std::string_view why) {
    return fail(fmt::format("{} can't be started: {}", arguments[0], why));
  };
  Pipe output;
  Pipe status;
  if (!output.open() || !status.open()) {
    return fail(fmt::format("no pipe for {}: {}", arguments[0], std::strerror(errno)));
  }
  pid_t child = 0;
  if (const int error = spawn(child, arguments, output, status); error != 0) {
    return not_started(std::strerror(error));
  }
  status.close_end(1);
  ProcessResult result;
  result.output = output.read_all();
  const std::string told = status.read_all();
  {
    const std::lock_guard lock(live_groups().mutex);  // before the system may give its number to another
    live_groups().leaders.erase(child);
  }
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {  // or somebody else did
  }
  const auto [end, error] = std::from_chars(told.data(), told.data() + told.size(), result.status);
  if (error != std::errc()) {
    return fail(fmt::format("{} was ended with the shell that ran it", arguments[0]));
  }
  if (result.status == kCanNotRun || result.status == kNotFound) {
    return not_started(result.output.substr(0, result.output.find_last_not_of('\n') + 1));
  }
  return result;
}

void group_processes() {
  const std::lock_guard lock(live_groups().mutex);
  live_groups().are_made = true;
}

void end_processes() {
  live_groups().mutex.lock();  // for ever
  for (const pid_t leader : live_groups().leaders) {
    kill(-leader, SIGTERM);
  }
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

namespace {

constexpr std::string_view kFolderPrefix = "convtgen-";
constexpr std::size_t kRandomCharacters = 6;
constexpr const char* kHeldFile = "held";

std::string temporary_path() {
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error).string();
  return error ? "/tmp" : path;
}

// Opens the file in a folder that its process holds the lock of, and takes it; negative where it is another's.
int take_held_file(int folder, int flags) {
  const int file = openat(folder, kHeldFile, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0) {
    close(file);
    return -1;
  }
  return file;
}

// Whether the process that made a folder is gone: its lock is free, or it never came to take one.
bool is_left(int folder) {
  constexpr std::time_t kMakingSeconds = 3600;
  struct stat status = {};
  if (fstat(folder, &status) != 0 || status.st_uid != geteuid()) {
    return false;
  }
  const int file = take_held_file(folder, 0);
  if (file < 0) {
    return errno == ENOENT && std::abs(std::time(nullptr) - status.st_mtime) >= kMakingSeconds;
  }
  close(file);
  return true;
}

// Removes the folders that this user's killed processes have left.
void sweep_temporary_folders(const std::string& place) {
  const int parent = open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) {
    return;
  }
  for (const std::string& name : names_in(parent)) {
    if (!name.starts_with(kFolderPrefix) || name.size() != kFolderPrefix.size() + kRandomCharacters) {
      continue;
    }
    const int folder = openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0) {
      continue;
    }
    if (is_left(folder)) {
      (void)remove_tree(parent, name.c_str());
    }
    close(folder);
  }
  close(parent);
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make() {
  constexpr int kTurns = 3;
  const std::string place = temporary_path();
  sweep_temporary_folders(place);
  for (int turn = 0;; ++turn) {
    std::string path = fmt::format("{}/{}{}", place, kFolderPrefix, std::string(kRandomCharacters, 'X'));
    if (!make_live_folder(path)) {
      return fail(fmt::format("no temporary folder {}: {}", path, std::strerror(errno)));
    }
    TemporaryFolder folder(path);
    // Another process that sweeps may have come between the file and its lock.
    if (folder.hold() || turn == kTurns) {
      return folder;
    }
  }
}

bool TemporaryFolder::hold() {
  const int folder = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  held_ = folder >= 0 ? take_held_file(folder, O_CREAT) : -1;
  if (folder >= 0) {
    close(folder);
  }
  struct stat status = {};
  return held_ >= 0 && fstat(held_, &status) == 0 && status.st_nlink > 0;
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& from) noexcept
    : path_(std::exchange(from.path_, {})), held_(std::exchange(from.held_, -1)) {}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) {
    (void)remove_tree(AT_FDCWD, path_.c_str());
    const std::lock_guard lock(live_folders().mutex);
    live_folders().paths.erase(path_);
  }
  if (held_ >= 0) {
    close(held_);
  }
}

void remove_temporary_folders() {
  const std::lock_guard lock(live_folders().mutex);
  for (const std::string& path : live_folders().paths) {
    (void)remove_tree(AT_FDCWD, path.c_str());
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
  const FileSizeSignalHeld held;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    return fail(fmt::format("{} can't be written: {}", path, std::strerror(errno)));
  }
  return {};
}

}  // namespace convtgen::host
