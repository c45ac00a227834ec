// Emitted source compiles with NVRTC for every target, and without spills. Nothing in it loops over taps of a plane.
// (nvcc: head_test.cpp, emitted_files_test.cpp.)
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/compile/nvrtc.h"
#include "tests/sample/sample.h"

namespace convtgen {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const std::vector<NamedLayer>& layers() {
  static const auto parsed = parse_file(read_file(CONVTGEN_COMPILED_LAYERS));
  return parsed.value();
}

KernelSource source_of(const Layer& layer, std::string_view architecture = "sm_90a") {
  const Problem problem{layer, Direction::kForward, target_named(architecture).value()};
  return specialize(problem, plan(problem).value().front()).value();
}
KernelSource direct_source_of(const Layer& layer) {
  const Problem problem{layer, Direction::kForward, target_named("sm_90a").value()};
  return specialize(problem, kDirect.plans(problem).value().front()).value();
}

class Compiled : public ::testing::TestWithParam<NamedLayer> {};

TEST_P(Compiled, NothingLoopsOverTaps) {
  const KernelSource source = direct_source_of(GetParam().layer);
  // The loops there are: over depth taps, over what is staged (by turns), over channels of the group and of the
  // k-block, over a thread's rectangle.
  static const std::regex loop(R"(for \(int (\w+) =)");
  for (std::sregex_iterator i(source.text.begin(), source.text.end(), loop), end; i != end; ++i) {
    const std::string variable = (*i)[1];
    EXPECT_TRUE(variable == "kd" || variable == "i" || variable == "first" || variable == "first_in" ||
                variable == "c" || variable == "channel" || variable == "row" || variable == "column")
        << variable;
  }
}

TEST_P(Compiled, SizesAreParametersOnlyWhereTheLayerLeavesThemOpen) {
  const KernelSource source = source_of(GetParam().layer);
  for (const auto& [name, size] : {std::pair{"depth", GetParam().layer.axes[kDepth].extent},
                                   {"height", GetParam().layer.axes[kHeight].extent},
                                   {"width", GetParam().layer.axes[kWidth].extent}}) {
    const bool is_parameter = std::ranges::any_of(
        source.main().parameters, [&](const KernelParameter& parameter) { return parameter.name == name; });
    EXPECT_EQ(is_parameter, !size.has_value()) << name;
  }
}

// A sample of all layers for all targets, by the layers' names: each layer and each target occurs in it.
std::map<std::string, std::vector<Target>> drawn_targets() {
  std::vector<testing::Candidate> candidates;
  for (const NamedLayer& each : layers()) {
    for (const Target& target : known_targets()) {
      candidates.push_back({each.name + "/" + target.architecture, {each.name, target.architecture}});
    }
  }
  std::map<std::string, std::vector<Target>> drawn;
  for (const std::size_t i : testing::sample(candidates, 2 * layers().size())) {
    drawn[layers()[i / known_targets().size()].name].push_back(known_targets()[i % known_targets().size()]);
  }
  return drawn;
}

std::vector<NamedLayer> drawn_layers() {
  std::vector<NamedLayer> drawn;
  std::ranges::copy_if(layers(), std::back_inserter(drawn),
                       [all = drawn_targets()](const NamedLayer& each) { return all.contains(each.name); });
  return drawn;
}

/// Bytes that are known to be spilled: addresses of the loops that stage input, of a chip without asynchronous copies.
/// They are loaded once a k-block, none of them between products. Or addresses of a volume, loaded once a depth tap, or
/// of a tile's outputs, loaded once a tile; ptxas keeps more of them in memory for sm_110.
int known_spill(const std::string& layer, const std::string& architecture) {
  if (architecture == "sm_75" && (layer == "asymmetric" || layer == "volume")) {
    return 72;
  }
  if (architecture == "sm_110" && layer == "vocoder") {
    return 88;
  }
  return layer == "volume" || layer == "vocoder" ? 16 : 0;
}

class CompiledForTargets : public ::testing::TestWithParam<NamedLayer> {};

TEST_P(CompiledForTargets, DoesNotSpill) {
  const std::vector<Target> targets = drawn_targets().at(GetParam().name);
  for (const Target& target : targets) {
    const KernelSource source = source_of(GetParam().layer, target.architecture);
    const Result<Binary> binary = compile_with_nvrtc(source, target.architecture, BinaryKind::kCubin);
    ASSERT_TRUE(binary) << binary.error().message;
    const std::optional<ResourceUsage> usage = resource_usage(*binary);
    ASSERT_TRUE(usage);
    EXPECT_LE(usage->spill_bytes, known_spill(GetParam().name, target.architecture)) << target.architecture;
    EXPECT_GT(usage->registers, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Emitted, CompiledForTargets, ::testing::ValuesIn(drawn_layers()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Emitted, Compiled, ::testing::ValuesIn(layers()),
                         [](const ::testing::TestParamInfo<NamedLayer>& info) { return info.param.name; });

}  // namespace
}  // namespace convtgen
