#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "generator/language/language.h"
#include "generator/launcher/launcher.h"
#include "generator/planner/candidates.h"
#include "tests/launcher/with_packing.h"

namespace convtgen {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LayerSet some_set(LaunchFormat format = LaunchFormat::kCubin, bool host = false) {
  return {"net",
          "net.h",
          format,
          host,
          {code_target_named("sm_80").value(), code_target_named("sm_90a").value(),
           code_target_named("compute_80").value()}};
}

SetKernel kernel(const std::string& name, const std::string& text) {
  return {name, parse_layer(text).value(), Direction::kForward};
}

std::vector<TargetKernel> made(const LayerSet& set, const SetKernel& kernel) {
  std::vector<TargetKernel> all;
  for (const CodeTarget& code : set.targets) {
    const Problem problem{kernel.layer, kernel.direction, code.target};
    const Plan best = plan(problem).value().front();
    all.push_back({code, best, specialize(problem, best).value()});
  }
  return all;
}

std::string text_of(const std::vector<TextFile>& files, const std::string& name) {
  for (const TextFile& file : files) {
    if (file.name == name) {
      return file.text;
    }
  }
  ADD_FAILURE() << "no file " << name;
  return "";
}

TEST(LauncherTexts, LayersWithStreamingTellHowTheyStream) {
  const SetKernel up = kernel("up", "conv_transpose1d 4 -> 2; kernel 11; stride 5; padding 3; streaming");
  const auto shared = shared_files(some_set(), {up, kernel("plain", "conv_transpose1d 4 -> 2; kernel 11")});
  const auto own = kernel_files(some_set(), up, made(some_set(), up));
  ASSERT_TRUE(shared && own);
  const std::string header = text_of(*shared, "net.h");
  EXPECT_THAT(header, HasSubstr("void net_up_forward_stream(net_stream* stream);"));
  EXPECT_THAT(header, Not(HasSubstr("plain_forward_stream")));
  EXPECT_THAT(text_of(*own, "net_up_forward.c"), HasSubstr("void net_up_forward_stream(net_stream* stream) {\n"
                                                           "  stream->context = 2;\n"
                                                           "  stream->stride = 5;\n"
                                                           "  stream->delay = 3;\n"
                                                           "  stream->rest = 3;\n}"));
}

TEST(LauncherTexts, FunctionsTakeTheSizesThatAreOpen) {
  const auto files = shared_files(
      some_set(), {kernel("fixed", "conv_transpose2d 4 -> 2; kernel 3; input 2x8x8"),
                   kernel("open", "conv_transpose2d 4 -> 2; kernel 3; bias; dtype f64; input ?x8x?"),
                   kernel("line", "conv_transpose1d 4 -> 2; kernel 3; dtype bf16; layout nhwc; input 3x?"),
                   kernel("last", "conv_transpose2d 4 -> 2; kernel 3x5; input 2x8x8; weight_layout channels_last")});
  ASSERT_TRUE(files) << files.error().message;
  const std::string header = text_of(*files, "net.h");
  EXPECT_THAT(header,
              HasSubstr("int net_fixed_forward(const float* x, const float* weight, float* y, void* workspace, size_t "
                        "workspace_bytes,\n                      void* stream);"));
  EXPECT_THAT(header,
              HasSubstr("int net_open_forward(const double* x, const double* weight, const double* bias, double* y, "
                        "void* workspace,\n                     size_t workspace_bytes, int64_t batch, int64_t width, "
                        "void* stream);"));
  EXPECT_THAT(
      header,
      HasSubstr("int net_line_forward(const uint16_t* x, const uint16_t* weight, uint16_t* y, "
                "void* workspace, size_t workspace_bytes,\n                     int64_t length, void* stream);"));
  EXPECT_THAT(header, HasSubstr("int net_fixed_forward_sizes(net_sizes* sizes);"));
  EXPECT_THAT(header, HasSubstr("size_t net_fixed_forward_workspace(void);"));
  EXPECT_THAT(header, HasSubstr("size_t net_open_forward_workspace(int64_t batch, int64_t width);"));
  EXPECT_THAT(header, HasSubstr("x (2, 4, 8, 8), weight (4, 2, 3, 3) -> y (2, 2, 10, 10)."));
  EXPECT_THAT(header, HasSubstr("x (3, length, 4), weight (4, 2, 3) -> y (3, out_length, 2)."));
  EXPECT_THAT(header, HasSubstr("x (2, 4, 8, 8), weight (4, 3, 5, 2; output channels last) -> y (2, 2, 10, 12)."));
  EXPECT_THAT(header, HasSubstr("inline int fixed_forward("));
  EXPECT_THAT(text_of(*files, "net_support.c"), HasSubstr("&net_line_forward_kernel,"));
  for (const TextFile& file : *files) {
    EXPECT_FALSE(std::regex_search(file.text, std::regex("\\b(ns|NS)_|\"(support|common).h\""))) << file.name;
  }
}

TEST(LauncherTexts, EachDirectionTakesItsTensors) {
  const auto header = [](const char* properties) {
    const Layer layer =
        parse_layer(std::string("conv_transpose2d 4 -> 2; kernel 3; input ?x8x8; ") + properties).value();
    std::vector<SetKernel> kernels;
    for (const Direction direction : layer.directions) {
      kernels.push_back({"up", layer, direction});
    }
    return text_of(shared_files(some_set(), kernels).value(), "net.h");
  };
  const std::string biased = header("bias; directions forward, grad_input, grad_weight, grad_bias");
  EXPECT_THAT(biased,
              HasSubstr("int net_up_forward(const float* x, const float* weight, const float* bias, float* y, "));
  EXPECT_THAT(biased, HasSubstr("int net_up_grad_input(const float* grad_y, const float* weight, float* grad_x, "));
  EXPECT_THAT(biased, HasSubstr("int net_up_grad_weight(const float* x, const float* grad_y, float* grad_weight, "
                                "float* grad_bias, void* workspace,"));
  EXPECT_THAT(biased, HasSubstr("int net_up_grad_bias(const float* grad_y, float* grad_bias, void* workspace,"));
  EXPECT_THAT(biased, HasSubstr("int net_up_grad_weight_sizes(int64_t batch, net_sizes* sizes);"));
  EXPECT_THAT(biased, HasSubstr("x (batch, 4, 8, 8), weight (4, 2, 3, 3), bias (2) -> y (batch, 2, 10, 10)."));
  EXPECT_THAT(biased, HasSubstr("grad_y (batch, 2, 10, 10), weight (4, 2, 3, 3) -> grad_x (batch, 4, 8, 8)."));
  EXPECT_THAT(biased,
              HasSubstr("x (batch, 4, 8, 8), grad_y (batch, 2, 10, 10) -> grad_weight (4, 2, 3, 3), grad_bias (2)."));
  EXPECT_THAT(biased, HasSubstr("grad_y (batch, 2, 10, 10) -> grad_bias (2)."));
  EXPECT_THAT(biased, HasSubstr("inline int up_grad_input("));
  EXPECT_THAT(biased, HasSubstr("int net_up_forward_keeps_weights(int* keeps);"));
  EXPECT_THAT(biased, HasSubstr("int net_up_grad_input_keeps_weights(int* keeps);"));
  EXPECT_THAT(biased, Not(HasSubstr("net_up_grad_weight_keeps_weights"))) << "it reads none";

  const std::string half = header("directions grad_weight; dtype f16; weight_layout channels_last");
  EXPECT_THAT(half,
              HasSubstr("int net_up_grad_weight(const uint16_t* x, const uint16_t* grad_y, uint16_t* grad_weight, "
                        "void* workspace,"));
  EXPECT_THAT(half, HasSubstr("-> grad_weight (4, 3, 3, 2; output channels last)."));
  EXPECT_THAT(half,
              HasSubstr("inline int up_grad_weight(const __half* x, const __half* grad_y, __half* grad_weight, "));
}

TEST(LauncherTexts, LinesFitThePage) {
  for (const LaunchFormat format : {LaunchFormat::kCubin, LaunchFormat::kSource}) {
    const LayerSet set = some_set(format, true);
    const SetKernel one = kernel("a_layer_whose_name_is_of_some_length",
                                 "conv_transpose2d 32 -> 48; kernel 3x7; stride 2x3; padding 1x2; bias");
    auto files = kernel_files(set, one, made(set, one)).value();
    files.push_back(shared_files(set, {one}).value().front());
    for (const TextFile& file : files) {
      std::istringstream lines(file.text);
      for (std::string line; std::getline(lines, line);) {
        // Names are not broken, nor what the compiler shows as one message.
        EXPECT_TRUE(line.size() <= 120 || line.starts_with("#") || line.contains("_kernel,") ||
                    line.contains("(const void*)"))
            << line;
      }
    }
  }
}

TEST(LauncherTexts, AKernelsFileKnowsOfNoOther) {
  const LayerSet set = some_set(LaunchFormat::kCubin, true);
  const SetKernel one = kernel("up", "conv_transpose2d 4 -> 2; kernel 3");
  const auto files = kernel_files(set, one, made(set, one)).value();
  ASSERT_EQ(files.size(), 2u);
  const std::string text = text_of(files, "net_up_forward.c");
  EXPECT_THAT(text, HasSubstr("#include \"net_support.h\""));
  EXPECT_THAT(text, Not(HasSubstr("net.h")));
  EXPECT_THAT(text, HasSubstr(".incbin \\\"up_forward.sm_80.cubin\\\""));
  EXPECT_THAT(text, HasSubstr(".incbin \\\"up_forward.compute_80.ptx\\\""));
  EXPECT_THAT(text_of(files, "net_up_forward_host.c"), HasSubstr(".incbin \\\"up_forward.host.so\\\""));
}

TEST(LauncherTexts, SourcesStandOnceForCubinAndPtx) {
  const LayerSet set = some_set(LaunchFormat::kSource);
  const SetKernel one = kernel("up", "conv_transpose2d 4 -> 2; kernel 3");
  const std::string text = text_of(kernel_files(set, one, made(set, one)).value(), "net_up_forward.cu");
  EXPECT_THAT(text, HasSubstr("#include \"up_forward.sm_80.cu\""));
  EXPECT_THAT(text, HasSubstr("#include \"up_forward.sm_90a.cu\""));
  EXPECT_EQ(text.find("up_forward.sm_80.cu"), text.rfind("up_forward.sm_80.cu"));
  EXPECT_THAT(text, HasSubstr("__CUDA_ARCH__ != 800 && __CUDA_ARCH__ != 900"));
}

TEST(LauncherTexts, AllKernelsOfASourceAreNamed) {
  for (const LaunchFormat format : {LaunchFormat::kCubin, LaunchFormat::kSource}) {
    const LayerSet set = some_set(format);
    const SetKernel one = kernel("up", "conv_transpose2d 4 -> 2; kernel 3");
    std::vector<TargetKernel> kernels = made(set, one);
    kernels[1] = test::with_packing(one.layer, kernels[1]);
    kernels[1].source.recipe.kernels[1].waits = true;
    const KernelSource& packed = kernels[1].source;
    const bool is_source = format == LaunchFormat::kSource;
    const std::string text =
        text_of(kernel_files(set, one, kernels).value(), is_source ? "net_up_forward.cu" : "net_up_forward.c");
    const auto function = [&](int kernel) {
      return is_source ? fmt::format("(const void*)net_up_forward_sm_90a::net_up_forward_sm_90a_{}", kernel) : "NULL";
    };
    EXPECT_THAT(text, HasSubstr("\"a packed copy of the weights\",\n"
                                "     /* regions of the workspace: bytes, kept */ 1, {{{288, 0, NET_ONE}, 1}},\n"
                                "     /* tensor maps */ NULL,\n"
                                "     /* kernels */ 2,\n"));
    EXPECT_THAT(text, HasSubstr(fmt::format("{{{},\n       \"{}\",\n"
                                            "       /* threads, shared bytes */ 32, 0, /* waits, once */ 0, 1,\n"
                                            "       {{/* extents and tiles */ 1, {{{{{{72, 0, NET_ONE}}, 32}}}},",
                                            function(0), packed.recipe.kernels[0].symbol)));
    EXPECT_THAT(text, HasSubstr("/* arguments */ 2,\n"
                                "       {{NET_TENSOR, NET_WEIGHT, 0, 0},\n"
                                "        {NET_REGION, 0, 0, 0}}}"));
    EXPECT_THAT(text, HasSubstr(fmt::format("{{{},\n       \"{}\"", function(1), packed.symbol)));
    EXPECT_THAT(text, HasSubstr("/* waits, once */ 1, 0,"));
    EXPECT_THAT(text, HasSubstr("{NET_QUANTITY, NET_IN_WIDTH, 0, 1}"));
    EXPECT_THAT(text, HasSubstr("\"\",\n     /* regions of the workspace: bytes, kept */ 0, {{{0, 0, 0}, 0}},"));
    if (is_source) {
      EXPECT_THAT(text, HasSubstr(fmt::format("#define {} net_up_forward_sm_90a_0\n"
                                              "#define {} net_up_forward_sm_90a_1\n",
                                              packed.recipe.kernels[0].symbol, packed.symbol)));
      EXPECT_THAT(text, HasSubstr("void net_up_forward_sm_90a_0(const float*, float*) {}\n"));
    }
  }
}

// The C code has arrays of these sizes.
TEST(LauncherTexts, HaveRoomForWhatRecipesMayHave) {
  const auto files = shared_files(some_set(LaunchFormat::kCubin, true), {}).value();
  EXPECT_THAT(text_of(files, "net_support.h"),
              HasSubstr(fmt::format("NET_MOST_KERNELS = {}, NET_MOST_ARGUMENTS = {}, NET_MOST_REGIONS = {},",
                                    kMostKernels, kMostArguments, kMostRegions)));
}

TEST(LauncherTexts, TensorMapsAreData) {
  const LayerSet set = some_set(LaunchFormat::kCubin, true);
  const SetKernel one = kernel("up", "conv_transpose2d 4 -> 2; kernel 3");
  std::vector<TargetKernel> kernels = made(set, one);
  MapRecipe map{.name = "tiles", .role = Role::kX};
  map.form.rank = 2;
  map.form.box = {32, 8};
  map.sizes = {Amount{.constant = 64}, Amount{.factor = 4, .per = Quantity::kInImage}};
  map.pitches = {Amount{}, Amount{.constant = 256}};
  kernels[0].source.recipe.maps = {map};
  kernels[0].source.recipe.kernels[0].parameters.push_back({"tiles", "TensorMap"});
  ASSERT_TRUE(bind_arguments(kernels[0].source.recipe));
  const auto files = kernel_files(set, one, kernels).value();
  for (const auto& [file, name] : {std::pair("net_up_forward.c", "net_up_forward_sm_80_maps"),
                                   std::pair("net_up_forward_host.c", "net_up_forward_host_maps")}) {
    const std::string text = text_of(files, file);
    EXPECT_THAT(text, HasSubstr(fmt::format("static const net_map {}[] = {{\n    {{0, NET_X, /* element, rank */ 5, 2,",
                                            name)));
    EXPECT_THAT(text, HasSubstr("{{64, 0, NET_ONE}, {0, 4, NET_IN_IMAGE}}, {{0, 0, NET_ONE}, {256, 0, NET_ONE}}"));
    EXPECT_THAT(text, HasSubstr(fmt::format("/* tensor maps */ {},", name)));
    EXPECT_THAT(text, HasSubstr("{NET_MAP, 0, 0, 0}"));
  }
}

TEST(LauncherTexts, WrongSets) {
  const std::vector<SetKernel> kernels{kernel("up", "conv_transpose2d 4 -> 2; kernel 3")};
  LayerSet set = some_set();
  set.name_space = "int";
  EXPECT_THAT(shared_files(set, kernels).error().message, HasSubstr("namespace 'int'"));
  set = some_set();
  for (const char* header : {"", ".h", "net.hpp", "a/net.h", "net_support.h"}) {
    set.header = header;
    EXPECT_THAT(shared_files(set, kernels).error().message, HasSubstr("header '" + std::string(header) + "'"));
  }
  set = some_set();
  set.targets.clear();
  EXPECT_THAT(shared_files(set, kernels).error().message, HasSubstr("no architectures"));
  EXPECT_THAT(shared_files(some_set(), {kernels[0], kernels[0]}).error().message,
              HasSubstr("layer 'up' is in the set twice"));
}

}  // namespace
}  // namespace convtgen
