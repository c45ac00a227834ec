#include "generator/planner/plan/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace convtgen {
namespace {

/// The same size with input and output exchanged.
Quantity exchanged(Quantity quantity) {
  using enum Quantity;
  constexpr std::pair<Quantity, Quantity> kPairs[] = {{kInDepth, kOutDepth},   {kInHeight, kOutHeight},
                                                      {kInWidth, kOutWidth},   {kInImage, kOutImage},
                                                      {kInPixels, kOutPixels}, {kInPlane, kOutPlane}};
  for (const auto& [in, out] : kPairs) {
    if (quantity == in || quantity == out) {
      return quantity == in ? out : in;
    }
  }
  return quantity;
}

Axis exchanged(const Axis& axis) {
  Axis out = axis;
  const std::int64_t reach = axis.dilation * (axis.kernel - 1);
  out.padding.before = reach - axis.padding.before;
  out.padding.after = reach - axis.padding.after + axis.output_padding;
  out.output_padding = 0;
  out.stride = 1;
  out.input_stride = axis.stride;
  if (axis.extent) {
    out.extent = output_extent(axis, *axis.extent);
  }
  return out;
}

}  // namespace

Result<Problem> exchanged_problem(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (problem.direction != Direction::kGradInput) {
    return fail(fmt::format("direction {}; it takes forward and grad_input", name_of(problem.direction)));
  }
  Problem out{layer, Direction::kForward, problem.target, true};
  std::swap(out.layer.in_channels, out.layer.out_channels);
  std::swap(out.layer.x_channels, out.layer.y_channels);
  for (const std::size_t axis : axes_of(layer)) {
    out.layer.axes[axis] = exchanged(layer.axes[axis]);
  }
  out.layer.bias = false;
  out.layer.directions = {Direction::kForward};
  return out;
}

InputSizes exchanged_sizes(const Layer& layer, const InputSizes& sizes) {
  InputSizes out = sizes;
  for (const std::size_t axis : axes_of(layer)) {
    out.extents[axis] = output_extent(layer.axes[axis], sizes.extents[axis]);
  }
  return out;
}

void exchange_plan(const Problem& problem, Plan& plan) {
  const Layer& layer = problem.layer;
  plan.parameters.find("weights_exchanged")->second = true;
  // With one tap or one output channel in a group both orders of the weights are the same.
  plan.parameters.find("weight_channels_last")->second =
      layer.weight_layout == WeightLayout::kChannelsLast && tap_count(layer) > 1 && layer.out_channels > layer.groups;
  plan.reason = "as a forward layer from grad_y to grad_x, with channels exchanged and taps mirrored; " + plan.reason;
  plan.launch = exchanged_launch(problem, plan, std::move(plan.launch));
  plan.swapped = true;
}

LaunchPlan exchanged_launch(const Problem& problem, const Plan& plan, LaunchPlan launch) {
  const auto exchange = [](Amount& amount) { amount.per = exchanged(amount.per); };
  for (KernelPlan& kernel : launch.kernels) {
    for (Grid::Axis& axis : kernel.grid.axes) {
      exchange(axis.extent);
    }
    for (Grid::Bound& bound : kernel.grid.bounds) {
      bound.extent = exchanged(bound.extent);
    }
  }
  for (Region& region : launch.regions) {
    exchange(region.bytes);
  }
  for (MapRecipe& map : launch.maps) {
    map.role = map.role == Role::kX ? Role::kGradY : map.role == Role::kY ? Role::kGradX : map.role;
    std::ranges::for_each(map.sizes, exchange);
    std::ranges::for_each(map.pitches, exchange);
  }
  launch.tensors = tensors_of(problem.layer, problem.direction, plan.alignment);
  launch.note =
      "In the code x is grad_y and y is grad_x; channels are exchanged and taps mirrored: tap (0, 0) is the last one.";
  launch.renamed = {
      {"x", "grad_y"}, {"y", "grad_x"}, {"depth", "out_depth"}, {"height", "out_height"}, {"width", "out_width"}};
  return launch;
}

}  // namespace convtgen
