// `split`: layers that ask for it by `fuse scale(1), scale(1)`.
#include "tests/template_facts/facts.h"

namespace convtgen::testing {
namespace split {

void ask(Layer& layer) {
  layer.fuse.assign(2, Activation{ActivationKind::kScale, 1, 0});
}

}  // namespace split

TemplateFacts facts_of_split() {
  using namespace split;
  return {
      .name = "split",
      .computes = {Compute::kF32, Compute::kTf32, Compute::kF32x3},  // of fp32, which each is exact enough for
      .layouts = {Layout::kNchw},
      .packs_weights = true,
      .names_taps = false,  // layers that the tests draw for all templates do not ask for it
      .drawer = {.one_group = true, .few_out = true, .finish = ask},
      .refused =
          {
              {.layer = "3 -> 4; kernel 3; fuse scale(1)",
               .reason = "no 'fuse scale(1), scale(1)', by which tests ask for it"},
              {.layer = "3 -> 4; kernel 3; layout nhwc; fuse scale(1), scale(1)",
               .reason = "layout nhwc; it takes nchw"},
              {.layer = "3 -> 33; kernel 3; fuse scale(1), scale(1)", .reason = "33 output channels; at most 32"},
              {.layer = "3 -> 4; kernel 17; fuse scale(1), scale(1)", .reason = "289 taps; at most 256"},
          },
      .least_plans = 1,
      .least_constants = 1,
  };
}

}  // namespace convtgen::testing
