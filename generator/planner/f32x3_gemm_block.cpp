#include "generator/planner/f32x3_gemm_block.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "generator/planner/cost.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen::f32x3_gemm {
namespace {

constexpr std::int64_t kInstructionK = 16;
constexpr std::int64_t kMostRegisters = 168;
constexpr std::int64_t kMostTerms = 16;               // products of an accumulator: each addition truncates
constexpr std::int64_t kMostConsumerRegisters = 136;  // with two producer warpgroups
constexpr std::int64_t kMostBlockK = 128;
constexpr std::int64_t kMostImages = 32;    // of a tile: a lane for each
constexpr std::int64_t kPackThreads = 256;  // of a block that packs weights

/// How input is brought: by the widest asynchronous copies, and rows also by bulk copies.
std::vector<Block> with_copies(const Facts& f, Block b) {
  std::vector<Block> out;
  if (const auto bytes = gemm::widest_copy(f)) {
    b.copy_bytes = *bytes;
    out.push_back(b);
    if (!f.channels_last) {
      b.copy_bytes = 16;
      b.bulk = true;
      out.push_back(b);
    }
  }
  return out;
}

/// Registers of a consumer that hold accumulators and, of high and of low parts, fragments: products of more than these
/// are serialised by the assembler (C7512).
std::int64_t registers_of(const Facts& f, const Block& b) {
  return kParts * gemm::accumulators(f, b) + 2 * 4 * gemm::fragment_positions(f, b);
}

/// With a prefetch, what low parts are made from waits while products run, in registers. Chooses that, and returns
/// whether the registers suffice.
bool choose_prefetch(const Facts& f, Block& b) {
  const std::int64_t waiting = f.channels_last ? 4 * (gemm::fragment_positions(f, b) + 3) : 0;
  const std::int64_t wanted = registers_of(f, b);
  b.prefetch = consumers_split(f, b) || wanted + waiting <= kMostRegisters;
  return wanted <= kMostRegisters;
}

/// Whether bulk copies have whole vectors and there is a producer for each row of a channel. Two producer warpgroups
/// have registers for at most 16 copies of a warp's row: CUDA 13.5 keeps the addresses of a loop's copies.
bool can_copy(const Facts& f, const Block& b) {
  if (!b.bulk) {
    return true;
  }
  if (!is_flat(f, b) && !(f.columns.extent && *f.columns.extent * f.bytes % 16 == 0)) {
    return false;
  }
  const std::int64_t rows = b.tile_n * staging_of(f, b).image_rows;
  const std::int64_t warps = producers(f, b) / 32;
  return !(warps > 4 && b.block_k / std::max<std::int64_t>(1, warps / rows) > 16) && rows <= producers(f, b);
}

/// The tile that is predicted to take least, with the least halo; false where none fits.
bool choose_tile(const Facts& f, Block& b) {
  const std::int64_t least = std::max(b.thread_positions, f.channels_last ? 1 : b.copy_bytes / f.bytes);
  return gemm::choose_tile(b, 64 * b.thread_positions, kMostImages, least,
                           [&](Block& tried) -> std::optional<std::pair<double, std::int64_t>> {
                             if (!can_copy(f, tried) || !gemm::choose_stages(f, tried, true, [&](const Block& each) {
                                   return shared_bytes(f, each);
                                 })) {
                               return std::nullopt;
                             }
                             return std::pair(predicted_seconds(f, tried), staging_of(f, tried).input_bytes);
                           });
}

/// Taps of the phase that has most, along an axis.
std::int64_t taps_of_phase(const Axis& axis) {
  return ceil_div(axis.kernel, axis.stride / std::gcd(axis.stride, axis.dilation));
}

/// Products that a k-block adds to an accumulator.
std::int64_t terms_of_k_block(const Facts& f, const Block& b) {
  return b.block_k / f.instruction_k * taps_of_phase(f.rows) * taps_of_phase(f.columns);
}

/// Products in the unrolled body, three for each of fp32.
std::int64_t products(const Facts& f, const Block& b) {
  return gemm::products(f, b) * 3;
}

/// The rest of a block whose positions, phase rows, block_n, block_k and copies are chosen; nothing where nothing fits.
std::optional<Block> completed(const Facts& f, Block b) {
  if ((b.block_k > f.instruction_k && terms_of_k_block(f, b) > kMostTerms) || products(f, b) > gemm::kMostProducts ||
      !choose_prefetch(f, b)) {
    return std::nullopt;
  }
  gemm::choose_store(f, b, b.block_n, b.thread_positions * f.columns.stride);
  return choose_tile(f, b) ? std::optional(b) : std::nullopt;
}

std::set<std::int64_t> block_n_sizes(const Facts& f, const Block& b) {
  return gemm::block_n_sizes(f, b, gemm::kMostAccumulators / kParts);
}

/// Rows of taps that are accumulated before a promotion; 0 where a k-block's all are.
std::int64_t promote_rows(const Facts& f) {
  const std::int64_t row = taps_of_phase(f.columns);
  return taps_of_phase(f.rows) * row > kMostTerms ? std::max<std::int64_t>(1, kMostTerms / row) : 0;
}

/// Input channels of a stage.
std::vector<std::int64_t> block_k_sizes(const Facts& f) {
  std::vector<std::int64_t> sizes = {f.instruction_k};
  while (sizes.back() < f.layer.in_channels && sizes.back() < kMostBlockK) {
    sizes.push_back(2 * sizes.back());
  }
  return sizes;
}

/// Totals of the accumulators in shared memory, in bytes. Consumers that split need none where one accumulator holds
/// all terms: they rescale the accumulators.
std::int64_t total_bytes(const Facts& f, const Block& b) {
  const bool has_totals =
      b.promote_rows > 0 ||
      (consumers_split(f, b) ? gemm::k_blocks(f, b) * terms_of_k_block(f, b) > kMostTerms : gemm::k_blocks(f, b) > 1);
  return has_totals ? gemm::accumulator_bytes(f, b) : 0;
}

/// The maxima and the exponents of a stage.
std::int64_t scale_bytes(const Facts& f, const Block& b) {
  return producers(f, b) / 8 * b.tile_n + 16 * ceil_div(b.tile_n, 4);
}

}  // namespace

