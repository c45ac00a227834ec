#include "generator/planner/plan/layer_parameters.h"

#include <utility>

namespace convtgen {
namespace {

Parameters depth_parameters(const Axis& axis) {
  const Axis planes = symmetric(axis);
  return {
      {"kernel_d", planes.kernel},          {"stride_d", planes.stride},
      {"padding_d", planes.padding.before}, {"output_padding_d", planes.output_padding},
      {"dilation_d", planes.dilation},      {"depth", planes.extent.value_or(-1)},
  };
}

}  // namespace

Parameters layer_parameters(const Layer& l) {
  std::vector<std::int64_t> kinds;
  std::vector<double> as, bs;
  for (const auto* chain : {&l.fuse, &l.fuse_input}) {
    for (const Activation& step : *chain) {
      kinds.push_back(static_cast<std::int64_t>(step.kind));
      as.push_back(step.a);
      bs.push_back(step.b);
    }
  }
  const Axis rows = symmetric(l.axes[kHeight]);
  const Axis columns = symmetric(l.axes[kWidth]);
  // With one tap or one output channel in a group both orders are the same.
  const bool weights_turned =
      l.weight_layout == WeightLayout::kChannelsLast && tap_count(l) > 1 && l.out_channels > l.groups;
  return {
      {"kernel_h", rows.kernel},
      {"kernel_w", columns.kernel},
      {"stride_h", rows.stride},
      {"stride_w", columns.stride},
      {"padding_h", rows.padding.before},
      {"padding_w", columns.padding.before},
      {"output_padding_h", rows.output_padding},
      {"output_padding_w", columns.output_padding},
      {"dilation_h", rows.dilation},
      {"dilation_w", columns.dilation},
      {"in_channels", l.in_channels},
      {"out_channels", l.out_channels},
      {"has_bias", l.bias},
      {"channels_last", l.layout == Layout::kNhwc},
      {"weight_channels_last", weights_turned},
      {"height", rows.extent.value_or(-1)},
      {"width", columns.extent.value_or(-1)},
      {"fuse_count", static_cast<std::int64_t>(l.fuse.size())},
      {"fuse_kind", kinds},
      {"fuse_a", as},
      {"fuse_b", bs},
  };
}

Parameters with(Parameters parameters, std::initializer_list<Parameters::value_type> more) {
  parameters.insert(more);
  return parameters;
}

Parameters product_parameters(const Layer& layer) {
  return with(layer_parameters(layer), {{"weights_exchanged", false}});
}

Parameters with_depth(Parameters parameters, const Layer& layer) {
  parameters.merge(depth_parameters(layer.axes[kDepth]));
  return parameters;
}

Parameters with_fuse_input(Parameters parameters, const Layer& layer) {
  return with(std::move(parameters), {{"fuse_input_count", std::ssize(layer.fuse_input)}});
}

Parameters with_slices(Parameters parameters, const Layer& layer, Direction direction) {
  parameters.insert_or_assign("y_channels", y_tensor_channels(layer));
  if (direction != Direction::kGradBias) {
    parameters.insert_or_assign("x_channels", x_tensor_channels(layer));
  }
  return parameters;
}

Parameters volume_parameters(const Layer& layer) {
  return with(with_depth(product_parameters(layer), layer), {{"groups", layer.groups},
                                                             {"input_stride_d", layer.axes[kDepth].input_stride},
                                                             {"input_stride_h", layer.axes[kHeight].input_stride},
                                                             {"input_stride_w", layer.axes[kWidth].input_stride}});
}

Parameters with_store(Parameters parameters, std::int64_t elements) {
  return with(std::move(parameters), {{"store", elements}});
}

bool is_forward_value(std::string_view name, const ParameterValue& value) {
  const bool is_stride = name == "input_stride_d" || name == "input_stride_h" || name == "input_stride_w";
  return (name == "weights_exchanged" && value == ParameterValue(false)) ||
         (is_stride && value == ParameterValue(std::int64_t{1}));
}

bool is_slice(std::string_view name) {
  return name == "x_channels" || name == "y_channels";
}

bool is_flat_value(std::string_view name, const ParameterValue& value) {
  static const Parameters flat = depth_parameters(kNoAxis);
  const auto found = flat.find(name);
  return (found != flat.end() && found->second == value) ||
         ((name == "input_stride_d" || name == "tile_d") && value == ParameterValue(std::int64_t{1}));
}

bool is_plain_input_value(std::string_view name, const ParameterValue& value) {
  return name == "fuse_input_count" && value == ParameterValue(std::int64_t{0});
}

std::int64_t integer_of(const Plan& plan, std::string_view name) {
  return std::get<std::int64_t>(plan.parameters.find(name)->second);
}

bool flag_of(const Plan& plan, std::string_view name) {
  return std::get<bool>(plan.parameters.find(name)->second);
}

}  // namespace convtgen
