#include "runtime/records/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/records/choice.h"
#include "runtime/support/log.h"
#include "tests/store/folders.h"

namespace convtgen {
namespace {

using ::testing::HasSubstr;

Problem problem_of(const std::string& layer = "conv_transpose2d 8 -> 8; kernel 3; input 1x64x64") {
  return {parse_layer(layer).value(), Direction::kForward, target_named("sm_90a").value()};
}

TuningRecord record_of(const Problem& problem, const std::string& chip = "NVIDIA H200") {
  TuningRecord record{.layer = record_layer(problem.layer, problem.direction),
                      .direction = problem.direction,
                      .chip = chip,
                      .architecture = problem.target.architecture,
                      .sizes = {1, {64, 64}},
                      .version = "0.1.0",
                      .measured = {}};
  double milliseconds = 1.25;
  const std::vector<Plan> plans = plan(problem).value();
  for (const Plan& each : plans) {
    record.measured.push_back({plan_json(each), milliseconds});
    milliseconds = milliseconds == 1.25 ? 2.5 : milliseconds * 0.75;
  }
  return record;
}

TEST(Record, ComesBackAsItWasAndInTheSameBytes) {
  const TuningRecord record = record_of(problem_of());
  const std::string text = print_record(record);
  const auto parsed = parse_record(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, record);
  EXPECT_EQ(print_record(*parsed), text);
  for (const char* word : {R"("chip":"NVIDIA H200")", R"("template":"direct")", R"("block_k":)",
                           R"("sizes":{"batch":1,"extents":[1,64,64]})"}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
}

TEST(Record, TheKeyIsOfLayerDirectionAndChipAlone) {
  const Problem problem = problem_of();
  const Key key = record_key(problem, "NVIDIA H200");
  EXPECT_EQ(key.hex(), record_key(record_of(problem)).hex());
  EXPECT_NE(key.hex(), record_key(problem, "NVIDIA H100 PCIe").hex());
  EXPECT_NE(key.hex(), record_key(problem_of("conv_transpose2d 8 -> 9; kernel 3; input 1x64x64"), "NVIDIA H200").hex());
  // What else the layer is for changes nothing.
  EXPECT_EQ(key.hex(),
            record_key(problem_of("conv_transpose2d 8 -> 8; kernel 3; input 1x64x64; directions forward, grad_input"),
                       "NVIDIA H200")
                .hex());
}

TEST(Record, AFileIsSortedWhateverTheOrder) {
  std::vector<TuningRecord> records{record_of(problem_of()), record_of(problem_of(), "A chip"),
                                    record_of(problem_of("conv_transpose1d 4 -> 4; kernel 2"))};
  const std::string text = print_records(records);
  std::ranges::reverse(records);
  EXPECT_EQ(print_records(records), text);
  EXPECT_LT(text.find("A chip"), text.find("NVIDIA H200"));
  const auto parsed = parse_records(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->size(), 3u);
  EXPECT_EQ(print_records(*parsed), text);
  EXPECT_EQ(parse_records(print_records({}))->size(), 0u);
}

TEST(Record, WhatIsNoRecordIsAnErrorThatSaysWhy) {
  const std::string good = print_record(record_of(problem_of()));
  const auto message_of = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    const auto parsed = parse_record(text.replace(at, from.size(), to));
    return parsed ? std::string("a record") : parsed.error().message;
  };
  EXPECT_EQ(message_of("NVIDIA H200", "NVIDIA B200"), "a record");
  EXPECT_EQ(message_of("\"format\":4", "\"format\":2"),
            "a record of format 2, by convtgen 0.1.0; this convtgen reads format 4: tune again, or convert it with "
            "generator/planner/records/migrate.py of the sources");
  EXPECT_EQ(message_of("\"format\":4", "\"format\":5"),
            "a record of format 5, by convtgen 0.1.0; this convtgen reads format 4: a newer convtgen reads it");
  EXPECT_EQ(message_of("[1,64,64]", "[64,64]"), "its extents are [64,64]; they should be [depth, height, width]");
  EXPECT_THAT(message_of("[1,64,64]", "[1,64,\"64\"]"), HasSubstr("number"));
  EXPECT_THAT(message_of("\"layer\":", "\"lair\":"), HasSubstr("layer"));
  EXPECT_THAT(message_of("forward", "sideways"), HasSubstr("no direction 'sideways'; there are: forward, "));
  EXPECT_THAT(message_of(R"("template":"direct")", R"("template":"indirect")"),
              HasSubstr("no template 'indirect'; there are: direct, "));
  EXPECT_THAT(message_of("kernel 3", "kernel three"), HasSubstr("is no layer: "));
  EXPECT_THAT(message_of("8 -> 8; kernel 3", "8->8; kernel 3"), HasSubstr("not in the form of records"));
  EXPECT_THAT(message_of("\"milliseconds\":1.25", "\"milliseconds\":-1.25"), HasSubstr("more than 0"));
  EXPECT_THAT(message_of("\"milliseconds\":1.25", "\"milliseconds\":\"1\""), HasSubstr("number"));
  for (std::size_t length = 0; length < good.size(); length += 7) {
    EXPECT_FALSE(parse_record(good.substr(0, length)));
    EXPECT_FALSE(parse_records(good.substr(0, length)));
  }
  for (const char* text : {"null", "[]", "3", "{}", R"({"records":3})", R"({"records":[1]})"}) {
    EXPECT_FALSE(parse_record(text)) << text;
    EXPECT_FALSE(parse_records(text)) << text;
  }
}

TEST(Record, OfAnotherFormatItIsAsNoneAndToldOnceAProcess) {
  const testing::Scratch scratch;
  Store store({.folder = scratch.path().string()});
  const Problem problem = problem_of();
  const Problem other = problem_of("conv_transpose1d 4 -> 4; kernel 2");
  const auto insert = [&](const Problem& of, const char* format) {
    const TuningRecord record = record_of(of);
    std::string text = print_record(record);
    const std::string own = "\"format\":4";
    store.insert(record_key(record), text.replace(text.find(own), own.size(), format));
  };
  insert(problem, "\"format\":1");
  insert(other, "\"format\":5");
  std::vector<std::string> told;
  set_log_sink(
      [&](LogLevel level, std::string_view message) {
        told.push_back(std::string(message) + (level == LogLevel::kWarning ? "" : "?"));
      },
      LogLevel::kDebug);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(stored_record(store, problem, "NVIDIA H200"), "");
    EXPECT_EQ(stored_record(store, other, "NVIDIA H200"), "");
    EXPECT_TRUE(stored_records(store).empty());
  }
  set_log_sink({}, LogLevel::kWarning);
  EXPECT_THAT(told,
              ::testing::ElementsAre(
                  "tuning records of another format than 4 are ignored; the first is of format 1: 'convtgen tune' "
                  "measures anew [layer: conv_transpose2d 8 -> 8; kernel 3x3; input 1x64x64; "
                  "dtype f32; compute f32; layout nchw]"));
  insert(problem, "\"format\":4");
  EXPECT_EQ(parse_record(stored_record(store, problem, "NVIDIA H200")), record_of(problem));
  EXPECT_EQ(keep_choice(store, "a program's key", "a choice"), "a choice");
  EXPECT_EQ(stored_records(store).size(), 1u) << "a choice is no record";
  // What is no record at all is for parse_record() to judge.
  store.insert(record_key(problem, "NVIDIA H200"), "no record");
  EXPECT_EQ(stored_record(store, problem, "NVIDIA H200"), "no record");
  EXPECT_EQ(record_format(print_record(record_of(problem))), kRecordFormat);
  for (const char* text : {"", "no record", "{}", R"({"versions":{"format":"2"}})", "[2]"}) {
    EXPECT_FALSE(record_format(text)) << text;
  }
}

TEST(Record, TheFastestThatIsStillOfferedIsChosen) {
  const Problem problem = problem_of();
  const std::vector<Plan> plans = plan(problem).value();
  TuningRecord record = record_of(problem);
  ASSERT_GT(plans.size(), 4u);
  record.measured[3].milliseconds = 0.0001;
  EXPECT_EQ(choose_recorded(plans, print_record(record)).index, 3u);
  EXPECT_EQ(choose_recorded(plans, print_record(record)).note, "");
  std::vector<Plan> fewer = plans;
  fewer.erase(fewer.begin() + 3);
  const RecordedChoice gone = choose_recorded(fewer, print_record(record));
  EXPECT_EQ(gone.index, 0u);
  EXPECT_THAT(gone.note, HasSubstr("no longer offered"));
  record.measured.clear();
  EXPECT_THAT(choose_recorded(plans, print_record(record)).note, HasSubstr("empty"));
  EXPECT_THAT(choose_recorded(plans, "template direct").note, HasSubstr("can't be read"));
}

}  // namespace
}  // namespace convtgen
