#include "runtime/support/log.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/support/environment.h"

namespace convtgen {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"off", "error", "warning", "info", "debug"};

int level_of_environment() {
  const std::string word = environment("CONVTGEN_LOG");
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (word == kNames[i]) {
      return static_cast<int>(i);
    }
  }
  if (!word.empty()) {
    fmt::print(stderr, "convtgen: warning: $CONVTGEN_LOG is '{}'; legal are {}\n", word, fmt::join(kNames, ", "));
  }
  return static_cast<int>(LogLevel::kWarning);
}

struct Log {
  std::atomic<int> level = level_of_environment();
  std::mutex mutex;
  std::shared_ptr<const LogSink> sink;
};

// Never destroyed: threads may log while the process ends.
Log& the_log() {
  static Log& log = *new Log;
  return log;
}

}  // namespace

void set_log_sink(LogSink sink, LogLevel level) {
  Log& own = the_log();
  const std::lock_guard lock(own.mutex);
  own.level = sink ? static_cast<int>(level) : level_of_environment();
  own.sink = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
}

bool heard(LogLevel level) {
  return level != LogLevel::kOff && static_cast<int>(level) <= the_log().level.load(std::memory_order_relaxed);
}

void log(LogLevel level, std::string_view message) {
  if (!heard(level)) {
    return;
  }
  std::shared_ptr<const LogSink> sink;
  {
    Log& own = the_log();
    const std::lock_guard lock(own.mutex);
    sink = own.sink;
  }
  if (sink) {
    (*sink)(level, message);
    return;
  }
  const std::string line = fmt::format("convtgen: {}: {}\n", kNames[static_cast<std::size_t>(level)], message);
  std::fwrite(line.data(), 1, line.size(), stderr);  // in one piece: other threads write too
}

}  // namespace convtgen
