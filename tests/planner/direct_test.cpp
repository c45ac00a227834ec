#include "generator/planner/table/templates.h"

#include <gtest/gtest.h>

#include "generator/planner/candidates.h"
#include "tests/end_to_end/random_layers.h"
#include "tests/layer/set_axes.h"
#include "tests/planner/problems.h"
#include "tests/sample/sample.h"

namespace convtgen {
namespace {

Problem forward_of(const Layer& layer, std::string_view architecture = "sm_90a") {
  return {layer, Direction::kForward, target_named(architecture).value()};
}

Layer layer_a() {
  Layer layer;
  layer.in_channels = layer.out_channels = 32;
  set_axes(layer, &Axis::kernel, {3, 7});
  set_axes(layer, &Axis::padding, {1, 3});
  layer.batch = 8;
  layer.axes[kHeight].extent = 512;
  layer.axes[kWidth].extent = 1024;
  return layer;
}

TEST(PlanDirect, TheReferenceLayerTakesTheBlockThatMeasuredFastest) {
  const Plan plan = kDirect.plans(forward_of(layer_a())).value().front();
  EXPECT_EQ(plan.launch.main().threads, 256);
  EXPECT_EQ(integer(plan, "threads_z"), 4);
  EXPECT_EQ(integer(plan, "channels_per_thread"), 8);
  EXPECT_EQ(integer(plan, "columns_per_thread") * integer(plan, "rows_per_thread"), 8);
  EXPECT_EQ(std::get<TypeName>(plan.parameters.at("Offset")).spelling, "int");
  const Shape shape = shape_of(layer_a(), {8, {512, 1024}}).value();
  EXPECT_EQ(plan.launch.main().grid.blocks(quantities_of(shape)), 8 * 64 * 16);
}

TEST(PlanDirect, IsNotFirstWhereMostTapsOfItsTilesLieOutsideOfTheInput) {
  // One pixel: each output has one of 16 taps, and a thread goes through all. direct took 494 us, shift_gemm 27.
  Layer layer;
  layer.compute = Compute::kTf32;
  layer.in_channels = 256;
  layer.out_channels = 1024;
  set_axes(layer, &Axis::kernel, {4, 4});
  layer.batch = layer.axes[kHeight].extent = layer.axes[kWidth].extent = 1;
  EXPECT_NE(plan(forward_of(layer)).value().front().template_name, "direct");
}

TEST(PlanDirect, EveryRandomLayerGetsALegalBlockOnEveryTarget) {
  testing::LayerSource source(7);
  for (int i = 0; i < 400; ++i) {
    const testing::RandomLayer random = source.next();
    for (const Target& target : known_targets()) {
      // A run takes a third of the pairs.
      if (testing::hash_of(testing::test_seed() + target.architecture + std::to_string(i)) % 6 != 0 &&
          !testing::tests_all()) {
        continue;
      }
      const Result<std::vector<Plan>> plans = plan({random.layer, Direction::kForward, target});
      ASSERT_TRUE(plans) << plans.error().message;
      EXPECT_LE(plans->size(), 12u + 4 * 16u + 8u + 2 * 10u);  // of direct, and of the others where they apply
      const Shape shape = shape_of(random.layer, random.sizes).value();
      for (const Plan& each : *plans) {
        EXPECT_EQ(each.launch.main().threads % 32, 0);
        EXPECT_LE(each.launch.main().threads, 1024);
        EXPECT_GE(each.launch.main().threads, 32);
        EXPECT_LE(each.launch.main().shared_bytes, target.max_shared_bytes);
        const Result<std::int64_t> blocks = grid_blocks({random.layer, Direction::kForward, target}, each, shape);
        ASSERT_TRUE(blocks);
        EXPECT_EQ(*blocks == 0, random.sizes.batch == 0);
      }
    }
  }
}

TEST(PlanDirect, WeightsThatLieAlikeInBothOrdersGiveOnePlan) {
  const auto turned = [](Layer layer) {
    layer.weight_layout = WeightLayout::kChannelsLast;
    return flag(kDirect.plans(forward_of(layer)).value().front(), "weight_channels_last");
  };
  EXPECT_FALSE(flag(kDirect.plans(forward_of(layer_a())).value().front(), "weight_channels_last"));
  EXPECT_TRUE(turned(layer_a()));
  Layer one_tap = layer_a();
  set_axes(one_tap, &Axis::kernel, {1, 1});
  set_axes(one_tap, &Axis::padding, {0, 0});
  EXPECT_FALSE(turned(one_tap));
  Layer depthwise = layer_a();
  depthwise.groups = depthwise.out_channels;
  EXPECT_FALSE(turned(depthwise));
}

TEST(PlanDirect, CandidatesForTuningDifferAndTheFirstIsTheCostModels) {
  const Problem problem = forward_of(layer_a());
  const std::vector<Plan> plans = plan(problem).value();
  EXPECT_GE(plans.size(), 6u);
  EXPECT_EQ(plans.front().parameters, kDirect.plans(problem)->front().parameters);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(plans[i].parameters, plans[j].parameters) << i << " and " << j;
    }
  }
  Layer tiny;  // 1 -> 1, kernel 1x1: little to choose from
  tiny.batch = tiny.axes[kHeight].extent = tiny.axes[kWidth].extent = 1;
  EXPECT_LT(plan(forward_of(tiny))->size(), plans.size());
}

