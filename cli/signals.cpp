#include "cli/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "runtime/device/host/process.h"

namespace convtgen::cli {
namespace {

struct Removed {
  std::mutex mutex;
  std::set<std::filesystem::path> files;
};

/// Never destroyed: a signal may come while the program ends.
Removed& removed() {
  static auto* const all = new Removed;
  return *all;
}

int signal_pipe = -1;  // through which the handler notifies the thread of a signal

void tell_thread(int signal) {
  const auto byte = static_cast<unsigned char>(signal);
  if (write(signal_pipe, &byte, 1) != 1) {
    _exit(128 + signal);
  }
}

[[noreturn]] void end_by(int signal) {
  const std::lock_guard lock(removed().mutex);  // until the end: nothing more is written
  host::end_processes();                        // first: a compiler that goes on writes files
  for (const std::filesystem::path& file : removed().files) {
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }
  host::remove_temporary_folders();
  std::signal(signal, SIG_DFL);
  kill(getpid(), signal);
  for (;;) {
    pause();
  }
}

}  // namespace

void clean_up_on_signals() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return;  // they end the program all the same
  }
  signal_pipe = ends[1];
  try {
    std::thread([read_end = ends[0]] {
      unsigned char signal = 0;
      while (read(read_end, &signal, 1) != 1) {
      }
      end_by(signal);
    }).detach();
  } catch (const std::system_error&) {
    return;
  }
  host::group_processes();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action{};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_DFL) {
      action.sa_handler = tell_thread;
      action.sa_flags = SA_RESTART;
      sigaction(signal, &action, nullptr);
    }
  }
}

void remove_on_signal(const std::filesystem::path& file) {
  const std::lock_guard lock(removed().mutex);
  removed().files.insert(file);
}

void keep_on_signal(const std::filesystem::path& file) {
  const std::lock_guard lock(removed().mutex);
  removed().files.erase(file);
}

}  // namespace convtgen::cli
