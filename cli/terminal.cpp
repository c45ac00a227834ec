#include "cli/terminal.h"

#include <fcntl.h>
#include <fmt/color.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace convtgen::cli {
namespace {

std::string styled(std::FILE* stream, const fmt::text_style& style, std::string_view text) {
  return has_colours(stream) ? fmt::format(style, "{}", text) : std::string(text);
}

std::string scaled(double value, double factor, std::string_view space, const std::array<std::string_view, 6>& units) {
  std::size_t unit = 0;
  while (value >= factor && unit + 1 < units.size()) {
    value /= factor;
    ++unit;
  }
  return fmt::format("{:.{}f}{}{}", value,
                     value == static_cast<long long>(value) || value >= 100 ? 0
                     : value >= 10                                          ? 1
                                                                            : 2,
                     space, units[unit]);
}

}  // namespace

void reserve_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0) {
      // The lowest free number is this one.
      static_cast<void>(open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
}

bool is_terminal(std::FILE* stream) {
  return isatty(fileno(stream)) != 0;
}

bool has_colours(std::FILE* stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return is_terminal(stream) && (no_colour == nullptr || *no_colour == '\0') &&
         (terminal == nullptr || std::strcmp(terminal, "dumb") != 0);
}

std::string bold(std::FILE* stream, std::string_view text) {
  return styled(stream, fmt::emphasis::bold, text);
}
std::string green(std::FILE* stream, std::string_view text) {
  return styled(stream, fmt::fg(fmt::terminal_color::green), text);
}
std::string yellow(std::FILE* stream, std::string_view text) {
  return styled(stream, fmt::fg(fmt::terminal_color::yellow), text);
}
std::string red(std::FILE* stream, std::string_view text) {
  return styled(stream, fmt::emphasis::bold | fmt::fg(fmt::terminal_color::red), text);
}

void print_on_stderr(std::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}
void print_error(std::string_view message) {
  print_on_stderr(fmt::format("convtgen: {} {}\n", red(stderr, "error:"), message));
}
void print_warning(std::string_view message) {
  print_on_stderr(fmt::format("convtgen: {} {}\n", yellow(stderr, "warning:"), message));
}

std::string bytes_text(double bytes) {
  return scaled(bytes, 1024, " ", {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}
std::string count_text(double count) {
  return scaled(count, 1000, " ", {"", "K", "M", "G", "T", "P"});
}
std::string seconds_text(double seconds) {
  if (seconds >= 1) {
    return fmt::format("{:.3g} s", seconds);
  }
  return seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}

}  // namespace convtgen::cli
