// Every barrier, every step of a pipeline and every bound check of the emitted source is needed: with any one of them
// deleted, a run on the host device fails within 20 seeds. The layers are ragged on every side, so that no check is
// idle.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "tests/end_to_end/broken_sources.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/sample/sample.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {
namespace {

constexpr std::uint64_t kSeeds = 20;
volatile int chosen = 0;  // which mutant runs

using Case = OfTemplate<MutatedKernel>;

Plan plan_of(const Problem& problem, const Case& one) {
  const MutatedKernel& wanted = one.fact;
  const std::vector<Plan> plans = plan(problem).value();
  const auto found = std::ranges::find_if(plans, [&](const Plan& each) {
    const auto is = [&]<class Value>(const char* name, std::optional<Value> value) {
      const auto parameter = each.parameters.find(name);
      return !value || parameter == each.parameters.end() || std::get<Value>(parameter->second) == *value;
    };
    return each.template_name == one.template_name && is("resident", std::optional(wanted.resident)) &&
           is("ping_pong", std::optional(wanted.ping_pong)) && is("flat", wanted.flat) &&
           is("staged_epilogue", wanted.staged_epilogue) && is("bulk", wanted.bulk) &&
           is("thread_positions", wanted.thread_positions) && is("block_n", wanted.block_n) &&
           is("cluster", std::optional(wanted.cluster));
  });
  if (found == plans.end()) {
    throw std::runtime_error("the planner has no such plan");
  }
  return with_block(problem, *found, wanted.block);
}

void expect_all_needed(const Case& one) {
  SCOPED_TRACE(fmt::format("replay: CONVTGEN_TEST_ONLY='{}' mutation_test", one.fact.name));
  const Layer layer = parse_layer(one.fact.layer).value();
  const InputSizes sizes = known_sizes(layer).value();
  const Problem problem{layer, layer.directions.front(), target_named("sm_90a").value()};
  const Plan plan = plan_of(problem, one);
  const Shape shape = shape_of(layer, sizes).value();
  const LayerInputs inputs = random_inputs(layer, shape, 3, problem.direction);
  const Reference reference = make_reference(layer, shape, inputs, {}, problem.direction);
  const KernelSource source = specialize(problem, plan).value();
  const std::int64_t few = std::max<std::int64_t>(source.main().cluster, source.main().grid.blocks_per_tile);
  const Broken all = broken(source.text, one.fact.bound_checks, &chosen);
  EXPECT_GE(all.mutants.size(), one.fact.least_mutants);
  KernelSource with_all = source;
  with_all.text = all.text;
  const std::unique_ptr<HostDevice> device = open_host_device(HostOptions{.workers = 1}).value();
  Result<LoadedLayer> loaded = load_source(*device, problem, plan, with_all, store_in_memory());
  ASSERT_TRUE(loaded) << loaded.error().message;

  const auto verdict_of = [&](std::size_t number, std::uint64_t seed) {
    chosen = static_cast<int>(number);
    const std::int64_t blocks = one.fact.few_blocks && seed != 1 ? few : 0;
    return judge(*device, layer, *loaded, sizes, inputs, reference, seed, blocks);
  };
  // Once no more mutants are left than the host device can't tell, more seeds would show nothing.
  const std::size_t enough = tests_all() ? 0 : static_cast<std::size_t>(one.fact.unseen);
  std::vector<std::string> verdicts(all.mutants.size());
  std::size_t left = verdicts.size();
  for (std::uint64_t seed = 0; seed < kSeeds && left > enough; ++seed) {
    ASSERT_EQ(verdict_of(0, seed), "") << "the source as it is";
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      if (verdicts[i].empty()) {
        verdicts[i] = verdict_of(i + 1, seed);
        left -= verdicts[i].empty() ? 0 : 1;
      }
    }
  }
  std::string survivors;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const std::string& verdict = verdicts[i];
    fmt::print("{}\n    {}\n", all.mutants[i].name,
               verdict.empty() ? "SURVIVED" : verdict.substr(0, verdict.find('\n')));
    survivors += verdict.empty() ? all.mutants[i].name + "\n" : "";
    EXPECT_TRUE(verdict.empty() || verdict.starts_with("seed ")) << all.mutants[i].name << ": " << verdict;
  }
  EXPECT_LE(left, static_cast<std::size_t>(one.fact.unseen)) << "of " << kSeeds << " seeds none told these:\n"
                                                             << survivors;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = all_of(&TemplateFacts::mutants);
  return all;
}
constexpr std::size_t kSample = 6;

std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  for (const Case& one : cases()) {
    const Layer layer = parse_layer(one.fact.layer).value();
    all.push_back(
        {one.fact.name,
         {std::string(one.template_name), std::string(name_of(layer.layout)), std::string(name_of(layer.compute))}});
  }
  return all;
}

class Mutation : public ::testing::TestWithParam<std::size_t> {};

// A run breaks a sample of the sources, each part of it in a test of its own.
TEST_P(Mutation, EveryBarrierAndBoundCheckIsNeeded) {
  const std::vector<std::size_t> drawn = part_of(sample(candidates(), kSample), GetParam(), kSample);
  ASSERT_FALSE(drawn.empty());
  for (const std::size_t i : drawn) {
    fmt::print("{}\n", cases()[i].fact.name);
    expect_all_needed(cases()[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Part, Mutation, ::testing::Range(std::size_t{0}, number_of_parts(kSample, candidates)));

}  // namespace
}  // namespace convtgen::testing
