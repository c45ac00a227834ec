// How long a block's work takes, in cycles of an SM of an H200. The rates are measured ones (docs/kernel-notes.md).
#include <algorithm>

#include "generator/planner/cost.h"
#include "generator/planner/integers.h"
#include "generator/planner/shift_gemm_block.h"

namespace convtgen::shift_gemm {
namespace {

constexpr double kClock = 1.7e9;          // under load
constexpr double kL2BytesPerCycle = 24;   // that an SM gets while all of them ask
constexpr double kSmallCopyCycles = 0.5;  // of an asynchronous copy of 4 bytes
constexpr double kBulkCycles = 15;        // of one bulk copy of pixels, however small
// Of producers that bring rows: a warp's cycles for one of its instructions, beside two of consumers; for a bulk copy
// where lanes ask one after the other, and where one asks for all; and their instructions for a stage, for a tile, and
// to clear a stage's gaps.
constexpr double kProducerCycles = 8;
constexpr double kLaneCopyCycles = 75;
constexpr double kWarpCopyCycles = 30;
constexpr double kStageInstructions = 35;
constexpr double kTileInstructions = 120;
constexpr double kClearInstructions = 80;
constexpr double kChunkCycles = 150;     // of barriers, and of a pipeline that fills
constexpr double kLatencyCycles = 1000;  // until a first byte arrives, under load
// The same where rows have an odd width, so that words are read one by one, and what calls took over what this says of
// them: by bulk copies, and by others. Of a stage's way from the asking to the last product, what those before it don't
// hide. Fitted to what 160 plans of the layers of benchmarks/outside.convt took; other widths have no term for that
// way.
constexpr double kOddL2BytesPerCycle = 36;
constexpr double kOddRound = 0.8;
constexpr double kOddRowsMeasured = 1.2;
constexpr double kOddCopiesMeasured = 1.4;
// What calls took over what this says of them, in the middle of the benchmark's layers.
constexpr double kRowsMeasured = 1.25;
constexpr double kPixelsMeasured = 0.85;   // with channels last
constexpr double kPiecesMeasured = 1.0;    // the same, by bulk copies
constexpr double kMeetCycles = 4000;       // of a cluster whose blocks wait for one another
constexpr double kSentBytesPerCycle = 12;  // to other SMs
constexpr double kLaunchSeconds = 3e-6;    // and the first loads
constexpr double kPackBytesPerSecond = 1e12;
constexpr double kEpilogueInstructions = 4;  // for an output: bias, address, store
constexpr double kExchangeInstructions = 6;  // the same through shared memory
// Of f32x3: instructions for a pair of values that is split. Of its producers: instructions for a stage, cycles for
// four values of each thread, which are looked at and split, or looked at alone.
constexpr double kSplitInstructions = 10;
constexpr double kLookInstructions = 30;
constexpr double kAgreeInstructions = 60;
constexpr double kSplitCycles = 135;
constexpr double kLookCycles = 30;
constexpr double kAddUpInstructions = 7;
// The same with channels last, fitted to what 137 plans of the benchmark's layers took: cycles of four values, what
// copies bring to shared memory, and instructions for a copy where a thread doesn't keep the places of its pixels.
constexpr double kPixelSplitCycles = 103;
constexpr double kPixelBytesPerCycle = 26;
constexpr double kFindInstructions = 25;
constexpr std::int64_t kMostKept = 8;
// Of a warpgroup that waits for its products before it gets the next ones ready.
constexpr double kStall = 1.3;  // cycles of an instruction
constexpr double kWaitCycles = 150;

double number(std::int64_t value) {
  return static_cast<double>(value);
}

/// Whether rows of 32-bit elements have an odd width.
bool is_odd(const Facts& f) {
  return !f.channels_last && !f.split && f.bytes == 4 && f.columns.extent && *f.columns.extent % 2 != 0;
}

/// Of a product of 64 positions by two warpgroups, or by one alone.
double product_cycles(std::int64_t columns, bool alone) {
  return alone ? std::max(24.0, number(columns) / 2 + 5)
               : std::max(17.0, number(columns) / 2 + (columns < 64 ? 2.0 : 0.5));
}

/// How many threads want the same bank when a warp reads a word of its runs. Skewed rows of adjacent channels lie apart
/// by what a plane leaves over of whole pieces.
double bank_conflicts(const Facts& f, const Block& b) {
  if (f.channels_last || f.split) {
    return f.channels_last && b.bulk ? 1 : 2;
  }
  if (!is_skewed(f, b)) {
    return 1;
  }
  const bool is_known = f.columns.extent && f.rows.extent;
  const std::int64_t plane = is_known ? *f.columns.extent * *f.rows.extent : 2;
  return plane % 2 != 0 ? 1 : plane % 4 != 0 ? 2 : 4;
}

/// The share of the tiles that have rows or columns outside of the image, where rows come by bulk copies.
double share_with_gaps(const Facts& f, const Block& b) {
  const Shape shape = shape_of(f.layer, f.sizes).value_or(Shape{});
  const auto within = [](std::int64_t extent, std::int64_t tile, bool has_halo) {
    const double count = number(ceil_div(extent, tile));
    return has_halo ? std::max(0.0, count - 2) / count : extent % tile != 0 ? (count - 1) / count : 1.0;
  };
  const Staging staging = staging_of(f, b);
  if (is_flat(f, b)) {
    return 1 - within(shape.in[kHeight] * shape.in[kWidth], b.tile_w, false);
  }
  return 1 - within(shape.in[kHeight], b.tile_h, staging.offsets_h > 1) *
                 (is_skewed(f, b) ? 1.0 : within(shape.in[kWidth], b.tile_w, staging.columns > b.tile_w));
}

/// Whether one lane asks for all copies of a warp.
bool by_warps(const Facts& f, const Block& b) {
  const std::int64_t rows = staging_of(f, b).image_rows;
  return b.tile_n == 1 && (rows == 1 || (!is_skewed(f, b) && rows <= 16));
}

/// Cycles of the producers of f32x3 for a stage of pixels that they find the places of.
double finding_cycles(const Facts& f, const Block& b) {
  const Staging staging = staging_of(f, b);
  const std::int64_t pixels = b.tile_n * staging.image_rows * staging.columns;
  const std::int64_t copies = ceil_div(pixels * b.chunk * f.bytes, b.copy_bytes * producers(f, b));  // of a thread
  const bool kept = copies <= kMostKept && f.rows.extent && f.columns.extent;
  return f.split && f.channels_last && !kept ? kProducerCycles * kFindInstructions * number(copies) : 0;
}

/// Cycles of the producers for a stage that they bring by bulk copies, of so many of a tile.
double asking_cycles(const Facts& f, const Block& b, double stages) {
  const Staging staging = staging_of(f, b);
  const double copies = number(staging.copies);
  if (!b.bulk || f.channels_last) {
    return copies * kBulkCycles;
  }
  const double cleared = share_with_gaps(f, b) * std::min(1.0, number(b.stages) / stages);
  return kProducerCycles * (kStageInstructions + kTileInstructions / stages + cleared * kClearInstructions) +
         copies * 32 / number(producers(f, b)) * (by_warps(f, b) ? kWarpCopyCycles : kLaneCopyCycles);
}

/// Of adding up what the blocks of a cluster made, and of a pipeline that fills for one tile.
double meeting_cycles(const Facts& f, const Block& b) {
  if (b.cluster == 1) {
    return 0;
  }
  const auto bytes = static_cast<double>(sum_bytes(f, b));
  const double sent = bytes * static_cast<double>(b.cluster - 1) / static_cast<double>(b.cluster);
  return kMeetCycles + sent / kSentBytesPerCycle + bytes / 128;
}

/// SMs on which clusters of so many blocks find places: the SMs of a GPC, 16 or 18, are no multiple of the larger ones.
std::int64_t usable(const Facts& f, const Block& b) {
  const std::int64_t sms = f.target.multiprocessors;
  return b.cluster <= 2 ? sms : b.cluster == 4 ? sms * 30 / 33 : sms * 10 / 11;
}

/// Cycles of one tile whose stages keep coming.
double tile_cycles(const Facts& f, const Block& b) {
  const Staging staging = staging_of(f, b);
  const double groups = number(f.rows.stride / b.phase_rows);
  const double steps = number(b.chunk / f.depth);
  const double stages = number(chunks(f, b)) / number(b.cluster);
  const std::int64_t merged = merged_phases(f.layer);
  const double products =
      number(tap_count(f.layer) / merged) / groups * steps * number(positions(b)) / 64 * (f.split ? 3 : 1);
  const double tensor = products * product_cycles(merged * b.columns, b.in_turn);
  const double warps = b.in_turn ? 4 : 8;  // that make a tile

  // Instructions of a scheduler: two warps of consumers and one of producers.
  const double words = number(staging.run_words);
  const double operands = number(b.run - 1 + greatest_offset(f.columns) - least_offset(f.columns));
  const bool splits = splits_read(f, b);
  const double read = f.split ? 4 * words / number(staging.vector) + 8 * operands + 16 +
                                    (splits ? 4 * words + 2 * words * kSplitInstructions : 0)
                              : 2 * words / number(staging.vector) + 4 * words + 4 * operands + 8;
  const double copies = b.bulk ? 0.0 : number(staging.input_bytes / b.copy_bytes) / number(producers(f, b));

  // Shared memory gives or takes 128 bytes a cycle, but 16 of an asynchronous copy: weights, runs, and what arrives.
  const double outputs = number(b.phase_rows * f.columns.stride * b.run * b.columns) / 4;  // of a thread
  const double runs = warps * steps * number(staging.offsets_h) * 2 * words * bank_conflicts(f, b);
  const double arriving =
      number(staging.input_bytes) / (b.bulk    ? 128.0
                                     : f.split ? (f.channels_last ? kPixelBytesPerCycle : number(b.copy_bytes))
                                               : std::min(16.0, number(b.copy_bytes) / kSmallCopyCycles));
  const double scans =
      f.split ? number(staging.input_bytes) / 16 / number(producers(f, b)) : 0;  // of a thread, four values each
  // What f32x3 adds up is written and read again; at a tile's end only what there is.
  const double additions = f.split ? number(times_added(f, b)) / stages : 0;
  const double weights = b.resident ? 0 : number(staging.weight_bytes);
  const double shared = products * number(merged * b.columns) / 4 + runs + arriving +
                        (splits ? 1 : 3) * number(f.split ? staging.input_bytes : 0) / 128 +
                        (f.split ? weights / 128 : 0) + additions * outputs * 16;

  const double bytes = number(staging.input_bytes) + weights;
  const double issue = warps / 4 * steps * number(staging.offsets_h) * read + products * 4 +
                       (copies * 6 + scans * (splits ? 6 : 27)) * number(producers(f, b)) / 128 +
                       (f.split ? 2 * outputs * kAddUpInstructions * (additions + 1 / stages) : 0);
  // A warpgroup that gets nothing ready ahead leaves the tensor cores to the other one meanwhile.
  const double alone = b.ahead ? 0 : tensor / 2 + steps * number(staging.offsets_h) * (read * kStall + kWaitCycles);
  const double look = !f.split ? 0
                      : splits ? kProducerCycles * kLookInstructions + scans * kLookCycles
                               : kProducerCycles * (kLookInstructions + kAgreeInstructions) +
                                     scans * (f.channels_last ? kPixelSplitCycles : kSplitCycles);
  const double producers = asking_cycles(f, b, stages) + finding_cycles(f, b) + look;
  // A stage that is free again is asked for, arrives, and in f32x3 is looked at, before it can be multiplied.
  const double consumers = std::max({tensor, issue, alone, shared});
  const double arrives = bytes / (is_odd(f) ? kOddL2BytesPerCycle : kL2BytesPerCycle);
  const double round = consumers + kLatencyCycles + arrives + producers;
  const double in_rounds = (f.split ? 1 : is_odd(f) ? kOddRound : 0) * round / number(b.stages);
  const double multiplied =
      stages * (std::max({consumers, producers, arrives, in_rounds}) + (is_odd(f) ? 0 : kChunkCycles));
  const double stored = 2 * outputs * (b.exchange ? kExchangeInstructions : kEpilogueInstructions) / number(b.cluster);
  return b.in_turn ? std::max(multiplied, (multiplied + stored) / 2) : multiplied + stored + meeting_cycles(f, b);
}

/// Sectors of 32 bytes that rows of `elements` adjacent ones touch, over those that they would fill.
double row_waste(const Facts& f, std::int64_t elements, std::int64_t extent) {
  const auto bytes = static_cast<double>(elements * f.bytes);
  const bool aligned = extent * f.bytes % 32 == 0 && elements * f.bytes % 32 == 0;
  return (static_cast<double>(ceil_div(elements * f.bytes, 32) * 32) + (aligned ? 0.0 : 32.0)) / bytes;
}

}  // namespace

double predicted_seconds(const Facts& f, const Block& b) {
  const Layer& layer = f.layer;
  const Shape shape = shape_of(layer, f.sizes).value_or(Shape{});
  const std::int64_t in_row = is_flat(f, b) ? shape.in[kHeight] * shape.in[kWidth] : shape.in[kWidth];
  const std::int64_t blocks = column_tiles(f, b) * b.cluster;  // of a tile
  const std::int64_t sms = usable(f, b);
  const std::int64_t at_once = std::max<std::int64_t>(1, std::min(tiles(f, b), sms / blocks));
  const std::int64_t rounds = b.cluster > 1 ? ceil_div(tiles(f, b) * blocks, sms)
                                            : ceil_div(tiles(f, b), at_once) * ceil_div(blocks * at_once, sms);
  const double cycles = static_cast<double>(rounds) * tile_cycles(f, b);

  // A sector is written as often as there are stores with a part of it: pieces of a run with gaps between them, and
  // the ends of what a warp stores where rows begin anywhere.
  const std::int64_t run_outputs = std::min(b.run * f.columns.stride, 32 / f.bytes);
  const double pieces = f.channels_last || b.exchange ? 1 : number(std::max<std::int64_t>(1, run_outputs / b.store));
  const std::int64_t together = std::min(b.tile_w, 8 * b.run) * f.columns.stride;
  const double read_waste = f.channels_last ? 1.0 : row_waste(f, std::min(b.tile_w, in_row), in_row);
  const double write_waste =
      f.channels_last ? 1.0 : row_waste(f, std::min(together, shape.out[kWidth]), shape.out[kWidth]);
  const double moved = number(f.groups) * (static_cast<double>(shape.input_elements) * read_waste +
                                           static_cast<double>(shape.weight_elements) +
                                           static_cast<double>(shape.output_elements) * std::max(write_waste, pieces));
  const double memory = moved * static_cast<double>(f.bytes) / f.target.bytes_per_second;
  // What is limited by both is slower than either limit.
  const double seconds = cycles / kClock;
  const double both = std::max(seconds, memory) + 0.2 * std::min(seconds, memory);
  return kLaunchSeconds + static_cast<double>(packed_bytes(f, b)) / kPackBytesPerSecond +
         both * (is_odd(f)         ? (b.bulk ? kOddRowsMeasured : kOddCopiesMeasured)
                 : f.split         ? 1
                 : f.channels_last ? (b.bulk ? kPiecesMeasured : kPixelsMeasured)
                                   : kRowsMeasured);
}

}  // namespace convtgen::shift_gemm
