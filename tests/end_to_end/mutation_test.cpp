// Every barrier and every bound check of the emitted source is needed: with any one of them deleted, a run on the host
// device fails within 20 seeds. The layers are ragged on every side, so that no check is idle.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "generator/language/language.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/run_layer.h"

namespace convtgen::testing {
namespace {

constexpr std::uint64_t kSeeds = 20;

struct Mutant {
  std::string what;  // the deleted text and its line
  std::string text;  // the whole source without it
};

int line_of(const std::string& text, std::size_t position) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
}

/// The source with [begin, end) replaced.
Mutant mutant(const std::string& text, std::size_t begin, std::size_t end, const std::string& replacement) {
  return {fmt::format("line {}: {}", line_of(text, begin), text.substr(begin, end - begin)),
          text.substr(0, begin) + replacement + text.substr(end)};
}

/// Conditions of all ifs, cut at their && and ||: [begin, end) of each comparison with a bound.
std::vector<std::pair<std::size_t, std::size_t>> bound_checks(const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> checks;
  for (std::size_t at = text.find("if ("); at != std::string::npos; at = text.find("if (", at + 1)) {
    std::size_t begin = at + 4;
    int depth = 1;
    for (std::size_t i = begin; depth > 0; ++i) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      const bool cut = depth == 1 && (text.compare(i, 2, "&&") == 0 || text.compare(i, 2, "||") == 0);
      if (depth == 0 || cut) {
        std::size_t end = i;
        while (text[end - 1] == ' ' || text[end - 1] == '\n') {
          --end;
        }
        const std::string comparison = text.substr(begin, end - begin);
        if (comparison.find('<') != std::string::npos || comparison.find('>') != std::string::npos) {
          checks.emplace_back(begin, end);
        }
        begin = text.find_first_not_of(" \n", i + 2);
        i += cut ? 1 : 0;
      }
    }
  }
  return checks;
}

std::vector<Mutant> mutants_of(const std::string& text) {
  std::vector<Mutant> mutants;
  const std::string barrier = "__syncthreads();";
  for (std::size_t at = text.find(barrier); at != std::string::npos; at = text.find(barrier, at + 1)) {
    mutants.push_back(mutant(text, at, at + barrier.size(), ";"));
  }
  // The conversions in the guarded block have conditions of their own, which are no bound checks.
  const std::size_t kernels = std::max(text.find("#endif"), std::size_t{0});
  for (const auto& [begin, end] : bound_checks(text)) {
    if (kernels == std::string::npos || begin > kernels) {
      mutants.push_back(mutant(text, begin, end, "true"));
    }
  }
  return mutants;
}

struct Case {
  const char* name;
  const char* layer;
  std::size_t least_mutants;
};

class Mutation : public ::testing::TestWithParam<Case> {};

TEST_P(Mutation, EveryBarrierAndBoundCheckIsNeeded) {
  const std::unique_ptr<HostDevice> device = open_host_device(HostOptions{.cache = false}).value();
  const Layer layer = parse_layer(GetParam().layer).value();
  const InputSizes sizes = known_sizes(layer).value();
  const Problem problem{layer, Direction::kForward, target_named("sm_90a").value()};
  const Plan best = plan(problem).value().front();
  LayerInputs inputs = random_inputs(layer, shape_of(layer, sizes).value(), 3);

  /// Runs the source once; empty where its result is right, else what was wrong with it.
  const auto judge = [&](const KernelSource& source, std::uint64_t seeds) -> std::string {
    LoadedLayer loaded = load_source(*device, problem, best, source).value();
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      device->set_seed(seed);
      const Result<LayerCall> call = make_call(*device, loaded, sizes, inputs);
      EXPECT_TRUE(call);
      if (const Result<void> run = run_call(*device, loaded, *call); !run) {
        return fmt::format("seed {}: {}", seed, run.error().message);
      }
      const Result<Verification> verified = verify_call(*device, layer, *call, inputs);
      EXPECT_TRUE(verified);
      if (!verified->comparison.passed()) {
        return fmt::format("seed {}: {}", seed, describe(verified->comparison, layer));
      }
    }
    return "";
  };

  KernelSource source = specialize(problem, best).value();
  ASSERT_EQ(judge(source, kSeeds), "") << "the source as it is";
  const std::vector<Mutant> mutants = mutants_of(source.text);
  EXPECT_GE(mutants.size(), GetParam().least_mutants);
  for (const Mutant& one : mutants) {
    KernelSource mutated = source;
    mutated.text = one.text;
    const std::string verdict = judge(mutated, kSeeds);
    fmt::print("{}\n    {}\n", one.what, verdict.empty() ? "SURVIVED" : verdict.substr(0, verdict.find('\n')));
    EXPECT_NE(verdict, "") << one.what << " was deleted, and nothing noticed in " << kSeeds << " seeds";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Direct, Mutation,
    ::testing::Values(
        Case{"nchw", "conv_transpose2d 34 -> 38; kernel 3x4; stride 2x1; padding 1x2; groups 2; bias; input 2x19x37",
             9},
        Case{"nhwc",
             "conv_transpose2d 19 -> 11; kernel 3x3; stride 1x2; padding 1x1; output_padding 0x1; input 2x37x19; "
             "layout nhwc; dtype f16",
             9},
        Case{"unstaged", "conv_transpose2d 3 -> 5; kernel 3x3; dilation 200x200; padding 201x201; input 2x21x23", 5}),
    [](const ::testing::TestParamInfo<Case>& info) { return info.param.name; });

}  // namespace
}  // namespace convtgen::testing
