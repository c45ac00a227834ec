// Cases of public bug reports, each named after its report: what went wrong elsewhere is right here. Layers run on the
// host device with small sizes, and match the definition in fp64; where the report gives numbers, these.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/reference/run_layer.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::array<std::string_view, 6> kTypes = {"dtype f32",  "dtype f64",    "dtype f16",
                                                    "dtype bf16", "compute tf32", "compute f32x3"};

/// A layer of a report, right in these ways.
struct Report {
  std::string_view name;                 // of the test
  std::string_view layer;                // without type, layout and direction
  std::array<std::int64_t, 2> out = {};  // the output's height and width; zeros where the report does not say
  std::int64_t width = 1;                // of the input, where the layer leaves it open
  bool all_types = false;                // else f32 and f16
  bool gradients = false;
};

constexpr std::array kReports = {
    Report{.name = "coreai_model_zoo_PR_18_kernel_2",
           .layer = "conv_transpose1d 4 -> 4; kernel 2; stride 16; input 1x8; bias; fuse gelu",
           .out = {1, 114},
           .all_types = true},
    Report{.name = "coreai_model_zoo_PR_18_output_padding",
           .layer = "conv_transpose1d 4 -> 4; kernel 4; stride 8; padding 1; output_padding 7; input 1x8; bias",
           .out = {1, 65},
           .all_types = true,
           .gradients = true},
    Report{.name = "coreai_model_zoo_PR_18_gradients",
           .layer = "conv_transpose1d 4 -> 4; kernel 2; stride 16; input 1x8",
           .out = {1, 114},
           .gradients = true},
    Report{.name = "tvm_18601",
           .layer = "conv_transpose2d 3 -> 6; kernel 3; stride 2; padding 1; output_padding 1; input 1x28x28; bias",
           .out = {56, 56}},
    Report{
        .name = "kokoro_79",
        .layer = "conv_transpose1d 256 -> 256; kernel 3; stride 2; groups 256; padding 1; output_padding 1; input 1x9",
        .out = {1, 18}},
    Report{.name = "coreai_torch_58",
           .layer = "conv_transpose1d 4 -> 4; kernel 3; stride 2; output_padding 1; groups 4; input 1x8",
           .out = {1, 18},
           .gradients = true},
    Report{.name = "coreai_torch_PR_79",
           .layer = "conv_transpose2d 8 -> 8; kernel 3; dilation 3; output_padding 2; input 1x8x8",
           .out = {16, 16},
           .gradients = true},
    Report{.name = "tt_forge_onnx_2230_dilation_2x4",
           .layer = "conv_transpose2d 11 -> 15; kernel 5x8; stride 2; padding 1; dilation 2x4; input 1x17x41; bias"},
    Report{.name = "tt_forge_onnx_2230_dilation_33x9",
           .layer = "conv_transpose2d 64 -> 72; kernel 4x9; stride 9x3; padding 2; dilation 33x9; input 1x16x12"},
    Report{.name = "tt_forge_onnx_2232_dilation_99x83",
           .layer = "conv_transpose2d 10 -> 11; kernel 2; dilation 99x83; input 1x30x30"},
    Report{.name = "tt_forge_onnx_2232_stride_24x11",
           .layer = "conv_transpose2d 64 -> 51; kernel 16x27; stride 24x11; padding 2; input 1x8x6"},
    Report{.name = "tt_forge_onnx_2233_stride_13x2",
           .layer = "conv_transpose2d 13 -> 4; kernel 10x1; stride 13x2; input 1x89x3"},
    Report{.name = "tt_forge_onnx_2233_stride_3x5",
           .layer = "conv_transpose2d 11 -> 5; kernel 1x5; stride 3x5; padding 3; input 1x17x41"},
    Report{.name = "tt_forge_onnx_2233_groups_32",
           .layer = "conv_transpose2d 64 -> 32; kernel 34x27; groups 32; input 1x8x6"},
    Report{.name = "onnxruntime_23273",
           .layer = "conv_transpose1d 1 -> 1; kernel 4096; stride 1024; input 1x8",
           .out = {1, 11264}},
    Report{.name = "VoxCPM_PR_212_at_1",
           .layer = "conv_transpose1d 64 -> 32; kernel 16; stride 8; padding 0:8; input 1x?",
           .out = {1, 8},
           .width = 1},
    Report{.name = "VoxCPM_PR_212_at_2",
           .layer = "conv_transpose1d 64 -> 32; kernel 16; stride 8; padding 0:8; input 1x?",
           .out = {1, 16},
           .width = 2},
    Report{.name = "VoxCPM_PR_212_at_7",
           .layer = "conv_transpose1d 64 -> 32; kernel 16; stride 8; padding 0:8; input 1x?",
           .out = {1, 56},
           .width = 7},
    Report{.name = "VoxCPM_PR_212_at_375",
           .layer = "conv_transpose1d 64 -> 32; kernel 16; stride 8; padding 0:8; input 1x?",
           .out = {1, 3000},
           .width = 375},
    Report{.name = "deepvqe_5",
           .layer = "conv_transpose2d 4 -> 4; kernel 3x3; stride 1x2; padding 0x1; input 1x100x6",
           .out = {102, 11}},
    Report{.name = "gtcrn_73",
           .layer = "conv_transpose2d 4 -> 8; kernel 3; stride 1x2; padding 0x1; dilation 1x4; groups 2; input 1x100x6",
           .out = {102, 17}},
    Report{.name = "modular_6726",
           .layer = "conv_transpose2d 6 -> 4; kernel 8x1; stride 4x1; input 1x8x5",
           .out = {36, 5},
           .all_types = true},
};

