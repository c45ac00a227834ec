// Each chip with each driver and NVRTC: the program and the CMake function follow the rule of the API.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "generator/planner/chip/chip_code.h"
#include "tests/cli/process.h"
#include "tests/cuda_device/played_chips.h"
#include "tests/sample/sample.h"

namespace convtgen::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPlayedLayer = "conv_transpose2d 8 -> 4; kernel 3; stride 2";

Setting on(const PlayedMachine& machine, const Folder& folder) {
  return {.environment = {{"CONVTGEN_CUDA_DRIVER", CONVTGEN_FAKE_DRIVER},
                          {"CONVTGEN_FAKE_CAPABILITY", std::to_string(machine.capability)},
                          {"CONVTGEN_FAKE_DRIVER_VERSION", std::to_string(machine.driver_version)},
                          {"CONVTGEN_FAKE_SHARED", std::to_string(machine.shared_bytes)},
                          {"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC},
                          {"CONVTGEN_FAKE_NVRTC_VERSION", machine.nvrtc.version},
                          {"CONVTGEN_FAKE_NVRTC_KNOWS", machine.known()},
                          {"CONVTGEN_CACHE_DIR", folder / "cache"}},
          .folder = folder.path()};
}

std::string without_line_end(std::string text) {
  text.erase(std::min(text.find_last_not_of('\n') + 1, text.size()));
  return text;
}

/// What `compile --arch native` writes: "sm_87".
std::string compiled_natively(const Setting& setting) {
  const Outcome outcome = convtgen({"compile", "-e", kPlayedLayer, "--arch", "native", "-o", "out"}, setting);
  if (outcome.exit != 0) {
    return "refused";
  }
  const std::size_t begin = outcome.out.find('.') + 1;
  return outcome.out.substr(begin, outcome.out.find('.', begin) - begin);
}

/// What the CMake function makes of names: "sm_87;compute_80".
std::string in_cmake(const std::string& names, const Setting& setting) {
  write(setting.folder / "case.cmake",
        fmt::format("cmake_minimum_required(VERSION "
                    "3.22)\ninclude({}/cmake/ConvtgenLayers.cmake)\ninclude({}/cmake/ConvtgenArchitectures.cmake)\n"
                    "_convtgen_architectures(got test ARCHITECTURES {})\nmessage(STATUS \"got: ${{got}}\")\n",
                    CONVTGEN_SOURCE, CONVTGEN_SOURCE, names));
  const Outcome outcome =
      run_program({CONVTGEN_CMAKE, "-DCONVTGEN_EXECUTABLE=" CONVTGEN_BINARY, "-P", "case.cmake"}, setting);
  const std::size_t begin = outcome.out.find("got: ");
  return outcome.exit != 0 || begin == std::string::npos ? "refused" : without_line_end(outcome.out.substr(begin + 5));
}

void expect_rule(const PlayedMachine& machine) {
  SCOPED_TRACE(machine.text());
  const Folder folder;
  const Setting setting = on(machine, folder);
  const std::string rule = machine.rule();
  const bool refused = rule == "refused";

  const Outcome native = convtgen({"doctor", "--native"}, setting);
  EXPECT_EQ(native.exit == 0 ? without_line_end(native.out) : "refused", rule) << native.err;
  EXPECT_EQ(compiled_natively(setting), rule);
  EXPECT_EQ(in_cmake("native", setting), rule);

  const Outcome emitted = convtgen({"emit", "-e", kPlayedLayer, "--arch", "native"}, setting);
  EXPECT_EQ(emitted.exit, refused ? 2 : 0) << emitted.err;
  if (!refused) {
    EXPECT_THAT(emitted.out, HasSubstr("forward for " + code_target_named(rule)->target.architecture));
  }

  const Outcome doctor = convtgen({"doctor", "cuda"}, setting);
  EXPECT_EQ(doctor.exit, refused ? 2 : 0) << doctor.out;
  EXPECT_THAT(doctor.out, refused ? HasSubstr(machine.capability < kOldestChip ? "the oldest chip is 7.5"
                                                                               : "the driver takes PTX up to CUDA")
                                  : HasSubstr("runs kernels for " + rule));

  // Of an empty batch everything is made and loaded, and there is nothing to compare.
  const Outcome ran = convtgen({"run", "-e", kPlayedLayer, "--device", "cuda", "--input", "0x5x5"}, setting);
  EXPECT_EQ(ran.exit, refused ? 2 : 0) << ran.out << ran.err;
  const Outcome tuned =
      convtgen({"tune", "-e", kPlayedLayer, "--device", "cuda", "--input", "1x5x5", "--candidates", "1"}, setting);
  // The fake driver computes nothing, so what was loaded is wrong.
  EXPECT_THAT(tuned.err + tuned.out, refused ? AnyOf(HasSubstr("can't be used"), HasSubstr("up to CUDA"))
                                             : AnyOf(HasSubstr("wrong"), HasSubstr("WRONG")))
      << tuned.exit;
  EXPECT_THAT(tuned.err + tuned.out, Not(HasSubstr("CUDA: loading"))) << "the driver takes what is made";
}

TEST(Chips, TheProgramFollowsTheRule) {
  const std::vector<PlayedMachine> machines = played_machines();
  std::vector<testing::Candidate> candidates;
  for (const PlayedMachine& machine : machines) {
    candidates.push_back({machine.text(), {std::to_string(machine.capability)}});
  }
  for (const std::size_t index : testing::sample(candidates, 14)) {
    expect_rule(machines[index]);
  }
}

TEST(Chips, CMakeKnowsTheChipsAsTheRuleDoes) {
  const Folder folder;
  const Setting setting{.folder = folder.path()};
  for (const int chip : {75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121}) {
    const std::string real = target_of_chip(chip)->architecture;
    const std::string ptx = name_of(CodeTarget{*ptx_target_of_chip(chip), true});
    EXPECT_EQ(in_cmake(fmt::format("{}-real", chip), setting), real);
    EXPECT_EQ(in_cmake(fmt::format("{}", capability_text(chip)), setting), real + ";" + ptx);
    EXPECT_EQ(in_cmake(fmt::format("{}a-virtual", chip), setting), ptx);
  }
  for (const char* other : {"70", "7.2", "130", "85-real", "8.", "sm_80"}) {
    EXPECT_EQ(in_cmake(other, setting), "refused") << other;
  }
}

/// An H100 by the fake driver, with `asked` in $CONVTGEN_ARCHITECTURE.
Setting hopper(const Folder& folder, const std::string& asked) {
  for (const PlayedMachine& machine : played_machines()) {
    if (machine.capability == 90 && machine.driver_version == 13000 && machine.nvrtc.number == 13000) {
      Setting setting = on(machine, folder);
      setting.environment["CONVTGEN_ARCHITECTURE"] = asked;
      return setting;
    }
  }
  return {};
}

TEST(Chips, AsAnOlderChip) {
  const Folder folder;
  const Setting own = hopper(folder, ""), asked = hopper(folder, "sm_80");
  const auto run = [&](const Setting& setting, std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "-e", kPlayedLayer, "--device", "cuda", "--input", "0x5x5"});
    return convtgen(std::move(more), setting);
  };
  for (const Outcome& ran : {run(asked, {}), run(own, {"--arch", "sm_80"}), run(asked, {"--arch", "sm_80"})}) {
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("made for sm_80"));
  }
  EXPECT_THAT(run(own, {}).out, HasSubstr("made for sm_90a"));
  EXPECT_THAT(run(asked, {"--arch", "sm_75,sm_90a"}).out,
              AllOf(HasSubstr("made for sm_75"), HasSubstr("made for sm_90a"), HasSubstr("2 of 2 verified")));

  const Outcome tuned = convtgen(
      {"tune", "-e", kPlayedLayer, "--input", "1x5x5", "--candidates", "1", "--arch", "sm_80", "--export", "a.json"},
      own);
  EXPECT_THAT(tuned.err, HasSubstr("its result is wrong"));
  const Outcome two = convtgen({"tune", "-e", kPlayedLayer, "--input", "1x5x5", "--arch", "sm_75,sm_80"}, own);
  EXPECT_EQ(two.exit, 2);
  EXPECT_THAT(two.err, HasSubstr("--arch names 2 architectures"));

  EXPECT_EQ(convtgen({"doctor", "--native"}, asked).out, "compute_80\n");
  const Outcome doctor = convtgen({"doctor", "cuda", "host"}, asked);
  EXPECT_EQ(doctor.exit, 0);
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("runs kernels for compute_80 (CONVTGEN_ARCHITECTURE=sm_80)"),
                                HasSubstr("runs kernels for sm_80 (CONVTGEN_ARCHITECTURE)")));
}

