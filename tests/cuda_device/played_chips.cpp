#include "tests/cuda_device/played_chips.h"

#include <utility>

#include "generator/planner/chip/chip_code.h"

namespace convtgen::test {

std::string PlayedMachine::text() const {
  return "compute capability " + capability_text(capability) + ", driver " + version_text(driver_version) + ", NVRTC " +
         nvrtc.version;
}

std::string PlayedMachine::rule() const {
  const auto code = code_for_chip({capability, driver_version}, CodeCompiler{nvrtc.number, nvrtc.architectures});
  return code ? name_of(*code) : "refused";
}

std::string PlayedMachine::known() const {
  std::string words;
  for (const int each : nvrtc.architectures) {
    words += std::to_string(each) + " ";
  }
  return words;
}

std::vector<PlayedMachine> played_machines() {
  const PlayedNvrtc nvrtcs[] = {{"12.4", 12040, {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90}},
                                {"13.0", 13000, {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121}}};
  const std::pair<int, int> chips[] = {{70, 96}, {72, 96},  {75, 64},   {80, 163},  {86, 99},   {87, 163}, {88, 99},
                                       {89, 99}, {90, 227}, {100, 227}, {103, 227}, {110, 227}, {120, 99}, {121, 99}};
  std::vector<PlayedMachine> machines;
  for (const auto& [capability, kibibytes] : chips) {
    for (const int driver : {12020, 12080, 13000}) {
      for (const PlayedNvrtc& nvrtc : nvrtcs) {
        machines.push_back({capability, kibibytes * 1024, driver, nvrtc});
      }
    }
  }
  return machines;
}

}  // namespace convtgen::test
