#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/plan/plan.h"
#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const Setting kWithoutNvrtc{.environment = {{"CONVTGEN_NVRTC", "/nowhere"}}};

TEST(Explain, TellsThePlanAndTheFloor) {
  const Outcome outcome = convtgen({"explain", seeds(), "--layer", "asymmetric", "--all"},
                                   {.environment = {{"ASAN_OPTIONS", "detect_leaks=0"}}});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  for (const char* word :
       {"template", "direct", "sm_90a", "tile", "why", "registers", "shared", "launch", "flops", "bytes", "floor"}) {
    EXPECT_THAT(outcome.out, HasSubstr(word));
  }
  EXPECT_THAT(outcome.out, HasSubstr("180 Gflop"));  // 8 * 32 * 32 * 512 * 1024 * 21 * 2, less the borders
  EXPECT_THAT(outcome.out, HasSubstr("1.00 GiB"));
  EXPECT_THAT(outcome.out, HasSubstr("y 8x32x512x1024"));
}

TEST(Explain, TellsTheCandidatesWithTheirTimes) {
  const std::string text = "layer up { conv_transpose2d 2 -> 2; kernel 2; stride 2; dtype f16; input 1x8x8 }";
  const Folder folder;
  write(folder / "up.convt", text);
  const Outcome outcome = convtgen({"explain", folder / "up.convt"}, kWithoutNvrtc);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("candidates  * direct: a block makes"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("\n +[a-z0-9_]+: [0-9.]+ us predicted; a block makes"));
}

TEST(Explain, TemplatesOfTwoAxesRefuseThree) {
  const Outcome outcome = convtgen({"explain", "--no-compile", "--all", "-e",
                                    "conv_transpose3d 32 -> 16; kernel 3; stride 2; dtype f16; input 1x8x16x16"},
                                   kWithoutNvrtc);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("27 taps"));
  EXPECT_THAT(outcome.out, HasSubstr("y 1x16x17x33x33"));
  EXPECT_THAT(outcome.out, HasSubstr("_gemm: three axes; it takes two"));
}

/// The lines that hold this.
std::vector<std::string> lines_with(const std::string& text, const std::string& part) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    if (line.find(part) != std::string::npos) {
      lines.push_back(line);
    }
  }
  return lines;
}

TEST(Explain, MarksTheChosenPlanAndPrintsEqualLinesOnce) {
  const std::string out =
      convtgen({"explain", "--no-compile", "--all", "-e",
                "conv_transpose2d 64 -> 64; kernel 4; stride 2; padding 1; dtype f16; layout nhwc; input 8x64x64"},
               kWithoutNvrtc)
          .out;
  const std::vector<std::string> lines = lines_with(out, ": a block makes ");
  std::vector<std::string> predicted = lines_with(out, " predicted; ");
  ASSERT_GT(predicted.size(), 5u) << out;
  EXPECT_EQ(std::set<std::string>(predicted.begin(), predicted.end()).size(), predicted.size()) << out;
  EXPECT_THAT(out, HasSubstr(" plans)")) << "no two plans have one line";
  const std::vector<std::string> marked = lines_with(out, "  * ");
  ASSERT_EQ(marked.size(), 1u) << out;
  const std::string tile = lines_with(out, "  tile ").at(0);
  EXPECT_THAT(marked[0], HasSubstr(tile.substr(tile.find("a block"))));
}

double seconds_in(const std::string& text) {
  char unit[3] = {};
  double number = 0;
  EXPECT_EQ(std::sscanf(text.c_str(), "%lf %2s", &number, unit), 2) << text;
  return number * (unit == std::string("ns")   ? 1e-9
                   : unit == std::string("us") ? 1e-6
                   : unit == std::string("ms") ? 1e-3
                                               : 1);
}

