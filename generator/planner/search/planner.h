// The driver of all planners: from a problem to the plans of one template, best first, each with what it launches; and
// the time of a plan at other sizes. A planner is a struct T, derived from Planner, that supplies what differs between
// templates. Its driver is template_of<T>(), which the table of templates has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/planner/plan/layer_parameters.h"
#include "generator/planner/search/block_constants.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/cost.h"
#include "generator/planner/search/names.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/template.h"
#include "generator/planner/search/tensor_cores.h"
#include "generator/program/constants.h"

namespace convtgen {

/// What all choices depend on: a problem, at some sizes of the input.
struct LayerFacts {
  LayerFacts(const Problem& of, const InputSizes& at);

  const Problem& problem;
  Layer layer;  // the problem's, or what the planner takes for it
  const PlannedTarget& target;
  const CostFactors& factors;
  Axis rows, columns;                // symmetric
  InputSizes sizes;                  // that times are predicted for
  Shape shape = {};                  // of a call of these
  Cost cost = {};                    // of that call
  std::optional<Error> misfit;       // why these sizes have no shape: then it has no elements, and costs nothing
  std::int64_t bytes;                // of an element
  std::int64_t vector;               // elements of 16 bytes
  std::int64_t group_in, group_out;  // channels of a group
  /// The most of them that also divide the channels of the tensors in which x and y lie: vectors of channels divide
  /// both.
  std::int64_t adjacent_in, adjacent_out;
  bool channels_last;
};

/// The same with the template's constants for blocks that change. A planner may add
/// members to it that are made of these.
template <typename AnyBlock>
struct FactsOf : LayerFacts {
  using Block = AnyBlock;

  FactsOf(LayerFacts facts, BlockConstants<Block> of_blocks)
      : LayerFacts(std::move(facts)), constants(std::move(of_blocks)) {}

  /// The planner's constants for this block; valid until the call for another block.
  [[nodiscard]] Constants& of(const Block& b) const { return constants.of(b); }

  mutable BlockConstants<Block> constants;  // a cache: holds the block at hand
};

// CONVTGEN_BLOCK_AND_FACTS(FactsOf, (rows, 1), (flat, false), ...): a planner's Block, and what its choice depends on:
// its Facts, FactsOf<Block> or another template of facts.
#define CONVTGEN_BLOCK_AND_FACTS(FactsTemplate, ...) \
  CONVTGEN_BLOCK(Block, __VA_ARGS__);                \
  using Facts = FactsTemplate<Block>

/// As many stages as fit into so many bytes of shared memory, of a block's constant, by steps down from `most`; false
/// where fewer than `least` do.
template <typename F>
[[nodiscard]] bool fit_stages(const F& f, typename F::Block& b, std::int64_t least, std::int64_t most,
                              std::size_t shared_bytes, std::int64_t bytes, std::int64_t step = 1) {
  for (b.stages = most; b.stages >= least; b.stages -= step) {
    if (f.of(b)[shared_bytes] <= bytes) {
      return true;
    }
  }
  return false;
}
/// Shared memory of a block where an SM has so many.
[[nodiscard]] std::int64_t shared_of_block(const Target& target, std::int64_t blocks_per_sm);

/// Registers that each thread may have where an SM has so many threads.
inline constexpr std::int64_t kRegistersOfSm = 65536;
[[nodiscard]] std::int64_t registers_of_thread(std::int64_t threads);

/// Blocks of an SM that shared memory leaves room for, one at the least, each with so many bytes.
[[nodiscard]] std::int64_t blocks_by_shared(const Target& target, std::int64_t shared_bytes);

struct BlockNeeds {
  std::int64_t threads = 0, registers = 0, shared_bytes = 0;  // registers: of a thread
};
/// Blocks that an SM has room for at a time, one at the least, of at most so many threads.
[[nodiscard]] std::int64_t blocks_of_sm(const Target& target, const BlockNeeds& block, std::int64_t most_threads);

/// Seconds of a call; where `work` has no memory_bytes, of one that moves its tensors once.
[[nodiscard]] double call_seconds(const LayerFacts& f, CallWork work);

/// What a block is that was chosen: what people read of its plan, and what its launch has.
struct Chosen {
  std::string summary;                // Plan::summary, without what is shared
  std::string reason;                 // Plan::reason
  Grid grid;                          // of the main kernel, which has the template's name
  std::vector<MapRecipe> maps = {};   // of tensor copies
  std::int64_t weight_alignment = 0;  // bytes that the address of the weights is a multiple of; 0: those of an element
};

/// What a planner is unless it says otherwise. F is a FactsOf. kWanted lists the constants that are wanted
/// (CONVTGEN_CONSTANTS); of those the driver takes kThreads, kSharedBytes, kAlignment, kPackedBytes and kPackedRows
/// where they are among them. A block's member `cluster` is that of its launch.
///
/// A planner supplies, as static functions:
///   Result<std::vector<Block>> blocks(const F&)            blocks worth ranking. Errors: the limit that none meets
///   double seconds(const F&, const Block&, Constants&)     about the time of a call
///   Chosen chosen(const F&, const Block&, Constants&)
/// These Constants are those of the block.
template <typename F, const auto& kWanted>
struct Planner {
  using Facts = F;
  using Block = typename F::Block;
  using Blocks = Result<std::vector<Block>>;

