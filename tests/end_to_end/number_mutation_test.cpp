// Every part of the logic of f32x3's scales, of the rounding to tf32 and of `fuse_input` is needed: with any one of
// them wrong, some results are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/layer_arrays.h"
#include "runtime/reference/run_layer.h"
#include "runtime/reference/telling_inputs.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/end_to_end/wrong_numbers.h"
#include "tests/planner/problems.h"
#include "tests/sample/sample.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {
namespace {

volatile int chosen = 0;  // which mutant runs

using Kind = OfTemplate<NumbersKernel>;

/// Of all templates, one of their lists of kernels.
std::vector<Kind> kinds(std::vector<NumbersKernel> WrongNumbers::* field) {
  std::vector<Kind> all;
  for (const TemplateFacts& facts : template_facts()) {
    for (const NumbersKernel& kernel : facts.wrong_numbers.*field) {
      all.push_back({facts.name, kernel});
    }
  }
  return all;
}

/// What results are held to.
enum class Bound {
  kOfMode,  // compare()
  kExact,
  kFinite,
};
struct Telling {
  std::string name;
  LayerInputs inputs;
  Bound bound = Bound::kOfMode;
};

struct ChosenPlan {
  Problem problem;
  Plan plan;
  KernelSource source;
};
/// How many stages the input channels of a group come in.
std::int64_t stages_of(const Layer& layer, const Plan& plan) {
  const auto block_k = integer(plan, "block_k");
  return (layer.in_channels / layer.groups + block_k - 1) / block_k;
}
/// The first of the planner's plans that is of this kind.
ChosenPlan chosen_plan(const Kind& kind) {
  const Layer layer = parse_layer(kind.fact.layer).value();
  Problem problem{layer, layer.directions.front(), target_named("sm_90a").value()};
  problem.target.multiprocessors = kind.fact.multiprocessors;
  const std::vector<Plan> plans = plan(problem).value();
  for (const Plan& plan : plans) {
    if (plan.template_name == kind.template_name && problem.direction == Direction::kGradWeight) {
      const Plan small = with_block(problem, plan, kind.fact.block);
      return {problem, small, specialize(problem, small).value()};
    }
    if (plan.template_name == kind.template_name &&
        (kind.fact.least_stages == 1 || stages_of(problem.layer, plan) >= kind.fact.least_stages)) {
      if (KernelSource source = specialize(problem, plan).value(); source.text.contains(kind.fact.has)) {
        return {problem, plan, std::move(source)};
      }
    }
  }
  throw std::runtime_error(fmt::format("{}: the planner has no such plan", kind.fact.name));
}

std::set<std::string> names_in(const Switched& switched) {
  return {switched.names.begin(), switched.names.end()};
}

/// A layer; a plan's kernels are judged with some inputs. All launches have a single block for each of the
/// column tiles, so that it goes on to other tiles.
class NumberMutation {
 public:
  explicit NumberMutation(const Kind& kind) {
    ChosenPlan found = chosen_plan(kind);
    problem_ = std::move(found.problem);
    plan_ = std::move(found.plan);
    source_ = std::move(found.source);
    layer_ = problem_.layer;
    role_ = roles_of(layer_, problem_.direction).written.front();
    sizes_ = known_sizes(layer_).value();
    shape_ = shape_of(layer_, sizes_).value();
  }

  void expect_each_scale_matters();
  void expect_each_rounding_matters();
  void expect_activation_matters();
  void expect_each_channel_scale_matters();
  void expect_each_gradient_rounding_matters();