// The driver's name of the GPU, or --chip, says how fast its tensor cores are.
TEST(Chips, RatesAreOfTheGpusClassOfBoards) {
  const Folder folder;
  const PlayedMachine machine{89, 99 * 1024, 13000, {"13.0", 13000, {80, 89, 90}}};
  const auto floor_on = [&](const char* gpu, std::vector<std::string> more) {
    Setting setting = on(machine, folder);
    setting.environment["CONVTGEN_FAKE_NAME"] = gpu;
    if (std::ranges::find(more, "-e") == more.end()) {
      more.insert(more.end(), {"-e", kPlayedLayer});
    }
    more.insert(more.begin(), {"explain", "--arch", "sm_89", "--no-compile"});
    return convtgen(more, setting).out;
  };
  EXPECT_THAT(floor_on("NVIDIA L4", {}), HasSubstr("on sm_89 (L40S, data sheet)"));
  EXPECT_THAT(floor_on("NVIDIA GeForce RTX 4070", {}), HasSubstr("on sm_89 (RTX 4090, data sheet)"));
  EXPECT_THAT(floor_on("NVIDIA L4", {"--chip", "NVIDIA GeForce RTX 4060"}), HasSubstr("on sm_89 (RTX 4090, "));
  // So f32x3 is of tensor cores on the one and not on the other.
  const std::vector<std::string> split = {"-e", "conv_transpose2d 64 -> 64; kernel 3; input 8x64x64; compute f32x3"};
  EXPECT_THAT(floor_on("NVIDIA L40S", split), HasSubstr("three f16 products for each of fp32"));
  EXPECT_THAT(floor_on("NVIDIA GeForce RTX 4090", split),
              AllOf(HasSubstr("three products of f16 take"), Not(HasSubstr("three f16 products for each of fp32"))));
}

