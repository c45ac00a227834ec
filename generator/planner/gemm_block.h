// What the planners of `shift_gemm` and `f32x3_gemm` share: blocks of products whose A operands are shifted positions
// (templates/gemm/), the search for tiles, and the words for plans.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "generator/layer/phases.h"
#include "generator/layer/shape.h"
#include "generator/planner/integers.h"
#include "generator/planner/plan.h"

namespace convtgen::gemm {

inline constexpr std::int64_t kConsumers = 256;  // threads
/// Accumulators of a thread, in fp32: phases * tiles of 64 positions * block_n, of each part.
inline constexpr std::int64_t kMostAccumulators = 256;
inline constexpr std::int64_t kMostProducts = 1024;  // in the unrolled body of a k-block

/// The block, as the templates' parameters of the same names.
struct Block {
  std::int64_t tile_n = 1, tile_h = 0, tile_w = 0, thread_positions = 2;
  std::int64_t block_n = 8, adjacent_channels = 2, store = 1, phase_rows = 1;
  std::int64_t block_k = 16, stages = 2, copy_bytes = 16;
  bool bulk = false, resident = false;
};
/// Adds the block's parameters.
void add_parameters(Parameters& parameters, const Block& block);
/// Reads them from a plan.
void read_parameters(const Plan& plan, Block& block);

/// What the choice depends on.
struct Facts {
  Layer layer;          // one group of it, as if it were all
  InputSizes sizes;     // that times are predicted for
  std::int64_t groups;  // that there are
  const Target& target;
  Axis rows, columns;
  std::int64_t bytes;          // of an element
  std::int64_t instruction_k;  // channels of a product
  std::int64_t vector;         // elements of 16 bytes
  bool channels_last;
};
/// Refers to the problem's target.
[[nodiscard]] Facts facts_of(const Problem& problem, const InputSizes& sizes, std::int64_t instruction_k);

/// Errors: groups with too few channels.
[[nodiscard]] Result<void> check_groups(const Layer& layer);

/// Adjacent column phases that are fused into one product.
[[nodiscard]] std::int64_t fused_phases(const Layer& layer);
/// Whether rows of phases can go to different blocks; the numbers of phase rows that a block may have.
[[nodiscard]] bool can_split_phase_rows(const Layer& layer);
[[nodiscard]] std::set<std::int64_t> phase_row_counts(const Facts& facts);
/// Blocks of output channels and phase rows; k-blocks of input channels.
[[nodiscard]] std::int64_t n_tiles(const Facts& facts, const Block& block);
[[nodiscard]] std::int64_t k_blocks(const Facts& facts, const Block& block);
/// Positions that a thread has fragments for.
[[nodiscard]] std::int64_t fragment_positions(const Facts& facts, const Block& block);
/// Accumulators of a thread, of one part; those of all consumers in bytes.
[[nodiscard]] std::int64_t accumulators(const Facts& facts, const Block& block);
[[nodiscard]] std::int64_t accumulator_bytes(const Facts& facts, const Block& block);
/// Products of a warpgroup in a k-block, each of an instruction's shape.
[[nodiscard]] std::int64_t products(const Facts& facts, const Block& block);

/// Whether an image may be one row of positions, which bulk copies bring: each input position makes stride_h * stride_w
/// outputs alone.
[[nodiscard]] bool can_be_one_row(const Facts& facts, const Block& block);
/// Tiles of the layer at the sizes that are planned for. `flat`: an image is one row of positions.
[[nodiscard]] std::int64_t tiles(const Facts& facts, const Block& block, bool flat);

/// What a block stages and loads, as the template lays it out.
struct Staging {
  std::int64_t offsets_h = 1;       // rows of the halo, and the row itself
  std::int64_t image_rows = 0;      // staged rows of an image
  std::int64_t columns = 0;         // of a row
  std::int64_t loaded_columns = 0;  // of a row that a thread loads
  std::int64_t vector = 1;          // elements that are loaded together
  std::int64_t input_bytes = 0;     // of a stage
  std::int64_t copies = 0;          // bulk ones that bring it
  std::int64_t weight_bytes = 0;    // of a k-block
};
/// Its rows and columns. The first column is a multiple of `align`, their number one of `columns_align`.
[[nodiscard]] Staging staged_halo(const Facts& facts, const Block& block, std::int64_t vector, std::int64_t align,
                                  std::int64_t columns_align);

/// Output channels of a block: as many as `most` accumulators of a thread hold, or a half or a quarter of them.
[[nodiscard]] std::set<std::int64_t> block_n_sizes(const Facts& facts, const Block& block, std::int64_t most);
/// The widest asynchronous copies that rows (or pixels, with channels last) of this many elements allow; nothing where
/// none fit.
[[nodiscard]] std::optional<std::int64_t> widest_copy(const Facts& facts);
/// Chooses how many elements are stored together: of `channels` that a block stores with channels last, else of
/// `outputs` that are adjacent.
void choose_store(const Facts& facts, Block& block, std::int64_t channels, std::int64_t outputs);

/// As many stages as fit, of at most six, with resident weights if they fit; false where not even two stages do.
template <typename AnyBlock, typename SharedBytes>
[[nodiscard]] bool choose_stages(const Facts& f, AnyBlock& b, bool may_be_resident, SharedBytes shared_bytes) {
  for (const bool resident : {true, false}) {
    b.resident = resident;
    if (resident && !may_be_resident) {
      continue;
    }
    for (b.stages = 6; b.stages >= 2; --b.stages) {
      if (shared_bytes(b) <= f.target.max_shared_bytes) {
        return true;
      }
    }
  }
  return false;
}

/// Chooses the tile of so many positions that costs least, by a number and then by another one; false where none fits.
/// Its width is at least `least_w`. `cost` completes a block, and returns nothing where it does not fit.
template <typename AnyBlock, typename Cost>
[[nodiscard]] bool choose_tile(AnyBlock& b, std::int64_t positions, std::int64_t most_images, std::int64_t least_w,
                               Cost cost) {
  std::pair<double, std::int64_t> best = {std::numeric_limits<double>::infinity(), 0};
  AnyBlock chosen = b;
  for (std::int64_t n = 1; n <= most_images; n *= 2) {
    for (std::int64_t w = least_w; n * w <= positions; w *= 2) {
      AnyBlock tried = b;
      tried.tile_n = n;
      tried.tile_w = w;
      tried.tile_h = positions / (n * w);
      const std::optional<std::pair<double, std::int64_t>> costs = cost(tried);
      if (costs && *costs < best) {
        best = *costs;
        chosen = tried;
      }
    }
  }
  b = chosen;
  return b.tile_h > 0;
}

/// Whether a lane issues all bulk copies of its warp.
[[nodiscard]] bool copies_by_warps(const Block& block, const Staging& staging, bool skewed);

/// Why a layer has no plans: a limit that even the smallest block breaks.
[[nodiscard]] std::unexpected<Error> fail_phases(const Layer& layer, std::int64_t phases, std::int64_t most);
[[nodiscard]] std::unexpected<Error> fail_products(const Layer& layer, std::int64_t products);
[[nodiscard]] std::unexpected<Error> fail_registers(const Facts& facts, std::int64_t wanted, std::int64_t most);
[[nodiscard]] std::unexpected<Error> fail_stages(const Facts& facts, std::int64_t bytes);

/// The words of a plan for what a block makes.
[[nodiscard]] std::string summary_of(const Facts& facts, const Block& block, std::int64_t shared_bytes);
/// The shape of its products and the number of a warpgroup, such as "64x64x16, 4 a warpgroup".
[[nodiscard]] std::string products_text(const Facts& facts, const Block& block);

/// The numbers of a launch. `flat`: an image is one row of positions.
[[nodiscard]] TileGrid grid_of(const Problem& problem, const Block& block, bool flat);

}  // namespace convtgen::gemm
