// What the planners of the tests' templates share: layers ask for one of these templates by their fuse chain.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "generator/planner/search/checks.h"
#include "generator/planner/search/planner.h"

namespace convtgen::planners {

inline constexpr std::array<std::string_view, 0> kNoConstants = {};

/// Errors: the chain is not so many scale(1), the identity, which only layers of tests have; or the layer is not f32,
/// NCHW and of one group.
[[nodiscard]] inline Result<void> check_asked(const Layer& layer, std::size_t scales) {
  if (layer.fuse != std::vector(scales, Activation{ActivationKind::kScale, 1, 0})) {
    std::string chain = "scale(1)";
    for (std::size_t i = 1; i < scales; ++i) {
      chain += ", scale(1)";
    }
    return fail(fmt::format("no 'fuse {}', by which tests ask for it", chain));
  }
  return first_error({require(layer.dtype == Dtype::kF32, "dtype {}; it takes f32", name_of(layer.dtype)),
                      require(layer.layout == Layout::kNchw, "layout {}; it takes nchw", name_of(layer.layout)),
                      check_one_group(layer)});
}

/// What the planner of a template is that so many scales ask for, unless it says otherwise. Nothing is predicted of its
/// plans.
template <typename F, std::size_t scales>
struct AskedPlanner : Planner<F, kNoConstants> {
  static constexpr bool kTakesSlices = false;

  static Checks checks(const Layer& layer) { return {check_asked(layer, scales)}; }
  static Parameters parameters(const Problem& problem) {
    Parameters p = layer_parameters(problem.layer);
    for (const char* other : {"channels_last", "fuse_count", "fuse_kind", "fuse_a", "fuse_b"}) {
      p.erase(other);
    }
    return p;
  }
  static double seconds(const F&, const typename F::Block&, Constants&) { return 0; }
};

}  // namespace convtgen::planners
