#include "generator/planner/grad_weight/choices.h"

#include <algorithm>

#include "generator/planner/grad_weight/launch.h"
#include "generator/planner/search/integers.h"

namespace convtgen {
namespace {

constexpr std::int64_t kMostWaves = 4;     // that slices are chosen for
constexpr std::int64_t kMostSums = 16384;  // positions that an accumulator adds before it is promoted

}  // namespace

bool are_read_once(const Axis& axis) {
  return axis.dilation == 1 && axis.padding.before >= 0 && axis.padding.before + axis.stride <= axis.kernel &&
         axis.kernel + axis.output_padding - 2 * axis.padding.before <= axis.stride;
}

std::vector<std::int64_t> even_parts(std::int64_t channels, std::int64_t multiple, std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t parts = 1; parts <= ceil_div(channels, multiple); parts = parts < 4 ? parts + 1 : parts * 2) {
    const std::int64_t size = round_up(ceil_div(channels, parts), multiple);
    if (size <= most && (out.empty() || out.back() != size)) {
      out.push_back(size);
    }
  }
  return out;
}

std::vector<std::pair<std::int64_t, std::int64_t>> tap_rectangles(const Axis& rows, const Axis& columns) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (std::int64_t parts = 1; parts <= rows.kernel; ++parts) {
    const std::pair taps = {ceil_div(rows.kernel, parts), columns.kernel};
    if (out.empty() || out.back() != taps) {
      out.push_back(taps);
    }
  }
  for (std::int64_t parts = 2; parts <= columns.kernel; parts *= 2) {
    out.emplace_back(1, ceil_div(columns.kernel, parts));
  }
  return out;
}

std::vector<StageShape> stage_shapes(std::int64_t width, bool is_known, std::int64_t halo, std::int64_t k,
                                     std::int64_t most) {
  std::vector<StageShape> out;
  const std::int64_t whole = round_up(width, k);
  std::vector<std::int64_t> all_columns = {k, 2 * k, 4 * k, 8 * k, whole, round_up(ceil_div(width, 2), k)};
  if (most > 8 * k) {
    all_columns.push_back(16 * k);
  }
  std::ranges::sort(all_columns);
  all_columns.erase(std::ranges::unique(all_columns).begin(), all_columns.end());
  for (const std::int64_t columns : all_columns) {
    for (std::int64_t rows = 1; rows * columns <= most && columns <= whole; rows *= 2) {
      out.push_back({false, rows, columns});
    }
  }
  const std::int64_t pitch = width + halo;
  for (std::int64_t rows = 1; is_known && rows * pitch <= most && rows <= 32; ++rows) {
    // Nothing but whole products, or nearly so.
    if (round_up(rows * pitch, k) * 10 <= 11 * rows * pitch || rows == 1) {
      out.push_back({true, rows, k});
    }
  }
  return out;
}

std::vector<Slices> slice_choices(const SliceFacts& facts) {
  const std::int64_t promote = std::max<std::int64_t>(1, kMostSums / facts.stage_positions);
  std::vector<Slices> out;
  for (std::int64_t waves = 1; waves <= kMostWaves; ++waves) {
    Slices next;
    next.slices = std::clamp<std::int64_t>(waves * facts.multiprocessors / facts.blocks, 1,
                                           std::max<std::int64_t>(1, facts.stages));
    const auto bytes = [&] {
      return facts.copied_bytes + 4 * ((next.slices > 1 ? next.slices * facts.weights : 0) +
                                       (next.promote_stages > 0 ? next.slices * facts.blocks * facts.totals : 0));
    };
    next.promote_stages = facts.is_open || ceil_div(facts.stages, next.slices) > 2 * promote ? promote : 0;
    while (next.slices > 1 && bytes() > kMostPartialBytes) {
      --next.slices;
    }
    if (bytes() > kMostPartialBytes) {
      next.promote_stages = 0;
    }
    if (out.empty() || out.back().slices != next.slices) {
      out.push_back(next);
    }
  }
  return out;
}

}  // namespace convtgen
