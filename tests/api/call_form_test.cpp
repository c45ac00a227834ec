// The quick way from sizes to a launch says what the slow ways say, for random layers and sizes.
#include "runtime/jit/call_form.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/layer/set_axes.h"

namespace convtgen::jit {
namespace {

const Pointers kSomewhere{reinterpret_cast<void*>(std::uintptr_t{1} << 60),
                          reinterpret_cast<void*>(std::uintptr_t{1} << 61), nullptr,
                          reinterpret_cast<void*>(std::uintptr_t{1} << 56)};

TEST(CallFormTest, AgreesWithShapeOfAndGridBlocks) {
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random() % bound); };
  int launched = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    Layer layer;
    set_axes(layer, &Axis::kernel, {1 + below(5), 1 + below(5)});
    set_axes(layer, &Axis::stride, {1 + below(4), 1 + below(4)});
    set_axes(layer, &Axis::padding, {below(3), below(3)});
    set_axes(layer, &Axis::dilation, {1 + below(3), 1 + below(3)});
    layer.in_channels = layer.out_channels = 1 + below(64);
    if (below(2) == 0) {
      layer.axes[kWidth].extent = 1 + below(20);
    }
    const auto size = [&] { return below(8) == 0 ? below(std::uint64_t{1} << (1 + below(62))) : below(40) - 2; };
    const InputSizes sizes{size(),
                           {size(), layer.axes[kWidth].extent && below(4) != 0 ? *layer.axes[kWidth].extent : size()}};
    const Problem problem{layer, Direction::kForward, known_targets().front()};
    if (!check_limits(layer).empty()) {
      continue;
    }
    const auto plans = plan(problem);
    ASSERT_TRUE(plans) << plans.error().message;
    const auto form = CallForm::make(problem, plans->front(), {});
    ASSERT_TRUE(form);
    const auto quick = form->call(kSomewhere, sizes);
    const auto shape = shape_of(layer, sizes);
    if (!shape) {
      ASSERT_FALSE(quick);
      EXPECT_EQ(quick.error().message, shape.error().message);
      ++refused;
      continue;
    }
    const auto blocks = grid_blocks(problem, plans->front(), *shape);
    if (!quick && blocks) {  // a grid could do it, but not an address space
      EXPECT_GT(shape->input_elements + shape->output_elements, std::int64_t{1} << 50) << quick.error().message;
      continue;
    }
    ASSERT_EQ(quick.has_value(), blocks.has_value()) << (quick ? blocks.error().message : quick.error().message);
    if (quick) {
      EXPECT_EQ(quick->shape, *shape);
      EXPECT_EQ(quick->blocks, *blocks);
      launched += quick->blocks > 0 ? 1 : 0;
    } else {
      EXPECT_EQ(quick.error().message, blocks.error().message);
      ++refused;
    }
  }
  EXPECT_GT(launched, 5000);
  EXPECT_GT(refused, 1000);
}

TEST(CallFormTest, RefusesAParameterThatNobodyKnows) {
  const Problem problem{Layer{}, Direction::kForward, known_targets().front()};
  const auto plans = plan(problem);
  ASSERT_TRUE(plans);
  KernelSource source;
  source.parameters = {{"x", "const float*"}, {"scale", "float"}};
  const auto form = CallForm::make(problem, plans->front(), source);
  ASSERT_FALSE(form);
  EXPECT_NE(form.error().message.find("'float scale'"), std::string::npos);
}

}  // namespace
}  // namespace convtgen::jit
