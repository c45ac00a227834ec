// The chips, drivers and NVRTCs that the fake driver and the fake NVRTC play for each entry, and what the rule says.
#pragma once

#include <string>
#include <vector>

namespace convtgen::test {

struct PlayedNvrtc {
  std::string version;
  int number;
  std::vector<int> architectures;
};

struct PlayedMachine {
  int capability;
  int shared_bytes;  // a block's
  int driver_version;
  PlayedNvrtc nvrtc;

  [[nodiscard]] std::string text() const;
  /// "sm_87", "compute_80" or "refused", by the rule.
  [[nodiscard]] std::string rule() const;
  /// The list of architectures as the fake NVRTC takes it.
  [[nodiscard]] std::string known() const;
};

/// 14 chips, each with three drivers and two NVRTCs.
[[nodiscard]] std::vector<PlayedMachine> played_machines();

}  // namespace convtgen::test
