// What f32x3 keeps of fp32 where numbers are far apart, very small, very large, or no numbers: element by element. Of
// each layer a run looks at some of the properties (tests/sample/sample.h).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "runtime/reference/run_layer.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/planner/problems.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

using Random = std::mt19937_64;
/// Gives element `index` of an array, made of some random numbers.
using Fill = std::function<double(std::int64_t index, Random& random)>;

double uniform(Random& random) {
  return 2 * std::generate_canonical<double, 53>(random) - 1;
}
/// Of either sign, its exponent uniform down to 10^-decades.
double spread(Random& random, double decades) {
  const double magnitude = std::pow(10, -decades * std::generate_canonical<double, 53>(random));
  return random() % 2 == 0 ? magnitude : -magnitude;
}

struct Results {
  Definition want;
  HostArray got;
  double most_x = 0, most_weight = 0;
};

struct Case {
  const char* name;
  const char* layer;
  bool images_share_tiles = false;
  std::int64_t least_stages = 1;  // that the input channels of a tile come in
  bool of_warps = false;          // products of warps, not of warpgroups
  bool of_pixels = false;         // by the template that makes positions of all images one sequence
};
constexpr Case kCases[] = {
    {"Rows", "conv_transpose2d 20 -> 12; kernel 3x3; padding 1x1; input 3x19x40; compute f32x3"},
    {"ChannelsLast",
     "conv_transpose2d 20 -> 8; kernel 4x4; stride 2x2; padding 1x1; input 3x11x34; compute f32x3; layout nhwc"},
    {"LargeKernel", "conv_transpose2d 5 -> 4; kernel 7x6; padding 2x3; input 3x18x36; compute f32x3"},
    {"SmallImages", "conv_transpose2d 20 -> 12; kernel 3x3; padding 1x1; input 3x5x8; compute f32x3", true},
    {"ImagesInOnePiece", "conv_transpose2d 40 -> 12; kernel 2x2; stride 2x2; input 3x9x14; compute f32x3"},
    {"ManyChannelsInOnePiece", "conv_transpose2d 1040 -> 12; kernel 2x2; stride 2x2; input 3x6x8; compute f32x3"},
    {"SmallImagesChannelsLast", "conv_transpose2d 20 -> 12; kernel 2x3; input 3x5x7; compute f32x3; layout nhwc", true},
    {"ProductsOfWarps", "conv_transpose2d 20 -> 12; kernel 3x5; padding 1x1; input 3x9x20; compute f32x3", false, 1,
     true},
    {"ProductsOfWarpsChannelsLast",
     "conv_transpose2d 20 -> 8; kernel 4x4; stride 2x2; padding 1x1; input 3x11x14; compute f32x3; layout nhwc", false,
     1, true},
    {"Pixels", "conv_transpose2d 20 -> 12; kernel 4x4; stride 2x2; padding 1x1; input 3x7x6; compute f32x3", false, 1,
     true, true},
    {"PixelsChannelsLast", "conv_transpose2d 40 -> 8; kernel 3x3; padding 1x1; input 3x5x8; compute f32x3; layout nhwc",
     false, 1, true, true},
};

class SplitFloats : public ::testing::TestWithParam<Case> {
 public:
  void a_range_of_eight_decades_in_a_tile_is_kept();
  void positive_sums_are_kept();
  void what_is_lost_beyond_that_is_bounded();
  void images_may_have_any_magnitudes();
  void scales_are_undone_where_no_float_does_it();
  void infinities_and_nans_come_out_where_fp32_has_them();