TEST(Chips, WhatDoesNotRunAsAnOlderChipIsAnErrorEverywhere) {
  const Folder folder;
  const Setting own = hopper(folder, "");
  constexpr const char* kLegal = "runs kernels for sm_75, sm_80, sm_86, sm_87, sm_88, sm_89, sm_90a";
  for (const char* wrong : {"sm_120", "sm_42"}) {
    const Setting asked = hopper(folder, wrong);
    for (const std::vector<std::string>& entry :
         {std::vector<std::string>{"run", "-e", kPlayedLayer, "--device", "cuda", "--input", "0x5x5"},
          {"tune", "-e", kPlayedLayer, "--input", "1x5x5"},
          {"doctor", "--native"},
          {"doctor", "cuda"},
          {"emit", "-e", kPlayedLayer, "--arch", "native"}}) {
      const Outcome outcome = convtgen(entry, asked);
      EXPECT_EQ(outcome.exit, 2) << entry[0];
      EXPECT_THAT(outcome.out + outcome.err, AllOf(HasSubstr("CONVTGEN_ARCHITECTURE: "), HasSubstr(kLegal)))
          << entry[0];
    }
  }
  const Outcome host =
      convtgen({"run", "-e", kPlayedLayer, "--device", "host", "--input", "0x5x5"}, hopper(folder, "sm_42"));
  EXPECT_EQ(host.exit, 2);
  EXPECT_THAT(host.err, HasSubstr("CONVTGEN_ARCHITECTURE: unknown architecture 'sm_42'; known are sm_75"));
  const Outcome newer =
      convtgen({"run", "-e", kPlayedLayer, "--device", "cuda", "--input", "0x5x5", "--arch", "sm_120"}, own);
  EXPECT_EQ(newer.exit, 2);
  EXPECT_THAT(newer.err, AllOf(HasSubstr("architecture 'sm_120' does not run here"), HasSubstr(kLegal),
                               Not(HasSubstr("CONVTGEN_ARCHITECTURE"))));
}

// Its source alone: the device runs on the CPU.
TEST(Chips, OnTheHostDeviceTheVariableChoosesTheSource) {
  const Folder folder;
  const auto run = [&](const std::string& asked, std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "-e", kPlayedLayer, "--input", "0x5x5"});
    return convtgen(std::move(more), hopper(folder, asked)).out;
  };
  EXPECT_THAT(run("sm_120", {"--device", "host"}), HasSubstr("made for sm_120"));
  EXPECT_THAT(run("", {"--device", "host"}), HasSubstr("made for sm_90a"));
  EXPECT_THAT(run("sm_120", {"--device", "host", "--arch", "sm_75"}), HasSubstr("made for sm_75"));
  EXPECT_THAT(run("sm_120", {"--device", "host:sm_86"}), HasSubstr("made for sm_86"));
}

// An installed NVRTC that can't compile, since a part of it is missing.
TEST(Chips, DoctorCompilesBeforeItSaysThatNvrtcWorks) {
  const Outcome broken = convtgen({"doctor", "nvrtc"}, {.environment = {{"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC},
                                                                        {"CONVTGEN_FAKE_NVRTC_FAILS", "__global__"},
                                                                        {"CONVTGEN_FAKE_NVRTC_STATUS", "7"}}});
  EXPECT_EQ(broken.exit, 2);
  EXPECT_THAT(broken.out, AllOf(HasSubstr("[missing] NVRTC"), HasSubstr("was found and does not compile"),
                                HasSubstr("libnvrtc-builtins")));
  const Outcome whole = convtgen({"doctor", "nvrtc"}, {.environment = {{"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC}}});
  EXPECT_EQ(whole.exit, 0) << whole.out;
}

}  // namespace
}  // namespace convtgen::test