TEST(PlanDirect, HaloLargerThanSharedMemoryIsReadUnstaged) {
  Layer layer = layer_a();
  set_axes(layer, &Axis::kernel, {7, 7});
  set_axes(layer, &Axis::dilation, {100, 100});
  set_axes(layer, &Axis::padding, {0, 0});
  const Plan plan = kDirect.plans(forward_of(layer)).value().front();
  EXPECT_FALSE(flag(plan, "staged"));
  EXPECT_EQ(plan.launch.main().shared_bytes, 0);
}

TEST(PlanDirect, HaloWhoseAreaOverflowsIsReadUnstagedToo) {
  Layer layer;
  set_axes(layer, &Axis::kernel, {2, 2});
  set_axes(layer, &Axis::dilation, {2000000000, 2000000000});
  set_axes(layer, &Axis::padding, {1000000000, 1000000000});
  const Plan plan = kDirect.plans(forward_of(layer)).value().front();
  EXPECT_FALSE(flag(plan, "staged"));
}

TEST(PlanDirect, NumbersBeyondTheKernelsIntegersAreNamed) {
  const auto message_of = [](void (*change)(Layer&)) {
    Layer layer = layer_a();
    change(layer);
    EXPECT_TRUE(check_limits(layer).empty());
    const auto planned = kDirect.plans(forward_of(layer));
    return planned ? std::string("a plan") : planned.error().message;
  };
  EXPECT_EQ(message_of([](Layer& l) {
              l.axes[kHeight] = {.kernel = 5, .padding = 2147483646, .dilation = 1073741824};
              l.axes[kWidth] = {};
            }),
            "height: dilation * (kernel - 1) + output_padding + 1 is 4294967297; at most 2147418111 is supported");
  EXPECT_EQ(message_of([](Layer& l) { l.axes[kWidth].padding = 1073741824, l.axes[kWidth].extent.reset(); }),
            "width: 2 * padding is 2147483648; at most 2147418111 is supported");
  EXPECT_EQ(message_of([](Layer& l) { l.axes[kWidth].padding = {0, 2147483647}, l.axes[kWidth].extent.reset(); }),
            "width: padding before + after is 2147483647; at most 2147418111 is supported");
  EXPECT_EQ(
      message_of([](Layer& l) { l.axes[kWidth] = {.kernel = 2, .padding = {1073700000, 0}, .dilation = 1073741824}; }),
      "width: dilation * (kernel - 1) + output_padding + 1 + padding before - after is 2147441825; at most "
      "2147418111 is supported");
  EXPECT_EQ(message_of([](Layer& l) { set_axes(l, &Axis::stride, {200, 200}); }),
            "stride 200x200 has 40000 phases; at most 16384 are supported");
  EXPECT_EQ(message_of([](Layer& l) {
              l.in_channels = 2147483647, l.batch = 1, l.axes[kHeight].extent = l.axes[kWidth].extent = 8;
            }),
            "in_channels 2147483647 is too large: at most 2147418111 is supported");
  EXPECT_EQ(message_of([](Layer& l) {
              l.axes[kWidth].stride = 2, l.axes[kWidth].padding = 1000, l.axes[kWidth].extent = 1073742000;
            }),
            "input width 1073742000 is too large for the kernel's 32-bit coordinates; at most 1073741760");
}