 protected:
  void SetUp() override {
    device_ = test_device(1);
    ASSERT_NE(device_, nullptr);
    problem_ = {parse_layer(GetParam().layer).value(), Direction::kForward, target_named("sm_90a").value()};
    problem_.target.multiprocessors = GetParam().images_share_tiles ? 1 : 132;  // the fewer, the fuller are tiles
    const auto plans = GetParam().of_pixels ? kMmaPixels.plans(problem_).value() : plan(problem_).value();
    const auto found = std::ranges::find_if(plans, [&](const Plan& plan) {
      return (GetParam().of_pixels ||
              (plan.parameters.contains(GetParam().of_warps ? "most_terms" : "tile_n") &&
               (!GetParam().of_warps && integer(plan, "tile_n") > 1) == GetParam().images_share_tiles)) &&
             integer(plan, "block_k") * (GetParam().least_stages - 1) < problem_.layer.in_channels;
    });
    ASSERT_NE(found, plans.end());
    plan_ = *found;
    const Layer& layer = problem_.layer;
    sizes_ = known_sizes(layer).value();
    shape_ = shape_of(layer, sizes_).value();
  }

  /// Runs the layer on these inputs.
  Results run(const Fill& x, const Fill& weight) {
    const Layer& layer = problem_.layer;
    Random random(1);
    Results results;
    const auto filled = [&](std::vector<std::int64_t> extents, const Fill& fill, double& most) {
      HostArray array = make_array(Dtype::kF32, std::move(extents));
      for (std::int64_t i = 0; i < array.size(); ++i) {
        array.set(i, fill(i, random));
        most = std::isfinite(array.at(i)) ? std::max(most, std::abs(array.at(i))) : most;
      }
      return array;
    };
    const LayerInputs inputs{filled(input_shape(layer, shape_), x, results.most_x),
                             filled(weight_shape(layer), weight, results.most_weight),
                             {}};
    auto loaded = load_layer(*device_, problem_, plan_);
    EXPECT_TRUE(loaded) << loaded.error().message;
    const auto call = make_call(*device_, *loaded, sizes_, inputs);
    EXPECT_TRUE(call) << call.error().message;
    const auto ran = run_call(*device_, *loaded, *call);
    EXPECT_TRUE(ran) << ran.error().message;
    results.got = read_output(*device_, layer, *call).value();
    results.want = define_all(layer, shape_, inputs);
    return results;
  }

  /// Every output lies within 2e-6 of its own sum of |x| * |w|, `lost` for each of its terms, and a few of the smallest
  /// denormals; what is infinite or NaN in fp32 is that. Border outputs may be NaN if `padded`: the zeros around the
  /// image are multiplied too.
  void expect_close(const Results& results, double lost = 0, bool padded = false) {
    const Layer& layer = problem_.layer;
    const std::int64_t inner_terms = layer.in_channels * layer.axes[kHeight].kernel / layer.axes[kHeight].stride *
                                     layer.axes[kWidth].kernel / layer.axes[kWidth].stride;
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < results.got.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double got = results.got.at(i);
      const double want = static_cast<float>(results.want.sum[at]);
      const double bound = 2e-6 * results.want.magnitude[at] + lost * static_cast<double>(results.want.terms[at]) +
                           8.0 * std::numeric_limits<float>::denorm_min();
      const bool same = std::isfinite(want) ? std::abs(got - results.want.sum[at]) <= bound
                                            : (std::isnan(want) ? std::isnan(got) : got == want);
      const bool border = padded && results.want.terms[at] < inner_terms && std::isnan(got);
      wrong += same || border ? 0 : 1;
      if (!same && !border && wrong < 4) {
        ADD_FAILURE() << fmt::format("output {}: {} for {}; legal is {:.3}", i, got, results.want.sum[at], bound);
      }
    }
    EXPECT_EQ(wrong, 0) << "of " << results.got.size();
  }

  /// The image of an element of x, and whether it lies in the right half of it.
  [[nodiscard]] std::int64_t image_of(std::int64_t index) const {
    return index / (shape_.input_elements / shape_.batch);
  }
  [[nodiscard]] bool right_half(std::int64_t index) const {
    const std::int64_t inner = problem_.layer.layout == Layout::kNhwc ? problem_.layer.in_channels : 1;
    return index / inner % shape_.in[kWidth] >= shape_.in[kWidth] / 2;
  }

  /// The stage that an element of x comes in, and that of the input channel of a weight; the weight's output channel.
  [[nodiscard]] std::int64_t stage_of(std::int64_t index) const {
    const std::int64_t channels = problem_.layer.in_channels;
    const std::int64_t inner = problem_.layer.layout == Layout::kNhwc ? 1 : shape_.in[kHeight] * shape_.in[kWidth];
    return index / inner % channels / integer(plan_, "block_k");
  }
  [[nodiscard]] std::int64_t stage_of_weight(std::int64_t index) const {
    const Layer& layer = problem_.layer;
    return index / (tap_count(layer) * layer.out_channels) / integer(plan_, "block_k");
  }
  [[nodiscard]] std::int64_t channel_of_weight(std::int64_t index) const {
    return index / (tap_count(problem_.layer)) % problem_.layer.out_channels;
  }

  std::unique_ptr<Device> device_;
  Problem problem_;
  Plan plan_;
  InputSizes sizes_;
  Shape shape_;
};

