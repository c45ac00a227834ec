#include "cli/progress.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/terminal.h"

namespace convtgen::cli {
namespace {

constexpr int kBarWidth = 24;
constexpr std::chrono::milliseconds kPatience{1000};
constexpr std::chrono::milliseconds kInterval{100};

std::string bar(double fraction) {
  if (fraction < 0) {
    return "";
  }
  const int full = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kBarWidth);
  return fmt::format("[{}{}] {:3.0f}% ", std::string(static_cast<std::size_t>(full), '#'),
                     std::string(static_cast<std::size_t>(kBarWidth - full), '.'),
                     std::clamp(fraction, 0.0, 1.0) * 100);
}

}  // namespace

Progress::Progress(std::string label) : label_(std::move(label)) {
  if (is_terminal(stderr)) {
    thread_ = std::thread([this] { draw_until_stopped(); });
  }
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Progress::update(std::string label, double fraction) {
  const std::lock_guard lock(mutex_);
  label_ = std::move(label);
  fraction_ = fraction;
}

void Progress::update(double fraction) {
  const std::lock_guard lock(mutex_);
  fraction_ = fraction;
}

void Progress::draw_until_stopped() {
  std::unique_lock lock(mutex_);
  if (stopped_.wait_for(lock, kPatience, [this] { return stop_; })) {
    return;
  }
  do {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    print_on_stderr(fmt::format("\r\033[K{}{} {:.0f} s", bar(fraction_), label_, elapsed.count()));
    std::fflush(stderr);
  } while (!stopped_.wait_for(lock, kInterval, [this] { return stop_; }));
  print_on_stderr("\r\033[K");
  std::fflush(stderr);
}

}  // namespace convtgen::cli