 private:
  /// The results of the source are right with all of these inputs, those of each mutant wrong with some.
  void expect_all_wrong(const Switched& switched, const std::vector<Telling>& all, bool few_blocks = true) {
    const auto device = open_host_device(HostOptions{.workers = 2}).value();
    KernelSource source = source_;
    source.text = switched.text;
    auto loaded = load_source(*device, problem_, plan_, source, store_in_memory());
    if (!loaded) {
      ADD_FAILURE() << loaded.error().message << switched.text;
      return;
    }
    std::vector<Definition> definitions;
    std::ranges::transform(all, std::back_inserter(definitions),
                           [&](const Telling& each) { return define_all(layer_, shape_, each.inputs, role_); });
    /// Empty where the results are right.
    const auto judge = [&](std::size_t which) -> std::string {
      auto call = make_call(*device, *loaded, sizes_, all[which].inputs).value();
      if (role_ == Role::kY && few_blocks) {
        call.launches.back().blocks = plan_.launch.main().grid.blocks_per_tile;
      }
      if (const auto ran = run_call(*device, *loaded, call); !ran) {
        return fmt::format("{}: {}", all[which].name, ran.error().message);
      }
      const Definition& want = definitions[which];
      const HostArray got = read_output(*device, layer_, call, role_).value();
      const Bound bound = all[which].bound;
      if (const Comparison found = compare(layer_, shape_, want, got, {}, role_);
          bound == Bound::kOfMode && !found.passed()) {
        return fmt::format("{}: {}", all[which].name, describe(found, layer_));
      }
      for (std::int64_t i = 0; bound != Bound::kOfMode && i < got.size(); ++i) {
        const double sum = want.sum[static_cast<std::size_t>(i)];
        if (bound == Bound::kExact ? got.at(i) != sum : std::isfinite(sum) && !std::isfinite(got.at(i))) {
          return fmt::format("{}: output {} is {} for {}", all[which].name, i, got.at(i), sum);
        }
      }
      return "";
    };
    chosen = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(judge(i), "") << "the source as it is";
    }
    // What detected one mutant often detects the next: it comes first.
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t mutant = 0; mutant < switched.names.size(); ++mutant) {
      chosen = static_cast<int>(mutant) + 1;
      std::string verdict;
      for (std::size_t i = 0; verdict.empty() && i < order.size(); ++i) {
        verdict = judge(order[i]);
        if (!verdict.empty()) {
          std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i),
                      order.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
      }
      fmt::print("{}\n    {}\n", switched.names[mutant],
                 verdict.empty() ? "SURVIVED" : verdict.substr(0, verdict.find('\n')));
      EXPECT_NE(verdict, "") << switched.names[mutant];
    }
  }

  [[nodiscard]] std::int64_t block_k() const { return integer(plan_, "block_k"); }

  Layer layer_;
  Problem problem_;
  Plan plan_;
  KernelSource source_;
  InputSizes sizes_;
  Shape shape_;
  Role role_ = Role::kY;  // of the results
};

void NumberMutation::expect_each_scale_matters() {
  using Exponents = std::vector<std::optional<int>>;
  constexpr auto kZeros = std::nullopt;
  std::vector<Telling> all;
  const auto add = [&](Bound bound, const Exponents& exponents) {
    const ChannelMagnitudes magnitudes{block_k(), exponents};
    const std::uint64_t seed = all.size();
    std::string name = bound == Bound::kExact ? "exact" : "by the mode";
    for (const auto& exponent : exponents) {
      name += exponent ? fmt::format(" 2^{}", *exponent) : " 0";
    }
    all.push_back({name,
                   bound == Bound::kExact ? exact_inputs(layer_, shape_, seed, magnitudes)
                                          : staged_inputs(layer_, shape_, seed, magnitudes),
                   bound});
  };
  // Without totals, what is smaller than others by 2^80 may be lost.
  const Bound of_far = source_.text.contains("void rescale") ? Bound::kFinite : Bound::kOfMode;
  // Those that find most come first.
  add(Bound::kExact, {0, 1, 2, 3});
  add(Bound::kExact, {0, -2, -4, -6});
  add(Bound::kOfMode, {-140, kZeros, -126, -130});
  add(of_far, {0, 64, 0, -64});
  add(of_far, {-64, 64, 0, -64});
  for (const bool weights : {false, true}) {
    if (!weights || layer_.axes[kHeight].stride >= layer_.axes[kHeight].kernel) {
      all.push_back({weights ? "infinite weights" : "infinite x", random_inputs(layer_, shape_, 1)});
      // Few enough that most outputs stay finite.
      HostArray& array = weights ? all.back().inputs.weight : all.back().inputs.x;
      const std::int64_t few = weights ? 4 : shape_.input_elements / shape_.in_channels / 8;
      const std::int64_t step = array.size() / few | 1;
      for (std::int64_t i = step / 2; i < array.size(); i += step) {
        array.set(i, i % 4 == 0 ? std::nan("") : i % 2 == 0 ? -INFINITY : INFINITY);
      }
    }
  }
  add(Bound::kExact, {0, -1, -2, -3});
  add(Bound::kExact, {0, 39, 0, -39});
  add(Bound::kExact, {39, 38, kZeros, 0});
  add(Bound::kOfMode, {0, 1, 2, 3});
  add(Bound::kOfMode, {-39, 0, 39, kZeros});
  add(Bound::kOfMode, {0, 2, 4, 6});
  add(Bound::kOfMode, {39, 0, -39, -20});
  expect_all_wrong(with_wrong_scales(source_.text, &chosen), all);
}