  static constexpr std::span<const std::string_view> kNames = kWanted;
  static constexpr auto kMembers = Block::members();
  static constexpr Direction kDirection = Direction::kForward;
  static constexpr Features kNeeds = {};                   // Template::needs
  static constexpr std::array<Compute, 0> kComputes = {};  // the layers' modes; none: all
  static constexpr bool kServesGradInput = false;          // Template::serves_grad_input
  static constexpr bool kTakesDepth = false;               // Template::takes_depth
  static constexpr bool kTakesSlices = true;               // Template::takes_slices
  static constexpr bool kStreams = false;                  // Template::streams
  static constexpr FuseInput kFuseInput = FuseInput::kNone;
  static constexpr bool kIsRanked = true;        // Template::is_ranked
  static constexpr bool kNeedsShape = false;     // refuses problems whose planned sizes have no shape,
  static constexpr bool kNeedsOutputs = false;   // or one without outputs
  static constexpr std::size_t kMostPlans = 16;  // of the fastest blocks

  /// What the template asks of a layer, whatever its sizes. The driver has checked the target, the compute mode, and
  /// that ints hold the layer's numbers (bounds.h).
  static Checks checks(const Layer&) { return {}; }
  /// The same at the sizes that are planned for.
  static Checks size_checks(const F&) { return {}; }
  /// All parameters except the block's; the driver adds the axis of depth where the template takes it.
  static Parameters parameters(const Problem& problem) {
    return with_product_types(layer_parameters(problem.layer), problem.layer);
  }
  /// Errors: why a block is left out, as one is whose grid can't count the layer's sizes. Where none is left, that of
  /// the fastest refuses the problem.
  static Result<void> check_block(const F&, const Block&, Constants&) { return {}; }
  /// Whether of two blocks the slower one is left out.
  static bool alike(const Block&, const Block&) { return false; }
  /// Adds to a launch that has the main kernel and, where there are kPackedBytes, before it the packing of the weights.
  static void add(LaunchPlan&, const F&, const Block&, Constants&) {}
};

/// A planner of a template whose warpgroups make products, and others bring their operands.
template <typename F, const auto& kWanted, const auto& kModes = kProductModes>
struct WarpgroupPlanner : Planner<F, kWanted> {
  static constexpr Features kNeeds = kWarpgroups;
  static constexpr auto& kComputes = kModes;
};

/// One that plans gradients of the input too, as forward layers (exchange.h).
template <typename F, const auto& kWanted>
struct ExchangingPlanner : WarpgroupPlanner<F, kWanted> {
  static constexpr bool kServesGradInput = true;

  static Parameters parameters(const Problem& problem) {
    return with_product_types(product_parameters(problem.layer), problem.layer);
  }
};

/// One of these whose warps make products, of layers of three axes too, and of strided gradients.
template <typename F, const auto& kWanted>
struct VolumePlanner : ExchangingPlanner<F, kWanted> {
  static constexpr bool kTakesDepth = true;

