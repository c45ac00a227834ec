// What a block of `shift_gemm` may be, and how long it takes: for generator/planner/shift_gemm.cpp alone.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/layer/phases.h"
#include "generator/layer/shape.h"
#include "generator/planner/integers.h"
#include "generator/planner/plan.h"

namespace convtgen::shift_gemm {

/// The block, as the template's parameters of the same names.
struct Block {
  std::int64_t tile_n = 1, tile_h = 0, tile_w = 0, run = 2;
  std::int64_t columns = 8, channel_run = 2, store = 1, phase_rows = 1;
  std::int64_t chunk = 16, stages = 2, copy_bytes = 16;
  bool bulk = false, resident = false, ahead = true, exchange = false, in_turn = false;
  std::int64_t add_rows = 0;
  std::int64_t cluster = 1;
};

/// What the choice depends on.
struct Facts {
  Layer layer;          // one group of it, as if it were all
  InputSizes sizes;     // that times are predicted for
  std::int64_t groups;  // that there are
  const Target& target;
  Axis rows, columns;
  std::int64_t bytes;  // of an element
  std::int64_t depth;  // channels of a product
  std::int64_t pack;   // elements of 16 bytes
  bool channels_last;
  bool split;          // f32x3
  std::int64_t parts;  // operands that an element makes, and sets of sums: 2 of f32x3, else 1
};
/// Refers to the problem's target. Without sizes: those that a layer is planned for.
[[nodiscard]] Facts facts_of(const Problem& problem, const InputSizes& sizes);
[[nodiscard]] Facts facts_of(const Problem& problem);

/// Blocks that fit the chip, one for each way to part the work among threads and blocks.
[[nodiscard]] std::vector<Block> blocks(const Facts& facts);

/// Why there are none: which limit even the smallest block breaks.
[[nodiscard]] std::unexpected<Error> why_none(const Facts& facts);

/// Positions of a tile.
[[nodiscard]] std::int64_t positions(const Block& block);

/// What a block stages and reads, as the template lays it out.
struct Staging {
  std::int64_t offsets_h = 1;     // rows of the halo, and the row itself
  std::int64_t image_rows = 0;    // staged rows of an image
  std::int64_t columns = 0;       // of a row
  std::int64_t run_words = 0;     // positions of a row that a thread reads
  std::int64_t vector = 1;        // that come together
  std::int64_t input_bytes = 0;   // of a stage
  std::int64_t copies = 0;        // bulk ones that bring it
  std::int64_t weight_bytes = 0;  // of a chunk
};
[[nodiscard]] Staging staging_of(const Facts& facts, const Block& block);

/// Adjacent pixels that one bulk copy brings, with channels last.
[[nodiscard]] std::int64_t piece_pixels(const Facts& facts, const Block& block);

/// Whether rows come by bulk copies though they are no whole pieces of 16 bytes: each begins anywhere in one.
[[nodiscard]] bool is_skewed(const Facts& facts, const Block& block);

/// Whether an image of f32x3 is one row of positions, which bulk copies bring: outputs of a position are made from it
/// alone, and there are stride_h * stride_w of each.
[[nodiscard]] bool is_flat(const Facts& facts, const Block& block);

/// Adjacent column phases that one product makes.
[[nodiscard]] std::int64_t merged_phases(const Layer& layer);

/// Blocks of output channels and phase rows.
[[nodiscard]] std::int64_t column_tiles(const Facts& facts, const Block& block);

/// Tiles of the layer at the sizes that are planned for.
[[nodiscard]] std::int64_t tiles(const Facts& facts, const Block& block);

/// Chunks of input channels.
[[nodiscard]] std::int64_t chunks(const Facts& facts, const Block& block);

/// Of the sums of all consumers, in bytes.
[[nodiscard]] std::int64_t sum_bytes(const Facts& facts, const Block& block);

/// Whether the consumers of f32x3 split what they read themselves, not the producers what they stage.
[[nodiscard]] bool splits_read(const Facts& facts, const Block& block);

/// Threads that bring what is staged.
[[nodiscard]] std::int64_t producers(const Facts& facts, const Block& block);

/// What tells the scale of a stage of f32x3.
[[nodiscard]] std::int64_t scale_bytes(const Facts& facts, const Block& block);

/// Totals of f32x3's sums in shared memory, in bytes.
[[nodiscard]] std::int64_t total_bytes(const Facts& facts, const Block& block);

/// How often a tile of f32x3 adds its sums to totals before its end, where all of its input has one scale.
[[nodiscard]] std::int64_t times_added(const Facts& facts, const Block& block);

/// Shared memory of a block, and the packed weights of the layer, in bytes.
[[nodiscard]] std::int64_t shared_bytes(const Facts& facts, const Block& block);
[[nodiscard]] std::int64_t packed_bytes(const Facts& facts, const Block& block);
/// Rows of 16 bytes of them that a thread makes.
[[nodiscard]] std::int64_t packed_rows(const Facts& facts, const Block& block);

/// A rough time on an H200 at the sizes.
[[nodiscard]] double predicted_seconds(const Facts& facts, const Block& block);

}  // namespace convtgen::shift_gemm
