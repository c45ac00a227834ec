// Writing beyond the file-size limit (ulimit -f) as an error, not the program's end.
#pragma once

#include <signal.h>

#include <cerrno>
#include <ctime>

namespace convtgen {

/// While it lives, a write of this thread beyond the limit fails with EFBIG and no more: the SIGXFSZ that comes with it
/// is kept back and thrown away. The process' handlers, which belong to the program, stay as they are. Keeps errno.
class FileSizeSignalHeld {
 public:
  FileSizeSignalHeld() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    is_held_ = pthread_sigmask(SIG_BLOCK, &signal_, &before_) == 0;
  }
  FileSizeSignalHeld(const FileSizeSignalHeld&) = delete;
  FileSizeSignalHeld& operator=(const FileSizeSignalHeld&) = delete;
  ~FileSizeSignalHeld() {
    if (!is_held_) {
      return;
    }
    const int error = errno;
    if (!was_pending_) {  // one from before is the program's own
      const std::timespec at_once = {};
      while (sigtimedwait(&signal_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    }
    (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t signal_;
  sigset_t before_;
  bool was_pending_;
  bool is_held_;
};

}  // namespace convtgen