TEST(Explain, NoPredictionIsBelowTheFloor) {
  // kb65 in f16: cost models are fitted to measured times, which caches have made shorter.
  const std::vector<std::string> computes = {"dtype f16", "dtype bf16; layout nhwc", "compute tf32", "compute f32x3"};
  int at_the_floor = 0;
  for (const std::string& compute : computes) {
    const std::string out =
        convtgen({"explain", "--no-compile", "--all", "--arch", "sm_80,sm_90a", "-e",
                  "conv_transpose2d 64 -> 64; kernel 3x7; input 8x512x512; " + compute, "-e",
                  "conv_transpose2d 64 -> 3; kernel 4; stride 2; padding 1; input 8x64x64; " + compute},
                 kWithoutNvrtc)
            .out;
    double floor = 0;
    std::istringstream all(out);
    for (std::string line; std::getline(all, line);) {
      if (line.starts_with("  floor ")) {
        floor = seconds_in(line.substr(line.find_first_of("0123456789")));
        EXPECT_THAT(line, Not(HasSubstr("no kernel is faster")));
      } else if (line.find(" predicted; ") != std::string::npos) {
        const double predicted = seconds_in(line.substr(line.find(": ") + 2));
        EXPECT_GE(predicted, floor) << compute << "\n" << out;
        at_the_floor += predicted == floor ? 1 : 0;
      }
    }
  }
  EXPECT_GT(at_the_floor, 0) << "nothing was predicted below a floor: other layers show more";
}

TEST(Explain, SaysWhyOtherTemplatesRefuse) {
  for (const char* rest : {"16 -> 16; kernel 3; groups 4; compute tf32; input 1x8x8",
                           "64 -> 64; kernel 4; stride 2; padding 1; compute tf32; input 1x8x8"}) {
    const std::string layer = std::string("conv_transpose2d ") + rest;
    const std::string out = convtgen({"explain", "--no-compile", "-e", layer}, kWithoutNvrtc).out;
    const Layer parsed = parse_layer(layer).value();
    const auto all = candidates({parsed, Direction::kForward, target_named("sm_90a").value()}).value();
    ASSERT_GE(all.refusals.size(), 5U);
    std::string wanted = "\n  refused     ";
    for (const Refusal& refusal : all.refusals) {
      wanted += fmt::format("{}{}: {}", &refusal == &all.refusals.front() ? "" : "\n              ",
                            refusal.template_name, refusal.reason);
    }
    EXPECT_TRUE(out.ends_with(wanted + "\n")) << out;
  }
}

TEST(Explain, AllSeedsOnEveryArchitecture) {
  for (const std::string& architecture : real_target_names()) {
    const Outcome outcome = convtgen({"explain", seeds(), "--arch", architecture}, kWithoutNvrtc);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(architecture));
    EXPECT_THAT(outcome.out, HasSubstr("strided_grouped"));
  }
}

// 2 x 1024 x 108 SMs x 1.41 GHz: as the A100's data sheet says.
TEST(Explain, FloorsAreOfTensorCoresAndSayWhereTheirRatesComeFrom) {
  const auto floor_on = [](const char* architecture) {
    const std::string out = convtgen({"explain", "--no-compile", "--arch", architecture, "-e",
                                      "conv_transpose2d 1024 -> 1024; kernel 5; padding 2; input 16x64x64; dtype f16"},
                                     kWithoutNvrtc)
                                .out;
    return out.substr(out.find("  floor "), out.find('\n', out.find("  floor ")) - out.find("  floor "));
  };
  EXPECT_THAT(floor_on("sm_80"),
              testing::MatchesRegex("  floor +10\\.[0-9]+ ms on sm_80 \\(A100 80 GB, data sheet\\): its "
                                    "arithmetic at .*"));
  EXPECT_THAT(floor_on("sm_90a"), HasSubstr("on sm_90a (H200, measured): its arithmetic"));
}

TEST(Explain, WithoutNvrtcItSaysSo) {
  const Outcome outcome = convtgen({"explain", seeds(), "--layer", "strided", "--all"}, kWithoutNvrtc);
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_THAT(outcome.out, HasSubstr("registers   not known: NVRTC"));
  EXPECT_THAT(outcome.out, HasSubstr("floor"));
}