void expect_right(const Report& report) {
  const std::unique_ptr<Device> device = test_device(1);
  ASSERT_NE(device, nullptr);
  for (const std::string_view type : kTypes) {
    if (!report.all_types && type != "dtype f32" && type != "dtype f16") {
      continue;
    }
    for (const Direction direction : {Direction::kForward, Direction::kGradInput, Direction::kGradWeight}) {
      if (direction != Direction::kForward && !report.gradients) {
        continue;
      }
      const std::string_view layout = type == "dtype f16" ? "nhwc" : "nchw";
      const std::string text =
          fmt::format("{}; {}; layout {}; directions {}",
                      report.layer.substr(
                          0, direction == Direction::kForward ? std::string_view::npos : report.layer.find("; fuse")),
                      type, layout, name_of(direction));
      const auto parsed = parse_layer(text);
      ASSERT_TRUE(parsed) << text;
      const InputSizes sizes = known_sizes(*parsed).value_or(InputSizes{1, {1, report.width}});
      const Result<Shape> shape = shape_of(*parsed, sizes);
      ASSERT_TRUE(shape) << text;
      if (report.out[1] > 0) {
        EXPECT_EQ(std::pair(shape->out[kHeight], shape->out[kWidth]), std::pair(report.out[0], report.out[1])) << text;
      }
      const Plan first = plan({*parsed, direction, target_named("sm_90a").value()}).value().front();
      const auto failure = failure_of(*device, *parsed, sizes, first, 1, direction);
      EXPECT_FALSE(failure) << text << " (" << first.template_name << "): " << *failure;
    }
  }
}

constexpr std::size_t kRun = 7;  // reports of a run
constexpr std::size_t kParts = 3;

std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  for (const Report& report : kReports) {
    Candidate& candidate = all.emplace_back(Candidate{std::string(report.name), {"any"}});
    if (report.all_types) {
      candidate.classes.push_back("all types");
    }
    if (report.gradients) {
      candidate.classes.push_back("gradients");
    }
  }
  return all;
}