TEST(PlanDirect, VolumesAreStacksOfPlanes) {
  Layer layer = layer_a();
  layer.dimensions = 3;
  layer.axes[kDepth] = {.kernel = 3, .stride = 2, .padding = 1, .extent = {}};
  const Plan plan = kDirect.plans(forward_of(layer)).value().front();
  EXPECT_EQ(integer(plan, "kernel_d"), 3);
  EXPECT_EQ(integer(plan, "depth"), -1);
  const auto blocks = [&](std::int64_t depth) {
    const Shape shape = shape_of(layer, {8, {depth, 512, 1024}}).value();
    return plan.launch.main().grid.blocks(quantities_of(shape)).value_or(-1);
  };
  EXPECT_GT(blocks(1), 0);
  EXPECT_EQ(blocks(5), 9 * blocks(1));  // planes of the output
  EXPECT_EQ(blocks(1'000'000), -1) << "more than a grid has";
  layer.axes[kDepth].extent = 2147418111;
  layer.axes[kDepth].padding = 1000000000;
  const auto beyond = kDirect.plans(forward_of(layer));
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().message,
            "input depth 2147418111 is too large for the kernel's 32-bit coordinates; at most 1073741822");
  layer.axes[kDepth] = {.kernel = 2, .padding = 1073741824, .extent = {}};
  EXPECT_EQ(kDirect.plans(forward_of(layer)).error().message,
            "depth: 2 * padding is 2147483648; at most 2147418111 is supported");
}

TEST(PlanDirect, OffsetsAre64BitWhereSizesAreOpenOrLarge) {
  Layer open = layer_a();
  open.axes[kHeight].extent.reset();
  EXPECT_EQ(std::get<TypeName>(kDirect.plans(forward_of(open))->front().parameters.at("Offset")).spelling, "long long");
  EXPECT_EQ(integer(kDirect.plans(forward_of(open))->front(), "height"), -1);
  Layer stack = layer_a();
  stack.dimensions = 3;
  stack.axes[kDepth].extent = 256;
  EXPECT_EQ(std::get<TypeName>(kDirect.plans(forward_of(stack))->front().parameters.at("Offset")).spelling,
            "long long");
  Layer large = layer_a();
  large.axes[kHeight].extent = large.axes[kWidth].extent = 16384;  // 32 * 2^28 outputs an image
  EXPECT_EQ(std::get<TypeName>(kDirect.plans(forward_of(large))->front().parameters.at("Offset")).spelling,
            "long long");
}

TEST(Plan, ADirectionThatTheLayerLacksIsAClearError) {
  Problem problem = forward_of(layer_a());
  problem.direction = Direction::kGradInput;
  const Result<std::vector<Plan>> plans = plan(problem);
  ASSERT_FALSE(plans);
  EXPECT_EQ(plans.error().message,
            "directions: the layer has forward, and a kernel for grad_input is wanted; legal is 'directions forward, "
            "grad_input'");
}

TEST(Plan, AnIllegalLayerIsRefused) {
  Layer layer = layer_a();
  layer.groups = 5;
  const Result<std::vector<Plan>> plans = plan(forward_of(layer));
  ASSERT_FALSE(plans);
  EXPECT_NE(plans.error().message.find("groups"), std::string::npos);
}

TEST(Plan, AGridThatIsTooLargeNamesTheSizes) {
  Layer layer;  // 1 -> 1, kernel 1x1
  const Problem problem = forward_of(layer);
  const Plan best = plan(problem)->front();
  const Result<std::int64_t> blocks = grid_blocks(problem, best, shape_of(layer, {2147483647, {1, 4000}}).value());
  ASSERT_FALSE(blocks);
  EXPECT_NE(blocks.error().message.find("a batch of 2147483647 with outputs of 1x4000"), std::string::npos);
  const Result<std::int64_t> wide = grid_blocks(problem, best, shape_of(layer, {1, {1, 2147483647}}).value());
  ASSERT_FALSE(wide);
  EXPECT_NE(wide.error().message.find("output width 2147483647"), std::string::npos);
}

}  // namespace
}  // namespace convtgen
