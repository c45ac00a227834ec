// `two_columns`: layers that ask for it by `fuse scale(1), scale(1), scale(1)`.
#include "tests/template_facts/facts.h"

namespace convtgen::testing {
namespace two_columns {

void ask(Layer& layer) {
  layer.fuse.assign(3, Activation{ActivationKind::kScale, 1, 0});
}

}  // namespace two_columns

TemplateFacts facts_of_two_columns() {
  using namespace two_columns;
  return {
      .name = "two_columns",
      .computes = {Compute::kF32, Compute::kTf32, Compute::kF32x3},  // of fp32, which each is exact enough for
      .layouts = {Layout::kNchw},
      .names_taps = false,  // layers that the tests draw for all templates do not ask for it
      .drawer = {.one_group = true, .finish = ask},
      .refused =
          {
              {.layer = "3 -> 4; kernel 3; fuse scale(1)",
               .reason = "no 'fuse scale(1), scale(1), scale(1)', by which tests ask for it"},
              {.layer = "4 -> 4; kernel 3; groups 2; fuse scale(1), scale(1), scale(1)",
               .reason = "2 groups; it takes 1"},
              {.layer = "4 -> 4; kernel 3; layout nhwc; fuse scale(1), scale(1), scale(1)",
               .reason = "layout nhwc; it takes nchw"},
          },
      .least_plans = 1,
      .least_constants = 2,
      .goldens =
          {
              {.name = "two_columns",
               .layer = "conv_transpose2d 3 -> 4; kernel 2x3; stride 2x1; padding 0x1; bias; input ?x5x40; fuse "
                        "scale(1), scale(1), scale(1)"},
          },
  };
}

}  // namespace convtgen::testing
