#include "generator/planner/records/shipped_records.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/chip/chip_code.h"
#include "tests/planner/problems.h"
#include "tests/sample/sample.h"

namespace convtgen {
namespace {

constexpr const char* kLayer = "conv_transpose2d 8 -> 8; kernel 3; compute tf32; input 1x64x64";

/// With the plan at a place of the list without a record.
TuningRecord record_of(const Problem& problem, std::size_t place, double milliseconds) {
  return {.layer = record_layer(problem.layer, problem.direction),
          .direction = problem.direction,
          .chip = "A chip",
          .architecture = problem.target.architecture,
          .sizes = {1, {64, 64}},
          .version = "0.1.0",
          .measured = {{plan_json(plan(problem).value().at(place)), milliseconds}}};
}

std::vector<std::string> json_of(const std::vector<Plan>& plans) {
  std::vector<std::string> all;
  for (const Plan& each : plans) {
    all.push_back(plan_json(each));
  }
  return all;
}

TEST(ShippedRecords, ALayerIsFoundByItsWholeForm) {
  const std::string longer = fmt::format("{}0", kLayer);
  const std::string file =
      print_records(std::vector{record_of(problem_of(kLayer), 3, 1), record_of(problem_of(longer), 3, 2),
                                record_of(problem_of(kLayer, "sm_80"), 1, 3)});
  const auto milliseconds = [&](const Problem& problem) {
    const auto found = find_record(file, problem);
    return found ? found->measured.at(0).milliseconds : 0;
  };
  EXPECT_EQ(milliseconds(problem_of(kLayer)), 1);
  EXPECT_EQ(milliseconds(problem_of(longer)), 2);
  EXPECT_EQ(milliseconds(problem_of(kLayer, "sm_80")), 3);
  EXPECT_EQ(milliseconds(problem_of(kLayer, "sm_100")), 0);
  EXPECT_EQ(milliseconds(problem_of(fmt::format("{}; bias", kLayer))), 0);
  EXPECT_EQ(milliseconds(problem_of("conv_transpose2d 8 -> 8; kernel 3; compute tf32")), 0);
  EXPECT_EQ(milliseconds(problem_of("conv_transpose2d 8 -> 8; kernel 3; compute tf32; input 1x64x6")), 0);
  // What else the layer is for changes nothing.
  EXPECT_EQ(milliseconds(problem_of(fmt::format("{}; directions forward, grad_input", kLayer))), 1);
  Problem backward = problem_of(kLayer);
  backward.direction = Direction::kGradInput;
  EXPECT_EQ(milliseconds(backward), 0);
}

TEST(ShippedRecords, WhatCanNotBeReadIsNoRecord) {
  const std::string good = print_records(std::vector{record_of(problem_of(kLayer), 3, 1)});
  ASSERT_TRUE(find_record(good, problem_of(kLayer)));
  for (std::size_t length = 0; length < good.size() - 4; length += 5) {
    EXPECT_FALSE(find_record(std::string_view(good).substr(0, length), problem_of(kLayer))) << length;
  }
}

TEST(ShippedRecords, TheRecordedPlanIsPutFirst) {
  const std::vector<Plan> planned = plan(problem_of(kLayer)).value();
  ASSERT_GT(planned.size(), 10u);
  const TuningRecord record = record_of(problem_of(kLayer), 10, 0.25);
  std::vector<Plan> plans = planned;
  EXPECT_TRUE(prefer_recorded(plans, record));
  EXPECT_EQ(plans[0].recorded, (RecordedTime{0.25e-3, "A chip"}));
  EXPECT_EQ(plans[0].reason, planned[10].reason);
  EXPECT_FALSE(plans[1].recorded);
  std::vector<std::string> wanted = json_of(planned);
  std::rotate(wanted.begin(), wanted.begin() + 10, wanted.begin() + 11);
  EXPECT_EQ(json_of(plans), wanted);
}

TEST(ShippedRecords, AStaleOneChangesNothing) {
  const std::vector<Plan> planned = plan(problem_of(kLayer)).value();
  TuningRecord record = record_of(problem_of(kLayer), 3, 0.25);
  record.measured[0].plan = R"({"parameters":{},"template":"direct"})";
  std::vector<Plan> plans = planned;
  EXPECT_FALSE(prefer_recorded(plans, record));
  record.measured.clear();
  EXPECT_FALSE(prefer_recorded(plans, record));
  EXPECT_EQ(json_of(plans), json_of(planned));
  EXPECT_FALSE(plans[0].recorded);
}

// A record fails here when the planner no longer offers its plan: it is to be measured anew, or left out.
TEST(ShippedRecords, ThoseThatShipAreTakenByThePlanner) {
  for (const std::string_view file : shipped_files()) {
    const auto records = parse_records(file);
    ASSERT_TRUE(records) << records.error().message;
    EXPECT_EQ(file, print_records(*records)) << "not as 'convtgen tune --export FILE --best' writes it";
    for (const TuningRecord& record : *records) {
      SCOPED_TRACE(record.layer);
      Problem problem{parse_layer(record.layer).value(), record.direction, target_named(record.architecture).value()};
      problem.target.chip = record.chip;
      EXPECT_EQ(shipped_record(problem), record) << "another record of this layer stands before it";
      ASSERT_EQ(record.measured.size(), 1u) << "not the fastest alone";
      // A run plans a quarter of the layers.
      if (testing::hash_of(testing::test_seed() + record.layer) % 8 != 0 && !testing::tests_all()) {
        continue;
      }
      const Plan first = plan(problem).value().front();
      if (!first.recorded) {
        ADD_FAILURE() << "stale: the planner has no such plan: " << record.measured[0].plan;
        continue;
      }
      EXPECT_EQ(plan_json(first), record.measured[0].plan);
      EXPECT_EQ(first.recorded->chip, record.chip);
      EXPECT_DOUBLE_EQ(first.recorded->seconds, record.measured[0].milliseconds / 1e3);
    }
  }
}

// kb64 in tf32: both chips have a record, with different plans.
// Each file is of one GPU, which each record names.
TEST(ShippedRecords, NameTheChipThatTheyWereMeasuredOn) {
  std::set<std::string> chips;
  for (const std::string_view file : shipped_files()) {
    const auto records = parse_records(file);
    ASSERT_TRUE(records) << records.error().message;
    ASSERT_FALSE(records->empty());
    const std::string& chip = records->front().chip;
    EXPECT_TRUE(chip.starts_with("NVIDIA ") && !is_of_older_chip(chip)) << chip;
    EXPECT_TRUE(chips.insert(chip).second) << chip << " has two files";
    for (const TuningRecord& record : *records) {
      EXPECT_EQ(record.chip, chip) << record.layer;
      EXPECT_EQ(record.architecture, records->front().architecture) << record.layer;
    }
  }
}

TEST(ShippedRecords, ThatOfTheChipIsPreferred) {
  Problem problem{parse_layer("conv_transpose1d 128 -> 128; kernel 3; input 64x65536; compute tf32").value(),
                  Direction::kForward, target_named("sm_90a").value()};
  const auto chip_of_record = [&](const char* chip) {
    problem.target.chip = chip;
    return shipped_record(problem).value().chip;
  };
  EXPECT_EQ(chip_of_record("NVIDIA H100 80GB HBM3"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(chip_of_record("NVIDIA H200"), "NVIDIA H200");
  EXPECT_EQ(chip_of_record("a chip that no record names"), "NVIDIA H200");
  EXPECT_EQ(chip_of_record(""), "NVIDIA H200");
}

TEST(ShippedRecords, LayersOutsideTheSuiteHaveNone) {
  std::ifstream file(CONVTGEN_OUTSIDE_LAYERS);
  std::ostringstream text;
  text << file.rdbuf();
  const std::vector<NamedLayer> layers = parse_file(text.str()).value();
  EXPECT_EQ(layers.size(), 10u);
  for (const NamedLayer& named : layers) {
    const Compute of_f32[] = {Compute::kF32, Compute::kTf32, Compute::kF32x3};
    for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
      Problem problem{named.layer, Direction::kForward, target_named("sm_90a").value()};
      problem.layer.layout = layout;
      for (const Compute compute : of_f32) {
        problem.layer.compute = compute;
        EXPECT_FALSE(shipped_record(problem)) << named.name;
      }
      for (const auto& [dtype, compute] : {std::pair{Dtype::kF16, Compute::kF16}, {Dtype::kBf16, Compute::kBf16}}) {
        problem.layer.dtype = dtype;
        problem.layer.compute = compute;
        EXPECT_FALSE(shipped_record(problem)) << named.name;
      }
    }
  }
}

}  // namespace
}  // namespace convtgen
