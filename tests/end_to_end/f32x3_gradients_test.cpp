// f32x3's gradient of the weights on numbers that tell: it keeps what fp32 keeps. Scales belong to channels, so
// channels may have any magnitudes. A result has as many terms as the batch has positions.
//
// CONVTGEN_TEST_DEVICE  host (default) or cuda, whose tensor cores truncate what they add
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/reference/layer_arrays.h"
#include "runtime/reference/run_layer.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

using Random = std::mt19937_64;
/// An element of an array: at a place of a channel of an image.
using Fill = std::function<double(const ElementPosition& at, Random& random)>;

double uniform(Random& random) {
  return 2 * std::generate_canonical<double, 53>(random) - 1;
}
/// Of either sign, its exponent uniform down to 10^-decades.
double spread(Random& random, double decades) {
  const double magnitude = std::pow(10, -decades * std::generate_canonical<double, 53>(random));
  return random() % 2 == 0 ? magnitude : -magnitude;
}

/// A parameter that plans of one template have alone.
constexpr std::string_view kUnits = "row_stages", kPixels = "tile_images", kRows = "rows_in_columns";

struct Case {
  const char* name;
  const char* layer;
  const char* block;      // with_block(): few slices, so that each has several stages
  bool has_zeros = true;  // whether products also have zeros around an image
  std::string_view by = kUnits;
  double lost = 0;  // of a value, at most, however small it is
};
constexpr double kLostOfTf32 = 0x1p-136;
constexpr Case kCases[] = {
    {"Rows", "conv_transpose2d 12 -> 20; kernel 3x3; padding 1x1; input 3x9x20; compute f32x3; directions grad_weight",
     "taps_h 3, taps_w 3, block_out 16, block_in 8, consumer_groups 2, flat 0, tile_rows 2, tile_columns 16, stages 2, "
     "producers 128, shared_totals 0, slices 2, scan_slices 2, type 0, splits 0"},
    {"ChannelsLast",
     "conv_transpose2d 16 -> 24; kernel 4x4; stride 2x2; padding 1x1; input 3x6x9; compute f32x3; layout nhwc; "
     "directions grad_weight",
     "taps_h 2, taps_w 4, block_out 16, block_in 16, consumer_groups 2, flat 1, tile_rows 4, stages 2, producers 128, "
     "shared_totals 0, slices 2, scan_slices 3, type 0, splits 0"},
    {"WholeProducts",
     "conv_transpose2d 10 -> 12; kernel 2x2; stride 2x2; input 3x16x32; compute f32x3; directions grad_weight",
     "taps_h 2, taps_w 2, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_rows 1, tile_columns 32, stages "
     "2, "
     "producers 128, shared_totals 1, slices 1, scan_slices 2, type 0, splits 0",
     false},
    {"Groups",
     "conv_transpose2d 36 -> 32; kernel 3x2; stride 1x2; groups 2; input 2x7x12; compute f32x3; directions grad_weight",
     "taps_h 3, taps_w 2, block_out 16, block_in 24, consumer_groups 2, flat 0, tile_rows 2, tile_columns 16, stages "
     "2, "
     "producers 128, shared_totals 0, slices 1, scan_slices 1, type 0, splits 0"},
    // More positions than after which low parts are promoted: 32 times 16 products of 16.
    {"LongSums", "conv_transpose2d 8 -> 16; kernel 1x2; input 5x64x64; compute f32x3; directions grad_weight",
     "taps_h 1, taps_w 2, block_out 16, block_in 8, consumer_groups 2, flat 0, tile_rows 4, tile_columns 64, stages 2, "
     "producers 128, row_stages 0, shared_totals 0, slices 1, scan_slices 4, type 0, splits 0"},
    {"Pixels",
     "conv_transpose2d 24 -> 16; kernel 3x3; padding 1x1; input 3x9x14; compute f32x3; directions grad_weight",
     "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_images 1, tile_rows 2, "
     "tile_columns 16, stages 3, shared_totals 0, slices 2, scan_slices 2, chunks 2, chunk_images 2",
     true, kPixels},
    {"PixelsChannelsLast",
     "conv_transpose2d 16 -> 24; kernel 2x2; stride 2x2; input 5x3x5; compute f32x3; layout nhwc; directions "
     "grad_weight",
     "taps_h 2, taps_w 2, block_out 16, block_in 16, consumer_groups 2, flat 1, tile_images 2, tile_rows 3, "
     "tile_columns 16, stages 3, shared_totals 1, slices 1, scan_slices 1, chunks 2, chunk_images 3",
     true, kPixels},
    {"UnitsOfTf32",
     "conv_transpose2d 12 -> 20; kernel 3x3; stride 3x2; padding 1x1; input 3x9x13; compute f32x3; directions "
     "grad_weight",
     "taps_h 3, taps_w 3, block_out 16, block_in 8, consumer_groups 2, flat 1, tile_rows 2, stages 2, producers 128, "
     "row_stages 0, shared_totals 0, slices 2, scan_slices 1, type 2, splits 1, promote_stages 2",
     true, kUnits, kLostOfTf32},
    {"TurnedUnitsOfTf32",
     "conv_transpose2d 12 -> 20; kernel 3x4; stride 1x2; padding 1x1; input 3x5x20; compute f32x3; directions "
     "grad_weight",
     "taps_h 3, taps_w 4, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_rows 2, tile_columns 16, stages "
     "2, "
     "producers 128, row_stages 2, shared_totals 0, slices 1, scan_slices 1, type 2, splits 1",
     true, kUnits, kLostOfTf32},
    {"CopiedRows",
     "conv_transpose2d 10 -> 20; kernel 4x4; stride 2x2; padding 1x1; input 3x6x40; compute f32x3; directions "
     "grad_weight",
     "taps_h 2, taps_w 4, block_out 16, block_in 16, rows_in_columns 0, consumer_groups 2, tile_rows 1, "
     "tile_columns 32, swizzle 128, input_copies 1, window_copies 1, producers 128, stages 2, slices 2, promote_stages "
     "2",
     true, kRows, kLostOfTf32},
    {"RowsThroughRegisters",
     "conv_transpose2d 12 -> 20; kernel 3x3; padding 1x1; input 3x9x18; compute f32x3; directions grad_weight",
     "taps_h 3, taps_w 3, block_out 16, block_in 8, rows_in_columns 1, consumer_groups 2, tile_rows 2, "
     "tile_columns 16, swizzle 64, input_copies 0, window_copies 0, producers 128, stages 2, slices 2",
     true, kRows, kLostOfTf32},
    {"FlatPatches",
     "conv_transpose2d 12 -> 20; kernel 2x2; stride 2x2; bias; input 4x8x14; compute f32x3; directions grad_weight",
     "taps_h 2, taps_w 2, block_out 16, block_in 8, rows_in_columns 0, consumer_groups 2, tile_rows 4, "
     "tile_columns 14, swizzle 32, input_copies 1, window_copies 1, producers 128, stages 2, slices 2, bias_slices 2",
     false, kRows, kLostOfTf32},
};

