#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/forward/direct_block.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/scalar.h"

namespace convtgen {
namespace planners::direct {

using namespace convtgen::direct;

/// The kernel's coordinates on one axis of a known size, up to the end of the last tile of so many positions.
Result<void> check_extents(std::string_view name, const Axis& axis, std::int64_t positions) {
  const std::int64_t tile = axis.stride * positions, in = axis.extent.value_or(0);
  const std::int64_t out = axis.extent ? output_extent(axis, in) : 0, most_in = (kIntMax - tile) / axis.stride;
  return first_error(
      {require(out <= kIntMax - tile, "output {} {} is too large for the kernel's 32-bit coordinates; at most {}", name,
               out, kIntMax - tile),
       // Also where the padding takes it away again.
       require(in - 1 <= most_in, "input {} {} is too large for the kernel's 32-bit coordinates; at most {}", name, in,
               most_in + 1)});
}

constexpr double kVolumes = 1.5;  // measured over predicted, of layers of three axes

/// Whether products of tensor cores would have eight columns for one channel, where direct wastes none.
bool makes_one_channel(const Facts& f) {
  return f.layer.dtype == Dtype::kF32 && !f.channels_last && f.group_out == 1;
}

/// Whether each step of fuse_input keeps zeros and is an instruction or two, and x of the precision of the sums.
bool activates_reads(const Layer& layer) {
  const auto is_cheap = [](const Activation& step) {
    return step.kind == ActivationKind::kRelu || step.kind == ActivationKind::kLeakyRelu ||
           step.kind == ActivationKind::kScale;
  };
  const bool is_wide = layer.dtype == Dtype::kF32 || layer.dtype == Dtype::kF64;
  return is_wide && !layer.fuse_input.empty() && std::ranges::all_of(layer.fuse_input, is_cheap);
}

/// What is tried, the first choice first.
std::vector<Aim> aims_of(const Facts& facts) {
  constexpr double kWorthwhile = 0.9;
  constexpr std::int64_t kPhasesChannels = 4;
  std::vector<Aim> aims(kAims.begin(), kAims.end());
  aims.insert(aims.begin() + 1, Aim{.asynchronous = false});
  aims.insert(aims.begin() + 1, kEvenAims.begin(), kEvenAims.end());
  // Where tensor cores take the layer, direct's time was fitted to its plain first choice, except for one channel.
  const Compute compute = facts.layer.compute;
  const bool is_exact = compute == Compute::kF32 || compute == Compute::kF32x3 || compute == Compute::kF64;
  const auto busiest = [&](const Aim& aim) {
    return static_cast<double>(threads_of_busiest(facts, choose_block(facts, aim)));
  };
  if ((is_exact || makes_one_channel(facts)) && busiest(aims[1]) < kWorthwhile * busiest(aims[0])) {
    std::swap(aims[0], aims[1]);
  } else if (is_exact && facts.phases_h.size() * facts.phases_w.size() > 1) {
    // Measured with four phases: 1.2 times as fast as eight channels, which spill.
    const auto few_channels = std::ranges::find(aims, kPhasesChannels, &Aim::channels);
    std::rotate(aims.begin(), few_channels, few_channels + 1);
  }
  return aims;
}

inline constexpr auto kForwardConstants = joined(kConstants, kForwardNames);

struct Direct : GeneralPlanner<Direct, Facts, kForwardConstants> {
  static constexpr bool kStreams = true;
  static constexpr FuseInput kFuseInput = FuseInput::kAny;

  static Parameters parameters(const Problem& problem) {
    Parameters p = scalar_parameters(problem.layer, problem.direction);
    p["activates_reads"] = activates_reads(problem.layer);
    return p;
  }
  static Blocks blocks(const Facts& f) { return blocks_of(f, aims_of(f)); }
  /// The kernel's coordinates to the end of the last tile, and the grid.
  static Result<void> check_block(const Facts& f, const Block&, Constants& c) {
    return first_error(
        {check_extents("height", f.rows, c[kTileRows]), check_extents("width", f.columns, c[kTileColumns]),
         require(f.layer.groups * c[kChannelTiles] <= kIntMax / c[kPhaseGroups],
                 "{} output channels and a stride of {}x{} need more blocks than a grid can have (2^31 - 1)",
                 f.layer.out_channels, f.rows.stride, f.columns.stride)});
  }
  /// Of all that tensor cores have no part in.
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const auto blocks = chosen(f, b, c).grid.checked_blocks(quantities_of(f.shape));
    if (f.misfit || f.shape.batch == 0 || !blocks || *blocks == 0) {
      return 0;
    }
    // A block takes as long where parts of its tile lie outside of the output or its taps outside of the input, and the
    // last blocks as long as all.
    const auto whole = static_cast<double>(ceil_div(*blocks, f.target.multiprocessors) * f.target.multiprocessors);
    const double tile = static_cast<double>(f.rows.stride * c[kTileRows]) *
                        static_cast<double>(f.columns.stride * c[kTileColumns]) *
                        static_cast<double>(f.layer.out_channels) /
                        static_cast<double>(f.layer.groups * c[kChannelTiles] * c[kPhaseGroups]);
    const double taps =
        static_cast<double>(tap_count(f.layer)) /
        static_cast<double>(f.layer.axes[kDepth].stride * f.rows.stride * f.columns.stride);  // of an output
    const double flops = 2 * static_cast<double>(f.layer.in_channels / f.layer.groups) * taps * whole * tile;
    const double times = f.channels_last ? f.factors.direct_moves_nhwc : f.factors.direct_moves;
    const double parted = c[kPhaseGroups] > 1 ? f.factors.direct_parted : 1;
    const double reaches = makes_one_channel(f) ? f.factors.direct_reaches_one : f.factors.direct_reaches;
    const double seconds =
        std::max(parted * flops / (reaches * f.target.f32_flops), times * f.cost.bytes / f.target.bytes_per_second);
    return f.target.launch_seconds + (f.layer.dimensions == 3 ? kVolumes * seconds : seconds);
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {
        fmt::format("a block makes {}x{} outputs of {} channels; {} taps", c[kTileRows] * f.rows.stride,
                    c[kTileColumns] * f.columns.stride, std::min(c[kTileChannels], f.made), tap_count(f.layer)),
        fmt::format("direct takes every forward layer; each thread accumulates {} x {} x {} x {}, and {}",
                    count_of(b.group_phases_h * b.group_phases_w, "phase"), count_of(b.channels_per_thread, "channel"),
                    count_of(b.rows_per_thread, "row"), count_of(b.columns_per_thread, "column"),
                    b.staged ? fmt::format("{} {} staged at a time{}", count_of(b.block_k, "input channel"),
                                           b.block_k == 1 ? "is" : "are",
                                           c[kBuffers] > 1 ? ", during the products of those before" : "")
                             : "the halo is too large for shared memory, so the input is read where it lies"),
        by_planes(
            staged_grid(f.layer, c[kTileRows], c[kTileColumns], f.layer.groups * c[kChannelTiles] * c[kPhaseGroups])
                .grid(),
            f.layer, Quantity::kOutDepth)};
  }
};

}  // namespace planners::direct

CONVTGEN_TEMPLATE(Direct, direct);

}  // namespace convtgen
