#include "runtime/device/open/device_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "generator/planner/chip/target.h"

namespace convtgen {

Result<DeviceName> device_named(std::string_view which) {
  const std::size_t colon = which.find(':');
  const bool has_detail = colon != std::string_view::npos;
  const std::string_view kind = which.substr(0, colon);
  const std::string_view detail = has_detail ? which.substr(colon + 1) : std::string_view();
  if (which == "auto") {
    return DeviceName{.kind = DeviceName::Kind::kAuto};
  }
  if (kind == "cuda") {
    DeviceName name{.kind = DeviceName::Kind::kCuda};
    const auto [end, error] = std::from_chars(detail.data(), detail.data() + detail.size(), name.ordinal);
    const bool is_number = error == std::errc() && end == detail.data() + detail.size() && name.ordinal >= 0;
    if (!has_detail || is_number) {
      return name;
    }
  }
  if (kind == "host") {
    if (!has_detail) {
      return DeviceName{.kind = DeviceName::Kind::kHost};
    }
    const std::vector<std::string> known = real_target_names();
    if (std::ranges::find(known, detail) == known.end()) {
      return fail(
          fmt::format("device '{}': unknown architecture '{}'; known are {}", which, detail, fmt::join(known, ", ")));
    }
    return DeviceName{.kind = DeviceName::Kind::kHost, .architecture = std::string(detail)};
  }
  return fail(fmt::format("unknown device '{}'; legal are auto, host, host:ARCH (such as host:sm_90a), cuda and cuda:N",
                          which));
}

}  // namespace convtgen