struct Results {
  Definition want;
  HostArray got;
  double most_x = 0, most_grad_y = 0;
  std::vector<bool> endless_in, endless_out;  // channels with an infinity or a NaN
};

class SplitGradients : public ::testing::TestWithParam<Case> {
 public:
  void channels_may_have_any_magnitudes();
  void images_may_have_any_magnitudes();
  void eight_decades_of_a_channel_are_kept();
  void what_is_lost_beyond_that_is_bounded();
  void positive_sums_are_kept();
  void scales_are_undone_where_no_float_does_it();
  void infinities_and_nans_stay_in_their_channels();

 protected:
  void SetUp() override {
    device_ = test_device(1);
    ASSERT_NE(device_, nullptr);
    problem_ = {parse_layer(GetParam().layer).value(), Direction::kGradWeight, target_named("sm_90a").value()};
    const auto plans = plan(problem_).value();
    const auto found =
        std::ranges::find_if(plans, [](const Plan& plan) { return plan.parameters.contains(GetParam().by); });
    ASSERT_NE(found, plans.end());
    plan_ = with_block(problem_, *found, GetParam().block);
    sizes_ = known_sizes(problem_.layer).value();
    shape_ = shape_of(problem_.layer, sizes_).value();
  }

  /// Runs the layer on these inputs.
  Results run(const Fill& x, const Fill& grad_y) {
    const Layer& layer = problem_.layer;
    Random random(1);
    Results results;
    LayerInputs inputs;
    const auto fill = [&](Role role, const Fill& element, double& most, std::vector<bool>& endless) {
      HostArray array = make_array(Dtype::kF32, array_shape(layer, shape_, role));
      endless.assign(static_cast<std::size_t>(images_of(shape_, role).channels), false);
      for (std::int64_t i = 0; i < array.size(); ++i) {
        const ElementPosition at = position_of(layer, shape_, role, i);
        array.set(i, element(at, random));
        if (std::isfinite(array.at(i))) {
          most = std::max(most, std::abs(array.at(i)));
        } else {
          endless[static_cast<std::size_t>(at.c)] = true;
        }
      }
      inputs.set(role, std::move(array));
    };
    fill(Role::kX, x, results.most_x, results.endless_in);
    fill(Role::kGradY, grad_y, results.most_grad_y, results.endless_out);
    auto loaded = load_layer(*device_, problem_, plan_);
    EXPECT_TRUE(loaded) << loaded.error().message;
    const auto call = make_call(*device_, *loaded, sizes_, inputs);
    EXPECT_TRUE(call) << call.error().message;
    const auto ran = run_call(*device_, *loaded, *call);
    EXPECT_TRUE(ran) << ran.error().message;
    results.got = read_output(*device_, layer, *call, Role::kGradWeight).value();
    results.want = define_all(layer, shape_, inputs, Role::kGradWeight);
    return results;
  }

