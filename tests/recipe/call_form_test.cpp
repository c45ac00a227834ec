// The quick way from sizes to a launch says what the slow ways say, for random layers and sizes.
#include "generator/recipe/call_form.h"

#include <gtest/gtest.h>

#include <random>

#include "generator/planner/candidates.h"
#include "generator/planner/plan/plan.h"
#include "tests/layer/set_axes.h"

namespace convtgen {
namespace {

void* at(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}
const Arrays kSomewhere =
    forward_arrays(at(std::uint64_t{1} << 60), at(std::uint64_t{1} << 61), nullptr, at(std::uint64_t{1} << 56));

/// The recipe of a plan whose kernel takes nothing.
Recipe recipe_of(const Plan& plan) {
  const LaunchPlan& launch = plan.launch;
  Recipe recipe{.tensors = launch.tensors};
  recipe.kernels = {{.symbol = "main", .threads = launch.main().threads, .grid = launch.kernels.back().grid}};
  return recipe;
}

TEST(CallFormTest, AgreesWithShapeOfAndGridBlocks) {
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random() % bound); };
  int launched = 0, refused = 0;
  for (int i = 0; i < 5000; ++i) {
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
    const auto form = CallForm::make(layer, recipe_of(plans->front()));
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
      EXPECT_EQ(quick->kernels[0].blocks, *blocks);
      launched += quick->kernels[0].blocks > 0 ? 1 : 0;
    } else {
      EXPECT_EQ(quick.error().message, blocks.error().message);
      ++refused;
    }
  }
  EXPECT_GT(launched, 1200);
  EXPECT_GT(refused, 250);
}

/// Packing, sums of parts of the pixels, and their reduction: two regions (one grows with the batch), and a
/// tensor map of it.
Recipe three_kernels(const Layer& layer) {
  Recipe recipe;
  recipe.tensors = tensors_of(layer, Direction::kForward, 16);
  recipe.regions = {
      {.name = "packed", .what = "packed weights", .bytes = {.constant = 200}, .kept = true},
      {.name = "partial", .what = "partial sums", .bytes = {.constant = 64, .factor = 4096, .per = Quantity::kBatch}}};
  MapRecipe map{.name = "sums", .of_region = true, .region = 1};
  map.form.element = TensorMap::Element::kF32;
  map.form.rank = 2;
  map.form.box = {32, 8};
  map.sizes = {Amount{.constant = 1024}, Amount{.factor = 1, .per = Quantity::kBatch}};
  map.pitches = {Amount{}, Amount{.constant = 4096}};
  recipe.maps = {map};
  const Amount pixels{.factor = 1, .per = Quantity::kOutPixels};
  recipe.kernels = {{.symbol = "pack",
                     .threads = 32,
                     .parameters = {{"weight", "const float*"}, {"packed", "float*"}},
                     .grid = {.axes = {{{.constant = 200}, 64}}},
                     .once = true},
                    {.symbol = "parts",
                     .threads = 64,
                     .parameters = {{"x", "const float*"},
                                    {"packed", "const float*"},
                                    {"partial", "float*"},
                                    {"batch", "int"},
                                    {"lane", "int"}},
                     .grid = {.axes = {{pixels, 100}}, .blocks_per_tile = 3, .most_tiles = 5},
                     .waits = true},
                    {.symbol = "reduce",
                     .threads = 128,
                     .parameters = {{"sums", "TensorMap"}, {"y", "float*"}, {"height", "long long"}},
                     .grid = {.axes = {{pixels, 128}}},
                     .waits = true}};
  EXPECT_TRUE(bind_arguments(recipe, std::vector<NamedConstant>{{"lane", 7}}));
  return recipe;
}

Layer some_layer() {
  Layer layer;
  layer.in_channels = 4;
  layer.out_channels = 2;
  return layer;
}