// Half of each image is at least 10^7 times smaller than the rest, so there are outputs of small terms alone.
void SplitFloats::a_range_of_eight_decades_in_a_tile_is_kept() {
  expect_close(
      run([&](std::int64_t i, Random& random) { return right_half(i) ? 1e-7 * spread(random, 1) : spread(random, 8); },
          [](std::int64_t, Random& random) { return spread(random, 8); }));
}

// Where sums don't cancel, truncation shows.
void SplitFloats::positive_sums_are_kept() {
  expect_close(run([](std::int64_t, Random& random) { return std::abs(uniform(random)); },
                   [](std::int64_t, Random& random) { return std::abs(uniform(random)); }));
}

void SplitFloats::what_is_lost_beyond_that_is_bounded() {
  const Results results =
      run([&](std::int64_t i, Random& random) { return right_half(i) ? 1e-13 * uniform(random) : uniform(random); },
          [](std::int64_t, Random& random) { return random() % 2 == 0 ? 1e-13 * uniform(random) : uniform(random); });
  expect_close(results, 0x1.8p-49 * results.most_x * results.most_weight);
}

void SplitFloats::images_may_have_any_magnitudes() {
  const double magnitudes[] = {1e30, 1e-30, 1};
  expect_close(run([&](std::int64_t i, Random& random) { return magnitudes[image_of(i) % 3] * uniform(random); },
                   [](std::int64_t, Random& random) { return uniform(random); }));
}

// Products of what is as large or as small as can be; sums that overflow are infinite.
void SplitFloats::scales_are_undone_where_no_float_does_it() {
  const double magnitudes[] = {3e38, 1e-38, 1e-44};
  for (const double weight : {3e38, 1e38, 1e-3, 1e-38}) {
    expect_close(
        run([&](std::int64_t i, Random& random) { return magnitudes[image_of(i) % 3] * std::abs(uniform(random)); },
            [&](std::int64_t, Random& random) { return weight * std::abs(uniform(random)); }));
  }
}

void SplitFloats::infinities_and_nans_come_out_where_fp32_has_them() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto sometimes = [&](Random& random, double otherwise) {
    const double values[] = {kInfinity, -kInfinity, std::nan("")};
    return random() % 150 == 0 ? values[random() % 3] : otherwise;
  };
  // Numbers of few bits, whose low parts are zero, zeros, and numbers that f16 has no place for with the others.
  const auto number = [](Random& random) {
    const double values[] = {1, -2, 0, 0.1, 1e-14, -1e-3};
    return values[random() % 6];
  };
  expect_close(run([&](std::int64_t, Random& random) { return sometimes(random, number(random)); },
                   [&](std::int64_t, Random& random) { return number(random); }),
               0x1.8p-49 * 4);
  expect_close(
      run([&](std::int64_t, Random& random) { return std::abs(uniform(random)) < 0.1 ? 0.0 : uniform(random); },
          [&](std::int64_t, Random& random) { return sometimes(random, number(random)); }),
      0x1.8p-49 * 4, true);
}

