// The template `direct`, and those that are as plain for gradients, made into source: properties that hold for every
// layer, and the source of some layers as files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "generator/language/language.h"
#include "generator/planner/table/templates.h"
#include "generator/specializer/kernel_source.h"
#include "tests/template_facts/facts.h"

namespace convtgen {
namespace {

/// A template's source of a layer, which names its taps.
struct NamedGolden {
  const testing::TemplateFacts& facts;
  const testing::Golden& golden;
};
void PrintTo(const NamedGolden& one, std::ostream* out) {
  *out << one.golden.name;
}
std::vector<NamedGolden> goldens() {
  std::vector<NamedGolden> all;
  for (const testing::TemplateFacts& facts : testing::template_facts()) {
    for (const testing::Golden& golden : facts.goldens) {
      if (facts.golden_taps != testing::NamedTaps::kUnchecked) {
        all.push_back({facts, golden});
      }
    }
  }
  return all;
}

/// The first template of the layer's direction, which takes every layer.
const Template& general(std::string_view layer) {
  const auto parsed = parse_layer(layer);
  EXPECT_TRUE(parsed) << layer;
  return *std::ranges::find(templates(), parsed->directions.front(), &Template::direction);
}

KernelSource source_of(std::string_view layer, std::string_view architecture, const Template& made) {
  const auto parsed = parse_layer(layer);
  EXPECT_TRUE(parsed) << layer;
  const Problem problem{*parsed, parsed->directions.front(), *target_named(architecture)};
  const Result<std::vector<Plan>> plans = made.plans(problem);
  EXPECT_TRUE(plans) << plans.error().message;
  const Plan& plan = plans->front();
  Result<KernelSource> source = specialize(problem, plan);
  EXPECT_TRUE(source) << source.error().message;
  EXPECT_TRUE(std::ranges::any_of(source->recipe.kernels,
                                  [&](const auto& kernel) { return kernel.threads == plan.launch.main().threads; }));
  return source.value_or(KernelSource{});
}

KernelSource source_of(std::string_view layer, std::string_view architecture) {
  return source_of(layer, architecture, general(layer));
}

KernelSource source_of(const NamedGolden& golden) {
  return source_of(golden.golden.layer, golden.golden.architecture, *template_named(golden.facts.name).value());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    out.push_back(line);
  }
  return out;
}

class Direct : public ::testing::TestWithParam<NamedGolden> {};

// CONVTGEN_UPDATE_GOLDENS=1 writes the files anew: read the difference before it is committed.
TEST_P(Direct, IsTheCommittedSource) {
  const std::string path = fmt::format("{}/{}.cu", CONVTGEN_GOLDENS, GetParam().golden.name);
  const std::string text = source_of(GetParam()).text;
  if (std::getenv("CONVTGEN_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path) << text;
  }
  std::ifstream file(path);
  std::ostringstream committed;
  committed << file.rdbuf();
  const std::vector<std::string> made = lines_of(text), wanted = lines_of(committed.str());
  const auto [here, there] = std::ranges::mismatch(made, wanted);
  EXPECT_TRUE(text == committed.str()) << GetParam().golden.name << ", line " << here - made.begin() + 1
                                       << ":\n  made      " << (here == made.end() ? "nothing" : *here)
                                       << "\n  committed " << (there == wanted.end() ? "nothing" : *there);
}

TEST_P(Direct, HasTheSameBytesEachTime) {
  EXPECT_EQ(source_of(GetParam()).text, source_of(GetParam()).text);
}

TEST_P(Direct, StandsAlone) {
  const KernelSource source = source_of(GetParam());
  const std::vector<std::string> lines = lines_of(source.text);
  EXPECT_EQ(lines.size(), source.template_lines.size());
  EXPECT_EQ(source.text.find("#include"), std::string::npos);
  EXPECT_EQ(source.text.find("P::"), std::string::npos);
  EXPECT_EQ(source.text.find("Parameters"), std::string::npos);
  EXPECT_EQ(source.text.find("uint32_t"), std::string::npos);
  EXPECT_NE(source.text.find(source.symbol + "("), std::string::npos);
  EXPECT_EQ(lines.at(0), "// " + canonical_form(*parse_layer(GetParam().golden.layer)));
  for (const std::string& line : lines) {
    EXPECT_TRUE(line.size() <= 120 || line.starts_with("//") || line.starts_with("using ")) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  const bool is_short = source.recipe.tensor(Role::kGradBias) == &source.recipe.tensors.front();  // two short kernels
  EXPECT_GT(std::ranges::count_if(source.template_lines, [](int line) { return line > 0; }), is_short ? 8 : 20);
}

TEST_P(Direct, WritesOutEveryTap) {
  const Layer layer = *parse_layer(GetParam().golden.layer);
  const std::string text = source_of(GetParam()).text;
  if (layer.directions.front() == Direction::kGradBias) {
    EXPECT_FALSE(text.contains("// tap ")) << "no weight is read";
    return;
  }
  const testing::NamedTaps named = GetParam().facts.golden_taps;
  const bool is_paired = named == testing::NamedTaps::kOfKernelRowsInPairs;       // a comment may name two taps
  const bool has_loop = is_paired || named == testing::NamedTaps::kOfKernelRows;  // over kernel rows
  for (int kh = 0; kh < (has_loop ? 1 : layer.axes[kHeight].kernel); ++kh) {
    for (int kw = 0; kw < layer.axes[kWidth].kernel; ++kw) {
      const std::string rows = fmt::format("(0 to {}, {})", layer.axes[kHeight].kernel - 1, kw);
      const std::string tap = is_paired  ? rows
                              : has_loop ? fmt::format("// taps {}\n", rows)
                                         : fmt::format("// tap ({}, {})\n", kh, kw);
      const std::size_t found = text.find(tap);
      EXPECT_NE(found, std::string::npos) << tap;
      EXPECT_EQ(text.find(tap, found + 1), std::string::npos) << tap << " twice";
    }
  }
}

// Every parameter of every function, the kernel's among them, is named in its body.
TEST_P(Direct, HasNoUnusedParameter) {
  const std::string text = source_of(GetParam()).text;
  const std::regex head(R"((?:__forceinline__|__launch_bounds__)[^{;]*?\w+\(([^{;]*)\) \{\n([^]*?)\n\}\n)");
  const std::regex name(R"((\w+)(?:,|$))");
  int functions = 0;
  for (std::sregex_iterator f(text.begin(), text.end(), head), end; f != end; ++f) {
    ++functions;
    const std::string parameters = (*f)[1], body = (*f)[2];
    for (std::sregex_iterator p(parameters.begin(), parameters.end(), name); p != end; ++p) {
      EXPECT_TRUE(std::regex_search(body, std::regex("\\b" + (*p)[1].str() + "\\b"))) << (*p)[1] << " in:\n"
                                                                                      << f->str();
    }
  }
  EXPECT_GE(functions, 3);
}

INSTANTIATE_TEST_SUITE_P(Layers, Direct, ::testing::ValuesIn(goldens()),
                         [](const auto& info) { return std::string(info.param.golden.name); });

TEST(DirectSymbol, TellsLayersPlansAndArchitecturesApart) {
  constexpr std::string_view kLayer = "conv_transpose2d 8 -> 8; kernel 3x3; input 1x9x9";
  const KernelSource source = source_of(kLayer, "sm_80");
  EXPECT_TRUE(std::regex_match(source.symbol, std::regex("convtgen_direct_forward_[0-9a-f]{16}")));
  EXPECT_NE(source_of(kLayer, "sm_90a").symbol, source.symbol);
  EXPECT_NE(source_of("conv_transpose2d 8 -> 8; kernel 3x3; input 1x9x9; bias", "sm_80").symbol, source.symbol);
  EXPECT_EQ(source_of("conv_transpose2d 8 -> 8;  kernel 3x3; input 1x9x9; stride 1x1", "sm_80").symbol, source.symbol);

  const Problem problem{*parse_layer(kLayer), Direction::kForward, *target_named("sm_80")};
  Plan other = kDirect.plans(problem).value().front();
  other.parameters["blocks_per_sm"] = std::int64_t{7};
  EXPECT_NE(specialize(problem, other)->symbol, source.symbol);
}

TEST(DirectSymbol, LaunchersBindParametersByName) {
  EXPECT_EQ(source_of("conv_transpose2d 8 -> 8; kernel 3x3; dtype f16; bias", "sm_80").main().parameters,
            (std::vector<KernelParameter>{{"x", "const unsigned short*"},
                                          {"weight", "const unsigned short*"},
                                          {"bias", "const unsigned short*"},
                                          {"y", "unsigned short*"},
                                          {"height", "int"},
                                          {"width", "int"}}));
  EXPECT_EQ(source_of("conv_transpose2d 8 -> 8; kernel 3x3; input ?x4x4", "sm_80").main().parameters,
            (std::vector<KernelParameter>{{"x", "const float*"}, {"weight", "const float*"}, {"y", "float*"}}));
}

TEST(DirectErrors, NameWhatIsWrong) {
  const Problem problem{*parse_layer("conv_transpose2d 8 -> 8; kernel 3x3"), Direction::kForward,
                        *target_named("sm_80")};
  Plan wrong = kDirect.plans(problem).value().front();
  wrong.template_name = "indirect";
  EXPECT_TRUE(
      specialize(problem, wrong).error().message.starts_with("there is no template 'indirect'; there are: direct, "));
  wrong = kDirect.plans(problem).value().front();
  wrong.parameters.erase("stride_h");
  EXPECT_EQ(specialize(problem, wrong).error().message,
            "the plan gives no value for 'stride_h', a parameter of the template direct");
  wrong = kDirect.plans(problem).value().front();
  wrong.parameters["groups"] = std::int64_t{3};
  EXPECT_TRUE(
      specialize(problem, wrong).error().message.ends_with("static assertion failed: groups divide the channels"))
      << specialize(problem, wrong).error().message;
}

}  // namespace
}  // namespace convtgen
