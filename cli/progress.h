// A progress bar on stderr for what takes more than a second: only on a terminal, gone when it is done.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace convtgen::cli {

class Progress {
 public:
  explicit Progress(std::string label);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// What is being done now, and how much of it (0 to 1; negative if unknown: only the time is shown).
  void update(std::string label, double fraction = -1);
  void update(double fraction);

 private:
  void draw_until_stopped();

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::string label_;
  double fraction_ = -1;
  std::thread thread_;  // only on a terminal
};

}  // namespace convtgen::cli