class ReportsTest : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ReportsTest, AreRight) {
  const std::vector<std::size_t> drawn = part_of(sample(candidates(), kRun), GetParam(), kParts);
  ASSERT_FALSE(drawn.empty());
  for (const std::size_t i : drawn) {
    SCOPED_TRACE(fmt::format("replay: CONVTGEN_TEST_ONLY={} reports_test", kReports[i].name));
    fmt::print("{}\n", kReports[i].name);
    expect_right(kReports[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Part, ReportsTest, ::testing::Range(std::size_t{0}, number_of_parts(kParts, candidates)));

/// What a call of the layer's first plan writes, on the host device, in each output element.
std::vector<double> results_of(const std::string& text, const InputSizes& sizes, const LayerInputs& inputs) {
  const std::unique_ptr<Device> device = test_device(1);
  const Layer layer = parse_layer(text).value();
  const Problem problem{layer, Direction::kForward, target_named("sm_90a").value()};
  auto run = run_layer(*device, problem, plan(problem).value().front(), sizes, inputs);
  if (!run) {
    ADD_FAILURE() << text << ": " << run.error().message;
    return {};
  }
  EXPECT_TRUE(run->verification.passed()) << text << ": " << describe(run->verification, layer);
  const HostArray y = read_output(*device, layer, run->call).value();
  std::vector<double> values;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    values.push_back(y.at(i));
  }
  return values;
}

// Weights are the identity at the first tap, so each input is copied to every second output, exactly.
TEST(Reports, onnxruntime_32506) {
  for (const std::string_view type : kTypes) {
    for (const std::string_view layout : {"nchw", "nhwc"}) {
      const std::string text =
          fmt::format("conv_transpose1d 4 -> 4; kernel 4; stride 2; input 1x2; {}; layout {}", type, layout);
      const Layer layer = parse_layer(text).value();
      const InputSizes sizes = known_sizes(layer).value();
      LayerInputs inputs = random_inputs(layer, shape_of(layer, sizes).value(), 1);
      const bool is_last = layout == "nhwc";
      for (std::int64_t i = 0; i < inputs.weight.size(); ++i) {
        inputs.weight.set(i, 0);
      }
      for (std::int64_t channel = 0; channel < 4; ++channel) {
        inputs.weight.set(channel * 16 + channel * 4, 1);
        for (std::int64_t column = 0; column < 2; ++column) {
          inputs.x.set(is_last ? column * 4 + channel : channel * 2 + column, static_cast<double>(column + 1));
        }
      }
      const std::vector<double> y = results_of(text, sizes, inputs);
      ASSERT_EQ(y.size(), 24u) << text;
      constexpr std::array<double, 6> kWanted = {1, 0, 2, 0, 0, 0};
      for (std::size_t channel = 0; channel < 4; ++channel) {
        for (std::size_t column = 0; column < kWanted.size(); ++column) {
          EXPECT_EQ(y[is_last ? column * 4 + channel : channel * 6 + column], kWanted[column]) << text;
        }
      }
    }
  }
}

// Outputs beyond the largest f16 are infinities, and others are not; nothing is NaN.
TEST(Reports, pytorch_153700) {
  for (const std::string_view layout : {"nchw", "nhwc"}) {
    for (const std::string_view fuse : {"", "; fuse hardtanh(-1, 1)"}) {
      const std::string text = fmt::format(
          "conv_transpose2d 7 -> 3; kernel 15x18; padding 2; input 1x15x23; dtype f16; layout {}{}", layout, fuse);
      const Layer layer = parse_layer(text).value();
      const InputSizes sizes = known_sizes(layer).value();
      const Shape shape = shape_of(layer, sizes).value();
      LayerInputs inputs = random_inputs(layer, shape, 1);
      for (std::int64_t i = 0; i < inputs.weight.size(); ++i) {
        inputs.weight.set(i, -9990);
      }
      const std::vector<double> y = results_of(text, sizes, inputs);
      const Definition wanted = define_all(layer, shape, inputs);
      ASSERT_EQ(y.size(), wanted.sum.size());
      // Half a unit in the last place more than the largest number is rounded to infinity. What is so near to that that
      // the sum's own rounding decides is left out.
      constexpr double kRoundsToInfinity = 65520, kNear = 16;
      int infinities = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        EXPECT_FALSE(std::isnan(y[i])) << text << " at " << i;
        const double distance = std::abs(wanted.sum[i]) - kRoundsToInfinity;
        if (std::abs(distance) > kNear) {
          EXPECT_EQ(std::isinf(y[i]), fuse.empty() && distance > 0) << text << " at " << i << ": " << wanted.sum[i];
        }
        infinities += std::isinf(y[i]) ? 1 : 0;
      }
      EXPECT_EQ(infinities > 0, fuse.empty()) << text;
    }
  }
}

// A chunk's results are those of the whole where its neighbours' are added: outputs past a chunk's end, which the
// padding cuts off, belong to the next one.
TEST(Reports, VoxCPM_PR_212_by_chunks) {
  const std::string layer_text = "conv_transpose1d 4 -> 3; kernel 16; stride 8; input 1x?; dtype f64; padding 0:";
  const Layer cut = parse_layer(layer_text + "8").value(), whole = parse_layer(layer_text + "0").value();
  constexpr std::int64_t kWidth = 7, kChunk = 3, kIn = 4, kOut = 3;
  const InputSizes sizes{1, {1, kWidth}};
  const LayerInputs inputs = random_inputs(cut, shape_of(cut, sizes).value(), 1);
  const std::vector<double> wanted = results_of(layer_text + "8", sizes, inputs);
  std::vector<double> added((kWidth * 8 + 8) * kOut, 0.0);
  for (std::int64_t first = 0; first < kWidth; first += kChunk) {
    const std::int64_t width = std::min(kChunk, kWidth - first);
    const InputSizes chunk_sizes{1, {1, width}};
    LayerInputs chunk = random_inputs(whole, shape_of(whole, chunk_sizes).value(), 1);
    chunk.weight = inputs.weight;
    for (std::int64_t channel = 0; channel < kIn; ++channel) {
      for (std::int64_t column = 0; column < width; ++column) {
        chunk.x.set(channel * width + column, inputs.x.at(channel * kWidth + first + column));
      }
    }
    const std::vector<double> y = results_of(layer_text + "0", chunk_sizes, chunk);
    const std::int64_t outputs = width * 8 + 8;
    ASSERT_EQ(std::ssize(y), outputs * kOut);
    for (std::int64_t channel = 0; channel < kOut; ++channel) {
      for (std::int64_t column = 0; column < outputs; ++column) {
        added[static_cast<std::size_t>(channel * (kWidth * 8 + 8) + first * 8 + column)] +=
            y[static_cast<std::size_t>(channel * outputs + column)];
      }
    }
  }
  for (std::int64_t channel = 0; channel < kOut; ++channel) {
    for (std::int64_t column = 0; column < kWidth * 8; ++column) {
      EXPECT_NEAR(added[static_cast<std::size_t>(channel * (kWidth * 8 + 8) + column)],
                  wanted[static_cast<std::size_t>(channel * kWidth * 8 + column)], 1e-14);
    }
  }
}

std::string error_of(const std::string& text) {
  const auto layer = parse_layer(text);
  return layer ? "" : layer.error().front().message;
}

TEST(Reports, Paddle_71180) {
  const std::string text = "conv_transpose2d 47 -> 47; kernel 46; padding 46x15; groups 47; input ";
  EXPECT_THAT(error_of(text + "1x47x47"), HasSubstr("makes the output height 0 for input height 47"));
  const Layer open = parse_layer(text + "1x?x?").value();
  const Result<Shape> shape = shape_of(open, {1, {47, 47}});
  ASSERT_FALSE(shape);
  EXPECT_THAT(shape.error().message, HasSubstr("output height would be 0"));
}

TEST(Reports, coreai_torch_PR_79_output_padding_3) {
  EXPECT_EQ(error_of("conv_transpose2d 8 -> 8; kernel 3; dilation 3; output_padding 3; input 1x8x8"),
            "output_padding 3 must be smaller than stride 1 or dilation 3");
}

TEST(Reports, onnxruntime_23273_one_tap_more) {
  EXPECT_EQ(error_of("conv_transpose1d 1 -> 1; kernel 4097; stride 1024; input 1x8"),
            "kernel 4097 has 4097 taps; at most 4096 are supported");
}

// Arrays of our own calls have their sizes: a bias of one element for eight channels is an error. (The C API has
// pointers alone.)
TEST(Reports, onnxruntime_26144) {
  const Layer layer = parse_layer("conv_transpose1d 8 -> 8; kernel 3; bias; input 1x8").value();
  const Shape shape = shape_of(layer, known_sizes(layer).value()).value();
  LayerInputs inputs = random_inputs(layer, shape, 1);
  EXPECT_TRUE(check_inputs(layer, shape, inputs));
  inputs.bias = make_array(Dtype::kF32, {1});
  const Result<void> checked = check_inputs(layer, shape, inputs);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("bias"));
}

}  // namespace
}  // namespace convtgen::testing
