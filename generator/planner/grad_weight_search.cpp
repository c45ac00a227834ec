#include "generator/planner/grad_weight_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/planner/cost.h"
#include "generator/planner/grad_bias.h"
#include "generator/planner/grad_weight_launch.h"
#include "generator/planner/grad_weight_plan.h"
#include "generator/planner/integers.h"
#include "generator/planner/roofline.h"
#include "generator/planner/scalar.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen::grad_weight {
namespace {

constexpr std::int64_t kMostBlockOut = 128;
constexpr std::size_t kMostPlans = 16;
constexpr std::int64_t kMostRowStages = 6;

/// The bytes of what is copied before.
std::int64_t copied_bytes(const Traits& of, const Layer& layer) {
  return of.copied_bytes != nullptr ? of.copied_bytes(layer) : 0;
}

/// The time of a call, in seconds.
double predicted(const Traits& of, const Facts& f, const Block& b) {
  const CostFactors& factors = f.target.factors;
  const double cycles = of.stage_cycles(f, b);
  const double stages = static_cast<double>(ceil_div(of.tiles(f, b), b.slices));
  Constants& of_block = f.of(b);
  const auto number = [&](std::size_t name) { return static_cast<double>(of_block[name]); };
  const auto slices = static_cast<double>(b.slices);
  const double blocks = number(kSliceBlocks) * slices;
  const double outputs =
      number(kRows) * number(kColumns) / (128 * static_cast<double>(b.consumer_groups));  // of a thread
  const auto chunks = static_cast<double>(b.chunks);
  // Written and read again by each chunk and at last.
  const double sum_bytes = (b.slices > 1 ? 8 * chunks * slices : 8 * (chunks - 1)) * number(kWeights);
  // Where the largest magnitudes are found before, all that is read is read twice. Copies are also written.
  const std::int64_t copied = copied_bytes(of, f.layer);
  const double before =
      ((of.splits ? f.memory_bytes : 0) + 2 * static_cast<double>(copied)) / f.target.bytes_per_second;
  return before +
         seconds_of(f.target,
                    {.launches = (b.slices > 1 ? 1.0 : 0.0) + (of.splits ? 1 : 0) + chunks * (copied > 0 ? 2 : 1),
                     .waves = chunks * static_cast<double>(
                                           ceil_div(static_cast<std::int64_t>(blocks), f.target.multiprocessors)),
                     .wave_cycles = stages * cycles + factors.grad_weight_begin + factors.grad_weight_output * outputs,
                     .memory_bytes = f.memory_bytes + sum_bytes / 2,
                     .hidden_less = factors.hidden_less,
                     .measured = factors.grad_weight_measured});
}

/// Whether a block with so many stages has the shared memory that it needs.
bool fits_shared(const Facts& f, const Block& b) {
  return f.of(b)[kSharedBytes] <= f.target.max_shared_bytes && f.of(b)[kStoredColumns] >= 8;
}

/// As many stages as fit; false where too few do. Rows on their way from memory want more than those that are turned.
bool choose_stages(const Traits& of, const Facts& f, Block& b) {
  if (b.row_stages > 0) {
    for (const auto& [stages, least_rows] : {std::pair{3, 3}, std::pair{2, 1}}) {
      b.stages = stages;
      for (b.row_stages = kMostRowStages; b.row_stages >= least_rows; --b.row_stages) {
        if (fits_shared(f, b)) {
          return true;
        }
      }
    }
    return false;
  }
  for (b.stages = of.most_stages; b.stages >= of.least_stages; --b.stages) {
    if (fits_shared(f, b)) {
      return true;
    }
  }
  return false;
}

/// The number of slices that is predicted to be the fastest.
void choose_slices(const Traits& of, const Facts& f, Block& b, double& seconds) {
  const std::int64_t tiles = of.tiles(f, b);
  Constants& of_block = f.of(b);
  // Split values are promoted within a stage, to totals that take no memory.
  const SliceFacts facts = {.multiprocessors = f.target.multiprocessors,
                            .blocks = of_block[kSliceBlocks],
                            .stages = tiles,
                            .stage_positions = of_block[kKSteps] * of_block[kInstructionK],
                            .weights = of_block[kWeights],
                            .totals = of.splits ? 0 : of_block[kTotals],
                            .copied_bytes = ceil_div(copied_bytes(of, f.layer), b.chunks),
                            .is_open = !f.layer.batch || !f.rows.extent || !f.columns.extent};
  Block best(b);
  seconds = 0;
  for (const Slices& choice : slice_choices(facts)) {
    Block next = b;
    next.slices = choice.slices;
    next.promote_stages = of.splits ? 0 : choice.promote_stages;
    const double time = predicted(of, f, next);
    if (seconds == 0 || time < seconds) {
      best = next;
      seconds = time;
    }
  }
  b = best;
}

struct Candidate {
  Block block;
  double seconds = 0;
};

std::vector<Candidate> candidates(const Traits& of, const Facts& f) {
  std::vector<Candidate> out;
  Block b = of.smallest;
  const std::int64_t group_in = f.of(b)[kGroupIn], group_out = f.of(b)[kGroupOut];
  for (const auto& [taps_h, taps_w] : tap_rectangles(f.rows, f.columns)) {
    for (const std::int64_t block_out : even_parts(group_out, 16, kMostBlockOut)) {
      for (const std::int64_t block_in : even_parts(group_in, of.in_multiple, of.most_in)) {
        b = of.smallest;
        b.taps_h = taps_h;
        b.taps_w = taps_w;
        b.block_out = block_out;
        b.block_in = block_in;
        for (const Block& warpgroups : of.warpgroups(f, b)) {
          if (!of.fits_registers(f, warpgroups)) {
            continue;
          }
          Candidate best;
          for (Block tile : of.positions(f, warpgroups)) {
            double seconds = 0;
            if (of.fits_stage(f, tile) && choose_stages(of, f, tile)) {
              choose_slices(of, f, tile, seconds);
              // Slices are stored otherwise than results, at another pitch.
              if (fits_shared(f, tile) && (best.seconds == 0 || seconds < best.seconds)) {
                best = {tile, seconds};
              }
            }
          }
          if (best.seconds > 0) {
            out.push_back(best);
          }
        }
      }
    }
  }
  std::ranges::stable_sort(out, {}, &Candidate::seconds);
  return out;
}

Parameters parameters_of(const Traits& of, const Problem& problem) {
  Parameters p = scalar_parameters(problem.layer, problem.direction);
  for (const std::string_view name : {"Offset", "element_kind"}) {
    p.erase(p.find(name));
  }
  const Dtype dtype = problem.layer.dtype;
  p.insert({{"type", product_type(of.splits ? Dtype::kF16 : dtype)},
            {"bias_slices", problem.layer.bias ? bias_slices(problem) : 1}});
  if (of.splits) {
    p.emplace("scan_slices", std::int64_t{1});
  } else {
    p.emplace("store", std::int64_t{1});
  }
  return p;
}

Plan plan_of(const Traits& of, const Problem& problem, const Facts& f, const Candidate& candidate) {
  const Block& b = candidate.block;
  Constants& of_block = f.of(b);
  Plan plan;
  plan.template_name = of.name;
  plan.predicted_seconds = candidate.seconds;
  plan.parameters = parameters_of(of, problem);
  add_block<Block>(plan.parameters, b, of.members);
  plan.threads = static_cast<int>(of_block[kThreads]);
  plan.shared_bytes = of_block[kSharedBytes];
  plan.alignment = of_block[kAlignment];
  plan.summary =
      fmt::format("a block makes {}x{} taps of {} by {} channels; {} slice{}; {:.1f} KiB shared", b.taps_h, b.taps_w,
                  std::min(b.block_in, of_block[kGroupIn]), std::min(b.block_out, of_block[kGroupOut]), b.slices,
                  b.slices == 1 ? "" : "s", static_cast<double>(plan.shared_bytes) / 1024.0);
  plan.reason = fmt::format(
      "tensor cores{}: products over positions of 64 rows of taps and channels x {}{} channels; {} stages of {}{}",
      of.splits ? ", values in two parts" : "", b.rows_in_columns ? fmt::format("{} kernel rows of ", b.taps_h) : "",
      b.block_in, b.stages, of.positions_text(b),
      b.promote_stages > 0 ? fmt::format(", promoted every {}", b.promote_stages)
      : b.chunks > 1
          ? fmt::format("; {} chunks of {} image{}", b.chunks, b.chunk_images, b.chunk_images == 1 ? "" : "s")
          : "");
  return plan;
}

Result<Facts> facts_of(const Traits& of, const Problem& problem, const InputSizes& sizes,
                       const ConstantProgram& program) {
  auto constants = BlockConstants<Block>::make(program, parameters_of(of, problem), of.members, of.constants);
  if (!constants) {
    return std::unexpected(std::move(constants.error()));
  }
  Facts f{.layer = problem.layer,
          .target = problem.target,
          .constants = *std::move(constants),
          .rows = symmetric(problem.layer.axes[kHeight]),
          .columns = symmetric(problem.layer.axes[kWidth]),
          .batch = sizes.batch,
          .height = sizes.extents[kHeight],
          .width = sizes.extents[kWidth]};
  if (const auto shape = shape_of(problem.layer, sizes)) {
    f.memory_bytes = cost_of(problem, *shape).bytes;
  }
  return f;
}

}  // namespace

