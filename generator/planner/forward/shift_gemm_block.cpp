#include "generator/planner/forward/shift_gemm_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "generator/planner/search/checks.h"

namespace convtgen::shift_gemm {
namespace {

constexpr std::int64_t kMostRegisters = 152;
constexpr std::int64_t kMostPingPongRegisters = 160;  // the same with the loaded words
constexpr std::int64_t kSkewRegisters = 20;           // fewer where rows begin anywhere
constexpr std::int64_t kMostCluster = 8;
constexpr std::int64_t kLeastPixelBytes = 128;  // of a bulk copy of pixels
constexpr std::int64_t kMostLongProducts = 48;  // of a warpgroup in k-blocks of eight k-steps, which are written out
constexpr std::int64_t kMostStridedProducts = 192;  // with input strides, where each tap loads fragments of its own

/// How input is brought: by the widest asynchronous copies, and rows also by bulk copies: rows of 32-bit elements,
/// which consumers load one by one, whatever their width is. So are pixels where a copy has kLeastPixelBytes.
std::vector<Block> with_copies(const Facts& f, Block b) {
  std::vector<Block> out;
  if (const auto bytes = gemm::widest_copy(f)) {
    b.copy_bytes = *bytes;
    out.push_back(b);
    if (b.copy_bytes == 16 || (f.bytes == 4 && !f.channels_last && !gemm::has_input_strides(f))) {
      b.copy_bytes = 16;
      b.bulk = true;
      if (!f.channels_last || f.of(b)[kPixelCopyBytes] >= kLeastPixelBytes) {
        out.push_back(b);
      }
    }
  }
  // The largest k-blocks make so few products of each byte that only copies of many bytes are worth them.
  std::erase_if(out, [&](const Block& each) { return each.block_k == 8 * f.instruction_k && !each.bulk; });
  return out;
}

/// Chooses how many elements are stored together; false for a staged epilogue where a thread's outputs are stored at
/// once without.
bool choose_store(const Facts& f, Block& b) {
  const std::int64_t thread_outputs = b.thread_positions * f.columns.stride;
  gemm::choose_store(f, b, b.block_n / b.cluster, b.staged_epilogue ? f.of(b)[kWarpOutputs] / 4 : thread_outputs);
  return !b.staged_epilogue || (!f.channels_last && b.store < std::min(thread_outputs, f.vector));
}

/// Positions that a thread holds fragments of at a time.
std::int64_t fragments(const Facts& f, const Block& b) {
  return f.columns.input_stride > 1
             ? f.of(b)[kHeldFragments]
             : std::min(gemm::fragment_positions(b, f.of(b)), b.thread_positions / 2 * f.columns.kernel);
}

/// Registers of a consumer that hold accumulators and two sets of fragments, and how many may: products of more than
/// these are serialised by the assembler (C7512).
struct Registers {
  std::int64_t wanted = 0, most = 0;
};
Registers registers_of(const Facts& f, const Block& b) {
  return {.wanted = gemm::accumulators(b, f.of(b)) + 2 * 4 * fragments(f, b),
          .most = kMostRegisters - (f.of(b)[gemm::kSkewed] != 0 ? kSkewRegisters : 0)};
}

bool fits_registers(const Facts& f, const Block& b) {
  const auto [wanted, most] = registers_of(f, b);
  return wanted <= most && (!b.ping_pong || wanted + 2 * (fragments(f, b) + 1) <= kMostPingPongRegisters);
}

/// Whether there is a producer for each row of a channel that bulk copies bring, of four channels where rows begin
/// anywhere.
bool has_producers(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const std::int64_t rows = b.tile_n * of_block[gemm::kStagedRows] * (of_block[gemm::kSkewed] != 0 ? 4 : 1);
  return !b.bulk || f.channels_last || rows <= of_block[gemm::kProducers];
}

/// The tile that is predicted to take least, with the least halo; false where none fits.
bool choose_tile(const Facts& f, Block& b) {
  const std::int64_t least = std::max(b.staged_epilogue ? 8 * b.thread_positions : b.thread_positions,
                                      f.channels_last || f.of(b)[gemm::kSkewed] != 0 ? 1 : b.copy_bytes / f.bytes);
  return gemm::choose_tile(b, positions(f, b), 64, least,
                           [&](Block& tried) -> std::optional<std::pair<double, std::int64_t>> {
                             // A block of a cluster needs its share of the weights once.
                             if (!has_producers(f, tried) || !gemm::choose_stages(f, tried, tried.cluster == 1)) {
                               return std::nullopt;
                             }
                             return std::pair(predicted_seconds(f, tried), f.of(tried)[gemm::kInputBytes]);
                           });
}

/// The rest of a block whose positions, phase rows, block_n, block_k, copies and cluster are chosen; nothing where
/// nothing fits.
std::optional<Block> completed(const Facts& f, Block b) {
  const std::int64_t products = gemm::products(f.of(b));
  if (products > gemm::kMostProducts || (b.block_k == 8 * f.instruction_k && products > kMostLongProducts) ||
      (gemm::has_input_strides(f) && products > kMostStridedProducts) || !fits_registers(f, b)) {
    return std::nullopt;
  }
  if (f.of(b)[kBatches] == 1 && f.of(b)[gemm::kKSteps] % 2 != 0) {  // batches alternate between two sets of fragments
    return std::nullopt;
  }
  if (b.cluster > 1 && (f.of(b)[gemm::kKBlocks] % b.cluster != 0 || b.block_n % (8 * b.cluster) != 0)) {
    return std::nullopt;
  }
  if (!choose_store(f, b) || !choose_tile(f, b)) {
    return std::nullopt;
  }
  Constants& of_block = f.of(b);
  const bool fits = b.cluster == 1 || gemm::tiles(f, b, of_block) * of_block[gemm::kNTiles] <= f.target.multiprocessors;
  return fits ? std::optional(b) : std::nullopt;
}

/// Input channels of a stage.
std::vector<std::int64_t> block_k_sizes(const Facts& f) {
  std::vector<std::int64_t> sizes = {2 * f.instruction_k};
  if (gemm::has_input_strides(f)) {
    sizes.push_back(f.instruction_k);
  }
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
      for (const std::int64_t block_n : gemm::block_n_sizes(f, block, f.of({})[gemm::kMostAccumulators])) {
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
  const std::set<std::int64_t> sizes = gemm::block_n_sizes(f, least, f.of({})[gemm::kMostAccumulators]);
  if (sizes.empty()) {
    return gemm::fail_phases(f.layer, least.phase_rows * f.columns.stride, f.of({})[gemm::kMostAccumulators] / 8);
  }
  least.block_n = *sizes.begin();
  least.block_k = block_k_sizes(f).front();
  const std::vector<Block> copied = with_copies(f, least);
  if (copied.empty()) {
    return fail_extent(f.layer, 4 / f.bytes, 4);
  }
  least = copied.front();
  const std::int64_t most_products = gemm::has_input_strides(f) ? kMostStridedProducts : gemm::kMostProducts;
  if (const std::int64_t products = gemm::products(f.of(least)); products > most_products) {
    return gemm::fail_products(f.layer, products, most_products);
  }
  if (const Registers registers = registers_of(f, least); registers.wanted > registers.most) {
    return gemm::fail_registers(f, registers.wanted, registers.most);
  }
  return gemm::fail_stages(f, gemm::least_shared_bytes(f, least, positions(f, least)));
}

std::int64_t positions(const Facts& f, const Block& b) {
  return 8 * f.of(b)[kTileWarps] * b.thread_positions;
}

}  // namespace convtgen::shift_gemm
