// Random layers through the templates for tensor cores, held to the definition in fp64.
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
#include <functional>
#include <initializer_list>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "generator/language/language.h"
#include "tests/end_to_end/random_layers.h"
#include "tests/end_to_end/through_the_chain.h"

namespace convtgen::testing {
namespace {

constexpr std::int64_t kMostMultiplyAdds = 12'000'000;
constexpr std::int64_t kMostOutputs = 100'000;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Plans of a template that a test is about.
struct Wanted {
  std::string_view template_name;
  std::function<bool(const Plan&)> plan = {};                       // which of them; empty: all
  std::function<void(RandomLayer&, std::mt19937_64&)> change = {};  // makes a layer one that may have such plans
  std::uint64_t share = 1;                                          // one layer for so many of CONVTGEN_TEST_LAYERS
};

/// Which plans the layer of this number is run through: of some, those that few layers would have by chance.
std::function<bool(const Plan&)> plans_of(const Wanted& wanted, std::uint64_t number) {
  if (wanted.template_name != "shift_gemm" || wanted.change || number % 8 != 2) {
    return wanted.plan;
  }
  return [number](const Plan& plan) {
    return std::get<bool>(plan.parameters.at("bulk")) && plan.reason.contains("in one piece") == (number % 16 == 2);
  };
}

bool has_plan(const Layer& layer, const Wanted& wanted, std::uint64_t number) {
  const auto plans = plan({layer, Direction::kForward, target_named("sm_90a").value()});
  const auto is_wanted = plans_of(wanted, number);
  return plans && std::ranges::any_of(*plans, [&](const Plan& plan) {
           return plan.template_name == wanted.template_name && (!is_wanted || is_wanted(plan));
         });
}

/// Makes the layer one whose weights do not fit shared memory: many channels, at a small size.
void fill_with_weights(RandomLayer& drawn, std::mt19937_64& random) {
  Layer& layer = drawn.layer;
  layer.in_channels = 1000 + static_cast<std::int64_t>(random() % 100);
  layer.out_channels = 20;
  layer.kernel.w = 3 + static_cast<std::int64_t>(random() % 3);
  layer.kernel.h = layer.dimensions == 1 ? 1 : 3;
  layer.dtype = Dtype::kF32;
  layer.compute = layer.compute == Compute::kF32x3 ? layer.compute : Compute::kTf32;
  const auto limit = [](std::int64_t& size, Size& known, std::int64_t most) {
    size = std::min(size, most);
    known = known ? Size(size) : known;
  };
  limit(drawn.sizes.batch, layer.batch, 1);
  limit(drawn.sizes.height, layer.height, 5);
  limit(drawn.sizes.width, layer.width, 6);
}

/// Makes the layer one that `halo_gemm` takes, of small images of a known size where `number` says so.
void share_input(RandomLayer& drawn, std::mt19937_64& random, std::uint64_t number) {
  Layer& layer = drawn.layer;
  layer.dilation.h = layer.stride.h > 1 ? 1 : layer.dilation.h;
  layer.dilation.w = layer.stride.w > 1 ? 1 : layer.dilation.w;
  if (number % 4 == 0 && layer.dimensions == 2) {
    layer.kernel = {2 + static_cast<std::int64_t>(random() % 3), 2 + static_cast<std::int64_t>(random() % 4)};
    layer.stride = {1 + static_cast<std::int64_t>(random() % 2), 1 + static_cast<std::int64_t>(random() % 2)};
    layer.dilation = {1, 1};
    drawn.sizes.batch = 5;
    layer.batch = layer.batch ? Size(5) : layer.batch;
    layer.height = drawn.sizes.height = 3 + static_cast<std::int64_t>(random() % 6);
    layer.width = drawn.sizes.width = 3 + static_cast<std::int64_t>(random() % 8);
  }
}

/// Makes the layer one that `roll_gemm` takes: rows or pixels that are whole bulk copies and, where `number` says so,
/// wide or of many images.
void let_rows_roll(RandomLayer& drawn, std::mt19937_64& random, std::uint64_t number) {
  Layer& layer = drawn.layer;
  const auto any = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  layer.dimensions = 2;
  layer.layout = number % 2 == 0 ? Layout::kNchw : Layout::kNhwc;
  layer.kernel = {any(layer.layout == Layout::kNhwc ? 1 : 2, 5), any(1, 7)};
  layer.stride = {1, 1};
  layer.dilation = {1, any(1, 6) == 1 ? any(2, 4) : 1};
  layer.output_padding = {0, 0};
  layer.padding = {any(0, layer.kernel.h), any(0, layer.kernel.w + 1)};
  const std::int64_t unit = layer.dtype == Dtype::kF32 ? 4 : 8;
  const bool is_wide = number % 3 == 0;
  drawn.sizes.batch = is_wide ? any(1, 2) : any(1, 9);
  drawn.sizes.height = any(1, is_wide ? 7 : 24);
  if (layer.layout == Layout::kNhwc) {
    layer.in_channels = unit * any(1, 80 / unit);
    drawn.sizes.width = is_wide ? any(100, 600) : any(1, 64);
  } else {
    drawn.sizes.width = unit * (is_wide ? any(100, 600) / unit : any(1, 64 / unit));
  }
  layer.batch = layer.batch ? Size(drawn.sizes.batch) : layer.batch;
  layer.height = layer.height ? Size(drawn.sizes.height) : layer.height;
  if (layer.layout == Layout::kNchw || layer.width) {
    layer.width = drawn.sizes.width;
  }
}

/// Gives the layer rows that come by bulk copies: wide ones, channels first, whole pieces of 16 bytes in half of them;
/// or, in tf32, an image that can be taken as one row of positions.
void bring_rows(RandomLayer& drawn, std::mt19937_64& random) {
  Layer& layer = drawn.layer;
  layer.layout = Layout::kNchw;
  const std::int64_t whole = layer.dtype == Dtype::kF32 ? 4 : 8;
  const std::int64_t unit = random() % 2 == 0 ? whole : 1;
  drawn.sizes.width = unit * (1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(160 / unit)));
  layer.width = layer.width || unit > 1 ? Size(drawn.sizes.width) : layer.width;
  if (layer.dimensions == 2 && random() % 2 == 0) {
    std::tie(layer.dtype, layer.compute) = std::pair(Dtype::kF32, Compute::kTf32);
    layer.height = drawn.sizes.height = 2 * (1 + static_cast<std::int64_t>(random() % 12));
    layer.width = drawn.sizes.width = 2 + 4 * static_cast<std::int64_t>(random() % 20);
    layer.stride = {1 + static_cast<std::int64_t>(random() % 3), 1 + static_cast<std::int64_t>(random() % 4)};
    layer.kernel = layer.stride;
    layer.padding = layer.output_padding = {0, 0};
    layer.dilation = {1, 1};
  }
}

/// Makes the layer one of f32x3 whose rows are whole bulk copies; without a halo where `number` says so.
void let_rows_be_copied(RandomLayer& drawn, std::uint64_t number) {
  Layer& layer = drawn.layer;
  layer.layout = Layout::kNchw;
  layer.dtype = Dtype::kF32;
  layer.compute = Compute::kF32x3;
  layer.height = drawn.sizes.height;
  layer.width = drawn.sizes.width = (drawn.sizes.width + 3) / 4 * 4;
  if (number % 16 == 2) {
    layer.kernel = layer.stride;
    layer.padding = layer.output_padding = {0, 0};
    layer.dilation = {1, 1};
  }
}

/// A random layer with a compute mode of tensor cores and more channels, of one group but where `wanted` changes it.
RandomLayer next_layer(LayerSource& source, std::mt19937_64& random, std::uint64_t number, const Wanted& wanted) {
  constexpr std::array<std::pair<Dtype, Compute>, 4> kModes = {{{Dtype::kF32, Compute::kTf32},
                                                                {Dtype::kF16, Compute::kF16},
                                                                {Dtype::kBf16, Compute::kBf16},
                                                                {Dtype::kF32, Compute::kF32x3}}};
  constexpr std::array<std::int64_t, 6> kIn = {1, 3, 8, 17, 32, 72};
  constexpr std::array<std::int64_t, 7> kOut = {1, 2, 8, 20, 33, 64, 136};
  const std::string_view template_name = wanted.template_name;
  for (;;) {
    RandomLayer drawn = source.next();
    Layer& layer = drawn.layer;
    layer.groups = 1;
    layer.in_channels = kIn[random() % kIn.size()];
    layer.out_channels = kOut[random() % kOut.size()];
    std::tie(layer.dtype, layer.compute) = kModes[random() % (template_name == "shift_gemm" ? 4 : 3)];
    if (template_name == "roll_gemm") {
      let_rows_roll(drawn, random, number);
    } else if (number % 4 == 3) {
      fill_with_weights(drawn, random);
    } else if (number % 4 == 1 && layer.dimensions == 2) {  // whose phase rows can be parted
      layer.stride = {4, 2 + 2 * static_cast<std::int64_t>(random() % 2)};
      layer.kernel = {layer.stride.h * (1 + static_cast<std::int64_t>(random() % 2)), layer.stride.w};
      layer.padding = {static_cast<std::int64_t>(random() % 3), static_cast<std::int64_t>(random() % 2)};
      layer.output_padding = {0, 0};
      layer.dilation = {1, 1};
    } else if (number % 8 == 2 && template_name == "shift_gemm" && !wanted.change) {
      bring_rows(drawn, random);
    }
    if (!wanted.change && template_name == "shift_gemm" && number % 8 == 2) {
      let_rows_be_copied(drawn, number);
    }
    if (template_name == "halo_gemm") {
      share_input(drawn, random, number);
    }
    if (wanted.change) {
      wanted.change(drawn, random);
    }
    const auto shape = shape_of(layer, drawn.sizes);
    if (check_limits(layer).empty() && shape && shape->output_elements <= kMostOutputs &&
        multiply_adds(layer, *shape) <= kMostMultiplyAdds && has_plan(layer, wanted, number)) {
      return drawn;
    }
  }
}

/// Runs random layers of the seed through plans of the template, and hands each of these plans to `seen`.
void run_layers(const Wanted& wanted, const std::function<void(const Layer&, const Plan&)>& seen) {
  const std::uint64_t seed = number_from("CONVTGEN_TEST_SEED", 1);
  const std::uint64_t count = std::max<std::uint64_t>(1, number_from("CONVTGEN_TEST_LAYERS", 48) / wanted.share);
  const std::uint64_t only = number_from("CONVTGEN_TEST_ONLY", ~std::uint64_t{0});
  LayerSource source(seed);
  std::mt19937_64 random(seed);
  std::vector<RandomLayer> layers;
  for (std::uint64_t i = 0; i < count; ++i) {
    layers.push_back(next_layer(source, random, i, wanted));
  }
  std::atomic<std::size_t> next{0};
  std::atomic<int> run{0};
  std::mutex guard;
  const auto work = [&] {
    const std::unique_ptr<Device> device = test_device(1);
    ASSERT_NE(device, nullptr);
    for (std::size_t i = next++; i < layers.size(); i = next++) {
      if (only != ~std::uint64_t{0} && i != only) {
        continue;
      }
      const auto& [layer, sizes] = layers[i];
      const Outcome outcome = through_the_chain(*device, layer, sizes, seed * 1'000'003 + i, wanted.template_name,
                                                false, plans_of(wanted, i));
      ++run;
      const std::lock_guard lock(guard);
      if (outcome.plan) {
        seen(layer, *outcome.plan);
      }
      if (!outcome.passed) {
        ADD_FAILURE() << fmt::format(
            "layer {0} of seed {1} (replay: CONVTGEN_TEST_SEED={1} CONVTGEN_TEST_LAYERS={2} CONVTGEN_TEST_ONLY={0})\n"
            "{3}\nat {4}x{5}x{6}, {7}: {8}",
            i, seed, count * wanted.share, canonical_form(layer), sizes.batch, sizes.height, sizes.width,
            outcome.plan ? outcome.plan->reason : std::string("no plan"), outcome.message);
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < std::max(1U, test_on_gpu() ? 1U : std::thread::hardware_concurrency()); ++i) {
      workers.emplace_back(work);
    }
  }
  fmt::print("seed {}: {} layers run\n", seed, run.load());
  if (only == ~std::uint64_t{0}) {
    EXPECT_EQ(run.load(), static_cast<int>(count));
  }
}

/// What plans of random layers are, by name, how often. All must come up among the layers that are run by default;
/// other seeds may miss what is rare.
class Kinds {
 public:
  explicit Kinds(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      counts_[name] = 0;
    }
  }
  void count(const char* name, bool is) { counts_.at(name) += is ? 1 : 0; }
  void expect_all() const {
    for (const auto& [name, count] : counts_) {
      fmt::print("  {} {}\n", name, count);
    }
    for (const auto& [name, count] : counts_) {
      EXPECT_TRUE(count > 0 || std::getenv("CONVTGEN_TEST_LAYERS") || std::getenv("CONVTGEN_TEST_SEED") ||
                  std::getenv("CONVTGEN_TEST_ONLY"))
          << name;
    }
  }

 private:
  std::map<std::string, int, std::less<>> counts_;
};

std::int64_t integer(const Plan& plan, const char* name) {
  return std::get<std::int64_t>(plan.parameters.at(name));
}
bool flag(const Plan& plan, const char* name) {
  return std::get<bool>(plan.parameters.at(name));
}

TEST(TensorCores, RandomLayersMatchTheDefinition) {
  Kinds kinds({"weights resident", "weights with each stage", "phase rows parted", "runs of 4 or 8",
               "tiles of several images", "f32x3", "f32x3 in one chunk", "f32x3 with channels last",
               "f32x3 by bulk copies", "rows by bulk copies", "rows that begin anywhere in a piece",
               "outputs through shared memory", "warpgroups in turn", "in turn with more chunks than stages",
               "images as one row"});
  run_layers({.template_name = "shift_gemm"}, [&](const Layer& layer, const Plan& plan) {
    kinds.count("weights resident", flag(plan, "resident"));
    kinds.count("weights with each stage", !flag(plan, "resident"));
    kinds.count("phase rows parted", integer(plan, "phase_rows") < layer.stride.h);
    kinds.count("runs of 4 or 8", integer(plan, "run") > 2);
    kinds.count("tiles of several images", integer(plan, "tile_n") > 1);
    const bool begins_anywhere = flag(plan, "bulk") && !(layer.width && *layer.width * bytes_of(layer.dtype) % 16 == 0);
    kinds.count("outputs through shared memory", flag(plan, "exchange"));
    kinds.count("warpgroups in turn", flag(plan, "in_turn"));
    kinds.count("images as one row", plan.reason.contains("in one piece"));
    kinds.count("in turn with more chunks than stages",
                flag(plan, "in_turn") && layer.in_channels > integer(plan, "chunk") * integer(plan, "stages"));
    kinds.count("rows by bulk copies", flag(plan, "bulk") && !begins_anywhere);
    kinds.count("rows that begin anywhere in a piece", begins_anywhere);
    kinds.count("f32x3", flag(plan, "split"));
    kinds.count("f32x3 in one chunk", flag(plan, "split") && integer(plan, "chunk") >= layer.in_channels);
    kinds.count("f32x3 with channels last", flag(plan, "split") && flag(plan, "channels_last"));
    kinds.count("f32x3 by bulk copies", flag(plan, "split") && flag(plan, "bulk"));
  });
  kinds.expect_all();
}

TEST(TensorCores, RandomLayersInPiecesMatchTheDefinition) {
  Kinds kinds({"a pixel", "a run", "parts of a chunk", "tf32", "f16", "weights resident", "weights with each stage",
               "runs of 4 or 8", "chunks of eight depths"});
  const Wanted pieces{.template_name = "shift_gemm",
                      .plan = [](const Plan& plan) { return flag(plan, "bulk") && flag(plan, "channels_last"); },
                      .change =
                          [](RandomLayer& drawn, std::mt19937_64& random) {
                            constexpr std::array<std::int64_t, 6> kIn = {32, 64, 72, 128, 136, 200};
                            drawn.layer.layout = Layout::kNhwc;
                            const std::int64_t in = drawn.layer.in_channels;
                            drawn.layer.in_channels = in > 200 ? in / 8 * 8 : kIn[random() % kIn.size()];
                          },
                      .share = 3};
  run_layers(pieces, [&](const Layer& layer, const Plan& plan) {
    kinds.count("a pixel", integer(plan, "chunk") != layer.in_channels);
    kinds.count("a run", integer(plan, "chunk") == layer.in_channels);
    kinds.count("parts of a chunk", layer.in_channels % integer(plan, "chunk") != 0);
    kinds.count("tf32", layer.compute == Compute::kTf32);
    kinds.count("f16", layer.compute == Compute::kF16);
    kinds.count("weights resident", flag(plan, "resident"));
    kinds.count("weights with each stage", !flag(plan, "resident"));
    kinds.count("runs of 4 or 8", integer(plan, "run") > 2);
    kinds.count("chunks of eight depths", integer(plan, "chunk") == (layer.dtype == Dtype::kF32 ? 64 : 128));
  });
  kinds.expect_all();
}

/// Parts the channels in groups of enough of them; in half of the layers rows come by bulk copies.
void part_channels(RandomLayer& drawn, std::mt19937_64& random) {
  constexpr std::array<std::int64_t, 4> kIn = {16, 17, 24, 40};
  constexpr std::array<std::int64_t, 4> kOut = {8, 12, 20, 33};
  Layer& layer = drawn.layer;
  layer.groups = 2 + static_cast<std::int64_t>(random() % 3);
  layer.in_channels = layer.groups * kIn[random() % kIn.size()];
  layer.out_channels = layer.groups * kOut[random() % kOut.size()];
  if (random() % 2 == 0) {
    layer.layout = Layout::kNchw;
    layer.dtype = Dtype::kF32;
    layer.compute = random() % 3 == 0 ? Compute::kF32x3 : Compute::kTf32;
    layer.width = drawn.sizes.width = (random() % 2 == 0 ? 4 : 1) * (3 + static_cast<std::int64_t>(random() % 15));
  }
}

TEST(TensorCores, RandomLayersOfGroupsMatchTheDefinition) {
  Kinds kinds({"channels last", "f32x3", "rows by bulk copies", "rows that begin anywhere in a piece", "bias",
               "phase rows parted", "several blocks of a group's channels", "parts of a chunk"});
  run_layers({.template_name = "shift_gemm", .change = part_channels, .share = 2}, [&](const Layer& layer,
                                                                                       const Plan& plan) {
    const bool whole = layer.width && *layer.width * bytes_of(layer.dtype) % 16 == 0;
    kinds.count("channels last", flag(plan, "channels_last"));
    kinds.count("f32x3", flag(plan, "split"));
    kinds.count("rows by bulk copies", flag(plan, "bulk") && whole);
    kinds.count("rows that begin anywhere in a piece", flag(plan, "bulk") && !whole);
    kinds.count("bias", layer.bias);
    kinds.count("phase rows parted", integer(plan, "phase_rows") < layer.stride.h);
    kinds.count("several blocks of a group's channels", layer.out_channels / layer.groups > integer(plan, "columns"));
    kinds.count("parts of a chunk", layer.in_channels / layer.groups % integer(plan, "chunk") != 0);
  });
  kinds.expect_all();
}

TEST(TensorCores, RandomLayersOfClustersMatchTheDefinition) {
  Kinds kinds({"2 blocks", "4 or 8 blocks", "channels last", "channels first", "bulk copies", "tf32", "f16", "bias",
               "phase rows parted", "runs of 4 or 8", "channels beyond", "stores of two or more"});
  const Wanted clusters{.template_name = "shift_gemm",
                        .plan = [](const Plan& plan) { return plan.cluster > 1; },
                        .change =
                            [](RandomLayer& drawn, std::mt19937_64& random) {
                              constexpr std::array<std::int64_t, 5> kIn = {64, 128, 136, 256, 512};
                              drawn.layer.in_channels = kIn[random() % kIn.size()];
                            },
                        .share = 3};
  run_layers(clusters, [&](const Layer& layer, const Plan& plan) {
    kinds.count("2 blocks", plan.cluster == 2);
    kinds.count("4 or 8 blocks", plan.cluster > 2);
    kinds.count("channels last", layer.layout == Layout::kNhwc);
    kinds.count("channels first", layer.layout == Layout::kNchw);
    kinds.count("bulk copies", flag(plan, "bulk"));
    kinds.count("tf32", layer.compute == Compute::kTf32);
    kinds.count("f16", layer.compute == Compute::kF16);
    kinds.count("bias", layer.bias);
    kinds.count("phase rows parted", integer(plan, "phase_rows") < layer.stride.h);
    kinds.count("runs of 4 or 8", integer(plan, "run") > 2);
    kinds.count("channels beyond", layer.out_channels % integer(plan, "columns") != 0);
    kinds.count("stores of two or more", integer(plan, "store") > 1);
  });
  kinds.expect_all();
}

TEST(TensorCores, RandomLayersWithSharedInputMatchTheDefinition) {
  Kinds kinds({"flat", "flat with rows of taps", "squares", "open sizes", "weights resident", "weights with each stage",
               "in turn", "phase rows parted", "phases joined", "joined by weights of zero", "phases apart", "tf32",
               "tf32 rounded with channels last", "several column tiles", "channels last", "channels first",
               "pairs of pixels", "parts of a row", "stores of two or more"});
  run_layers({.template_name = "halo_gemm"}, [&](const Layer& layer, const Plan& plan) {
    const bool divides = layer.kernel.h % layer.stride.h == 0 && layer.kernel.w % layer.stride.w == 0;
    kinds.count("flat", flag(plan, "flat"));
    kinds.count("flat with rows of taps", flag(plan, "flat") && layer.kernel.h > layer.stride.h);
    kinds.count("squares", !flag(plan, "flat"));
    kinds.count("open sizes", !layer.height || !layer.width);
    kinds.count("weights resident", flag(plan, "resident"));
    kinds.count("weights with each stage", !flag(plan, "resident"));
    kinds.count("in turn", flag(plan, "in_turn"));
    kinds.count("phase rows parted", integer(plan, "phase_rows") < layer.stride.h);
    kinds.count("phases joined", flag(plan, "joined") && layer.stride.h * layer.stride.w > 1);
    kinds.count("joined by weights of zero", flag(plan, "joined") && !divides);
    kinds.count("phases apart", !flag(plan, "joined"));
    kinds.count("channels last", layer.layout == Layout::kNhwc);
    kinds.count("channels first", layer.layout == Layout::kNchw);
    kinds.count("pairs of pixels", integer(plan, "vector") == 2);
    kinds.count("parts of a row", !flag(plan, "flat") && integer(plan, "part_w") == 64);
    kinds.count("stores of two or more", integer(plan, "store") > 1);
    kinds.count("tf32", layer.compute == Compute::kTf32);
    kinds.count("tf32 rounded with channels last",
                layer.compute == Compute::kTf32 && layer.layout == Layout::kNhwc && integer(plan, "copy_bytes") == 0);
    kinds.count("several column tiles", integer(plan, "columns") < layer.out_channels);
  });
  kinds.expect_all();
}

TEST(TensorCores, RandomLayersWhoseRowsRollMatchTheDefinition) {
  Kinds kinds({"tf32",
               "f16",
               "bf16",
               "runs of 4",
               "one sequence",
               "strips of one image",
               "open sizes",
               "several chunks",
               "several column tiles",
               "several segments",
               "padding beyond the kernel",
               "rows below the input",
               "fewer rows than the kernel's",
               "dilation",
               "single stores",
               "stores of a run",
               "channels beyond",
               "bias",
               "outputs exchanged",
               "stores of more than a run",
               "channels last",
               "channels last, tf32",
               "channels last, one kernel row",
               "channels last, one sequence",
               "channels last, an open width",
               "channels last, an odd width",
               "channels last, several steps",
               "channels last, an odd number of steps",
               "channels last, channels beyond",
               "channels last, pixels crossed",
               "channels last, stores of 16 bytes",
               "channels last, single stores"});
  run_layers({.template_name = "roll_gemm"}, [&](const Layer& layer, const Plan& plan) {
    kinds.count("tf32", layer.compute == Compute::kTf32);
    kinds.count("f16", layer.compute == Compute::kF16);
    kinds.count("bf16", layer.compute == Compute::kBf16);
    kinds.count("runs of 4", integer(plan, "run") == 4);
    kinds.count("one sequence", flag(plan, "flat"));
    kinds.count("strips of one image", !flag(plan, "flat"));
    kinds.count("open sizes", !layer.height || !layer.batch);
    kinds.count("several chunks", integer(plan, "chunk") < layer.in_channels);
    kinds.count("several column tiles", integer(plan, "columns") < layer.out_channels);
    kinds.count("several segments", layer.height && integer(plan, "rows") < *layer.height);
    kinds.count("padding beyond the kernel",
                layer.padding.h >= layer.kernel.h || layer.padding.w > layer.dilation.w * (layer.kernel.w - 1));
    kinds.count("rows below the input", layer.padding.h < layer.kernel.h - 1);
    kinds.count("fewer rows than the kernel's", layer.height && *layer.height < layer.kernel.h);
    kinds.count("dilation", layer.dilation.w > 1);
    kinds.count("single stores", integer(plan, "store") == 1);
    kinds.count("stores of a run", integer(plan, "store") == integer(plan, "run"));
    kinds.count("channels beyond", layer.in_channels % integer(plan, "chunk") != 0);
    kinds.count("bias", layer.bias);
    kinds.count("outputs exchanged", flag(plan, "exchange"));
    const bool is_last = layer.layout == Layout::kNhwc;
    const std::int64_t pixel = layer.in_channels * bytes_of(layer.dtype);
    kinds.count("stores of more than a run", !is_last && integer(plan, "store") > integer(plan, "run"));
    kinds.count("channels last", is_last);
    kinds.count("channels last, tf32", is_last && layer.compute == Compute::kTf32);
    kinds.count("channels last, one kernel row", is_last && layer.kernel.h == 1);
    kinds.count("channels last, one sequence", is_last && flag(plan, "flat"));
    kinds.count("channels last, an open width", is_last && !layer.width);
    kinds.count("channels last, an odd width", is_last && layer.width && *layer.width % 2 == 1);
    kinds.count("channels last, several steps", is_last && pixel > 64);
    kinds.count("channels last, an odd number of steps", is_last && (pixel + 31) / 32 % 2 == 1);
    kinds.count("channels last, channels beyond", is_last && pixel % 32 != 0);
    kinds.count("channels last, pixels crossed", is_last && pixel % 128 == 64);
    kinds.count("channels last, stores of 16 bytes", is_last && integer(plan, "store") * bytes_of(layer.dtype) == 16);
    kinds.count("channels last, single stores", is_last && integer(plan, "store") == 1);
  });
  kinds.expect_all();
}

// Channels whose biases a thread adds lie apart by what it stores together: 1, 2 or 4 with channels last.
TEST(TensorCores, EachBiasReachesItsChannel) {
  const std::unique_ptr<Device> device = test_device(1);
  ASSERT_NE(device, nullptr);
  for (const char* mode : {"compute tf32", "compute f32x3", "dtype f16"}) {
    for (const char* layout : {"nchw", "nhwc"}) {
      for (const auto& [channels, groups] : {std::pair(33, 1), {34, 1}, {36, 1}, {51, 3}}) {
        for (const char* kernel : {"kernel 3x3", "kernel 2x2; stride 2x2"}) {
          const std::string text =
              fmt::format("conv_transpose2d {} -> {}; groups {}; {}; input 2x3x4; bias; {}; layout {}", 16 * groups,
                          channels, groups, kernel, mode, layout);
          const Outcome outcome =
              through_the_chain(*device, parse_layer(text).value(), {2, 3, 4}, 1, "shift_gemm", false);
          EXPECT_TRUE(outcome.passed) << text << ": " << outcome.message;
        }
      }
    }
  }
}

}  // namespace
}  // namespace convtgen::testing
