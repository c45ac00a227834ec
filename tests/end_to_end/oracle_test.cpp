// Random layers through the whole chain: planned, specialised, compiled, run, and held to the definition in fp64.
//
// CONVTGEN_TEST_LAYERS   how many layers (default 300, under AddressSanitizer 100; 2000 show every pair of values)
// CONVTGEN_TEST_SEED     where the layers start (default 1); layer i of a seed is always the same
// CONVTGEN_TEST_ONLY     run this one layer of the seed, to replay a failure
// CONVTGEN_TEST_DEVICE   host (default) or cuda
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "generator/language/language.h"
#include "tests/end_to_end/random_layers.h"
#include "tests/end_to_end/through_the_chain.h"

namespace convtgen::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kLayers = 100;
#else
constexpr std::uint64_t kLayers = 300;
#endif

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// What a run covered besides the values of properties.
struct Counts {
  std::atomic<int> ragged{0};  // more than one block along rows or columns, the last of them cut off
  std::atomic<int> dynamic{0};
  std::atomic<int> zero_batch{0};
  std::atomic<int> one_by_one{0};
  std::atomic<int> kernel_exceeds_image{0};
  std::atomic<int> stride_exceeds_kernel{0};
  std::atomic<int> common_divisor{0};  // of stride and dilation
  std::atomic<int> several_phase_groups{0};
  std::atomic<int> unstaged{0};

  void add(const RandomLayer& random, const Plan& plan, const Shape& shape) {
    const Layer& l = random.layer;
    const auto value = [&](const char* name) { return std::get<std::int64_t>(plan.parameters.at(name)); };
    const std::int64_t rows = l.stride.h * value("threads_y") * value("rows_per_thread");
    const std::int64_t columns = l.stride.w * value("threads_x") * value("columns_per_thread");
    ragged += (shape.out_height > rows && shape.out_height % rows != 0) ||
              (shape.out_width > columns && shape.out_width % columns != 0);
    dynamic += !l.batch || !l.height || !l.width;
    zero_batch += random.sizes.batch == 0;
    one_by_one += shape.in_height == 1 && shape.in_width == 1;
    kernel_exceeds_image += l.kernel.h > shape.in_height || l.kernel.w > shape.in_width;
    stride_exceeds_kernel += l.stride.h > l.kernel.h || l.stride.w > l.kernel.w;
    common_divisor += std::gcd(l.stride.h, l.dilation.h) > 1 || std::gcd(l.stride.w, l.dilation.w) > 1;
    several_phase_groups += value("group_phases_h") < l.stride.h || value("group_phases_w") < l.stride.w;
    unstaged += !std::get<bool>(plan.parameters.at("staged"));
  }

  [[nodiscard]] std::string text() const {
    return fmt::format(
        "  several blocks with ragged tiles: {}\n  sizes known only at run time: {}\n  zero batch: {}\n  1x1 images: "
        "{}\n"
        "  kernel larger than the image: {}\n  stride larger than the kernel: {}\n  gcd(stride, dilation) > 1: {}\n"
        "  several phase groups: {}\n  unstaged input: {}\n",
        ragged.load(), dynamic.load(), zero_batch.load(), one_by_one.load(), kernel_exceeds_image.load(),
        stride_exceeds_kernel.load(), common_divisor.load(), several_phase_groups.load(), unstaged.load());
  }
};

TEST(Oracle, RandomLayersMatchTheDefinition) {
  const std::uint64_t seed = number_from("CONVTGEN_TEST_SEED", 1);
  const std::uint64_t count = number_from("CONVTGEN_TEST_LAYERS", kLayers);
  const std::uint64_t only = number_from("CONVTGEN_TEST_ONLY", ~std::uint64_t{0});

  LayerSource source(seed);
  std::vector<RandomLayer> layers;
  for (std::uint64_t i = 0; i < count; ++i) {
    layers.push_back(source.next());
  }
  Counts counts;
  std::atomic<std::size_t> next{0};
  std::atomic<int> run{0};
  std::mutex failures;
  const auto work = [&] {
    const std::unique_ptr<Device> device = test_device(1);
    ASSERT_NE(device, nullptr);
    for (std::size_t i = next++; i < layers.size(); i = next++) {
      if (only != ~std::uint64_t{0} && i != only) {
        continue;
      }
      const Outcome outcome =
          through_the_chain(*device, layers[i].layer, layers[i].sizes, seed * 1'000'003 + i, "direct", i % 8 == 3);
      ++run;
      if (outcome.plan) {
        counts.add(layers[i], *outcome.plan, shape_of(layers[i].layer, layers[i].sizes).value());
      }
      if (!outcome.passed) {
        const std::lock_guard lock(failures);
        ADD_FAILURE() << fmt::format(
            "layer {0} of seed {1} (replay: CONVTGEN_TEST_SEED={1} CONVTGEN_TEST_LAYERS={2} CONVTGEN_TEST_ONLY={0})\n"
            "{3}\nat {4}x{5}x{6}: {7}",
            i, seed, count, canonical_form(layers[i].layer), layers[i].sizes.batch, layers[i].sizes.height,
            layers[i].sizes.width, outcome.message);
      }
    }
  };
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < std::max(1U, test_on_gpu() ? 1U : std::thread::hardware_concurrency()); ++i) {
    workers.emplace_back(work);
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  fmt::print("seed {}: {} layers run\n{}{}", seed, run.load(), counts.text(), source.coverage());
  if (only == ~std::uint64_t{0}) {
    EXPECT_EQ(run.load(), static_cast<int>(count));
    if (count >= 300) {
      EXPECT_GT(counts.ragged, static_cast<int>(count) / 4);
      EXPECT_GT(counts.zero_batch, 0);
      EXPECT_GT(counts.one_by_one, 0);
      EXPECT_GT(counts.several_phase_groups, 0);
    }
    if (count >= 2000) {
      EXPECT_EQ(source.missing(), std::vector<std::string>{});
    }
  }
}

}  // namespace
}  // namespace convtgen::testing
