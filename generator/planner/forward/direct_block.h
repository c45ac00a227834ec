// The blocks of the plain templates `direct` and `direct_grad_input`: which rectangle of positions a thread and a block
// make, for how many channels, and what is staged at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/planner.h"

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

/// What is worth measuring besides the first choice, the most different first.
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

/// The same with threads for even work.
inline constexpr std::array kEvenAims = {
    Aim{.even = true},
    Aim{.acc = 32, .threads_per_sm = 1024, .even = true},
    Aim{.acc = 128, .threads_per_sm = 256, .even = true},
};

/// The block, as the templates' parameters of the same names. Phases are of `direct` alone.
CONVTGEN_BLOCK(Block, (threads_x, 1), (threads_y, 1), (threads_z, 1), (columns_per_thread, 1), (rows_per_thread, 1),
               (channels_per_thread, 1), (blocks_per_sm, 1), (block_k, 1), (staged, true), (asynchronous, false),
               (group_phases_h, 1), (group_phases_w, 1));
inline constexpr std::size_t kForwardMembers = 2;  // the last ones

/// The templates' constants that are wanted, by their names there; those of `direct` alone come last.
CONVTGEN_CONSTANTS(kWrittenTaps, kThreads, kTileRows, kTileColumns, kTileChannels, kChannelTiles, kChannelBytes,
                   kSharedBytes, kRowPlaces, kWeightPlaces, kPlacesOfThread);
CONVTGEN_MORE_CONSTANTS(ForwardConstant, kForwardNames, kConstantCount, kPhaseGroups, kBuffers, kGroupedPhasesH,
                        kGroupedPhasesW, kSplitsEmpty);

/// What the choice depends on.
struct Facts : FactsOf<Block> {
  explicit Facts(FactsOf facts);

  std::int64_t written_taps;  // that the source writes out
  std::int64_t made, summed;  // channels of a group: of the result, and that are added up for it
  std::vector<bool> phases_h = {true}, phases_w = {true};  // that are grouped: which have taps
  Size planes, positions_h, positions_w;                   // where the sizes are known
  bool can_copy = false;  // asynchronously: elements as wide as what products are added in
};

[[nodiscard]] Block choose_block(const Facts& facts, const Aim& aim);

/// The block for each aim, of those that are different.
template <typename Aims>
[[nodiscard]] std::vector<Block> blocks_of(const Facts& facts, const Aims& aims) {
  std::vector<Block> found;
  std::ranges::transform(aims, std::back_inserter(found), [&](const Aim& aim) { return choose_block(facts, aim); });
  return BlockChoices(std::move(found)).distinct();
}

/// The most threads of an SM, one after another: those of the blocks that the last SM gets. 0 where sizes are open.
[[nodiscard]] std::int64_t threads_of_busiest(const Facts& facts, const Block& block);

/// "8 phases", "1 channel".
[[nodiscard]] std::string count_of(std::int64_t number, std::string_view noun);

}  // namespace convtgen::direct
