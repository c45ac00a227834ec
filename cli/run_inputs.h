// The arrays that `run` gives a layer: from files, or random.
#pragma once

#include <cstdint>
#include <string>

#include "cli/layers.h"
#include "generator/support/error.h"
#include "runtime/reference/host_array.h"

namespace convtgen::cli {

/// Paths of .npy files, or empty.
struct ArrayFiles {
  std::string x, weight, bias;
  [[nodiscard]] bool any() const { return !x.empty() || !weight.empty() || !bias.empty(); }
};

struct RunInputs {
  SizedLayer sized;
  Shape shape;
  LayerInputs arrays;
  std::string origin;  // "x.npy; weight random (seed 1)"
};

/// Arrays without a file are random. The sizes come from x where it has a file; 1-D arrays may leave out the height.
/// Errors: files that don't fit the layer or --input, with the file's name and what would be legal; missing sizes.
[[nodiscard]] Result<RunInputs> make_inputs(const Layer& layer, const InputOption& input, const ArrayFiles& files,
                                            std::uint64_t seed);

/// y as users of 1-D layers know it: (N, C, L) or (N, L, C), without the height.
[[nodiscard]] std::vector<std::int64_t> user_shape(const Layer& layer, std::vector<std::int64_t> shape);

}  // namespace convtgen::cli
