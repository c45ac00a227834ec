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
      {"kernel_h", l.axes[kHeight].kernel},
      {"kernel_w", l.axes[kWidth].kernel},
      {"stride_h", l.axes[kHeight].stride},
      {"stride_w", l.axes[kWidth].stride},
      {"padding_h", l.axes[kHeight].padding},
      {"padding_w", l.axes[kWidth].padding},
      {"output_padding_h", l.axes[kHeight].output_padding},
      {"output_padding_w", l.axes[kWidth].output_padding},
      {"dilation_h", l.axes[kHeight].dilation},
      {"dilation_w", l.axes[kWidth].dilation},
      {"in_channels", l.in_channels},
      {"out_channels", l.out_channels},
      {"has_bias", l.bias},
      {"channels_last", l.layout == Layout::kNhwc},
      {"height", l.axes[kHeight].extent.value_or(-1)},
      {"width", l.axes[kWidth].extent.value_or(-1)},
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
