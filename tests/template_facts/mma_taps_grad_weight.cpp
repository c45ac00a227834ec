// `mma_taps_grad_weight`: gradients of the weights of layers whose groups have few output channels, by products of
// warps whose columns are taps.
#include "tests/template_facts/facts.h"
#include "tests/template_facts/slices.h"

namespace convtgen::testing {

TemplateFacts facts_of_mma_taps_grad_weight() {
  return {
      .name = "mma_taps_grad_weight",
      .computes = {Compute::kTf32, Compute::kF16, Compute::kBf16, Compute::kF32x3},
      .layouts = {Layout::kNchw, Layout::kNhwc},
      .search = "thin_groups",
      .drawer = {.own_compute = true, .few_out = true},
      .refused = {{.layer = "64 -> 66; kernel 3; groups 2; dtype f16; directions grad_weight",
                   .reason = "groups of 33 output channels; at most 32, whose taps are columns of products"}},
  };
}

}  // namespace convtgen::testing