Facts facts_of(const Problem& problem) {
  return facts_of(problem, planned_sizes(problem.layer));
}

Facts facts_of(const Problem& problem, const InputSizes& sizes) {
  return gemm::facts_of(problem, sizes, kInstructionK);
}

std::vector<Block> blocks(const Facts& f) {
  std::vector<Block> all;
  for (const std::int64_t phase_rows : gemm::phase_row_counts(f)) {
    for (const std::int64_t thread_positions : {2, 4, 8}) {
      Block block;
      block.thread_positions = thread_positions;
      block.phase_rows = phase_rows;
      block.promote_rows = promote_rows(f);
      for (const std::int64_t block_n : block_n_sizes(f, block)) {
        block.block_n = block_n;
        for (const std::int64_t block_k : block_k_sizes(f)) {
          block.block_k = block_k;
          for (const Block& copied : with_copies(f, block)) {
            if (const std::optional<Block> fitting = completed(f, copied)) {
              all.push_back(*fitting);
            }
          }
        }
      }
    }
  }
  return all;
}

std::unexpected<Error> why_none(const Facts& f) {
  Block least;
  least.phase_rows = *gemm::phase_row_counts(f).begin();
  const std::set<std::int64_t> sizes = block_n_sizes(f, least);
  if (sizes.empty()) {
    return gemm::fail_phases(f.layer, least.phase_rows * f.columns.stride, gemm::kMostAccumulators / 8 / kParts);
  }
  least.block_n = *sizes.begin();
  least.block_k = block_k_sizes(f).front();
  least.promote_rows = promote_rows(f);
  const std::vector<Block> copied = with_copies(f, least);
  if (copied.empty()) {
    return fail_extent(f.layer, 4 / f.bytes, 4);
  }
  least = copied.front();
  if (products(f, least) > gemm::kMostProducts) {
    return gemm::fail_products(f.layer, products(f, least));
  }
  if (registers_of(f, least) > kMostRegisters) {
    return gemm::fail_registers(f, registers_of(f, least), kMostRegisters);
  }
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  least.stages = 2;
  const std::int64_t positions = 64 * least.thread_positions;
  for (least.tile_w = f.channels_last ? least.thread_positions
                                      : std::max(least.thread_positions, least.copy_bytes / f.bytes);
       least.tile_w <= positions; least.tile_w *= 2) {
    least.tile_h = positions / least.tile_w;
    bytes = std::min(bytes, shared_bytes(f, least));
  }
  return gemm::fail_stages(f, bytes);
}

