// The functions of the C API on the process: counters and log.
#include "runtime/api/guard.h"
#include "runtime/support/counters.h"
#include "runtime/support/log.h"

using namespace convtgen;
using namespace convtgen::api;

static_assert(static_cast<int>(LogLevel::kOff) == CONVTGEN_LOG_OFF);
static_assert(static_cast<int>(LogLevel::kError) == CONVTGEN_LOG_ERROR);
static_assert(static_cast<int>(LogLevel::kWarning) == CONVTGEN_LOG_WARNING);
static_assert(static_cast<int>(LogLevel::kInfo) == CONVTGEN_LOG_INFO);
static_assert(static_cast<int>(LogLevel::kDebug) == CONVTGEN_LOG_DEBUG);

extern "C" {

convtgen_status convtgen_get_counters(convtgen_counters* counters) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = check_struct(counters, "counters"); !checked) {
      return checked;
    }
    const Counters& all = convtgen::counters();
    *counters = {.struct_size = sizeof(convtgen_counters),
                 .prepared = all.prepared,
                 .reused = all.reused,
                 .hits = all.hits,
                 .misses = all.misses,
                 .compiles = all.compiles,
                 .evicted = all.evicted,
                 .loads = all.loads,
                 .unloads = all.unloads};
    return {};
  });
}

convtgen_status convtgen_set_log(convtgen_log_callback callback, void* user, int level) {
  return guarded([&]() -> Outcome<void> {
    if (level < CONVTGEN_LOG_OFF || level > CONVTGEN_LOG_DEBUG) {
      return fail_with(Status::kInvalidArgument,
                       fmt::format("level is {}; legal are {} to {}", level, static_cast<int>(CONVTGEN_LOG_OFF),
                                   static_cast<int>(CONVTGEN_LOG_DEBUG)));
    }
    LogSink sink;
    if (callback != nullptr) {
      sink = [callback, user](LogLevel message_level, std::string_view message) {
        const std::string text(message);
        try {
          callback(user, static_cast<convtgen_log_level>(message_level), text.c_str());
        } catch (...) {  // what a message comes to must not change what the call that sent it does
        }
      };
    }
    set_log_sink(std::move(sink), static_cast<LogLevel>(level));
    return {};
  });
}

}  // extern "C"