void NumberMutation::expect_each_rounding_matters() {
  expect_all_wrong(with_wrong_rounding(source_.text, &chosen),
                   {{"x between", truncation_inputs(layer_, shape_, 1, Truncated::kX)},
                    {"weights between", truncation_inputs(layer_, shape_, 1, Truncated::kWeight)}});
}

void NumberMutation::expect_activation_matters() {
  const Switched switched = with_wrong_activation(source_.text, &chosen);
  EXPECT_FALSE(switched.names.empty());
  expect_all_wrong(switched, {{"random", random_inputs(layer_, shape_, 1)}}, false);
}

/// Elements of x or grad_y by a random number of their own and their channel.
using OfChannel = std::function<double(std::mt19937_64& random, std::int64_t channel)>;
LayerInputs gradient_inputs(const Layer& layer, const Shape& shape, std::uint64_t seed, const OfChannel& x,
                            const OfChannel& grad_y) {
  std::mt19937_64 random(seed);
  LayerInputs inputs;
  for (const auto& [role, element] : {std::pair(Role::kX, x), std::pair(Role::kGradY, grad_y)}) {
    HostArray array = make_array(layer.dtype, array_shape(layer, shape, role));
    for (std::int64_t i = 0; i < array.size(); ++i) {
      array.set(i, element(random, position_of(layer, shape, role, i).c));
    }
    inputs.set(role, std::move(array));
  }
  return inputs;
}

double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-52 - 1.0;
}

/// Makes all of a channel's elements but one zero, by an index that depends on the channel.
void keep_one_of_each_channel(const Layer& layer, const Shape& shape, Role role, HostArray& array) {
  const std::int64_t places = array.size() / images_of(shape, role).channels;
  std::map<std::int64_t, std::int64_t> seen;  // elements of a channel
  for (std::int64_t i = 0; i < array.size(); ++i) {
    const std::int64_t channel = position_of(layer, shape, role, i).c;
    if (seen[channel]++ != (channel * 37 + 11) % places) {
      array.set(i, 0);
    }
  }
}