  /// Every gradient lies within 2e-6 of its own sum of |x| * |grad_y|, `lost` for each of its terms, and a few of the
  /// smallest denormals; what is infinite or NaN in fp32 is that. Where products have zeros, those of channels with
  /// infinities may be NaN.
  void expect_close(const Results& results, double lost = 0) {
    const Layer& layer = problem_.layer;
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < results.got.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double got = results.got.at(i);
      const double want = static_cast<float>(results.want.sum[at]);
      const double bound = 2e-6 * results.want.magnitude[at] + lost * static_cast<double>(results.want.terms[at]) +
                           8.0 * std::numeric_limits<float>::denorm_min();
      const bool same = std::isfinite(want) ? std::abs(got - results.want.sum[at]) <= bound
                                            : (std::isnan(want) ? std::isnan(got) : got == want);
      const WeightPosition position = weight_position(layer, i);
      const std::int64_t group = position.in / (layer.in_channels / layer.groups);
      const std::int64_t out = group * (layer.out_channels / layer.groups) + position.out;
      const bool is_endless = results.endless_in[static_cast<std::size_t>(position.in)] ||
                              results.endless_out[static_cast<std::size_t>(out)];
      const bool of_zeros = GetParam().has_zeros && is_endless && std::isnan(got);
      wrong += same || of_zeros ? 0 : 1;
      if (!same && !of_zeros && wrong < 4) {
        ADD_FAILURE() << fmt::format("gradient {}: {} for {}; legal is {:.3}", i, got, results.want.sum[at], bound);
      }
    }
    EXPECT_EQ(wrong, 0) << "of " << results.got.size();
  }

  std::unique_ptr<Device> device_;
  Problem problem_;
  Plan plan_;
  InputSizes sizes_;
  Shape shape_;
};

void SplitGradients::channels_may_have_any_magnitudes() {
  const double magnitudes[] = {1e30, 1e-30, 1, 1e-7, 1e12};
  expect_close(run([&](const ElementPosition& at, Random& random) { return magnitudes[at.c % 5] * spread(random, 6); },
                   [&](const ElementPosition& at, Random& random) {
                     return std::min(magnitudes[(at.c + 2) % 5], 1e6) * spread(random, 6);
                   }));
}

// Of a small x and a large grad_y the products are as large as those of other images.
void SplitGradients::images_may_have_any_magnitudes() {
  const double magnitudes[] = {1e7, 1, 1e4};
  expect_close(run([&](const ElementPosition& at, Random& random) { return magnitudes[at.n % 3] * uniform(random); },
                   [&](const ElementPosition& at, Random& random) { return uniform(random) / magnitudes[at.n % 3]; }));
}

// Large elements of x meet zeros, so there are gradients of small terms alone.
void SplitGradients::eight_decades_of_a_channel_are_kept() {
  const std::int64_t middle = shape_.in[kWidth] / 2;
  const std::int64_t beyond = middle * problem_.layer.axes[kWidth].stride + problem_.layer.axes[kWidth].kernel;
  expect_close(
      run([&](const ElementPosition& at,
              Random& random) { return at.at[kWidth] < middle ? spread(random, 8) : 1e-7 * spread(random, 1); },
          [&](const ElementPosition& at, Random& random) { return at.at[kWidth] < beyond ? 0 : spread(random, 8); }));
}

