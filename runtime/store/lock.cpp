#include "runtime/store/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

namespace convtgen {
namespace {

using Clock = std::chrono::steady_clock;

// Whether the name still stands for the file that was opened.
bool is_there(int folder, const std::string& name, int descriptor) {
  struct stat named = {};
  struct stat opened = {};
  return fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(descriptor, &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

// The file of a lock, made if missing; negative where it can't be. What is no plain file in its place is
// removed: nobody who holds a lock has put it there.
int open_file(const Folder& folder, const std::string& name) {
  constexpr int kTurns = 3;  // another process may be at the same
  for (int turn = 0; turn < kTurns; ++turn) {
    // To be written: a network's file system locks only such files.
    const int descriptor =
        openat(folder.descriptor(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat status = {};
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
      return descriptor;
    }
    if (descriptor >= 0) {
      close(descriptor);
    }
    if (!folder.is_stray(name) || !folder.remove(name)) {
      break;
    }
  }
  return -1;
}

enum class Attempt { kTaken, kHeld, kNone };

Attempt attempt(int descriptor) {
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) {
      return errno == EWOULDBLOCK ? Attempt::kHeld : Attempt::kNone;
    }
  }
  return Attempt::kTaken;
}

}  // namespace

std::optional<FileLock> FileLock::take(const Folder& folder, const std::string& name, std::chrono::milliseconds wait) {
  constexpr std::chrono::milliseconds kLongestNap{20};
  std::string own = name;  // where memory is out, before anything is held
  const Clock::time_point end = Clock::now() + wait;
  std::chrono::milliseconds nap{1};
  for (;;) {
    const int descriptor = open_file(folder, name);
    if (descriptor < 0) {
      return std::nullopt;
    }
    // Not by waiting in flock: a holder that was stopped must not stop all others for ever.
    Attempt result = attempt(descriptor);
    while (result == Attempt::kHeld && Clock::now() < end) {
      std::this_thread::sleep_for(nap);
      nap = std::min(2 * nap, kLongestNap);
      result = attempt(descriptor);
    }
    if (result == Attempt::kTaken && is_there(folder.descriptor(), name, descriptor)) {
      return FileLock(folder.descriptor(), descriptor, std::move(own));
    }
    close(descriptor);
    if (result != Attempt::kTaken) {
      return std::nullopt;
    }
  }
}

FileLock::FileLock(int folder, int descriptor, std::string name)
    : folder_(folder), descriptor_(descriptor), process_(getpid()), name_(std::move(name)) {}

FileLock::FileLock(FileLock&& from) noexcept
    : folder_(from.folder_),
      descriptor_(std::exchange(from.descriptor_, -1)),
      process_(from.process_),
      name_(std::move(from.name_)) {}

FileLock::~FileLock() {
  if (descriptor_ < 0) {
    return;
  }
  if (process_ == getpid()) {  // a forked child has the descriptor, but the lock is its parent's
    unlinkat(folder_, name_.c_str(), 0);
    flock(descriptor_, LOCK_UN);
  }
  close(descriptor_);
}

}  // namespace convtgen
