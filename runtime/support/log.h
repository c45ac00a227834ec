// Log messages: to the user's callback, else to standard error.
#pragma once

#include <functional>
#include <string_view>

namespace convtgen {

/// The values are those of convtgen_log_level.
enum class LogLevel : int { kOff = 0, kError = 1, kWarning = 2, kInfo = 3, kDebug = 4 };

using LogSink = std::function<void(LogLevel, std::string_view)>;

/// Replaces standard error; an empty sink restores it. The sink gets messages up to `level`.
void set_log_sink(LogSink sink, LogLevel level);

/// Whether messages of this level are logged: $CONVTGEN_LOG (off, error, warning, info, debug; warning by default), or
/// the level of the sink.
[[nodiscard]] bool heard(LogLevel level);

/// One message, without a line end. Thread-safe; a sink may log, prepare and launch.
void log(LogLevel level, std::string_view message);

}  // namespace convtgen
