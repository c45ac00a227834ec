// Plans for tensor cores, of direct_rows, mma_rows and those that records ship, as ptxas sees them: it reports what it
// makes slow, registers that it keeps in memory and products that it runs one by one. What it does not report is looked
// for in the machine code. A run compiles a sample of them (tests/sample/sample.h).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/records/shipped_records.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_search.h"
#include "tests/end_to_end/compiled_plan.h"
#include "tests/end_to_end/machine_code.h"
#include "tests/planner/problems.h"
#include "tests/sample/sample.h"
#include "tests/template_facts/facts.h"

namespace convtgen {
namespace {

std::vector<NamedLayer> layers_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return parse_file(text.str()).value();
}

using testing::CompiledPlans;

struct Case {
  std::string name;
  Problem problem;
  std::string template_name;
  std::optional<Plan> plan;  // if it is made already; else the problem's first
};

/// Every plan that a record ships.
std::vector<Case> shipped_cases() {
  static const std::regex name(R"re("template": ?"(\w+)")re");
  std::vector<Case> out;
  for (const std::string_view file : shipped_files()) {
    const std::vector<TuningRecord> records = parse_records(file).value();
    for (const TuningRecord& record : records) {
      Problem problem{parse_layer(record.layer).value(), record.direction, target_named(record.architecture).value()};
      problem.target.chip = record.chip;
      // The planner takes it (shipped_records_test): most of these plans are not drawn, and to plan takes long.
      std::smatch found;
      const std::string& recorded = record.measured.front().plan;
      if (!std::regex_search(recorded, found, name)) {
        throw std::runtime_error("a plan without a template: " + recorded);
      }
      out.push_back({fmt::format("number_{}", out.size() + 1), std::move(problem), found[1], std::nullopt});
    }
  }
  return out;
}

std::string mode_of(const CompiledPlans& wanted) {
  return fmt::format("{}{}", name_of(wanted.compute), wanted.layout == Layout::kNhwc ? "_nhwc" : "");
}

Problem problem_of(const Layer& layer, const CompiledPlans& wanted) {
  Problem problem{layer, wanted.direction, target_named("sm_90a").value()};
  problem.layer.directions = {wanted.direction};
  problem.layer.compute = wanted.compute;
  problem.layer.dtype = wanted.compute == Compute::kF16    ? Dtype::kF16
                        : wanted.compute == Compute::kBf16 ? Dtype::kBf16
                                                           : Dtype::kF32;
  problem.layer.layout = wanted.layout;
  return problem;
}

/// The template's plans that its facts name.
std::vector<Case> cases(std::string_view template_name, const CompiledPlans& wanted) {
  std::vector<Case> out;
  for (const char* layer : wanted.layers) {
    const Problem problem{parse_layer(layer).value(), wanted.direction, target_named("sm_90a").value()};
    const std::vector<Plan> plans = plan(problem).value();
    const auto first = std::ranges::find(plans, template_name, &Plan::template_name);
    if (first == plans.end()) {
      throw std::runtime_error(fmt::format("{} has no plan of {}", layer, template_name));
    }
    out.push_back({layer, problem, std::string(template_name), *first});
  }
  std::vector<NamedLayer> layers = layers_of(CONVTGEN_BENCHMARK_LAYERS);
  std::ranges::move(layers_of(CONVTGEN_OUTSIDE_LAYERS), std::back_inserter(layers));
  for (const std::string_view name : wanted.benchmarks) {
    const auto named = std::ranges::find(layers, name, &NamedLayer::name);
    if (named == layers.end()) {
      throw std::runtime_error(fmt::format("{}: no benchmark has a layer '{}'", wanted.group, name));
    }
    const Problem problem = problem_of(named->layer, wanted);
    if (!wanted.recorded && shipped_record(problem)) {
      continue;
    }
    int taken = 0;
    const std::vector<Plan> plans = plan(problem).value();
    for (const Plan& each : plans) {
      const bool is_of_template = each.template_name == template_name;
      if (is_of_template && taken < wanted.most && (wanted.wanted == nullptr || wanted.wanted(each))) {
        const std::string number = taken == 0 ? "" : fmt::format("_{}", taken + 1);
        const std::string kind = wanted.wanted != nullptr ? fmt::format("_{}", wanted.kind) : "";
        out.push_back(
            {fmt::format("{}_{}{}{}", name, mode_of(wanted), kind, number), problem, each.template_name, each});
        ++taken;
      }
    }
    if (taken == 0 && wanted.wanted != nullptr) {
      throw std::runtime_error(fmt::format("{} has no plan of this kind: {}", name, wanted.kind));
    }
  }
  return out;
}

TEST(Disassembler, IsThere) {
  if (disassembler() == nullptr) {
    GTEST_SKIP() << "no nvdisasm: machine code is not looked at";
  }
}

/// Whether a kernel has an instruction whose name begins so and is wanted.
template <typename Wanted>
bool has_instruction(const std::vector<MachineCode>& kernels, std::string_view begin, Wanted wanted) {
  return std::ranges::any_of(kernels, [&](const MachineCode& kernel) {
    return std::ranges::any_of(kernel.instructions, [&](const Instruction& each) {
      return each.text.starts_with(begin) && wanted(std::string_view(each.text).substr(0, each.text.find(' ')));
    });
  });
}

/// Whether a kernel stores the vectors that its plan promises: a store that the assembler splits costs as many times
/// its memory requests.
bool stores_vectors(const Case& one, const Plan& plan, const std::vector<MachineCode>& kernels) {
  const char* parameter = testing::facts_of(one.template_name).machine_code.stored_vector;
  const std::int64_t bytes = parameter == nullptr ? 0 : integer(plan, parameter) * bytes_of(one.problem.layer.dtype);
  if (bytes < 8) {
    return true;  // no vector is promised
  }
  const std::string width = bytes == 8 ? ".64" : ".128";
  return has_instruction(kernels, "STG.", [&](std::string_view name) { return name.ends_with(width); });
}

/// Whether a kernel's products and stores are those that the template's facts name.
bool has_wanted_instructions(const Case& one, const std::vector<MachineCode>& kernels) {
  const testing::MachineCodeFacts& wanted = testing::facts_of(one.template_name).machine_code;
  const auto stores = [&](bool vectors) {
    return has_instruction(kernels, "STG.", [&](std::string_view name) { return name.ends_with(".128") == vectors; });
  };
  return (!wanted.warp_products || has_instruction(kernels, "HMMA.", [](std::string_view) { return true; })) &&
         (!wanted.vectors_alone || (stores(true) && !stores(false)));
}

/// What the assembler reports that makes a kernel slower; empty where there is nothing.
std::string slower_words(const Binary& binary, const ResourceUsage& usage) {
  std::string out;
  if (usage.spill_bytes != 0 || usage.stack_bytes != 0) {
    out += fmt::format("{} bytes spilled, a stack of {}; ", usage.spill_bytes, usage.stack_bytes);
  }
  for (const char* bad : {"serialized", "is injected", "C7510", "C7511", "C7512", "C7517", "C7519", "C7520"}) {
    out += binary.log.contains(bad) ? fmt::format("{}; ", bad) : "";
  }
  return out;
}

void expect_sound_machine_code(const Case& one) {
  const Plan chosen = one.plan ? *one.plan : plan(one.problem).value().front();
  EXPECT_EQ(chosen.template_name, one.template_name);
  SCOPED_TRACE(fmt::format("{}: {}; {}, {}\nreplay: CONVTGEN_TEST_ONLY='{}' tensor_core_compile_test", one.name,
                           canonical_form(one.problem.layer), chosen.template_name, chosen.reason, one.name));
  const Result<CompiledPlan> compiled = compile_plan(one.problem, chosen);
  ASSERT_TRUE(compiled) << compiled.error().message;
  const auto& [binary, kernels] = *compiled;
  const std::optional<ResourceUsage> usage = resource_usage(binary);
  ASSERT_TRUE(usage);
  EXPECT_EQ(slower_words(binary, *usage), "") << binary.log;
  if (disassembler() != nullptr) {
    EXPECT_TRUE(stores_vectors(one, chosen, kernels));
    EXPECT_TRUE(has_wanted_instructions(one, kernels));
    for (const MachineCode& kernel : kernels) {
      EXPECT_EQ(overwritten_operands(kernel), std::vector<std::string>()) << kernel.name;
      // In machine code of CUDA 12, and in some of 13.0, nothing reads them after the wait. That none is given away
      // before is shown above.
      if (const NvrtcSearch nvrtc = find_nvrtc(); std::pair(nvrtc.major, nvrtc.minor) > std::pair(13, 0)) {
        EXPECT_EQ(unkept_operands(kernel), std::vector<std::string>()) << kernel.name;
      }
      EXPECT_EQ(early_arrivals(kernel), std::vector<std::string>()) << kernel.name;
    }
  }
}

/// All cases, each with its group's name before its own.
std::vector<Case> all_cases() {
  std::vector<Case> all = shipped_cases();
  for (Case& one : all) {
    one.name = "shipped/" + one.name;
  }
  for (const auto& [template_name, wanted] : testing::all_of(&testing::TemplateFacts::compiled)) {
    std::vector<Case> of_group = cases(template_name, wanted);
    EXPECT_FALSE(of_group.empty()) << wanted.group;
    for (Case& one : of_group) {
      one.name = fmt::format("{}/{}", wanted.group, one.name);
      all.push_back(std::move(one));
    }
  }
  return all;
}

std::vector<testing::Candidate> candidates_of(const std::vector<Case>& all) {
  std::vector<testing::Candidate> candidates;
  for (const Case& one : all) {
    const Layer& layer = one.problem.layer;
    candidates.push_back(
        {one.name,
         {one.problem.target.architecture, fmt::format("{} {}", one.template_name, name_of(layer.compute)),
          std::string(name_of(layer.layout))}});
  }
  return candidates;
}

std::vector<testing::Candidate> all_candidates() {
  return candidates_of(all_cases());
}

constexpr std::size_t kSample = 14;
constexpr std::size_t kParts = 2;  // tests that share the sample, so that they run side by side; each plans all

class PlansForPtxas : public ::testing::TestWithParam<std::size_t> {};

TEST_P(PlansForPtxas, BecomeSoundMachineCode) {
  const std::vector<Case> all = all_cases();
  const std::vector<std::size_t> drawn =
      testing::part_of(testing::sample(candidates_of(all), kSample), GetParam(), kParts);
  ASSERT_FALSE(drawn.empty());
  for (const std::size_t i : drawn) {
    fmt::print("{}\n", all[i].name);
    expect_sound_machine_code(all[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Part, PlansForPtxas,
                         ::testing::Range(std::size_t{0}, testing::number_of_parts(kParts, all_candidates)));

}  // namespace
}  // namespace convtgen
