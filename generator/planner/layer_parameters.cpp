#include "generator/planner/layer_parameters.h"

namespace convtgen {

Parameters layer_parameters(const Layer& l) {
  std::vector<std::int64_t> kinds;
  std::vector<double> as, bs;
  for (const Activation& step : l.fuse) {
    kinds.push_back(static_cast<std::int64_t>(step.kind));
    as.push_back(step.a);
    bs.push_back(step.b);
  }
  return {
      {"kernel_h", l.kernel.h},
      {"kernel_w", l.kernel.w},
      {"stride_h", l.stride.h},
      {"stride_w", l.stride.w},
      {"padding_h", l.padding.h},
      {"padding_w", l.padding.w},
      {"output_padding_h", l.output_padding.h},
      {"output_padding_w", l.output_padding.w},
      {"dilation_h", l.dilation.h},
      {"dilation_w", l.dilation.w},
      {"in_channels", l.in_channels},
      {"out_channels", l.out_channels},
      {"has_bias", l.bias},
      {"channels_last", l.layout == Layout::kNhwc},
      {"height", l.height.value_or(-1)},
      {"width", l.width.value_or(-1)},
      {"fuse_count", static_cast<std::int64_t>(l.fuse.size())},
      {"fuse_kind", kinds},
      {"fuse_a", as},
      {"fuse_b", bs},
  };
}

std::int64_t integer_of(const Plan& plan, std::string_view name) {
  return std::get<std::int64_t>(plan.parameters.find(name)->second);
}

bool flag_of(const Plan& plan, std::string_view name) {
  return std::get<bool>(plan.parameters.find(name)->second);
}

}  // namespace convtgen
