// The arrays that `run` gives a layer: from files, or random.
#pragma once

#include <cstdint>
#include <string>

#include "cli/layers.h"
#include "generator/support/error.h"
#include "runtime/reference/layer_inputs.h"

namespace convtgen::cli {

/// Paths of .npy files, or empty.
struct ArrayFiles {
  std::string x, weight, bias, grad_y;
  [[nodiscard]] bool any() const { return !x.empty() || !weight.empty() || !bias.empty() || !grad_y.empty(); }
};

struct RunInputs {
  SizedLayer sized;
  Shape shape;
  LayerInputs arrays;
  std::string origin;  // "x.npy; weight random (seed 1)"
};

/// What the direction reads. Arrays without a file are random. The sizes come from x where it has a file, else from
/// grad_y; 1-D arrays may leave out the height.
/// Errors: sizes that are not the layer's, unless --input says them too; files that don't fit the layer or --input,
/// with the file's name and what would be legal; a file of what the direction does not read; missing sizes.
[[nodiscard]] Result<RunInputs> make_inputs(const Layer& layer, Direction direction, const InputOption& input,
                                            const ArrayFiles& files, std::uint64_t seed);

}  // namespace convtgen::cli
