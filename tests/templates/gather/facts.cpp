// `gather`: layers that ask for it by `fuse scale(1)`.
#include "tests/template_facts/facts.h"

namespace convtgen::testing {
namespace gather {

void ask(Layer& layer) {
  layer.fuse = {Activation{ActivationKind::kScale, 1, 0}};
}

}  // namespace gather

TemplateFacts facts_of_gather() {
  using namespace gather;
  return {
      .name = "gather",
      .computes = {Compute::kF32, Compute::kTf32, Compute::kF32x3},  // of fp32, which each is exact enough for
      .layouts = {Layout::kNchw},
      .names_taps = false,  // layers that the tests draw for all templates do not ask for it
      .drawer = {.one_group = true, .finish = ask},
      .refused =
          {
              {.layer = "3 -> 4; kernel 3", .reason = "no 'fuse scale(1)', by which tests ask for it"},
              {.layer = "3 -> 4; kernel 3; fuse scale(2)", .reason = "no 'fuse scale(1)', by which tests ask for it"},
              {.layer = "4 -> 4; kernel 3; groups 2; fuse scale(1)", .reason = "2 groups; it takes 1"},
              {.layer = "4 -> 4; kernel 3; dtype f16; fuse scale(1)", .reason = "dtype f16; it takes f32"},
          },
      .least_plans = 1,
      .least_constants = 1,
  };
}

}  // namespace convtgen::testing
