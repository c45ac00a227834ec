// What planners of templates for gradients of weights share whose stages are boxes of channels: tensor copies bring
// them as they lie with channels last, in x and grad_y or in copies of these.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/planner/grad_weight/search.h"

namespace convtgen::grad_weight {

/// The constants that are wanted of it, besides those of each template. A template's own follow.
CONVTGEN_MORE_CONSTANTS(BoxConstant, kBoxNames, kConstantCount, kInBox, kOutBox, kInBoxes, kOutBoxes, kPlanes,
                        kInputPitch, kInputRows, kInputPixels, kWindowPitch, kWindowRows, kPlanePixels, kCopiedBytes,
                        kCopySide, kCopySharedBytes, kInputCopyColumns, kWindowCopyColumns);

inline constexpr std::int64_t kIssueLag = 2;  // stages from a stage's last read to its next copies

/// Warpgroups that multiply; one of their threads issues the copies.
[[nodiscard]] std::vector<Block> box_warpgroups(const Facts& f, Block b);
/// Stages of parts of rows, of whole rows, and of whole images.
[[nodiscard]] std::vector<Block> box_positions(const Facts& f, Block b);
[[nodiscard]] std::int64_t box_tiles(const Facts& f, const Block& b);
[[nodiscard]] std::string box_text(const Block& b);
/// Whether tensor copies bring the boxes of x and of a plane of grad_y: strides count in what they span.
[[nodiscard]] bool fits_boxes(const Facts& f, const Block& b);
/// Positions of boxes that copies bring to a stage, one at a time, however few channels a box has.
[[nodiscard]] double box_positions_copied(const Facts& f, const Block& b);
/// The cycles of a stage that has this work: its copies have the time of the stages before it.
[[nodiscard]] double box_stage_cycles(const Facts& f, const Block& b, const StageWork& work);

/// Errors: channels that are no whole 16 bytes in 16 bits, or a stride that tensor copies don't have.
[[nodiscard]] Result<void> check_boxes(const Layer& layer);

/// The bytes of x and of grad_y, where their size is known. It is within 63 bits, as that of all tensors.
[[nodiscard]] std::optional<std::array<std::int64_t, 2>> bytes_of_tensors(const Layer& layer);
/// The bytes of copies of both; 0 where their size is not known.
[[nodiscard]] std::int64_t bytes_of_copies(const Layer& layer);
/// The batch in chunks: all of it at once, or less.
struct Chunks {
  std::int64_t number = 1, images = 0;
};
/// The fewest chunks of the batch, at most `most`, whose copies the workspace may have.
/// Errors: copies of an open size, or too many. `what` is what is copied: "NCHW".
[[nodiscard]] Result<Chunks> chunks_of_copies(const Layer& layer, std::string_view what, std::int64_t most);

/// Adds the tensor maps of x and grad_y, whose positions have so many channels of a type for each of the layer's.
void add_box_maps(LaunchPlan& launch, const Facts& f, const Block& b, std::int64_t parts, Dtype dtype);

/// A kernel that copies tiles of x and grad_y to the workspace.
struct CopyKernel {
  std::string_view function, suffix;
  std::array<std::string_view, 2> regions = {}, words = {};  // that have the copies, of x and of grad_y
};
/// Adds it before the launch's kernels. The first of these multiplies; both are repeated for each chunk, as
/// "first_image" says. Tensor maps are then of the copies.
void add_copies(LaunchPlan& launch, const Facts& f, const Block& b, const CopyKernel& kernel, const Chunks& chunks);

/// A planner of such a template.
template <typename T, const auto& kMembersOf, const auto& kWanted>
struct Boxes : Search<T, kMembersOf, kWanted> {
  static constexpr Block kSmallest = {.block_in = 16, .stages = 3};
  static constexpr std::string_view kSmallestStages = "three stages of 16 positions";
  static constexpr std::int64_t kInMultiple = 16, kLeastStages = 3, kMostStages = 8;

  static std::vector<Block> warpgroups(const Facts& f, Block b) { return box_warpgroups(f, b); }
  static std::vector<Block> positions(const Facts& f, Block b) { return box_positions(f, b); }
  static std::int64_t tiles(const Facts& f, const Block& b) { return box_tiles(f, b); }
  static std::string positions_text(const Block& b) { return box_text(b); }
};

}  // namespace convtgen::grad_weight
