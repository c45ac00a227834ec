// Gradients of random layers for each direction and template, run through the whole chain and held to the definition in
// fp64.
//
// CONVTGEN_TEST_SEED    any text, which chooses the layers of a run (default "1"; tests/run.sh: the sources' digest)
// CONVTGEN_TEST_LAYERS  how many of each direction and template (default 8)
// CONVTGEN_TEST_ALL     if set: layers in which all pairs of property classes occur that were drawn
// CONVTGEN_TEST_DEVICE  host (default) or cuda
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <random>

#include "generator/language/language.h"
#include "generator/planner/templates.h"
#include "runtime/reference/parallel.h"
#include "tests/end_to_end/net.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

constexpr std::size_t kRun = 8;        // layers of a direction and template
constexpr std::size_t kMost = 400;     // of all
constexpr std::size_t kPatience = 60;  // drawn layers one after the other that show nothing new

std::size_t number_of_layers() {
  const char* wanted = std::getenv("CONVTGEN_TEST_LAYERS");
  return wanted != nullptr ? std::stoul(wanted) : kRun;
}

struct GradientCase {
  Direction direction;
  const char* template_name;
};

class Gradients : public ::testing::TestWithParam<GradientCase> {
 protected:
  /// A layer with one of the template's plans for the gradient.
  struct Drawn {
    RandomLayer layer;
    Plan plan;
  };

  explicit Gradients()
      : random_(
            seeded_by(fmt::format("{} {} {}", name_of(GetParam().direction), GetParam().template_name, test_seed()))),
        source_(random_()) {}

  Drawn draw() {
    for (;;) {
      Wanted wanted = random_wish(random_);
      wanted.template_name = is_exchanged() ? GetParam().template_name : "direct";
      std::optional<RandomLayer> drawn = source_.next(wanted);
      if (!drawn) {
        continue;
      }
      Layer& layer = drawn->layer;
      layer.fuse.clear();
      layer.bias |= GetParam().direction == Direction::kGradBias;
      layer.directions = {GetParam().direction};
      if (is_exchanged()) {
        std::swap(layer.in_channels, layer.out_channels);
        if (!takes_strides() || random_() % 4 == 0) {
          for (Axis& axis : layer.axes) {
            axis.stride = 1;
            axis.output_padding = std::min(axis.output_padding, axis.dilation - 1);
          }
        }
      }
      const auto shape = shape_of(layer, drawn->sizes);
      if (!check_limits(layer).empty() || !shape) {
        continue;
      }
      auto plans = plan({layer, GetParam().direction, target_named("sm_90a").value()}).value_or(std::vector<Plan>());
      std::erase_if(plans, [](const Plan& each) { return each.template_name != GetParam().template_name; });
      if (!plans.empty()) {
        return {*drawn, plans[random_() % plans.size()]};
      }
    }
  }

  /// Layers of a run: some, or as many as show new pairs of classes.
  std::vector<Drawn> layers() {
    std::vector<Drawn> all;
    Coverage coverage;
    for (std::size_t idle = 0; all.size() < (tests_all() ? kMost : number_of_layers()) && idle < kPatience; ++idle) {
      Drawn drawn = draw();
      const Classes classes = classes_of(drawn.layer);
      const std::string mode = mode_of(drawn.layer.layer, drawn.plan);
      if (!tests_all() || !coverage.missing_pairs(mode, classes).empty()) {
        coverage.add_pairs(mode, classes);
        all.push_back(std::move(drawn));
        idle = 0;
      }
    }
    return all;
  }

 private:
  /// Whether the template is one of forward layers.
  static bool is_exchanged() {
    return template_named(GetParam().template_name).value()->direction == Direction::kForward;
  }

  /// Whether it also makes the gradients of layers with strides.
  static bool takes_strides() { return GetParam().template_name == std::string_view("shift_gemm"); }

  std::mt19937_64 random_;
  LayerSource source_;
};

TEST_P(Gradients, MatchTheDefinition) {
  const std::vector<Drawn> chosen = layers();
  ASSERT_GE(chosen.size(), tests_all() ? kRun : number_of_layers());
  parallel_for(static_cast<std::int64_t>(chosen.size()), 1, [&](std::int64_t begin, std::int64_t) {
    const auto& [drawn, plan] = chosen[static_cast<std::size_t>(begin)];
    const auto& [layer, sizes] = drawn;
    const std::unique_ptr<Device> device = test_device(1);
    ASSERT_NE(device, nullptr);
    const auto failure =
        failure_of(*device, layer, sizes, plan, static_cast<std::uint64_t>(begin), GetParam().direction);
    EXPECT_FALSE(failure) << fmt::format("{} at {}x{}x{}; {}; {}: {}", canonical_form(layer), sizes.batch,
                                         sizes.extents[kHeight], sizes.extents[kWidth], plan.summary, plan.reason,
                                         *failure);
  });
  fmt::print("  {} layers\n", chosen.size());
}

INSTANTIATE_TEST_SUITE_P(Templates, Gradients,
                         ::testing::Values(GradientCase{Direction::kGradInput, "direct_grad_input"},
                                           GradientCase{Direction::kGradInput, "shift_gemm"},
                                           GradientCase{Direction::kGradInput, "f32x3_gemm"},
                                           GradientCase{Direction::kGradInput, "halo_gemm"},
                                           GradientCase{Direction::kGradInput, "roll_gemm"},
                                           GradientCase{Direction::kGradWeight, "direct_grad_weight"},
                                           GradientCase{Direction::kGradWeight, "grad_weight_gemm"},
                                           GradientCase{Direction::kGradWeight, "grad_weight_pixels"},
                                           GradientCase{Direction::kGradWeight, "grad_weight_rows"},
                                           GradientCase{Direction::kGradWeight, "f32x3_grad_weight"},
                                           GradientCase{Direction::kGradBias, "grad_bias"}),
                         [](const ::testing::TestParamInfo<GradientCase>& info) {
                           return fmt::format("{}_{}", name_of(info.param.direction), info.param.template_name);
                         });

}  // namespace
}  // namespace convtgen::testing
