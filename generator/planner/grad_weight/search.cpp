#include "generator/planner/grad_weight/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "generator/planner/grad_weight/choices.h"
#include "generator/planner/grad_weight/grad_bias.h"
#include "generator/planner/grad_weight/launch.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/scalar.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen::grad_weight {
namespace {

constexpr std::int64_t kMostBlockOut = 128;
constexpr std::int64_t kMostRowStages = 6;
constexpr std::ptrdiff_t kMostTf32Plans = 8;

/// Whether a block with so many stages has the shared memory that it needs.
bool fits_shared(const Facts& f, const Block& b) {
  return f.of(b)[kSharedBytes] <= f.target.max_shared_bytes && f.of(b)[kStoredColumns] >= 8;
}

/// As many stages as fit; false where too few do. Rows on their way from memory need more than those that are turned.
bool choose_stages(const Traits& of, const Facts& f, Block& b) {
  if (b.row_stages > 0) {
    for (const auto& [stages, least_rows] : {std::pair{3, 3}, std::pair{2, 1}}) {
      b.stages = stages;
      for (b.row_stages = kMostRowStages; b.row_stages >= least_rows; --b.row_stages) {
        if (fits_shared(f, b)) {
          return true;
        }
      }
    }
    return false;
  }
  for (b.stages = of.most_stages; b.stages >= of.least_stages; --b.stages) {
    if (fits_shared(f, b)) {
      return true;
    }
  }
  return false;
}

/// The number of slices that is predicted to be the fastest.
void choose_slices(const Traits& of, const Facts& f, Block& b, double& seconds) {
  const std::int64_t tiles = of.tiles(f, b);
  Constants& of_block = f.of(b);
  // Accumulators of parts of f16 are promoted to totals that take no memory, so seldom that these need no others.
  const bool keeps_none = of.scans && !b.splits;
  const SliceFacts facts = {.multiprocessors = f.target.multiprocessors,
                            .blocks = of_block[kSliceBlocks],
                            .stages = tiles,
                            .stage_positions = of_block[kKSteps] * of_block[kInstructionK],
                            .weights = of_block[kWeights],
                            .totals = keeps_none ? 0 : of_block[kTotals],
                            .copied_bytes = ceil_div(of.copied_bytes(f.layer), b.chunks),
                            .is_open = !f.layer.batch || !f.rows.extent || !f.columns.extent};
  Block best(b);
  seconds = 0;
  for (const Slices& choice : slice_choices(facts)) {
    Block next = b;
    next.slices = choice.slices;
    next.promote_stages = keeps_none ? 0 : choice.promote_stages;
    const double time = seconds_of(of, f, next);
    if (seconds == 0 || time < seconds) {
      best = next;
      seconds = time;
    }
  }
  b = best;
}

/// The best block of each number of channels, taps and warpgroups.
std::vector<Block> all_blocks(const Traits& of, const Facts& f) {
  std::vector<Block> out;
  Block b = of.smallest;
  const std::int64_t group_in = f.of(b)[kGroupIn], group_out = f.of(b)[kGroupOut];
  for (const auto& [taps_h, taps_w] : tap_rectangles(f.rows, f.columns)) {
    for (const std::int64_t block_out : even_parts(group_out, 16, kMostBlockOut)) {
      for (const std::int64_t block_in : even_parts(group_in, of.in_multiple, of.most_in)) {
        b = of.smallest;
        b.taps_h = taps_h;
        b.taps_w = taps_w;
        b.block_out = block_out;
        b.block_in = block_in;
        for (const Block& warpgroups : of.warpgroups(f, b)) {
          if (!of.fits_registers(f, warpgroups, f.of(warpgroups))) {
            continue;
          }
          Block best;
          double least = 0;
          for (Block tile : of.positions(f, warpgroups)) {
            double seconds = 0;
            if (of.fits_stage(f, tile, f.of(tile)) && choose_stages(of, f, tile)) {
              choose_slices(of, f, tile, seconds);
              // Slices are stored otherwise than results, at another pitch.
              if (fits_shared(f, tile) && (least == 0 || seconds < least)) {
                best = tile;
                least = seconds;
              }
            }
          }
          if (least > 0) {
            out.push_back(best);
          }
        }
      }
    }
  }
  return out;
}

/// Keeps so few blocks whose values are split in parts of tf32 that plans have others too: both are worth measuring.
void keep_both_forms(const Traits& of, const Facts& f, std::vector<Block>& blocks) {
  const auto of_tf32 = std::ranges::stable_partition(blocks, std::logical_not{}, &Block::splits);
  std::ranges::stable_sort(of_tf32, {}, [&](const Block& b) { return seconds_of(of, f, b); });
  blocks.erase(of_tf32.begin() + std::min(std::ssize(of_tf32), kMostTf32Plans), blocks.end());
}

}  // namespace

double bias_seconds(const Facts& f) {
  return f.layer.bias ? static_cast<double>(f.shape.output_elements * f.bytes) / f.target.bytes_per_second : 0;
}

std::vector<Grid::Bound> stage_bounds(const Layer& layer, const Block& b) {
  return staged_bounds(layer, b.tile_rows, b.tile_columns);
}

Parameters parameters_of(const Problem& problem) {
  Parameters p = with_depth(scalar_parameters(problem.layer, problem.direction), problem.layer);
  for (const std::string_view name : {"Offset", "element_kind"}) {
    p.erase(p.find(name));
  }
  p.insert(
      {{"type", product_type(splits(problem.layer) ? Dtype::kF16 : problem.layer.dtype)}, {"store", std::int64_t{1}}});
  return p;
}

