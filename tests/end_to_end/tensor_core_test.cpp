// Random layers through the template for tensor cores, held to the definition in fp64.
//
// CONVTGEN_TEST_LAYERS   how many layers (default 48)
// CONVTGEN_TEST_SEED     where the layers start (default 1); layer i of a seed is always the same
// CONVTGEN_TEST_ONLY     run this one layer of the seed, to replay a failure
// CONVTGEN_TEST_DEVICE   host (default) or cuda
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "generator/language/language.h"
#include "tests/end_to_end/random_layers.h"
#include "tests/end_to_end/through_the_chain.h"

namespace convtgen::testing {
namespace {

constexpr const char* kTemplate = "shift_gemm";
constexpr std::int64_t kMostMultiplyAdds = 12'000'000;
constexpr std::int64_t kMostOutputs = 100'000;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

bool has_plan(const Layer& layer) {
  const auto plans = plan({layer, Direction::kForward, target_named("sm_90a").value()});
  return plans && std::ranges::any_of(*plans, [](const Plan& plan) { return plan.template_name == kTemplate; });
}

/// Makes the layer one whose weights do not fit shared memory: many channels, at a small size.
void fill_with_weights(RandomLayer& drawn, std::mt19937_64& random) {
  Layer& layer = drawn.layer;
  layer.in_channels = 1000 + static_cast<std::int64_t>(random() % 100);
  layer.out_channels = 20;
  layer.kernel.w = 3 + static_cast<std::int64_t>(random() % 3);
  layer.kernel.h = layer.dimensions == 1 ? 1 : 3;
  layer.dtype = Dtype::kF32;
  layer.compute = Compute::kTf32;
  const auto limit = [](std::int64_t& size, Size& known, std::int64_t most) {
    size = std::min(size, most);
    known = known ? Size(size) : known;
  };
  limit(drawn.sizes.batch, layer.batch, 1);
  limit(drawn.sizes.height, layer.height, 5);
  limit(drawn.sizes.width, layer.width, 6);
}

/// A random layer with one group, a compute mode of tensor cores and more channels.
RandomLayer next_layer(LayerSource& source, std::mt19937_64& random, std::uint64_t number) {
  constexpr std::array<std::pair<Dtype, Compute>, 3> kModes = {
      {{Dtype::kF32, Compute::kTf32}, {Dtype::kF16, Compute::kF16}, {Dtype::kBf16, Compute::kBf16}}};
  constexpr std::array<std::int64_t, 6> kIn = {1, 3, 8, 17, 32, 72};
  constexpr std::array<std::int64_t, 7> kOut = {1, 2, 8, 20, 33, 64, 136};
  for (;;) {
    RandomLayer drawn = source.next();
    Layer& layer = drawn.layer;
    layer.groups = 1;
    layer.in_channels = kIn[random() % kIn.size()];
    layer.out_channels = kOut[random() % kOut.size()];
    std::tie(layer.dtype, layer.compute) = kModes[random() % kModes.size()];
    if (number % 4 == 3) {
      fill_with_weights(drawn, random);
    } else if (number % 4 == 1 && layer.dimensions == 2) {  // whose phase rows can be parted
      layer.stride = {4, 2 + 2 * static_cast<std::int64_t>(random() % 2)};
      layer.kernel = {layer.stride.h * (1 + static_cast<std::int64_t>(random() % 2)), layer.stride.w};
      layer.padding = {static_cast<std::int64_t>(random() % 3), static_cast<std::int64_t>(random() % 2)};
      layer.output_padding = {0, 0};
      layer.dilation = {1, 1};
    }
    const auto shape = shape_of(layer, drawn.sizes);
    if (check_limits(layer).empty() && shape && shape->output_elements <= kMostOutputs &&
        multiply_adds(layer, *shape) <= kMostMultiplyAdds && has_plan(layer)) {
      return drawn;
    }
  }
}

TEST(TensorCores, RandomLayersMatchTheDefinition) {
  const std::uint64_t seed = number_from("CONVTGEN_TEST_SEED", 1);
  const std::uint64_t count = number_from("CONVTGEN_TEST_LAYERS", 48);
  const std::uint64_t only = number_from("CONVTGEN_TEST_ONLY", ~std::uint64_t{0});
  LayerSource source(seed);
  std::mt19937_64 random(seed);
  std::vector<RandomLayer> layers;
  for (std::uint64_t i = 0; i < count; ++i) {
    layers.push_back(next_layer(source, random, i));
  }
  std::atomic<std::size_t> next{0};
  std::atomic<int> run{0}, resident{0}, streamed{0}, parted{0}, long_runs{0}, several_images{0};
  std::mutex failures;
  const auto work = [&] {
    const std::unique_ptr<Device> device = test_device(1);
    ASSERT_NE(device, nullptr);
    for (std::size_t i = next++; i < layers.size(); i = next++) {
      if (only != ~std::uint64_t{0} && i != only) {
        continue;
      }
      const auto& [layer, sizes] = layers[i];
      const Outcome outcome = through_the_chain(*device, layer, sizes, seed * 1'000'003 + i, kTemplate);
      ++run;
      if (outcome.plan) {
        const auto value = [&](const char* name) { return std::get<std::int64_t>(outcome.plan->parameters.at(name)); };
        (std::get<bool>(outcome.plan->parameters.at("resident")) ? resident : streamed) += 1;
        parted += value("phase_rows") < layer.stride.h;
        long_runs += value("run") > 2;
        several_images += value("tile_n") > 1;
      }
      if (!outcome.passed) {
        const std::lock_guard lock(failures);
        ADD_FAILURE() << fmt::format(
            "layer {0} of seed {1} (replay: CONVTGEN_TEST_SEED={1} CONVTGEN_TEST_LAYERS={2} CONVTGEN_TEST_ONLY={0})\n"
            "{3}\nat {4}x{5}x{6}: {7}",
            i, seed, count, canonical_form(layer), sizes.batch, sizes.height, sizes.width, outcome.message);
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < std::max(1U, test_on_gpu() ? 1U : std::thread::hardware_concurrency()); ++i) {
      workers.emplace_back(work);
    }
  }
  fmt::print(
      "seed {}: {} layers run; weights resident {}, with each stage {}; phase rows parted {}; runs of 4 or 8 {}; tiles "
      "of "
      "several images {}\n",
      seed, run.load(), resident.load(), streamed.load(), parted.load(), long_runs.load(), several_images.load());
  if (only == ~std::uint64_t{0}) {
    EXPECT_EQ(run.load(), static_cast<int>(count));
    if (count >= 48) {
      EXPECT_GT(resident, 0);
      EXPECT_GT(streamed, 0);
      EXPECT_GT(parted, 0);
      EXPECT_GT(long_runs, 0);
      EXPECT_GT(several_images, 0);
    }
  }
}

}  // namespace
}  // namespace convtgen::testing