void SplitGradients::what_is_lost_beyond_that_is_bounded() {
  const Results results =
      run([](const ElementPosition&, Random& random) { return (random() % 4 == 0 ? 1 : 1e-13) * uniform(random); },
          [](const ElementPosition&, Random& random) { return (random() % 4 == 0 ? 1e-13 : 1) * uniform(random); });
  expect_close(results, 0x1.8p-49 * results.most_x * results.most_grad_y);
}

// Where sums don't cancel, truncation shows.
void SplitGradients::positive_sums_are_kept() {
  expect_close(run([](const ElementPosition&, Random& random) { return std::abs(uniform(random)); },
                   [](const ElementPosition&, Random& random) { return std::abs(uniform(random)); }));
}

// Products of what is as large or as small as can be; sums that overflow are infinite.
void SplitGradients::scales_are_undone_where_no_float_does_it() {
  const double of_x[] = {3e38, 1e-38, 1e-44};
  const double of_grad_y[] = {3e38, 1e38, 1e-3, 1e-38};
  const Results results =
      run([&](const ElementPosition& at, Random& random) { return of_x[at.c % 3] * std::abs(uniform(random)); },
          [&](const ElementPosition& at, Random& random) { return of_grad_y[at.c % 4] * std::abs(uniform(random)); });
  expect_close(results, GetParam().lost * (results.most_x + results.most_grad_y));
}

void SplitGradients::infinities_and_nans_stay_in_their_channels() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto sometimes = [&](const ElementPosition& at, Random& random, double otherwise) {
    const double values[] = {kInfinity, -kInfinity, std::nan("")};
    return at.c % 3 == 1 && random() % 200 == 0 ? values[random() % 3] : otherwise;
  };
  // Numbers of few bits, whose low parts are zero, zeros, and such with low parts.
  const auto number = [](Random& random) {
    const double values[] = {1, -2, 0.1, 1e-9, -1e-3};
    return values[random() % 5];
  };
  for (const bool of_x : {true, false}) {
    expect_close(run([&](const ElementPosition& at,
                         Random& random) { return of_x ? sometimes(at, random, number(random)) : number(random); },
                     [&](const ElementPosition& at, Random& random) {
                       return of_x ? number(random) : sometimes(at, random, number(random));
                     }));
  }
}

struct Property {
  const char* name;
  void (SplitGradients::*holds)();
};
constexpr Property kProperties[] = {{"channels", &SplitGradients::channels_may_have_any_magnitudes},
                                    {"images", &SplitGradients::images_may_have_any_magnitudes},
                                    {"eight_decades", &SplitGradients::eight_decades_of_a_channel_are_kept},
                                    {"lost_beyond", &SplitGradients::what_is_lost_beyond_that_is_bounded},
                                    {"positive", &SplitGradients::positive_sums_are_kept},
                                    {"scales_undone", &SplitGradients::scales_are_undone_where_no_float_does_it},
                                    {"no_numbers", &SplitGradients::infinities_and_nans_stay_in_their_channels}};

/// A sample of all layers' properties, by layers: each layer has one at least, and each property a layer.
std::map<std::string_view, std::vector<Property>> drawn_properties() {
  std::vector<Candidate> candidates;
  for (const Case& each : kCases) {
    for (const auto& [name, holds] : kProperties) {
      candidates.push_back({fmt::format("{}/{}", each.name, name), {each.name, name}});
    }
  }
  std::map<std::string_view, std::vector<Property>> drawn;
  for (const std::size_t i : sample(candidates, std::size(kCases))) {
    drawn[kCases[i / std::size(kProperties)].name].push_back(kProperties[i % std::size(kProperties)]);
  }
  return drawn;
}

/// The layers whose properties are drawn.
std::vector<Case> drawn_cases() {
  const auto drawn = drawn_properties();
  std::vector<Case> out;
  std::ranges::copy_if(kCases, std::back_inserter(out), [&](const Case& each) { return drawn.contains(each.name); });
  return out;
}

TEST_P(SplitGradients, KeepWhatFp32Keeps) {
  const std::vector<Property> drawn = drawn_properties().at(GetParam().name);
  for (const auto& [name, holds] : drawn) {
    const std::string full = fmt::format("{}/{}", GetParam().name, name);
    SCOPED_TRACE(fmt::format("replay: CONVTGEN_TEST_ONLY='{}' f32x3_gradients_test", full));
    fmt::print("{}\n", full);
    (this->*holds)();
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, SplitGradients, ::testing::ValuesIn(drawn_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace convtgen::testing