void NumberMutation::expect_each_channel_scale_matters() {
  std::vector<Telling> all;
  const auto power = [](std::int64_t exponent) { return std::exp2(static_cast<double>(exponent)); };
  // Each result is one element of x or grad_y times a power of two, or zero. Of a channel few are the largest, all
  // others have 22 significant bits and lie in [2^-28, 2^-27) of these.
  const auto range_of = [&](std::int64_t exponent, std::int64_t step) {
    return [=](std::mt19937_64& random, std::int64_t channel) {
      const double fraction = 1 + static_cast<double>(random() % (1 << 21) | 1) * 0x1p-21;
      const double magnitude = power(exponent + step * (channel % 5));
      return (random() % 2 == 0 ? -1 : 1) * magnitude * (random() % 64 == 0 ? 1 : 0x1p-28 * fraction);
    };
  };
  const auto powers = [&](std::int64_t exponent) {
    return [=](std::mt19937_64& /*random*/, std::int64_t channel) { return power(exponent + channel % 3); };
  };
  for (const auto& [x, step, grad_y] : {std::tuple(0, 3, 0), std::tuple(-30, 1, -50), std::tuple(60, -7, 1)}) {
    all.push_back(
        {"exact x", gradient_inputs(layer_, shape_, all.size(), range_of(x, step), powers(grad_y)), Bound::kExact});
    keep_one_of_each_channel(layer_, shape_, Role::kGradY, all.back().inputs.grad_y);
    all.push_back({"exact grad_y", gradient_inputs(layer_, shape_, all.size(), powers(grad_y), range_of(x, step)),
                   Bound::kExact});
    keep_one_of_each_channel(layer_, shape_, Role::kX, all.back().inputs.x);
  }
  // One in 16 elements is the largest float below the channel's power of two.
  const auto spread = [&](std::vector<std::int64_t> exponents) {
    return [=](std::mt19937_64& random, std::int64_t channel) {
      const double value = random() % 16 == 0 ? 1 - 0x1p-24 : uniform(random);
      return power(exponents[static_cast<std::size_t>(channel) % exponents.size()]) * value;
    };
  };
  all.push_back({"by the mode", gradient_inputs(layer_, shape_, 1, spread({0, 1, -90}), spread({0, 40}))});
  all.push_back({"denormals", gradient_inputs(layer_, shape_, 2, spread({-140, -126, 0}), spread({100, 90, -20}))});
  all.push_back({"small results", gradient_inputs(layer_, shape_, 3, spread({-60, -61}), spread({-50, -55, -48}))});
  for (const Role role : {Role::kX, Role::kGradY}) {
    all.push_back(
        {fmt::format("infinite {}", name_of(role)), gradient_inputs(layer_, shape_, 4, spread({0}), spread({0, 3}))});
    HostArray& array = role == Role::kX ? all.back().inputs.x : all.back().inputs.grad_y;
    for (std::int64_t i = 7; i < array.size(); i += array.size() / 4 | 1) {  // most results stay finite
      array.set(i, i % 3 == 0 ? std::nan("") : i % 2 == 0 ? -INFINITY : INFINITY);
    }
  }
  expect_all_wrong(with_wrong_channel_scales(source_.text, &chosen), all);
}

void NumberMutation::expect_each_gradient_rounding_matters() {
  const auto number = [](std::int64_t low) {
    return [=](std::mt19937_64& random, std::int64_t /*channel*/) {
      return 1 + static_cast<double>(static_cast<std::int64_t>(random() % 64) << 13 | low) * 0x1p-23;
    };
  };
  constexpr std::int64_t kOnes = 0x1fff;
  expect_all_wrong(with_wrong_gradient_rounding(source_.text, &chosen),
                   {{"x between", gradient_inputs(layer_, shape_, 1, number(kOnes), number(kOnes >> 1))},
                    {"grad_y between", gradient_inputs(layer_, shape_, 2, number(kOnes >> 1), number(kOnes))}});
}

// A change for which no source has a place would never be tried.
TEST(NumberMutations, EveryOneHasAPlaceInSomeSource) {
  std::set<std::string> scales, rounding;
  for (const Kind& kind : kinds(&WrongNumbers::scales)) {
    scales.merge(names_in(with_wrong_scales(chosen_plan(kind).source.text, &chosen)));
  }
  for (const Kind& kind : kinds(&WrongNumbers::rounding)) {
    rounding.merge(names_in(with_wrong_rounding(chosen_plan(kind).source.text, &chosen)));
  }
  for (const std::string& name : names_of_wrong_scales()) {
    EXPECT_TRUE(scales.contains(name)) << name;
  }
  for (const std::string& name : names_of_wrong_rounding()) {
    EXPECT_TRUE(rounding.contains(name)) << name;
  }
}

