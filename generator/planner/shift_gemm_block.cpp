#include "generator/planner/shift_gemm_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "generator/planner/cost.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen::shift_gemm {
namespace {

constexpr std::int64_t kMostRegisters = 152;
constexpr std::int64_t kMostPingPongRegisters = 160;  // the same with the loaded words
constexpr std::int64_t kSkewRegisters = 20;           // fewer where rows begin anywhere
constexpr std::int64_t kMostCluster = 8;
constexpr std::int64_t kLeastPixelBytes = 128;  // of a bulk copy of pixels
constexpr std::int64_t kMostLongProducts = 48;  // of a warpgroup in k-blocks of eight k-steps, which are written out

/// How input is brought: by the widest asynchronous copies, and rows also by bulk copies: rows of 32-bit elements,
/// which consumers load one by one, whatever their width is. So are pixels where a copy has kLeastPixelBytes.
std::vector<Block> with_copies(const Facts& f, Block b) {
  std::vector<Block> out;
  if (const auto bytes = gemm::widest_copy(f)) {
    b.copy_bytes = *bytes;
    out.push_back(b);
    if (b.copy_bytes == 16 || (f.bytes == 4 && !f.channels_last)) {
      b.copy_bytes = 16;
      b.bulk = true;
      if (!f.channels_last || copy_pixels(f, b) * b.block_k * f.bytes >= kLeastPixelBytes) {
        out.push_back(b);
      }
    }
  }
  // The largest k-blocks make so few products of each byte that only copies of many bytes are worth them.
  std::erase_if(out, [&](const Block& each) { return each.block_k == 8 * f.instruction_k && !each.bulk; });
  return out;
}

/// Adjacent outputs of a warp in a row.
std::int64_t warp_outputs(const Facts& f, const Block& b) {
  return 8 * b.thread_positions * f.columns.stride;
}

/// What the staged epilogue takes: eight channels of each warp, with the template's pitch.
std::int64_t epilogue_bytes(const Facts& f, const Block& b) {
  const std::int64_t outputs = warp_outputs(f, b);
  return b.staged_epilogue ? 64 * (outputs + floor_mod(f.vector - outputs, 4 * f.vector)) * f.bytes : 0;
}

/// Chooses how many elements are stored together; false for a staged epilogue where a thread's outputs are stored at
/// once without.
bool choose_store(const Facts& f, Block& b) {
  const std::int64_t thread_outputs = b.thread_positions * f.columns.stride;
  gemm::choose_store(f, b, b.block_n / b.cluster, b.staged_epilogue ? warp_outputs(f, b) / 4 : thread_outputs);
  return !b.staged_epilogue || (!f.channels_last && b.store < std::min(thread_outputs, f.vector));
}

/// Positions that a thread holds fragments of at a time.
std::int64_t fragments(const Facts& f, const Block& b) {
  return std::min(gemm::fragment_positions(f, b), b.thread_positions / 2 * f.columns.kernel);
}

/// Registers of a consumer that hold accumulators and two sets of fragments, and how many may: products of more than
/// these are serialised by the assembler (C7512).
struct Registers {
  std::int64_t wanted = 0, most = 0;
};
Registers registers_of(const Facts& f, const Block& b) {
  return {.wanted = gemm::accumulators(f, b) + 2 * 4 * fragments(f, b),
          .most = kMostRegisters - (is_skewed(f, b) ? kSkewRegisters : 0)};
}

bool fits_registers(const Facts& f, const Block& b) {
  const auto [wanted, most] = registers_of(f, b);
  return wanted <= most && (!b.ping_pong || wanted + 2 * (fragments(f, b) + 1) <= kMostPingPongRegisters);
}

/// Whether there is a producer for each row of a channel that bulk copies bring, of four channels where rows begin
/// anywhere.
bool has_producers(const Facts& f, const Block& b) {
  const std::int64_t rows = b.tile_n * staging_of(f, b).image_rows * (is_skewed(f, b) ? 4 : 1);
  return !b.bulk || f.channels_last || rows <= kProducers;
}

/// The tile that is predicted to take least, with the least halo; false where none fits.
bool choose_tile(const Facts& f, Block& b) {
  const std::int64_t least = std::max(b.staged_epilogue ? 8 * b.thread_positions : b.thread_positions,
                                      f.channels_last || is_skewed(f, b) ? 1 : b.copy_bytes / f.bytes);
  return gemm::choose_tile(b, positions(b), 64, least,
                           [&](Block& tried) -> std::optional<std::pair<double, std::int64_t>> {
                             if (!has_producers(f, tried) ||
                                 // A block of a cluster needs its share of the weights once.
                                 !gemm::choose_stages(f, tried, tried.cluster == 1,
                                                      [&](const Block& each) { return shared_bytes(f, each); })) {
                               return std::nullopt;
                             }
                             return std::pair(predicted_seconds(f, tried), staging_of(f, tried).input_bytes);
                           });
}

/// The rest of a block whose positions, phase rows, block_n, block_k, copies and cluster are chosen; nothing where
/// nothing fits.
std::optional<Block> completed(const Facts& f, Block b) {
  const std::int64_t products = gemm::products(f, b);
  if (products > gemm::kMostProducts || (b.block_k == 8 * f.instruction_k && products > kMostLongProducts) ||
      !fits_registers(f, b)) {
    return std::nullopt;
  }
  if (b.cluster > 1 && (gemm::k_blocks(f, b) % b.cluster != 0 || b.block_n % (8 * b.cluster) != 0)) {
    return std::nullopt;
  }
  if (!choose_store(f, b) || !choose_tile(f, b) ||
      (b.cluster > 1 && gemm::tiles(f, b, is_flat(f, b)) * gemm::n_tiles(f, b) > f.target.multiprocessors)) {
    return std::nullopt;
  }
  return b;
}

/// Input channels of a stage.
std::vector<std::int64_t> block_k_sizes(const Facts& f) {
  std::vector<std::int64_t> sizes = {2 * f.instruction_k};
  if (f.layer.in_channels > 2 * f.instruction_k) {
    sizes.push_back(4 * f.instruction_k);
  }
  if (f.channels_last && f.layer.in_channels > 4 * f.instruction_k) {
    sizes.push_back(8 * f.instruction_k);
  }
  return sizes;
}

/// How outputs are stored, as they are or through shared memory, by all consumers at once or by ping-pong warpgroups;
/// and how many blocks share a tile's input channels.
struct Way {
  bool staged_epilogue = false, ping_pong = false;
  std::int64_t cluster = 1;
};

}  // namespace