TEST(CallFormTest, EvaluatesEveryKindOfArgument) {
  const CallForm form = CallForm::make(some_layer(), three_kernels(some_layer())).value();
  Arrays arrays = forward_arrays(at(0x100000), at(0x200000), nullptr, at(0x300000), at(0x400000));
  const InputSizes sizes{6, {10, 20}};
  const Call call = form.call(arrays, sizes).value();
  EXPECT_EQ(form.workspace_bytes(call.shape), 256 + 64 + 6 * 4096) << "regions begin at multiples of 128";
  EXPECT_EQ(form.kept_bytes(), 200);
  EXPECT_EQ(form.recipe().workspace_words(), "packed weights and partial sums");
  EXPECT_EQ(call.kernels[0].blocks, 4);
  EXPECT_EQ(call.kernels[1].blocks, 15) << "6 * 10 * 20 pixels are 12 tiles; 5 have blocks";
  EXPECT_EQ(call.kernels[2].blocks, 10);
  const auto slots = [](const KernelCall& kernel, std::size_t count) {
    return std::vector<std::uint64_t>(kernel.slots.begin(), kernel.slots.begin() + static_cast<std::ptrdiff_t>(count));
  };
  EXPECT_EQ(slots(call.kernels[0], 2), (std::vector<std::uint64_t>{0x200000, 0x400000}));
  EXPECT_EQ(slots(call.kernels[1], 5), (std::vector<std::uint64_t>{0x100000, 0x400000, 0x400100, 6, 7}));
  EXPECT_EQ(call.kernels[2].slots[1], 0x300000u);
  EXPECT_EQ(call.kernels[2].slots[2], 10u);
  EXPECT_FALSE(call.kernels[0].waits);
  EXPECT_TRUE(call.kernels[1].waits);
  EXPECT_TRUE(call.kernels[2].waits);

  const TensorMap map = form.map(0, arrays, call).value();
  EXPECT_EQ(map.address, 0x400100u);
  EXPECT_EQ(map.sizes[0], 1024u);
  EXPECT_EQ(map.sizes[1], 6u);
  EXPECT_EQ(map.pitches[1], 4096u);

  arrays.set(Role::kWeight, nullptr);
  const Call packed_before = form.call(arrays, sizes).value();
  EXPECT_EQ(packed_before.kernels[0].blocks, 0);
  EXPECT_FALSE(packed_before.kernels[1].waits) << "there is no launch before it";
  EXPECT_TRUE(packed_before.kernels[2].waits);
}

TEST(CallFormTest, WrongArraysAreNamed) {
  const CallForm form = CallForm::make(some_layer(), three_kernels(some_layer())).value();
  const auto refusal = [&](const Arrays& arrays) {
    const auto call = form.call(arrays, {6, {10, 20}});
    return call ? std::string() : call.error().message;
  };
  const Arrays right = forward_arrays(at(0x100000), at(0x200000), nullptr, at(0x300000), at(0x400000));
  EXPECT_EQ(refusal(right), "");
  Arrays arrays = right;
  arrays.set(Role::kGradY, at(0x500000));
  EXPECT_EQ(refusal(arrays), "grad_y must be null: the call has y, x and weight");
  arrays = right;
  arrays.set(Role::kY, at(0x300004));
  EXPECT_EQ(refusal(arrays), "y (0x300004) is misaligned: a multiple of 16 bytes is needed");
  arrays = right;
  arrays.set(Role::kX, at(0x300000 + 9584));  // y has 9,600 bytes
  EXPECT_EQ(refusal(arrays), "y overlaps x");
  arrays = right;
  arrays.workspace = nullptr;
  EXPECT_EQ(refusal(arrays),
            "workspace is null: the kernel needs 24896 bytes there, for packed weights and partial sums");
  arrays.workspace = at(0x300000 - 24832);
  EXPECT_EQ(refusal(arrays), "workspace (24896 bytes) overlaps y");
}

/// 8 channels of x and 16 of y, of tensors of 40.
Layer slices_of(Layout layout) {
  Layer layer;
  layer.in_channels = 8;
  layer.out_channels = 16;
  layer.x_channels = layer.y_channels = 40;
  layer.layout = layout;
  set_axes(layer, &Axis::kernel, {1, 1});
  return layer;
}

TEST(CallFormTest, ChannelsOfATensorAreRunsWithGaps) {
  for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
    const Layer layer = slices_of(layout);
    const Plan plan = convtgen::plan({layer, Direction::kForward, known_targets().front()}).value().front();
    const Tensor& y = plan.launch.tensors.front();
    const Quantities quantities = quantities_of(shape_of(layer, {3, {5, 7}}).value());
    EXPECT_EQ(y.elements.in(quantities), 3 * 35 * 16);
    // All of the tensor up to the last channel.
    EXPECT_EQ(y.span(quantities), layout == Layout::kNchw ? (2 * 40 + 16) * 35 : (3 * 35 - 1) * 40 + 16);
    EXPECT_EQ(y.span(quantities_of(shape_of(layer, {0, {5, 7}}).value())), 0);
  }
}