constexpr Case kStagedCases[] = {
    {"Rows", "conv_transpose2d 68 -> 8; kernel 2x2; input 2x9x32; compute f32x3", false, 4},
    {"RowsOfManyTaps", "conv_transpose2d 60 -> 8; kernel 3x7; padding 1x3; input 1x9x32; compute f32x3", false, 4},
    {"ManyTapsOfSomePhases", "conv_transpose2d 36 -> 4; kernel 7x9; stride 2x1; input 1x5x12; compute f32x3", false, 3},
    {"ImagesInOnePiece", "conv_transpose2d 120 -> 8; kernel 2x2; stride 2x2; input 3x6x10; compute f32x3", false, 4},
    {"ManyChannelsInOnePiece", "conv_transpose2d 520 -> 8; kernel 2x2; stride 2x2; input 1x6x10; compute f32x3", false,
     4},
    {"Copies", "conv_transpose2d 68 -> 8; kernel 1x2; stride 1x2; input 2x9x11; compute f32x3", false, 3},
    {"ChannelsLast",
     "conv_transpose2d 68 -> 8; kernel 4x4; stride 2x2; padding 1x1; input 2x6x9; compute f32x3; layout nhwc", false,
     4},
    {"SmallImages", "conv_transpose2d 68 -> 8; kernel 2x2; input 5x5x8; compute f32x3", true, 4},
    {"ProductsOfWarps", "conv_transpose2d 196 -> 8; kernel 2x2; input 2x9x12; compute f32x3", false, 4, true},
    {"ProductsOfWarpsChannelsLast",
     "conv_transpose2d 196 -> 8; kernel 3x3; stride 2x2; input 2x6x9; compute f32x3; layout nhwc", false, 4, true},
    {"Pixels", "conv_transpose2d 104 -> 8; kernel 4x4; stride 2x2; padding 1x1; input 3x5x4; compute f32x3", false, 4,
     true, true},
    {"PixelsChannelsLast", "conv_transpose2d 132 -> 8; kernel 2x2; input 3x5x6; compute f32x3; layout nhwc", false, 4,
     true, true},
};

class SplitStages : public SplitFloats {
 public:
  void magnitudes_may_jump_from_stage_to_stage();
  void what_is_lost_beside_far_larger_stages_is_bounded();
  void a_range_of_eight_decades_is_kept_beside_other_stages();

 protected:
  /// Each output channel is made from one stage alone, whose magnitude bounds its error.
  [[nodiscard]] double weight(std::int64_t index, double value) const {
    return channel_of_weight(index) % 4 == stage_of_weight(index) % 4 ? value : 0;
  }
};

// Accumulators of stages whose magnitudes are near are made with one scale, others are put away or brought to another
// one.
void SplitStages::magnitudes_may_jump_from_stage_to_stage() {
  constexpr double kZero = -std::numeric_limits<double>::infinity();
  constexpr double kExponents[][4] = {{0, 1, 2, 3},    {0, -1, -2, -3},    {0, 2, 4, 6},     {0, -2, -4, -6},
                                      {0, 39, 0, -39}, {39, 38, kZero, 0}, {0, kZero, 1, -1}};
  for (const auto& exponents : kExponents) {
    expect_close(
        run([&](std::int64_t i,
                Random& random) { return std::exp2(exponents[(stage_of(i) + image_of(i)) % 4]) * uniform(random); },
            [&](std::int64_t i, Random& random) { return weight(i, uniform(random)); }));
  }
}

// Accumulators that are brought to another scale stay finite: beyond 2^80 something is lost of what is small.
void SplitStages::what_is_lost_beside_far_larger_stages_is_bounded() {
  for (const double exponent : {60, 100}) {
    const double exponents[] = {0, exponent, 0, -exponent};
    const Results results =
        run([&](std::int64_t i,
                Random& random) { return std::exp2(exponents[(stage_of(i) + image_of(i)) % 4]) * uniform(random); },
            [&](std::int64_t i, Random& random) { return weight(i, uniform(random)); });
    expect_close(results, 0x1.8p-129 * results.most_x * results.most_weight);
  }
}

