// Every kernel of the cases on the device that $CONVTGEN_TEST_DEVICE names ("cuda", "host"; "cuda" where it is not
// set). A kernel that the device can't run is skipped, and so reported as not run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include "generator/planner/chip/chip_code.h"
#include "generator/specializer/primitives.h"
#include "runtime/device/open/open.h"
#include "tests/primitives/case.h"
#include "tests/primitives/emitted.h"

namespace convtgen::testing {
namespace {

std::string device_name() {
  const char* name = std::getenv("CONVTGEN_TEST_DEVICE");
  return name != nullptr && *name != '\0' ? name : "cuda";
}

struct Opened {
  std::unique_ptr<Device> device;
  std::string why_not;
};

// One device for all cases.
const Opened& opened() {
  static const Opened result = [] {
    Opened one;
    Result<std::unique_ptr<Device>> device = open_device(device_name());
    if (device) {
      one.device = std::move(*device);
    } else {
      one.why_not = device.error().message;
    }
    return one;
  }();
  return result;
}

// What its kernels are made for. The host device runs those of any chip.
std::string architecture_of(const Device& device) {
  const std::optional<Chip> chip = device.chip();
  return chip ? target_of_chip(chip->capability).value().architecture : std::string();
}

// Kernels that primitives_test has left in $CONVTGEN_CUBIN_DIR, for machines with a driver and no NVRTC.
Result<Binary> binary_of(Device& device, const Case& one, const Emitted& emitted) {
  const char* folder = std::getenv("CONVTGEN_CUBIN_DIR");
  if (folder == nullptr || device.kind() != DeviceKind::kCuda) {
    return device.compile(emitted.source, architecture_of(device));
  }
  const std::filesystem::path path =
      std::filesystem::path(folder) / (one.name + "." + architecture_of(device) + ".cubin");
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return fail("no file " + path.string());
  }
  Binary binary;
  binary.architecture = architecture_of(device);
  binary.symbol = emitted.source.symbol;
  binary.bytes.assign(std::istreambuf_iterator<char>(in), {});
  binary.kernels = kernels_in(emitted.source);
  return binary;
}

// The first elements that differ, with the case's name, and how many do; empty if none does.
std::string difference(const Case& one, const Words& got) {
  std::string text;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < one.want.size(); ++i) {
    const auto value = std::bit_cast<float>(got[i]), want = std::bit_cast<float>(one.want[i]);
    const bool same =
        one.bound.empty() ? got[i] == one.want[i] : std::abs(static_cast<double>(value) - want) <= one.bound[i];
    if (!same && ++wrong <= 8) {
      text += fmt::format("\n  [{}] got {:#010x} ({}), want {:#010x} ({}){}", i, got[i], value, one.want[i], want,
                          one.bound.empty() ? "" : fmt::format(" within {}", one.bound[i]));
    }
  }
  return wrong == 0 ? "" : fmt::format("{}: {} of {} differ:{}", one.name, wrong, one.want.size(), text);
}

class PrimitiveOnDevice : public ::testing::TestWithParam<std::size_t> {};

TEST_P(PrimitiveOnDevice, GivesTheseBits) {
  const Case& one = all_cases()[GetParam()];
  if (opened().device == nullptr) {
    GTEST_SKIP() << "not run: " << opened().why_not;
  }
  Device& device = *opened().device;
  const Emitted emitted = testing::emitted(one.body, one.threads, one.shared_bytes);
  for (const std::string& primitive : emitted.primitives) {
    if (device.kind() == DeviceKind::kCuda && !check_primitive(primitive, architecture_of(device))) {
      GTEST_SKIP() << "not run: " << check_primitive(primitive, architecture_of(device)).error().message;
    }
  }
  const Result<Binary> binary = binary_of(device, one, emitted);
  ASSERT_TRUE(binary) << binary.error().message;
  const auto kernel = device.load(*binary);
  ASSERT_TRUE(kernel) << kernel.error().message;

  Launch launch{.blocks = one.blocks,
                .threads = one.threads,
                .shared_bytes = one.shared_bytes,
                .arguments = {},
                .cluster = one.cluster,
                .tensor_maps = {}};
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<Words> contents = one.inputs;
  contents.emplace_back(one.want.size(), kPoison);
  for (const Words& words : contents) {
    auto buffer = device.allocate(words.size() * 4);
    ASSERT_TRUE(buffer) << buffer.error().message;
    ASSERT_TRUE(device.upload(**buffer, std::as_bytes(std::span(words))));
    launch.arguments.push_back((*buffer)->address());
    buffers.push_back(std::move(*buffer));
  }
  const std::vector<std::uint64_t> addresses = launch.arguments;
  for (const auto& map : one.maps) {
    launch.tensor_maps.push_back({launch.arguments.size(), map(addresses)});
    launch.arguments.push_back(0);
  }
  const Result<void> run = device.run(**kernel, launch);
  if (one.must_differ && device.kind() == DeviceKind::kHost && !run) {
    return;  // the chip gives something else; the host device says why
  }
  ASSERT_TRUE(run) << one.name << ": " << run.error().message;
  Words got(one.want.size());
  ASSERT_TRUE(device.download(std::as_writable_bytes(std::span(got)), *buffers.back()));
  const std::string differs = difference(one, got);
  if (one.must_differ) {
    EXPECT_NE(differs, "") << one.name << " is exact, which it must not be";
  } else {
    EXPECT_EQ(differs, "");
  }
  if (!one.bound.empty()) {
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double error = std::abs(static_cast<double>(std::bit_cast<float>(got[i])) -
                                    static_cast<double>(std::bit_cast<float>(one.want[i])));
      worst = std::max(worst, one.bound[i] > 0 ? error / one.bound[i] : 0.0);
    }
    RecordProperty("worst_part_of_bound", std::to_string(worst));
    std::printf("%s: at worst %.3f of the bound\n", one.name.c_str(), worst);
  }
}

std::vector<std::size_t> indices() {
  std::vector<std::size_t> result(all_cases().size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = i;
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Every, PrimitiveOnDevice, ::testing::ValuesIn(indices()),
                         [](const auto& info) { return all_cases()[info.param].name; });

}  // namespace
}  // namespace convtgen::testing