TEST(NumberMutations, EveryOneOfGradientsHasAPlaceInSomeSource) {
  std::set<std::string> scales, rounding;
  for (const Kind& kind : kinds(&WrongNumbers::channel_scales)) {
    scales.merge(names_in(with_wrong_channel_scales(chosen_plan(kind).source.text, &chosen)));
  }
  for (const Kind& kind : kinds(&WrongNumbers::gradient_rounding)) {
    rounding.merge(names_in(with_wrong_gradient_rounding(chosen_plan(kind).source.text, &chosen)));
  }
  for (const std::string& name : names_of_wrong_channel_scales()) {
    EXPECT_TRUE(scales.contains(name)) << name;
  }
  for (const std::string& name : names_of_wrong_gradient_rounding()) {
    EXPECT_TRUE(rounding.contains(name)) << name;
  }
}

class GradientRounding : public ::testing::TestWithParam<Kind> {};

TEST_P(GradientRounding, OfEachOperandMatters) {
  NumberMutation(GetParam()).expect_each_gradient_rounding_matters();
}

INSTANTIATE_TEST_SUITE_P(Tf32, GradientRounding, ::testing::ValuesIn(kinds(&WrongNumbers::gradient_rounding)),
                         [](const auto& info) { return name_of_fact(info); });

class ChannelScales : public ::testing::TestWithParam<Kind> {};

TEST_P(ChannelScales, EachMattersForSomeInput) {
  NumberMutation(GetParam()).expect_each_channel_scale_matters();
}

INSTANTIATE_TEST_SUITE_P(F32x3, ChannelScales, ::testing::ValuesIn(kinds(&WrongNumbers::channel_scales)),
                         [](const auto& info) { return name_of_fact(info); });

class Rounding : public ::testing::TestWithParam<Kind> {};

TEST_P(Rounding, OfEachOperandMatters) {
  NumberMutation(GetParam()).expect_each_rounding_matters();
}

INSTANTIATE_TEST_SUITE_P(Tf32, Rounding, ::testing::ValuesIn(kinds(&WrongNumbers::rounding)),
                         [](const auto& info) { return name_of_fact(info); });

class InputActivation : public ::testing::TestWithParam<Kind> {};

TEST_P(InputActivation, Matters) {
  NumberMutation(GetParam()).expect_activation_matters();
}

INSTANTIATE_TEST_SUITE_P(Chain, InputActivation, ::testing::ValuesIn(kinds(&WrongNumbers::activation)),
                         [](const auto& info) { return name_of_fact(info); });

constexpr std::size_t kParts = 2;

std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  for (const Kind& kind : kinds(&WrongNumbers::scales)) {
    all.push_back({kind.fact.name, with_wrong_scales(chosen_plan(kind).source.text, &chosen).names});
  }
  return all;
}

class Scales : public ::testing::TestWithParam<std::size_t> {};

// A run takes as many kinds as it needs for each change to have a place, each part of them in a test of its own.
TEST_P(Scales, EachMattersForSomeInput) {
  const std::vector<Kind> all = kinds(&WrongNumbers::scales);
  const std::vector<std::size_t> drawn = part_of(sample(candidates(), kParts), GetParam(), kParts);
  ASSERT_FALSE(drawn.empty());
  for (const std::size_t i : drawn) {
    SCOPED_TRACE(fmt::format("replay: CONVTGEN_TEST_ONLY='{}' number_mutation_test", all[i].fact.name));
    fmt::print("{}\n", all[i].fact.name);
    NumberMutation(all[i]).expect_each_scale_matters();
  }
}

INSTANTIATE_TEST_SUITE_P(Part, Scales, ::testing::Range(std::size_t{0}, number_of_parts(kParts, candidates)));

}  // namespace
}  // namespace convtgen::testing