Parameters word_parameters_of(const Problem& problem) {
  return with(parameters_of(problem), {{"Word", TypeName{splits(problem.layer) ? "float" : "unsigned int"}}});
}

StageWork multiplied(const Facts& f, const Block& b, Constants& c, double promote_stages) {
  const bool split = splits(f.layer);
  const double parts = split && !b.splits ? kSplitParts : 1, made = split ? kSplitProducts : 1;
  const double promotions = split && !b.splits ? c.number(kAccumulators) / promote_stages : 0;  // of a thread
  // A product reads fragments of 64 rows, and block_in columns of 32 bytes. Totals in shared memory are read and
  // written.
  return {.tensor_cycles = made * products(c) * product_cycles(f.target, b.block_in),
          .shared_wavefronts = products(c) * (16 * parts + made * static_cast<double>(b.block_in) / 4) +
                               (b.shared_totals ? 2 * 4 * consumer_warps(b) * promotions : 0),
          .instructions = consumer_warps(b) * (steps(c) * c.number(kOwnTiles) * parts * f.factors.grad_weight_fragment +
                                               2 * promotions) +
                          (b.splits ? split_instructions(b, c) : 0)};
}

double split_instructions(const Block& b, Constants& c) {
  return steps(c) * consumer_warps(b) *
         (c.number(kOwnTiles) * kSplitInstructions + c.number(kAccumulators) / kPromotedSteps);
}

Result<std::vector<Block>> blocks_of(const Traits& of, const Facts& f) {
  std::vector<Block> blocks = all_blocks(of, f);
  for (Block& block : blocks) {
    block.bias_slices = bias_slices(f.problem);
  }
  std::vector<std::pair<double, Error>> out_of_bounds;
  std::erase_if(blocks, [&](const Block& b) {
    auto checked = check_bounds(f.layer, stage_bounds(f.layer, b));
    if (!checked) {
      out_of_bounds.emplace_back(seconds_of(of, f, b), std::move(checked.error()));
    }
    return !checked || f.of(b)[kSliceBlocks] > kIntMax / b.slices;
  });
  if (!blocks.empty()) {
    keep_both_forms(of, f, blocks);
    return blocks;
  }
  if (!out_of_bounds.empty()) {  // of the slowest one
    std::ranges::stable_sort(out_of_bounds, {}, &std::pair<double, Error>::first);
    return std::unexpected(out_of_bounds.back().second);
  }
  Constants& c = f.of(of.smallest);
  if (!of.fits_stage(f, of.smallest, c)) {
    if (std::string why = of.why_none(f, of.smallest); !why.empty()) {
      return fail(std::move(why));
    }
  }
  return fail_shared_memory(f.target, of.smallest_stages, c[kSharedBytes]);
}

double seconds_of(const Traits& of, const Facts& f, const Block& b) {
  const double cycles = of.stage_cycles(f, b, f.of(b));
  const double stages = static_cast<double>(ceil_div(of.tiles(f, b), b.slices));
  Constants& c = f.of(b);
  const auto slices = static_cast<double>(b.slices);
  const double blocks = c.number(kSliceBlocks) * slices;
  const double outputs =
      c.number(kRows) * c.number(kColumns) / (128 * static_cast<double>(b.consumer_groups));  // of a thread
  const auto chunks = static_cast<double>(b.chunks);
  // Written and read again by each chunk and at last.
  const double sum_bytes = (b.slices > 1 ? 8 * chunks * slices : 8 * (chunks - 1)) * c.number(kWeights);
  // Where the largest magnitudes are found before, all that is read is read twice. Copies are also written.
  const std::int64_t copied = of.copied_bytes(f.layer);
  const double before =
      ((of.scans && !b.splits ? f.cost.bytes : 0) + 2 * static_cast<double>(copied)) / f.target.bytes_per_second;
  return before + of.more_seconds(f, b, c) +
         seconds_of(
             f.target,
             {.launches = (b.slices > 1 ? 1.0 : 0.0) + (of.scans && !b.splits ? 1 : 0) + chunks * (copied > 0 ? 2 : 1),
              .waves =
                  chunks * static_cast<double>(ceil_div(static_cast<std::int64_t>(blocks), f.target.multiprocessors)),
              .wave_cycles = stages * cycles + f.factors.grad_weight_begin + f.factors.grad_weight_output * outputs,
              .memory_bytes = f.cost.bytes + sum_bytes / 2,
              .hidden_less = f.factors.hidden_less,
              .measured = f.factors.*of.measured});
}

Chosen chosen_of(const Traits& of, const Facts& f, const Block& b, Constants& c) {
  return {fmt::format("a block makes {}x{} taps of {} by {} channels; {} slice{}", b.taps_h, b.taps_w,
                      std::min(b.block_in, c[kGroupIn]), std::min(b.block_out, c[kGroupOut]), b.slices,
                      b.slices == 1 ? "" : "s"),
          fmt::format(
              "tensor cores{}: products over positions of 64 rows of taps and channels x {}{} channels; {} stages of "
              "{}{}",
              of.splits ? ", values in two parts" : "",
              b.rows_in_columns ? fmt::format("{} kernel rows of ", b.taps_h) : "", b.block_in, b.stages,
              of.positions_text(b),
              b.promote_stages > 0 ? fmt::format(", promoted every {}", b.promote_stages)
              : b.chunks > 1
                  ? fmt::format("; {} chunks of {} image{}", b.chunks, b.chunk_images, b.chunk_images == 1 ? "" : "s")
                  : ""),
          {.blocks_per_tile = b.slices * c[kSliceBlocks], .bounds = stage_bounds(f.layer, b)}};
}

}  // namespace convtgen::grad_weight
