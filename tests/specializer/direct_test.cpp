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
#include "generator/planner/templates.h"
#include "generator/specializer/kernel_source.h"

namespace convtgen {
namespace {

struct Golden {
  std::string_view file;
  std::string_view layer;
  std::string_view architecture;
  std::string_view template_name = "";  // "": the first of the direction
};

constexpr Golden kGoldens[] = {
    {"seed_a.cu", "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024", "sm_90a"},
    {"seed_c.cu",
     "conv_transpose2d 32 -> 48; kernel 3x7; stride 2x3; padding 1x2; output_padding 1x2; groups 4; input 4x40x60; "
     "bias",
     "sm_75"},
    {"dynamic.cu", "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3", "sm_90a"},
    {"half_nhwc_fused.cu",
     "conv_transpose2d 32 -> 30; kernel 4x4; stride 2x2; padding 1x1; input ?x16x16; dtype f16; layout nhwc; bias; "
     "fuse relu, clamp(-1, 6), gelu",
     "sm_80"},
    {"wide_halo_f64.cu",
     "conv_transpose2d 5 -> 7; kernel 3x3; stride 5x5; dilation 400x400; input 2x9x11; dtype f64; fuse scale(0.5)",
     "sm_120"},
    {"one_row_bf16.cu", "conv_transpose1d 5 -> 7; kernel 9; stride 3; groups 1; dtype bf16; fuse mish", "sm_100"},
    {"direct_grad_input.cu",
     "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; directions grad_input",
     "sm_80"},
    {"direct_grad_weight.cu",
     "conv_transpose2d 64 -> 3; kernel 4x4; stride 2x2; padding 1x1; input ?x32x32; dtype f16; layout nhwc; bias; "
     "directions grad_weight",
     "sm_75"},
    {"direct_rows_columns.cu",
     "conv_transpose2d 32 -> 64; kernel 3x5; stride 2x3; padding 1x2; dilation 2x1; groups 4; input 16x128x256; bias; "
     "fuse relu",
     "sm_90a", "direct_rows"},
    {"direct_rows_vectors.cu",
     "conv_transpose2d 32 -> 64; kernel 3x3; stride 5x5; padding 1x1; dilation 2x2; input ?x?x?; dtype f16; layout "
     "nhwc",
     "sm_90a", "direct_rows"},
    {"direct_rows_pixels.cu",
     "conv_transpose2d 21 -> 21; kernel 16x16; stride 8x8; padding 4x4; groups 21; input 8x64x64; dtype bf16; layout "
     "nhwc",
     "sm_75", "direct_rows"},
    {"mma_rows_groups.cu",
     "conv_transpose2d 32 -> 64; kernel 3x5; stride 2x3; padding 1x2; dilation 2x1; groups 4; input 16x128x256; dtype "
     "f16; "
     "layout nhwc; bias; fuse relu",
     "sm_90a", "mma_rows"},
    {"mma_rows_few_taps.cu",
     "conv_transpose2d 32 -> 64; kernel 3x3; stride 5x5; padding 1x1; dilation 2x2; input ?x?x?; dtype bf16; layout "
     "nhwc",
     "sm_80", "mma_rows"},
    {"grad_bias.cu", "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; bias; directions grad_bias",
     "sm_90a"},
};

KernelSource source_of(std::string_view layer, std::string_view architecture, std::string_view template_name = "") {
  const auto parsed = parse_layer(layer);
  EXPECT_TRUE(parsed) << layer;
  const Problem problem{*parsed, parsed->directions.front(), *target_named(architecture)};
  const Template& made = template_name.empty()
                             ? *std::ranges::find(templates(), problem.direction, &Template::direction)
                             : *template_named(template_name).value();
  const Result<std::vector<Plan>> plans = made.plans(problem);
  EXPECT_TRUE(plans) << plans.error().message;
  const Plan& plan = plans->front();
  Result<KernelSource> source = specialize(problem, plan);
  EXPECT_TRUE(source) << source.error().message;
  EXPECT_TRUE(std::ranges::any_of(source->recipe.kernels,
                                  [&](const auto& kernel) { return kernel.threads == plan.launch.main().threads; }));
  return source.value_or(KernelSource{});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    out.push_back(line);
  }
  return out;
}

class Direct : public testing::TestWithParam<Golden> {};

// CONVTGEN_UPDATE_GOLDENS=1 writes the files anew: read the difference before it is committed.
TEST_P(Direct, IsTheCommittedSource) {
  const std::string path = fmt::format("{}/{}", CONVTGEN_GOLDENS, GetParam().file);
  const std::string text = source_of(GetParam().layer, GetParam().architecture, GetParam().template_name).text;
  if (std::getenv("CONVTGEN_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path) << text;
  }
  std::ifstream file(path);
  std::ostringstream committed;
  committed << file.rdbuf();
  const std::vector<std::string> made = lines_of(text), wanted = lines_of(committed.str());
  const auto [here, there] = std::ranges::mismatch(made, wanted);
  EXPECT_TRUE(text == committed.str()) << GetParam().file << ", line " << here - made.begin() + 1 << ":\n  made      "
                                       << (here == made.end() ? "nothing" : *here) << "\n  committed "
                                       << (there == wanted.end() ? "nothing" : *there);
}

TEST_P(Direct, HasTheSameBytesEachTime) {
  EXPECT_EQ(source_of(GetParam().layer, GetParam().architecture, GetParam().template_name).text,
            source_of(GetParam().layer, GetParam().architecture, GetParam().template_name).text);
}

TEST_P(Direct, StandsAlone) {
  const KernelSource source = source_of(GetParam().layer, GetParam().architecture, GetParam().template_name);
  const std::vector<std::string> lines = lines_of(source.text);
  EXPECT_EQ(lines.size(), source.template_lines.size());
  EXPECT_EQ(source.text.find("#include"), std::string::npos);
  EXPECT_EQ(source.text.find("P::"), std::string::npos);
  EXPECT_EQ(source.text.find("Parameters"), std::string::npos);
  EXPECT_EQ(source.text.find("uint32_t"), std::string::npos);
  EXPECT_NE(source.text.find(source.symbol + "("), std::string::npos);
  EXPECT_EQ(lines.at(0), "// " + canonical_form(*parse_layer(GetParam().layer)));
  for (const std::string& line : lines) {
    EXPECT_TRUE(line.size() <= 120 || line.starts_with("//") || line.starts_with("using ")) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  const bool is_short = source.recipe.tensor(Role::kGradBias) == &source.recipe.tensors.front();  // two short kernels
  EXPECT_GT(std::ranges::count_if(source.template_lines, [](int line) { return line > 0; }), is_short ? 8 : 20);
}

TEST_P(Direct, WritesOutEveryTap) {
  const Layer layer = *parse_layer(GetParam().layer);
  const std::string text = source_of(GetParam().layer, GetParam().architecture, GetParam().template_name).text;
  if (layer.directions.front() == Direction::kGradBias) {
    EXPECT_FALSE(text.contains("// tap ")) << "no weight is read";
    return;
  }
  const bool is_paired = GetParam().template_name == "mma_rows";                 // a comment may name two taps
  const bool has_loop = is_paired || GetParam().template_name == "direct_rows";  // over kernel rows
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
  const std::string text = source_of(GetParam().layer, GetParam().architecture, GetParam().template_name).text;
  const std::regex head(R"((?:__forceinline__|__launch_bounds__)[^{;]*?\w+\(([^{]*)\) \{\n([^]*?)\n\}\n)");
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

INSTANTIATE_TEST_SUITE_P(Layers, Direct, testing::ValuesIn(kGoldens), [](const auto& info) {
  return std::string(info.param.file.substr(0, info.param.file.find('.')));
});

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
