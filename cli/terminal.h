// What goes to the terminal: colours only where there is one, and messages of one form.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace convtgen::cli {

/// Opens the standard streams that the caller has closed, such that reading and writing them fails. Otherwise a file
/// that is opened later could get such a descriptor, and what is meant for the stream would be written to it.
void reserve_standard_streams();

/// Whether the stream is a terminal that shows colours: $NO_COLOR is not set, $TERM is not "dumb".
[[nodiscard]] bool has_colours(std::FILE* stream);
[[nodiscard]] bool is_terminal(std::FILE* stream);

/// The text in bold, or in green, yellow or red; plain where the stream has no colours.
[[nodiscard]] std::string bold(std::FILE* stream, std::string_view text);
[[nodiscard]] std::string green(std::FILE* stream, std::string_view text);
[[nodiscard]] std::string yellow(std::FILE* stream, std::string_view text);
[[nodiscard]] std::string red(std::FILE* stream, std::string_view text);

/// Prints the text on stderr. Failures are ignored.
void print_on_stderr(std::string_view text);
/// "convtgen: error: ..." on stderr.
void print_error(std::string_view message);
void print_warning(std::string_view message);

/// 26.1 KiB, 3.25 GiB.
[[nodiscard]] std::string bytes_text(double bytes);
/// 1.35 ms, 12.1 us.
[[nodiscard]] std::string seconds_text(double seconds);
/// With a factor of thousands: 90.2 G.
[[nodiscard]] std::string count_text(double count);

}  // namespace convtgen::cli
