// What the planners of templates for gradients of weights choose in the same way: which channels and taps a block
// makes, and into how many slices all positions are cut.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "generator/layer/layer.h"

namespace convtgen {

/// Numbers of channels, multiples of `multiple` and at most `most`, that share all of a group's evenly.
[[nodiscard]] std::vector<std::int64_t> even_parts(std::int64_t channels, std::int64_t multiple, std::int64_t most);

/// Rectangles of taps, rows x columns: whole kernels, or some of their rows, or some of the taps of one.
[[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> tap_rectangles(const Axis& rows, const Axis& columns);

/// Whether as many taps of the axis as its stride, from the padding on, read each output once.
[[nodiscard]] bool are_read_once(const Axis& axis);

/// The positions of a stage: rows x columns of them, or `flat`: whole rows, one after the other.
struct StageShape {
  bool flat = false;
  std::int64_t rows = 1, columns = 16;
};

/// Shapes of at most `most` positions that may suit rows of `width`, with `halo` more where they are whole, and
/// products of `k` positions.
[[nodiscard]] std::vector<StageShape> stage_shapes(std::int64_t width, bool is_known, std::int64_t halo, std::int64_t k,
                                                   std::int64_t most);

/// What the choice of slices depends on.
struct SliceFacts {
  std::int64_t multiprocessors = 0;
  std::int64_t blocks = 0;           // of a slice
  std::int64_t stages = 0;           // of all positions, at the sizes that are planned for
  std::int64_t stage_positions = 0;  // that an accumulator adds in a stage
  std::int64_t weights = 0;          // of the layer
  std::int64_t totals = 0;           // of a block
  std::int64_t copied_bytes = 0;     // of the workspace, for copies
  bool is_open = false;              // whether a call may have other sizes
};

struct Slices {
  std::int64_t slices = 1;
  std::int64_t promote_stages = 0;  // after so many an accumulator is promoted; 0: never
};

/// Numbers of slices with which the SMs have about whole waves of blocks, and how often accumulators are promoted then:
/// tensor cores truncate what they add. What blocks keep in memory stays, with copies, within
/// kMostPartialBytes.
[[nodiscard]] std::vector<Slices> slice_choices(const SliceFacts& facts);

}  // namespace convtgen
