// What the choice of a block depends on, in templates whose blocks tile pixels and output channels.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "generator/layer/shape.h"
#include "generator/planner/block_constants.h"
#include "generator/planner/cost.h"
#include "generator/planner/layer_parameters.h"
#include "generator/planner/target.h"

namespace convtgen {

template <typename Block>
struct PixelFacts {
  const Layer& layer;
  const PlannedTarget& target;
  Axis rows, columns;
  InputSizes sizes;  // that times are predicted for
  double memory_bytes;
  mutable BlockConstants<Block> constants;  // a cache: holds the block at hand

  /// `parameters` are those of the layer; the other arguments are BlockConstants::make()'s, and so are errors.
  [[nodiscard]] static Result<PixelFacts> make(const Problem& problem, const InputSizes& sizes,
                                               const ConstantProgram& program, const Parameters& parameters,
                                               std::span<const BlockMember<Block>> members,
                                               std::span<const std::string_view> names) {
    const Layer& layer = problem.layer;
    auto constants = BlockConstants<Block>::make(program, parameters, members, names);
    if (!constants) {
      return std::unexpected(std::move(constants.error()));
    }
    const auto shape = shape_of(layer, sizes);
    return PixelFacts{.layer = layer,
                      .target = problem.target,
                      .rows = symmetric(layer.axes[kHeight]),
                      .columns = symmetric(layer.axes[kWidth]),
                      .sizes = sizes,
                      .memory_bytes = shape ? cost_of(problem, *shape).bytes : 0,
                      .constants = *std::move(constants)};
  }

  [[nodiscard]] Constants& of(const Block& b) const { return constants.of(b); }
};

}  // namespace convtgen