  static Parameters parameters(const Problem& problem) {
    return with_product_types(volume_parameters(problem.layer), problem.layer);
  }
};

namespace driver {

/// What the driver takes from a block's constants.
struct Layout {
  std::int64_t threads = 0, shared_bytes = -1, alignment = 0, packed_bytes = 0, packed_rows = 1;  // -1: not wanted
};
/// "; 26.1 KiB shared": what a summary ends with.
[[nodiscard]] std::string shared_text(const Layout& layout);
[[nodiscard]] Layout layout_of(std::span<const std::string_view> names, Constants& constants);

/// The tensors, the packing of the weights, and the main kernel.
[[nodiscard]] LaunchPlan launch_of(const Template& of, const Problem& problem, const Layout& layout,
                                   std::int64_t cluster, Chosen chosen);

/// The template's program, read once in a process.
template <typename T>
[[nodiscard]] const ConstantProgram& program_of(const Template& of) {
  static const ConstantProgram program = ConstantProgram::read(of.program()).value();
  return program;
}

template <typename T>
[[nodiscard]] Parameters parameters_of(const Problem& problem) {
  Parameters parameters = T::parameters(problem);
  if constexpr (T::kFuseInput != FuseInput::kNone) {
    parameters = with_fuse_input(std::move(parameters), problem.layer);
  }
  if constexpr (T::kTakesDepth) {
    parameters = with_depth(std::move(parameters), problem.layer);
  }
  return T::kTakesSlices ? with_slices(std::move(parameters), problem.layer, problem.direction) : parameters;
}

/// Errors: the sizes have no shape where the planner needs one, or the program has no such constant.
template <typename T>
[[nodiscard]] Result<typename T::Facts> facts_of(const Problem& problem, const InputSizes& sizes,
                                                 const ConstantProgram& program, const Parameters& parameters) {
  LayerFacts facts(problem, sizes);
  if ((T::kNeedsShape || T::kNeedsOutputs) && facts.misfit) {
    return std::unexpected(*std::move(facts.misfit));
  }
  auto constants = BlockConstants<typename T::Block>::make(program, parameters, T::kMembers, T::kNames);
  if (!constants) {
    return std::unexpected(std::move(constants.error()));
  }
  return typename T::Facts{FactsOf<typename T::Block>(std::move(facts), *std::move(constants))};
}

template <typename T>
[[nodiscard]] LaunchPlan launch_of(const Template& of, const typename T::Facts& f, const typename T::Block& b,
                                   Chosen chosen) {
  std::int64_t cluster = 1;
  if constexpr (requires { b.cluster; }) {
    cluster = b.cluster;
  }
  const Layout layout = layout_of(T::kNames, f.of(b));
  LaunchPlan launch = launch_of(of, f.problem, layout, cluster, std::move(chosen));
  T::add(launch, f, b, f.of(b));
  return launch;
}

template <typename T>
[[nodiscard]] Plan plan_of(const Template& of, const Parameters& parameters, const typename T::Facts& f,
                           const typename T::Block& b, Chosen chosen, std::optional<double> seconds) {
  const Layout layout = layout_of(T::kNames, f.of(b));
  Plan plan = {.template_name = std::string(of.name),
               .parameters = parameters,
               .alignment = layout.alignment,
               .predicted_seconds = seconds,
               .summary = chosen.summary + shared_text(layout),
               .reason = chosen.reason};
  plan.launch = launch_of<T>(of, f, b, std::move(chosen));
  add_block<typename T::Block>(plan.parameters, b, T::kMembers);
  return plan;
}

/// Template::search.
template <typename T>
[[nodiscard]] Result<std::vector<Plan>> plans_of(const Template& of, const Problem& problem,
                                                 const ConstantProgram* other) {
  using Block = typename T::Block;
  // Before the program is read.
  auto checked =
      first_error({check_axes(problem.layer, T::kTakesDepth), check_slices(problem.layer, T::kTakesSlices),
                   check_streaming(problem.layer, T::kStreams), check_fuse_input(problem.layer, T::kFuseInput),
                   check_target_and_compute(problem, T::kNeeds, T::kComputes), check_numbers(problem.layer)});
  if (checked) {
    checked = first_error(T::checks(problem.layer));
  }
  if (!checked) {
    return std::unexpected(std::move(checked.error()));
  }
  const Parameters parameters = parameters_of<T>(problem);
  const ConstantProgram& program = other != nullptr ? *other : program_of<T>(of);
  const auto facts = facts_of<T>(problem, planned_sizes(problem.layer), program, parameters);
  if (!facts) {
    return std::unexpected(facts.error());
  }
  const auto outputs =
      require(!T::kNeedsOutputs || facts->shape.output_elements > 0, "a batch of 0; there is nothing to compute");
  if (checked = first_error({outputs, first_error(T::size_checks(*facts))}); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  const Result<std::vector<Block>> blocks = T::blocks(*facts);
  if (!blocks) {
    return std::unexpected(blocks.error());
  }
  std::vector<std::pair<std::optional<double>, Block>> found;
  for (const Block& block : *blocks) {
    found.emplace_back(std::nullopt, block);
    if (T::kIsRanked) {
      found.back().first = T::seconds(*facts, block, facts->of(block));
    }
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<Plan> plans;
  for (auto each = found.begin(); each != found.end() && plans.size() < T::kMostPlans; ++each) {
    const auto& [seconds, block] = *each;
    if (std::any_of(found.begin(), each, [&](const auto& faster) { return T::alike(faster.second, block); })) {
      continue;
    }
    Chosen chosen = T::chosen(*facts, block, facts->of(block));
    const auto counted =
        first_error({T::check_block(*facts, block, facts->of(block)), check_bounds(problem.layer, chosen.grid.bounds),
                     check_slice_pitches(problem.layer, layout_of(T::kNames, facts->of(block)).alignment)});
    if (counted) {
      plans.push_back(plan_of<T>(of, parameters, *facts, block, std::move(chosen), seconds));
    } else if (checked) {
      checked = counted;
    }
  }
  return plans.empty() && !checked ? Result<std::vector<Plan>>(std::unexpected(checked.error())) : plans;
}

/// Template::relaunch.
template <typename T>
[[nodiscard]] LaunchPlan launch_again(const Template& of, const Problem& problem, const Plan& plan) {
  Parameters parameters = plan.parameters;
  for (const auto& member : T::kMembers) {
    parameters.erase(parameters.find(member.name));
  }
  const auto facts = facts_of<T>(problem, planned_sizes(problem.layer), program_of<T>(of), parameters).value();
  const auto block = block_of<typename T::Block>(plan, T::kMembers);
  return launch_of<T>(of, facts, block, T::chosen(facts, block, facts.of(block)));
}

/// Template::predict.
template <typename T>
[[nodiscard]] std::optional<double> seconds_of(const Template& of, const Problem& problem, const Plan& plan,
                                               const InputSizes& sizes) {
  const auto facts = facts_of<T>(problem, sizes, program_of<T>(of), parameters_of<T>(problem));
  if (!facts) {
    return std::nullopt;
  }
  const auto block = block_of<typename T::Block>(plan, T::kMembers);
  return T::seconds(*facts, block, facts->of(block));
}

}  // namespace driver

/// The template of this name and program, with its planner.
template <typename T>
[[nodiscard]] constexpr Template template_of(std::string_view name, std::string_view (*program)()) {
  return {.name = name,
          .direction = T::kDirection,
          .program = program,
          .needs = T::kNeeds,
          .serves_grad_input = T::kServesGradInput,
          .takes_depth = T::kTakesDepth,
          .takes_slices = T::kTakesSlices,
          .streams = T::kStreams,
          .is_ranked = T::kIsRanked,
          .search = driver::plans_of<T>,
          .relaunch = driver::launch_again<T>,
          .predict = driver::seconds_of<T>};
}

// CONVTGEN_TEMPLATE(RollGemm, roll_gemm): the object of that template, kRollGemm, whose planner is the struct
// planners::roll_gemm::RollGemm. Each template has a namespace, so that files may be compiled several at a time.
#define CONVTGEN_TEMPLATE(Planner, name) \
  extern const Template k##Planner;      \
  constinit const Template k##Planner = template_of<planners::name::Planner>(#name, programs::name)

}  // namespace convtgen