// Between stages the largest magnitude doubles or halves, so that the scale stays, or falls by more. Half of each image
// is small.
void SplitStages::a_range_of_eight_decades_is_kept_beside_other_stages() {
  for (const double factor : {0.05, 0.51, 2.0}) {
    expect_close(run(
        [&](std::int64_t i, Random& random) {
          const double magnitude = right_half(i) ? 1e-8 * std::max(0.9, uniform(random)) : spread(random, 8);
          return (stage_of(i) % 2 == 0 ? 1 : factor) * (i % 7 == 0 && !right_half(i) ? 1.0 : magnitude);
        },
        [&](std::int64_t i, Random& random) { return weight(i, spread(random, 8)); }));
  }
}

template <class Fixture>
struct Property {
  const char* name;
  void (Fixture::*holds)();
};
constexpr Property<SplitFloats> kProperties[] = {
    {"eight_decades", &SplitFloats::a_range_of_eight_decades_in_a_tile_is_kept},
    {"positive", &SplitFloats::positive_sums_are_kept},
    {"lost_beyond", &SplitFloats::what_is_lost_beyond_that_is_bounded},
    {"images", &SplitFloats::images_may_have_any_magnitudes},
    {"scales_undone", &SplitFloats::scales_are_undone_where_no_float_does_it},
    {"no_numbers", &SplitFloats::infinities_and_nans_come_out_where_fp32_has_them}};
constexpr Property<SplitStages> kPropertiesOfStages[] = {
    {"jumps", &SplitStages::magnitudes_may_jump_from_stage_to_stage},
    {"far_larger", &SplitStages::what_is_lost_beside_far_larger_stages_is_bounded},
    {"eight_decades_of_stages", &SplitStages::a_range_of_eight_decades_is_kept_beside_other_stages}};

/// A sample of all layers' properties, by layers: half as many as there are layers, and each property at least once.
template <class Fixture>
std::map<std::string_view, std::vector<Property<Fixture>>> drawn_properties(
    std::span<const Case> cases, std::span<const Property<Fixture>> properties) {
  std::vector<Candidate> candidates;
  for (const Case& each : cases) {
    for (const auto& [name, holds] : properties) {
      candidates.push_back({fmt::format("{}/{}", each.name, name), {name}});
    }
  }
  std::map<std::string_view, std::vector<Property<Fixture>>> drawn;
  for (const std::size_t i : sample(candidates, (cases.size() + 1) / 2)) {
    drawn[cases[i / properties.size()].name].push_back(properties[i % properties.size()]);
  }
  return drawn;
}

/// The layers whose properties are drawn.
template <class Fixture>
std::vector<Case> drawn_cases(std::span<const Case> cases, std::span<const Property<Fixture>> properties) {
  const auto drawn = drawn_properties(cases, properties);
  std::vector<Case> out;
  std::ranges::copy_if(cases, std::back_inserter(out), [&](const Case& each) { return drawn.contains(each.name); });
  return out;
}

/// Holds a layer to what is drawn of its properties.
template <class Fixture>
void expect_properties(Fixture& layer, std::span<const Case> cases, std::span<const Property<Fixture>> properties) {
  const std::vector<Property<Fixture>> drawn = drawn_properties(cases, properties).at(Fixture::GetParam().name);
  for (const auto& [name, holds] : drawn) {
    const std::string full = fmt::format("{}/{}", Fixture::GetParam().name, name);
    SCOPED_TRACE(fmt::format("replay: CONVTGEN_TEST_ONLY='{}' f32x3_test", full));
    fmt::print("{}\n", full);
    (layer.*holds)();
  }
}

TEST_P(SplitFloats, KeepWhatFp32Keeps) {
  expect_properties<SplitFloats>(*this, kCases, kProperties);
}
TEST_P(SplitStages, KeepWhatFp32Keeps) {
  expect_properties<SplitStages>(*this, kStagedCases, kPropertiesOfStages);
}

// CONVTGEN_TEST_ONLY may leave nothing of one of them.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SplitStages);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SplitFloats);
INSTANTIATE_TEST_SUITE_P(Layers, SplitStages,
                         ::testing::ValuesIn(drawn_cases<SplitStages>(kStagedCases, kPropertiesOfStages)),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Layers, SplitFloats, ::testing::ValuesIn(drawn_cases<SplitFloats>(kCases, kProperties)),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace convtgen::testing
