#include "generator/planner/forward/f32x3_gemm_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"

namespace convtgen::f32x3_gemm {
namespace {

constexpr std::int64_t kMostColumns = 32;  // that a thread loads of a row: a bit for each
constexpr std::int64_t kMostBlockK = 128;
constexpr std::int64_t kMostImages = 32;  // of a tile: a lane for each

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

/// With a prefetch, what low parts are made from waits while products run, in registers. Chooses that, and returns
/// whether the registers suffice.
bool choose_prefetch(const Facts& f, Block& b) {
  Constants& of_block = f.of(b);
  const std::int64_t wanted = of_block[kHeldRegisters], most = of_block[kMostRegisters];
  if (of_block[kHoldsPairs] != 0) {
    b.prefetch = true;
    // Two M tiles and two k-steps would spill.
    return wanted <= most && (b.block_k == f.instruction_k || of_block[gemm::kMTiles] == 1);
  }
  const std::int64_t waiting = f.channels_last ? 4 * (of_block[kFragmentColumns] + 3) : 0;
  const bool splits = of_block[kConsumersSplit] != 0;
  b.prefetch = splits || wanted + waiting <= most;
  // With input strides, consumers that split what they load keep the next values: four for each column.
  const std::int64_t values = gemm::has_input_strides(f) && splits ? 4 * of_block[gemm::kLoadedColumns] : 0;
  return wanted + values <= most;
}

/// Whether bulk copies have whole vectors and there is a producer for each row of a channel. Two producer warpgroups
/// have registers for at most 16 copies of a warp's row: CUDA 13.5 keeps the addresses of a loop's copies.
bool can_copy(const Facts& f, const Block& b) {
  if (!b.bulk) {
    return true;
  }
  Constants& of_block = f.of(b);
  if (of_block[gemm::kFlat] == 0 && !(f.columns.extent && *f.columns.extent * f.bytes % 16 == 0)) {
    return false;
  }
  const std::int64_t rows = b.tile_n * of_block[gemm::kStagedRows];
  const std::int64_t producers = of_block[gemm::kProducers];
  const std::int64_t warps = producers / 32;
  return !(warps > 4 && b.block_k / std::max<std::int64_t>(1, warps / rows) > 16) && rows <= producers;
}

/// The tile that is predicted to take least, with the least halo; false where none fits.
bool choose_tile(const Facts& f, Block& b) {
  const std::int64_t least = std::max(b.thread_positions, f.channels_last ? 1 : b.copy_bytes / f.bytes);
  return gemm::choose_tile(b, 64 * b.thread_positions, kMostImages, least,
                           [&](Block& tried) -> std::optional<std::pair<double, std::int64_t>> {
                             if (!can_copy(f, tried) || !gemm::choose_stages(f, tried, true)) {
                               return std::nullopt;
                             }
                             return std::pair(predicted_seconds(f, tried), f.of(tried)[gemm::kInputBytes]);
                           });
}

/// Products in the unrolled body, three for each of fp32.
std::int64_t products(const Facts& f, const Block& b) {
  return gemm::products(f.of(b)) * 3;
}

/// The rest of a block whose positions, phase rows, block_n, block_k and copies are chosen; nothing where nothing fits.
std::optional<Block> completed(const Facts& f, Block b) {
  Constants& of_block = f.of(b);
  if ((b.block_k > f.instruction_k && of_block[kKBlockTerms] > of_block[kMostTerms]) ||
      products(f, b) > gemm::kMostProducts ||
      (of_block[kHoldsPairs] == 0 && of_block[gemm::kLoadedColumns] > kMostColumns) || !choose_prefetch(f, b)) {
    return std::nullopt;
  }
  gemm::choose_store(f, b, b.block_n, b.thread_positions * f.columns.stride);
  return choose_tile(f, b) ? std::optional(b) : std::nullopt;
}

std::set<std::int64_t> block_n_sizes(const Facts& f, const Block& b) {
  return gemm::block_n_sizes(f, b, f.of(b)[gemm::kMostAccumulators] / f.of(b)[kParts]);
}

/// Rows of taps that are accumulated before a promotion; 0 where a k-block's all are.
std::int64_t promote_rows(const Facts& f) {
  Constants& constants = f.of(Block());
  const std::int64_t k_step = constants[kKBlockTerms] / constants[gemm::kKSteps];
  return k_step > constants[kMostTerms] ? std::max<std::int64_t>(1, constants[kMostTerms] / constants[kRowTerms]) : 0;
}

/// Input channels of a stage.
std::vector<std::int64_t> block_k_sizes(const Facts& f) {
  std::vector<std::int64_t> sizes = {f.instruction_k};
  while (sizes.back() < f.layer.in_channels && sizes.back() < kMostBlockK) {
    sizes.push_back(2 * sizes.back());
  }
  return sizes;
}

}  // namespace

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
    return gemm::fail_phases(f.layer, least.phase_rows * f.columns.stride,
                             f.of(least)[gemm::kMostAccumulators] / 8 / f.of(least)[kParts]);
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
    return gemm::fail_products(f.layer, products(f, least), gemm::kMostProducts);
  }
  if (f.of(least)[kHeldRegisters] > f.of(least)[kMostRegisters]) {
    return gemm::fail_registers(f, f.of(least)[kHeldRegisters], f.of(least)[kMostRegisters]);
  }
  if (const std::int64_t columns = f.of(least)[gemm::kLoadedColumns]; columns > kMostColumns) {
    return fail(
        fmt::format("two adjacent positions and their taps reach {} columns; at most {}", columns, kMostColumns));
  }
  return gemm::fail_stages(f, gemm::least_shared_bytes(f, least, 64 * least.thread_positions));
}

std::int64_t promotions(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const std::int64_t k_blocks = of_block[gemm::kKBlocks];
  if (b.promote_rows > 0 && of_block[kConsumersSplit] == 0) {
    return ceil_div(k_blocks * of_block[gemm::kKSteps] * of_block[gemm::kOffsetsH], b.promote_rows) - 1;
  }
  return ceil_div(k_blocks, std::max<std::int64_t>(1, of_block[kMostTerms] / of_block[kKBlockTerms])) - 1;
}

}  // namespace convtgen::f32x3_gemm
