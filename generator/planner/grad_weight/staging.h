// What planners of templates for gradients of weights share whose stages come to shared memory in the same way: through
// the registers of producer warpgroups, or by tensor copies.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/planner/grad_weight/search.h"

namespace convtgen::grad_weight {

// ---- Through registers: whole rows, or parts of them, of all images one below the other ----

/// Warpgroups that multiply, and threads that bring what they multiply: through registers, or from rows of NCHW that
/// tensor copies bring, where these are whole words of a known size.
[[nodiscard]] std::vector<Block> producing_warpgroups(const Facts& f, Block b);
/// Stages of at most `most` positions.
[[nodiscard]] std::vector<Block> produced_positions(const Facts& f, Block b, std::int64_t most);
[[nodiscard]] std::int64_t produced_tiles(const Facts& f, const Block& b);
[[nodiscard]] std::string produced_text(const Block& b);
/// The constants that are wanted of such a template's rows, by their names there.
/// A template's own follow.
CONVTGEN_MORE_CONSTANTS(RowConstant, kRowNames, kConstantCount, kInputPeriod, kWindowPeriod, kInputBox, kWindowBox,
                        kRowsOfSlot, kCopies, kTurnedBlocks, kTurnedStrips, kCopiedBytes);
/// Whether tensor copies bring the rows of a block's stage.
[[nodiscard]] bool fits_rows(const Facts& f, const Block& b);
/// Adds the tensor maps that copy rows of x and grad_y, and the batch up to which copies find them; nothing
/// where rows are loaded to registers. The launch's first kernel has the copies.
void add_row_copies(LaunchPlan& launch, const Facts& f, const Block& b);

/// What threads do to bring a stage: batches of loads to registers, or turns of the rows that copies bring.
struct Bringing {
  double batches = 0;             // of a thread
  double batch_instructions = 0;  // of a thread, besides those of each batch
  double elements = 0;            // that all threads load
  double turn_instructions = 0;   // of a warp, for a block of eight positions by eight channels
};

/// Their share of a stage's work, and the cycles that they need.
struct Brought {
  double instructions = 0;  // of a scheduler's warps
  double l2_bytes = 0;
  double shared_bytes = 0;  // written and read besides the stage's own
  double cycles = 0;
};
[[nodiscard]] Brought brought_by_threads(const Facts& f, const Block& b, const Bringing& bringing);
/// The cycles of a stage that has this work, in which threads bring the next one.
[[nodiscard]] double produced_stage_cycles(const Facts& f, const Brought& brought, const StageWork& work);

/// Elements of grad_y that are read for each one that is needed: sectors of memory hold those between two of a stride.
[[nodiscard]] double elements_read(const Facts& f);

/// Errors: with channels last, the channels of a group are no multiple of those that are loaded together.
[[nodiscard]] Result<void> check_channels_last(const Layer& layer, std::int64_t pack);

/// A planner of such a template.
template <typename T, const auto& kMembersOf, const auto& kWanted>
struct Produced : Search<T, kMembersOf, kWanted> {
  static Parameters parameters(const Problem& problem) { return word_parameters_of(problem); }
  static std::vector<Block> warpgroups(const Facts& f, Block b) { return producing_warpgroups(f, b); }
  static std::int64_t tiles(const Facts& f, const Block& b) { return produced_tiles(f, b); }
  static std::string positions_text(const Block& b) { return produced_text(b); }
  static void bring(LaunchPlan& launch, const Facts& f, const Block& b, Constants&) { add_row_copies(launch, f, b); }
};

}  // namespace convtgen::grad_weight
