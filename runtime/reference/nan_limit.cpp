#include "runtime/reference/nan_limit.h"

#include <algorithm>
#include <cmath>

#include "runtime/reference/tap_pairs.h"

namespace convtgen {
namespace {

/// Whether the tap is of the phase of this place of the output, whatever the input's extent is.
bool is_of_phase(const Layer& layer, const Extents& out, const Extents& tap) {
  for (std::size_t i = 0; i < kAxes; ++i) {
    const Axis& axis = layer.axes[i];
    if ((out[i] + axis.padding.before - tap[i] * axis.dilation) % axis.stride != 0) {
      return false;
    }
  }
  return true;
}

/// Along an axis: whether some phase of the output's position has a tap that reads this input, and whether the output's
/// own phase has.
struct Reach {
  bool any = false, own = false;
};
Reach reach_of(const Axis& axis, std::int64_t out, std::int64_t in) {
  const std::int64_t from = out + axis.padding.before - in * axis.stride;  // taps * dilation
  const bool own = from >= 0 && from % axis.dilation == 0 && from / axis.dilation < axis.kernel;
  const std::int64_t positions = (out + axis.padding.before) / axis.stride - in;
  return {own || (axis.stride > 1 && positions >= 0 && positions * axis.stride < axis.kernel), own};
}

}  // namespace

bool has_zero_taps(const Plan& plan) {
  const auto found = plan.parameters.find("fused_phases");  // of halo_gemm
  return found != plan.parameters.end() && std::get<bool>(found->second);
}

NanLimit::NanLimit(const Layer& layer, const Shape& shape, Role role, const HostArray& weight)
    : layer_(layer), shape_(shape), is_forward_(role == Role::kY) {
  if (role != Role::kY && role != Role::kGradX) {
    return;
  }
  const std::int64_t in_group = layer.in_channels / layer.groups, out_group = layer.out_channels / layer.groups;
  for (std::int64_t i = 0; i < weight.size(); ++i) {
    if (std::isfinite(weight.at(i))) {
      continue;
    }
    const WeightPosition position = weight_position(layer, i);
    const std::int64_t channel = is_forward_ ? position.in / in_group * out_group + position.out : position.in;
    taps_.resize(static_cast<std::size_t>(is_forward_ ? layer.out_channels : layer.in_channels));
    std::vector<Extents>& taps = taps_[static_cast<std::size_t>(channel)];
    const Extents tap = place_of(position.tap, kernel_of(layer));
    if (std::ranges::find(taps, tap) == taps.end()) {
      taps.push_back(tap);
    }
  }
}

void NanLimit::add_zero_taps(const HostArray& x) {
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x.at(i))) {
      continue;
    }
    const ElementPosition position = position_of(layer_, shape_, Role::kX, i);
    inputs_.resize(static_cast<std::size_t>(shape_.batch));
    std::vector<Extents>& places = inputs_[static_cast<std::size_t>(position.n)];
    if (std::ranges::find(places, position.at) == places.end()) {
      places.push_back(position.at);
    }
  }
}

bool NanLimit::allows_nan(const ElementPosition& at) const {
  const auto meets_zero_tap = [&](const Extents& in) {
    Reach reach{true, true};
    for (std::size_t i = 0; i < kAxes; ++i) {
      const Reach along = reach_of(layer_.axes[i], at.at[i], in[i]);
      reach.any = reach.any && (i == kDepth ? along.own : along.any);  // planes are made apart
      reach.own = reach.own && along.own;
    }
    return reach.any && !reach.own;
  };
  if (!inputs_.empty() && std::ranges::any_of(inputs_[static_cast<std::size_t>(at.n)], meets_zero_tap)) {
    return true;
  }
  return !taps_.empty() && std::ranges::any_of(taps_[static_cast<std::size_t>(at.c)], [&](const Extents& tap) {
    return is_forward_ ? is_of_phase(layer_, at.at, tap) && !input_of(layer_, shape_, at.at, tap)
                       : !output_of(layer_, shape_, at.at, tap);
  });
}

}  // namespace convtgen
