// Every barrier, wait, fence and arrival of the emitted source for tensor cores is needed: with any one of them broken,
// a run on the host device fails within 20 seeds. The runs have few blocks, so that stages are used again and blocks go
// on to other tiles.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/run_layer.h"
#include "tests/primitives/mutants.h"

namespace convtgen::testing {
namespace {

constexpr std::uint64_t kSeeds = 20;

struct Case {
  const char* name;
  const char* layer;
  bool resident;
  bool in_turn;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.layer;
}

class TensorCoreMutation : public ::testing::TestWithParam<Case> {};

TEST_P(TensorCoreMutation, EverySynchronisationIsNeeded) {
  const std::unique_ptr<HostDevice> device = open_host_device(HostOptions{.cache = false}).value();
  const Layer layer = parse_layer(GetParam().layer).value();
  const InputSizes sizes = known_sizes(layer).value();
  const Problem problem{layer, Direction::kForward, target_named("sm_90a").value()};
  const std::vector<Plan> plans = plan(problem).value();
  const auto found = std::ranges::find_if(plans, [](const Plan& each) {
    return each.template_name == "halo_gemm" && std::get<bool>(each.parameters.at("resident")) == GetParam().resident &&
           std::get<bool>(each.parameters.at("in_turn")) == GetParam().in_turn;
  });
  ASSERT_NE(found, plans.end());
  const std::int64_t columns = grid_of(problem, *found).blocks_per_tile;
  LayerInputs inputs = random_inputs(layer, shape_of(layer, sizes).value(), 3);

  /// Runs the source; empty where its results are right, else what was wrong with one.
  const auto judge = [&](const KernelSource& source) -> std::string {
    Result<LoadedLayer> loaded = load_source(*device, problem, *found, source);
    if (!loaded) {
      return loaded.error().message;
    }
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      device->set_seed(seed);
      Result<LayerCall> call = make_call(*device, *loaded, sizes, inputs);
      EXPECT_TRUE(call);
      call->launch.blocks = columns;
      if (const Result<void> run = run_call(*device, *loaded, *call); !run) {
        return fmt::format("seed {}: {}", seed, run.error().message);
      }
      const Result<Verification> verified = verify_call(*device, layer, *call, inputs);
      EXPECT_TRUE(verified);
      if (!verified->comparison.passed()) {
        return fmt::format("seed {}: {}", seed, describe(verified->comparison, layer));
      }
    }
    return "";
  };

  const KernelSource source = specialize(problem, *found).value();
  ASSERT_EQ(judge(source), "") << "the source as it is: " << found->summary << "; " << found->reason;
  // The guarded block of primitives stays as it is.
  const std::size_t kernels = source.text.find("#endif");
  ASSERT_NE(kernels, std::string::npos);
  const std::vector<Mutant> mutants = mutants_of(source.text.substr(kernels));
  EXPECT_GE(mutants.size(), 15U);
  for (const Mutant& one : mutants) {
    KernelSource mutated = source;
    mutated.text = source.text.substr(0, kernels) + one.body;
    const std::string verdict = judge(mutated);
    fmt::print("{}\n    {}\n", one.name, verdict.empty() ? "SURVIVED" : verdict.substr(0, verdict.find('\n')));
    EXPECT_NE(verdict, "") << one.name << ", and nothing noticed in " << kSeeds << " seeds";
  }
}

INSTANTIATE_TEST_SUITE_P(
    HaloGemm, TensorCoreMutation,
    ::testing::Values(Case{"copies_with_weights_of_each_stage",
                           "conv_transpose2d 640 -> 24; kernel 3x3; stride 2x2; padding 1x1; input 3x7x9; dtype f16; "
                           "layout nhwc; bias",
                           false, false},
                      Case{"registers_with_warpgroups_in_turn",
                           "conv_transpose2d 24 -> 16; kernel 3x3; input 1x19x26; compute tf32; fuse relu", true,
                           true}),
    [](const ::testing::TestParamInfo<Case>& info) { return info.param.name; });

}  // namespace
}  // namespace convtgen::testing