Facts facts_of(const Problem& problem) {
  return facts_of(problem, planned_sizes(problem.layer));
}

Facts facts_of(const Problem& problem, const InputSizes& sizes) {
  return gemm::facts_of(problem, sizes, 32 / bytes_of(problem.layer.dtype));
}

std::vector<Block> blocks(const Facts& f) {
  std::vector<Way> ways = {
      {}, {.staged_epilogue = true}, {.ping_pong = true}, {.staged_epilogue = true, .ping_pong = true}};
  for (std::int64_t cluster = 2; cluster <= kMostCluster; cluster *= 2) {
    ways.push_back({.cluster = cluster});
  }
  std::vector<Block> all;
  for (const std::int64_t phase_rows : gemm::phase_row_counts(f)) {
    for (const std::int64_t thread_positions : {2, 4, 8}) {
      Block block;
      block.thread_positions = thread_positions;
      block.phase_rows = phase_rows;
      for (const std::int64_t block_n : gemm::block_n_sizes(f, block, gemm::kMostAccumulators)) {
        block.block_n = block_n;
        for (const std::int64_t block_k : block_k_sizes(f)) {
          block.block_k = block_k;
          for (Block copied : with_copies(f, block)) {
            for (const auto& [staged_epilogue, ping_pong, cluster] : ways) {
              copied.staged_epilogue = staged_epilogue;
              copied.ping_pong = ping_pong;
              copied.cluster = cluster;
              if (const std::optional<Block> fitting = completed(f, copied)) {
                all.push_back(*fitting);
              }
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
  const std::set<std::int64_t> sizes = gemm::block_n_sizes(f, least, gemm::kMostAccumulators);
  if (sizes.empty()) {
    return gemm::fail_phases(f.layer, least.phase_rows * f.columns.stride, gemm::kMostAccumulators / 8);
  }
  least.block_n = *sizes.begin();
  least.block_k = block_k_sizes(f).front();
  const std::vector<Block> copied = with_copies(f, least);
  if (copied.empty()) {
    return fail_extent(f.layer, 4 / f.bytes, 4);
  }
  least = copied.front();
  if (const std::int64_t products = gemm::products(f, least); products > gemm::kMostProducts) {
    return gemm::fail_products(f.layer, products);
  }
  if (const Registers registers = registers_of(f, least); registers.wanted > registers.most) {
    return gemm::fail_registers(f, registers.wanted, registers.most);
  }
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  least.stages = 2;
  for (least.tile_w = f.channels_last ? least.thread_positions
                                      : std::max(least.thread_positions, least.copy_bytes / f.bytes);
       least.tile_w <= positions(least); least.tile_w *= 2) {
    least.tile_h = positions(least) / least.tile_w;
    bytes = std::min(bytes, shared_bytes(f, least));
  }
  return gemm::fail_stages(f, bytes);
}

Staging staging_of(const Facts& f, const Block& b) {
  const bool skewed = is_skewed(f, b);
  const std::int64_t vector = f.channels_last ? 1
                              : skewed        ? (f.columns.extent && *f.columns.extent % 2 == 0 ? 2 : 1)
                              : f.bytes == 2  ? 2
                                              : std::min<std::int64_t>(b.thread_positions, 4);
  const std::int64_t align = f.channels_last ? 1 : skewed ? vector : std::max(b.copy_bytes / f.bytes, vector);
  Staging out = gemm::staged_halo(f, b, vector, align, f.channels_last && b.bulk ? b.thread_positions : align);
  const std::int64_t row_pitch = skewed ? round_up(out.columns + f.vector - out.vector, f.vector) : out.columns;
  const std::int64_t plane = b.tile_n * out.image_rows * row_pitch;
  if (f.channels_last && b.bulk) {
    out.copies = plane / copy_pixels(f, b);
    out.input_bytes = plane / b.thread_positions * (b.thread_positions * b.block_k * f.bytes + 32);
  } else if (f.channels_last) {
    const std::int64_t words = b.block_k * f.bytes / 4;
    out.input_bytes = plane * 4 * (words + floor_mod(4 - words, b.thread_positions > 2 ? 8 : 16));
  } else {
    const std::int64_t pitch =
        f.bytes == 4 ? plane + floor_mod(8 - plane, 32) : 2 * (plane / 2 + floor_mod(4 - plane / 2, 16));
    out.input_bytes = b.block_k * pitch * f.bytes;
    out.copies = b.bulk ? b.block_k * b.tile_n * out.image_rows : 0;
  }
  out.weight_bytes =
      tap_count(f.layer) / (f.rows.stride / b.phase_rows) * (b.block_k / f.instruction_k) * b.block_n * 32;
  return out;
}

std::int64_t copy_pixels(const Facts& f, const Block& b) {
  return f.groups == 1 && b.block_k == f.layer.in_channels ? b.thread_positions : 1;
}

std::int64_t positions(const Block& b) {
  return (b.ping_pong ? 32 : 64) * b.thread_positions;
}

bool is_flat(const Facts& f, const Block& b) {
  return gemm::can_be_one_row(f, b) && !b.staged_epilogue && b.cluster == 1 && *f.columns.extent * f.bytes % 16 != 0;
}

bool is_skewed(const Facts& f, const Block& b) {
  return b.bulk && !f.channels_last && !is_flat(f, b) && !(f.columns.extent && *f.columns.extent * f.bytes % 16 == 0);
}

std::int64_t shared_bytes(const Facts& f, const Block& b) {
  const Staging staging = staging_of(f, b);
  const std::int64_t stage = staging.input_bytes + (b.resident ? 0 : staging.weight_bytes) + 16;
  const std::int64_t staged = (b.resident ? gemm::k_blocks(f, b) * staging.weight_bytes + 8 : 0) + b.stages * stage +
                              epilogue_bytes(f, b) + (b.ping_pong ? 24 : 0);
  // What the blocks of a cluster send to one of them takes the stages' place.
  return b.cluster > 1 ? std::max(staged, gemm::accumulator_bytes(f, b) + b.stages * 16) : staged;
}

std::int64_t packed_bytes(const Facts& f, const Block& b) {
  return gemm::n_tiles(f, b) * (gemm::k_blocks(f, b) * staging_of(f, b).weight_bytes);
}

std::int64_t packed_rows(const Facts& f, const Block& b) {
  return gemm::k_blocks(f, b) * (b.block_k / f.instruction_k) % 4 == 0 ? 4 : 2;
}

}  // namespace convtgen::shift_gemm
