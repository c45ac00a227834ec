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

}  // namespace

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

bool NanLimit::allows_nan(const ElementPosition& at) const {
  return !is_empty() && std::ranges::any_of(taps_[static_cast<std::size_t>(at.c)], [&](const Extents& tap) {
    return is_forward_ ? is_of_phase(layer_, at.at, tap) && !input_of(layer_, shape_, at.at, tap)
                       : !output_of(layer_, shape_, at.at, tap);
  });
}

}  // namespace convtgen
