// The blocks of the plain templates `direct` and `direct_grad_input`: which rectangle of positions a thread and a block
// make, for how many channels, and what is staged at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "generator/planner/block_constants.h"
#include "generator/planner/plan.h"

namespace convtgen::direct {

/// What a block is made for. These values are the planner's first choice, the ones that were fastest on the whole.
struct Aim {
  std::int64_t acc = 64;                 // of a thread; half as many in fp64
  std::int64_t channels = 8;             // of a thread, at most
  std::int64_t threads = 256;            // of a block, at most
  std::int64_t threads_per_sm = 512;     // leaves each thread 128 registers
  std::int64_t stage_bytes = 32 * 1024;  // of a buffer; leaves room for several blocks an SM
  bool even = false;                     // threads such that the SMs have about the same work
  bool asynchronous = true;              // where the template and the chip can
};

/// What is worth measuring beside the first choice, the most different first.
inline constexpr std::array kAims = {
    Aim{},
    Aim{.acc = 32, .threads_per_sm = 1024},  // more warps
    Aim{.acc = 128, .threads_per_sm = 256},  // more accumulators for each load
    Aim{.channels = 16},
    Aim{.channels = 4},
    Aim{.threads = 128},
    Aim{.stage_bytes = 16 * 1024},
    Aim{.stage_bytes = 64 * 1024},
};

/// What is worth measuring of `direct` besides.
inline constexpr std::array kForwardAims = {
    Aim{.even = true},
    Aim{.acc = 32, .threads_per_sm = 1024, .even = true},
    Aim{.acc = 128, .threads_per_sm = 256, .even = true},
    Aim{.asynchronous = false},
};

/// The block, as the templates' parameters of the same names. Phases and asynchronous copies are of `direct` alone.
struct Block {
  bool operator==(const Block&) const = default;

  std::int64_t threads_x = 1, threads_y = 1, threads_z = 1;
  std::int64_t columns_per_thread = 1, rows_per_thread = 1, channels_per_thread = 1;
  std::int64_t group_phases_h = 1, group_phases_w = 1;
  std::int64_t blocks_per_sm = 1;
  std::int64_t block_k = 1;
  bool staged = true;
  bool asynchronous = false;
};

/// The templates' constants that are wanted, by their names there. `direct` alone has those from kPhaseGroups on.
enum Constant : std::size_t {
  kTaps,
  kWrittenTaps,
  kGroupIn,
  kGroupOut,
  kThreads,
  kTileRows,
  kTileColumns,
  kTileChannels,
  kChannelTiles,
  kChannelBytes,
  kSharedBytes,
  kPhaseGroups,
  kBuffers,
  kGroupedPhasesH,
  kGroupedPhasesW,
  kSplitsEmpty,
};
inline constexpr std::array<std::string_view, 16> kConstants = {
    "kTaps",        "kWrittenTaps",    "kGroupIn",        "kGroupOut",     "kThreads",     "kTileRows",
    "kTileColumns", "kTileChannels",   "kChannelTiles",   "kChannelBytes", "kSharedBytes", "kPhaseGroups",
    "kBuffers",     "kGroupedPhasesH", "kGroupedPhasesW", "kSplitsEmpty"};

/// What the choice depends on, in one place.
struct Facts {
  mutable BlockConstants<Block> constants;  // a cache: holds the block at hand
  std::int64_t taps = 0, written_taps = 0;  // of the kernel, and that the source writes out
  std::int64_t made = 0, summed = 0;        // channels of a group: of the result, and that are added up for it
  std::vector<bool> phases_h = {true}, phases_w = {true};  // that are grouped: which have taps
  Size positions_h = {}, positions_w = {};                 // where the sizes are known
  Size batch = {};
  std::int64_t groups = 1;
  bool is_f64 = false;
  bool can_copy = false;  // asynchronously: elements as wide as what products are added in
  std::int64_t max_shared = 0, shared_of_sm = 0, multiprocessors = 1;

  [[nodiscard]] Constants& of(const Block& b) const { return constants.of(b); }
};

/// The members of a Block that are the template's parameters: those of `direct` have phases.
[[nodiscard]] std::span<const BlockMember<Block>> members_of(Direction direction);

/// Errors: those of BlockConstants::make().
[[nodiscard]] Result<Facts> facts_of(const Problem& problem, const ConstantProgram& program);

[[nodiscard]] Block choose_block(const Facts& facts, const Aim& aim);

/// The most threads of an SM, one after another: those of the blocks that the last SM gets. 0 where sizes are open.
[[nodiscard]] std::int64_t threads_of_busiest(const Facts& facts, const Block& block);

/// A plan of this block, without its summary and reason.
[[nodiscard]] Plan plan_of(const Problem& problem, const Facts& facts, const Block& block,
                           std::string_view template_name);
/// "8 phases", "1 channel".
[[nodiscard]] std::string count_of(std::int64_t number, std::string_view noun);

}  // namespace convtgen::direct