TEST(CallFormTest, ChannelsOfATensorOverlapOnlyWhereTheyAreTheSame) {
  for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
    const Layer layer = slices_of(layout);
    const Plan plan = convtgen::plan({layer, Direction::kForward, known_targets().front()}).value().front();
    const CallForm form = CallForm::make(layer, recipe_of(plan)).value();
    const std::uint64_t channel = layout == Layout::kNchw ? 35 * 4 : 4;  // bytes from one to the next
    // With x at channel 20.
    const auto refusal = [&](std::int64_t first) {
      const Arrays arrays = forward_arrays(at(0x100000 + 20 * channel), at(0x900000), nullptr,
                                           at(0x100000 + static_cast<std::uint64_t>(first) * channel));
      const auto call = form.call(arrays, {3, {5, 7}});
      return call ? std::string() : call.error().message;
    };
    for (const std::int64_t first : {0, 4, 28}) {
      EXPECT_EQ(refusal(first), "") << first;
    }
    for (const std::int64_t first : {8, 12, 16, 20, 24}) {
      EXPECT_EQ(refusal(first), "y overlaps x") << first;
    }
  }
}

TEST(RecipeTest, WhatDoesNotGoTogetherIsRefused) {
  const auto refusal = [](const auto& change) {
    Recipe recipe = three_kernels(some_layer());
    change(recipe);
    const auto bound = bind_arguments(recipe, std::vector<NamedConstant>{{"lane", 7}});
    const auto checked = bound ? check_recipe(recipe) : bound;
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(refusal([](Recipe&) {}), "");
  EXPECT_EQ(refusal([](Recipe& recipe) { recipe.kernels[0].parameters.push_back({"scale", "float"}); }),
            "the kernel pack has a parameter 'float scale' that no caller knows");
  EXPECT_EQ(refusal([](Recipe& recipe) { recipe.kernels[2].parameters[0].type = "const float*"; }),
            "the kernel reduce has a parameter 'const float* sums' that no caller knows")
      << "a tensor map is no address";
  EXPECT_EQ(refusal([](Recipe& recipe) { recipe.kernels[0].parameters.resize(20, {"batch", "int"}); }),
            "a recipe with 20 arguments of a kernel; there is room for 16");
  EXPECT_EQ(refusal([](Recipe& recipe) { recipe.kernels.resize(10, recipe.kernels[2]); }),
            "a recipe with 10 kernels; there is room for 9");
  EXPECT_EQ(refusal([](Recipe& recipe) { recipe.kernels.clear(); }), "a recipe without a kernel");
  EXPECT_EQ(refusal([](Recipe& recipe) { recipe.regions[0].bytes.factor = 1; }),
            "the region packed is kept between calls and grows with them");
  EXPECT_EQ(refusal([](Recipe& recipe) { std::swap(recipe.regions[0], recipe.regions[1]); }),
            "a recipe's regions: those that are kept come first");
  EXPECT_EQ(refusal([](Recipe& recipe) { std::swap(recipe.tensors[0], recipe.tensors[1]); }),
            "a recipe's tensors: those that are written come first");
  EXPECT_EQ(refusal([](Recipe& recipe) { recipe.regions.push_back({.name = "more", .what = "more"}); }),
            "no kernel takes the region more");
  EXPECT_EQ(refusal([](Recipe& recipe) { recipe.maps[0].region = 2; }),
            "the tensor map sums is of what the recipe has not");
}

TEST(RecipeTest, EveryDirectionHasItsTensors) {
  Layer layer = some_layer();
  layer.bias = true;
  const auto roles = [&](Direction direction) {
    std::string text;
    for (const Tensor& tensor : tensors_of(layer, direction, 16)) {
      text += std::string(name_of(tensor.role)) + (tensor.written ? "! " : " ");
    }
    return text;
  };
  EXPECT_EQ(roles(Direction::kForward), "y! x weight bias ");
  EXPECT_EQ(roles(Direction::kGradInput), "grad_x! grad_y weight ");
  EXPECT_EQ(roles(Direction::kGradWeight), "grad_weight! grad_bias! x grad_y ");
  EXPECT_EQ(roles(Direction::kGradBias), "grad_bias! grad_y ");
}

}  // namespace
}  // namespace convtgen
