#include "cli/options.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

#include "runtime/device/open/device_name.h"
#include "runtime/store/store.h"

namespace convtgen::cli {

CLI::Validator whole_number() {
  return {[](const std::string& text) -> std::string {
            std::uint64_t value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            return error == std::errc{} && end == text.data() + text.size()
                       ? ""
                       : fmt::format("'{}' should be a whole number from 0 to {}", text,
                                     std::numeric_limits<std::uint64_t>::max());
          },
          ""};
}

CLI::Validator device_word(bool auto_is_legal) {
  return {[auto_is_legal](const std::string& text) -> std::string {
            const auto name = device_named(text);
            if (!name) {
              return name.error().message;
            }
            return name->kind == DeviceName::Kind::kAuto && !auto_is_legal
                       ? "auto is not legal here: name the device, cuda, cuda:N, host or host:ARCH"
                       : "";
          },
          ""};
}

CLI::Validator size_in_bytes() {
  return {[](const std::string& text) -> std::string {
            return parse_size(text) ? ""
                                    : fmt::format("'{}' is no size; it should be as 1048576, 512K, 500M or 2G", text);
          },
          ""};
}

}  // namespace convtgen::cli