Staging staging_of(const Facts& f, const Block& b) {
  const std::int64_t vector = f.channels_last ? 1 : std::min<std::int64_t>(b.thread_positions, 4);
  const std::int64_t align = f.channels_last ? 1 : std::max(b.copy_bytes / f.bytes, vector);
  Staging out = gemm::staged_halo(f, b, vector, align, align);
  const std::int64_t plane = b.tile_n * out.image_rows * out.columns;
  if (f.channels_last) {
    out.input_bytes =
        plane * 4 * (b.block_k + (b.thread_positions > 2 ? floor_mod(4 - b.block_k, 8) : floor_mod(8 - b.block_k, 16)));
  } else {
    out.input_bytes = b.block_k * (plane + floor_mod(4 - plane, 16)) * f.bytes;
    out.copies = b.bulk ? b.block_k * b.tile_n * out.image_rows : 0;
  }
  out.weight_bytes =
      tap_count(f.layer) / (f.rows.stride / b.phase_rows) * (b.block_k / f.instruction_k) * b.block_n * 32 * kParts;
  return out;
}

bool is_flat(const Facts& f, const Block& b) {
  return gemm::can_be_one_row(f, b);
}

bool consumers_split(const Facts& f, const Block& b) {
  const Staging staging = staging_of(f, b);
  return staging.offsets_h == 1 && staging.loaded_columns <= 2 * b.thread_positions;
}

std::int64_t producers(const Facts& f, const Block& b) {
  const std::int64_t consumer =
      kParts * gemm::accumulators(f, b) + 8 * gemm::fragment_positions(f, b) + 4 * staging_of(f, b).loaded_columns;
  const bool releases_at_once = !b.resident && b.stages <= 3 && b.promote_rows == 0;
  return !consumers_split(f, b) &&
                 (consumer <= kMostConsumerRegisters || (releases_at_once && !b.bulk && !f.channels_last))
             ? 256
             : 128;
}

std::int64_t promotions(const Facts& f, const Block& b) {
  const std::int64_t k_blocks = gemm::k_blocks(f, b);
  if (b.promote_rows > 0 && !consumers_split(f, b)) {
    return ceil_div(k_blocks * (b.block_k / f.instruction_k) * staging_of(f, b).offsets_h, b.promote_rows) - 1;
  }
  return ceil_div(k_blocks, std::max<std::int64_t>(1, kMostTerms / terms_of_k_block(f, b))) - 1;
}

std::int64_t shared_bytes(const Facts& f, const Block& b) {
  const Staging staging = staging_of(f, b);
  const std::int64_t stage =
      staging.input_bytes + (b.resident ? 0 : staging.weight_bytes) + scale_bytes(f, b) + 24;  // barriers
  return (b.resident ? gemm::k_blocks(f, b) * staging.weight_bytes + 8 : 0) + b.stages * stage + total_bytes(f, b) +
         b.block_n * (f.layer.bias ? 12 : 8);
}

std::int64_t packed_bytes(const Facts& f, const Block& b) {
  // Scales of the channels, and the maxima that they are found by.
  return gemm::n_tiles(f, b) * (gemm::k_blocks(f, b) * staging_of(f, b).weight_bytes + b.block_n * 36);
}

std::int64_t packed_rows(const Facts& f, const Block& b) {
  // A block makes whole channels, as many as pack_channels() in the template says.
  const std::int64_t k_steps = gemm::k_blocks(f, b) * (b.block_k / f.instruction_k);
  const std::int64_t all = gemm::n_tiles(f, b) * b.block_n;
  const std::int64_t taps = tap_count(f.layer) * b.phase_rows / f.rows.stride;
  std::int64_t channels = 2;
  while (channels < 8 &&
         (channels * k_steps * taps < 64 || (k_steps <= 4 * (128 / (channels * taps)) && all / channels >= 256))) {
    channels *= 2;
  }
  return std::max<std::int64_t>(1, packed_bytes(f, b) / all * channels / (16 * kPackThreads));
}

}  // namespace convtgen::f32x3_gemm