std::int64_t thread_registers(std::int64_t threads) {
  return std::min<std::int64_t>(255, round_down(65536 / round_up(threads, 128), 8));
}

Result<std::vector<Plan>> plans(const Traits& of, const Problem& problem, const ConstantProgram& program) {
  if (auto checked = of.check(problem); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<Facts> facts = facts_of(of, problem, planned_sizes(problem.layer), program);
  if (!facts) {
    return std::unexpected(facts.error());
  }
  std::vector<Plan> plans;
  std::optional<Error> out_of_bounds;
  for (const Candidate& candidate : candidates(of, *facts)) {
    const Block& b = candidate.block;
    const auto bounds = staged_bounds(problem.layer, b.tile_rows, b.tile_columns);
    if (auto checked = check_bounds(problem.layer, bounds); !checked) {
      out_of_bounds = std::move(checked.error());
    } else if (facts->of(b)[kSliceBlocks] <= kIntMax / b.slices) {
      plans.push_back(plan_of(of, problem, *facts, candidate));
    }
    if (plans.size() == kMostPlans) {
      break;
    }
  }
  if (plans.empty() && out_of_bounds) {
    return std::unexpected(*std::move(out_of_bounds));
  }
  if (plans.empty() && of.why_none != nullptr && !of.fits_stage(*facts, of.smallest)) {
    return fail(of.why_none(*facts, of.smallest));
  }
  if (plans.empty()) {
    return fail_shared_memory(problem.target, of.smallest_stages, facts->of(of.smallest)[kSharedBytes]);
  }
  return plans;
}

Result<std::vector<Plan>> plans(const Traits& of, const Problem& problem) {
  if (auto checked = of.check(problem); !checked) {  // before the program is read
    return std::unexpected(checked.error());
  }
  return plans(of, problem, of.program());
}

LaunchPlan launch(const Traits& of, const Problem& problem, const Plan& plan) {
  constexpr std::array<std::string_view, 4> kNames = {"kWeights", "kSliceBlocks", "kTotals", "kWeightAlignment"};
  const std::vector<std::int64_t> values = constants_of(of.program(), plan.parameters, kNames).value();
  const bool promotes = !of.splits && integer_of(plan, "promote_stages") > 0;
  return grad_weight_launch(
      problem, plan,
      {.function = std::string(of.name),
       .blocks = values[1],
       .weights = values[0],
       .weight_alignment = values[3],
       .totals_bytes = promotes ? integer_of(plan, "slices") * values[1] * values[2] * 4 : 0,
       .bounds = staged_bounds(problem.layer, integer_of(plan, "tile_rows"), integer_of(plan, "tile_columns"))});
}

std::optional<double> call_seconds(const Traits& of, const Problem& problem, const Plan& plan,
                                   const InputSizes& sizes) {
  const Result<Facts> facts = facts_of(of, problem, sizes, of.program());
  return facts ? std::optional(predicted(of, *facts, block_of<Block>(plan, of.members))) : std::nullopt;
}

}  // namespace convtgen::grad_weight