TEST(Explain, OpenSizesAreAssumedUnlessTheyAreGiven) {
  const Outcome open = convtgen({"explain", seeds(), "--layer", "asymmetric_dynamic", "--all"}, kWithoutNvrtc);
  EXPECT_EQ(open.exit, 0);
  EXPECT_THAT(open.out, HasSubstr("assumed     a batch of 16, a height of 256, a width of 256, which the layer leaves "
                                  "open; --input says otherwise"));
  EXPECT_THAT(open.out, HasSubstr("y 16x32x256x256"));
  EXPECT_THAT(open.out, HasSubstr("floor"));
  const Outcome given =
      convtgen({"explain", seeds(), "--layer", "asymmetric_dynamic", "--input", "8x512x1024", "--all"}, kWithoutNvrtc);
  EXPECT_EQ(given.exit, 0);
  EXPECT_THAT(given.out, HasSubstr("180 Gflop"));
  EXPECT_THAT(given.out, Not(HasSubstr("assumed")));
  const Outcome narrow =
      convtgen({"explain", "-e", "conv_transpose2d 8 -> 8; kernel 3; padding 200; input ?x?x9999"}, kWithoutNvrtc);
  EXPECT_EQ(narrow.exit, 0) << narrow.err;
  EXPECT_THAT(narrow.out, HasSubstr("cost        not known at the sizes that are assumed: "));
  const Outcome wide = convtgen({"explain", "-e", "conv_transpose2d 1 -> 1000000000; kernel 1"}, kWithoutNvrtc);
  EXPECT_EQ(wide.exit, 0) << wide.err;
  EXPECT_THAT(wide.out, HasSubstr("more blocks than a grid can have"));
  const Outcome wrong = convtgen({"explain", seeds(), "--input", "8x512"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("batch x height x width, as in 8x32x64"));
}

TEST(Explain, PredictionsAreForTheSizesThatAreGiven) {
  const std::vector<std::string> open{"explain", "--no-compile", "-e",
                                      "conv_transpose2d 64 -> 64; kernel 3; dtype f16; input ?x64x?"};
  const auto with_input = [&](const char* input) {
    std::vector<std::string> arguments = open;
    arguments.insert(arguments.end(), {"--input", input});
    return convtgen(arguments).out;
  };
  const auto candidates = [](const std::string& text) { return text.substr(text.find("candidates")); };
  const std::string assumed = convtgen(open).out;
  EXPECT_THAT(assumed, HasSubstr("assumed     a batch of 16, a width of 256, which the layer leaves open"));
  EXPECT_THAT(with_input("16x64x256"), Not(HasSubstr("assumed")));
  EXPECT_EQ(candidates(with_input("16x64x256")), candidates(assumed));
  EXPECT_NE(candidates(with_input("256x64x256")), candidates(assumed));
}

TEST(Explain, DoesNotCompileWhereThatIsNotWanted) {
  const Folder folder;
  const Setting setting{.environment = {{"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC},
                                        {"CONVTGEN_FAKE_NVRTC_COUNT", folder / "compiles"},
                                        {"CONVTGEN_CACHE_DIR", folder / "cache"}}};
  const std::string layer = "conv_transpose1d 512 -> 256; kernel 256; input 4x333";
  const Outcome without = convtgen({"explain", "--all", "--no-compile", "-e", layer}, setting);
  EXPECT_EQ(without.exit, 0);
  EXPECT_EQ(without.err, "");
  EXPECT_THAT(without.out, HasSubstr("registers   not counted: --no-compile"));
  EXPECT_FALSE(std::filesystem::exists(folder / "compiles"));
  EXPECT_THAT(convtgen({"explain", "-e", layer}, setting).err, "") << "nothing is compiled without --all";
  EXPECT_FALSE(std::filesystem::exists(folder / "compiles"));
  const Outcome with = convtgen({"explain", "--all", "-e", layer}, setting);
  EXPECT_THAT(with.err, HasSubstr("lines: NVRTC may take about "));
  EXPECT_EQ(read(folder / "compiles").size(), 1u);
  const Outcome again = convtgen({"explain", "--all", "-e", layer}, setting);
  EXPECT_EQ(again.err, "") << "the cache has it";
  EXPECT_EQ(again.out, with.out);
  EXPECT_EQ(read(folder / "compiles").size(), 1u);
}

TEST(Explain, FirstThePlanThenFiveOthersAndAllOnDemand) {
  const std::vector<std::string> words = {
      "explain", "--no-compile", "-e",
      "conv_transpose2d 64 -> 64; kernel 4; stride 2; padding 1; dtype f16; layout nhwc; input 8x64x64"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return convtgen(more, kWithoutNvrtc).out;
  };
  const std::string few = with({});
  EXPECT_THAT(few,
              testing::ContainsRegex("\n  predicted   [0-9.]+ us, [0-9.]+ times the floor\n  floor       [0-9.]+ us"));
  EXPECT_EQ(lines_with(few, " predicted; ").size(), 6U) << few;
  EXPECT_THAT(few, testing::ContainsRegex("\n +[0-9]+ more: --all\n"));
  EXPECT_THAT(few, Not(HasSubstr("registers")));
  const std::string all = with({"--all"});
  EXPECT_GT(lines_with(all, " predicted; ").size(), 6U);
  EXPECT_THAT(all, Not(HasSubstr("more: --all")));
  EXPECT_THAT(all, HasSubstr("registers   not counted: --no-compile"));
}

TEST(Explain, TheChosenPlanIsAmongTheLinesWhereverItStands) {
  // direct has no predicted time and stands last, but is taken where a layer is small.
  const std::string out =
      convtgen({"explain", "-e", "conv_transpose2d 2 -> 2; kernel 2; stride 2; dtype f16; input 1x8x8"}, kWithoutNvrtc)
          .out;
  ASSERT_EQ(lines_with(out, "  * ").size(), 1U) << out;
}

TEST(Explain, AsJson) {
  const Outcome outcome = convtgen({"explain", seeds(), "--json", "--arch", "sm_80,sm_90a"}, kWithoutNvrtc);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const auto all = nlohmann::json::parse(outcome.out);
  ASSERT_GE(all.size(), 2U);
  for (const auto& each : all) {
    EXPECT_TRUE(target_named(each.at("architecture").get<std::string>()));
    EXPECT_TRUE(parse_layer(each.at("layer").get<std::string>()));
    EXPECT_GT(each.at("call").at("floor_seconds").get<double>(), 0);
    int chosen = 0;
    for (const auto& candidate : each.at("candidates")) {
      chosen += candidate.at("chosen").get<bool>() ? 1 : 0;
      EXPECT_FALSE(candidate.at("template").get<std::string>().empty());
    }
    EXPECT_EQ(chosen, 1);
    EXPECT_EQ(each.at("plan").at("template"), each.at("candidates").at(0).at("template")) << each.dump();
    EXPECT_THAT(each.at("registers").get<std::string>(), HasSubstr("NVRTC"));
  }
}

TEST(Explain, WhatDiffersBetweenArchitecturesAndBetweenLayers) {
  const Folder folder;
  write(folder / "two.convt",
        "layer narrow { conv_transpose2d 16 -> 16; kernel 2; stride 2; input 4x32x32; dtype f16 }\n"
        "layer wide { conv_transpose2d 64 -> 64; kernel 4; stride 2; padding 1; input 4x32x32; dtype f16 }\n");
  const auto diff = [&](const char* a, const char* b) {
    return convtgen({"explain", "--no-compile", folder / "two.convt", "--diff", a, b}, kWithoutNvrtc);
  };
  const Outcome chips = diff("sm_80", "sm_90a");
  EXPECT_EQ(chips.exit, 0) << chips.err;
  EXPECT_THAT(
      chips.out,
      testing::AllOf(
          HasSubstr("- narrow on sm_80, + narrow on sm_90a\n"), HasSubstr("- wide on sm_80, + wide on sm_90a\n"),
          testing::ContainsRegex(
              "\n  template    - [a-z0-9_]+, forward, for sm_80\n +[+] [a-z0-9_]+, forward, for sm_90a\n"),
          testing::ContainsRegex("- [a-z0-9_]+: architecture sm_80 has no wgmma"), Not(HasSubstr("  layer "))));
  const Outcome layers = diff("narrow", "wide");
  EXPECT_EQ(layers.exit, 0) << layers.err;
  EXPECT_THAT(layers.out,
              testing::StartsWith("- narrow on sm_90a, + wide on sm_90a\n  layer       - conv_transpose2d 16 -> 16"));
  EXPECT_THAT(diff("wide", "wide").out, "- wide on sm_90a, + wide on sm_90a\n  nothing differs\n");
  const Outcome wrong = diff("narrow", "sm_80");
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--diff: 'narrow' and 'sm_80' are neither two layers"));
  EXPECT_EQ(convtgen({"explain", seeds(), "--diff", "sm_80"}).exit, 2);
  EXPECT_EQ(convtgen({"explain", seeds(), "--json", "--diff", "sm_80", "sm_90a"}).exit, 2);
}

TEST(Explain, Parameters) {
  EXPECT_THAT(convtgen({"explain", seeds(), "--layer", "strided", "--parameters"}, kWithoutNvrtc).out,
              HasSubstr("kernel_w = 7"));
  EXPECT_THAT(convtgen({"explain", seeds(), "--layer", "strided"}, kWithoutNvrtc).out, Not(HasSubstr("kernel_w = 7")));
}

}  // namespace
}  // namespace convtgen::test
