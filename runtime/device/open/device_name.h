// Devices as users name them, in the API and on the command line.
#pragma once

#include <string>
#include <string_view>

#include "generator/support/error.h"

namespace convtgen {

struct DeviceName {
  enum class Kind { kAuto, kCuda, kHost };
  Kind kind = Kind::kAuto;
  int ordinal = 0;                // of a GPU, in the driver's order
  std::string architecture = {};  // whose kernels the host device runs ("sm_90a"); empty: the name leaves it open
  bool operator==(const DeviceName&) const = default;
};

/// "auto", "cuda" (the first GPU), "cuda:N", "host", or "host:ARCH" with a known architecture ("host:sm_90a").
/// Errors: another word; the message lists the legal ones.
[[nodiscard]] Result<DeviceName> device_named(std::string_view which);

}  // namespace convtgen
