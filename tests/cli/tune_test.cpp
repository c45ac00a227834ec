#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/make/cubin_maker.h"
#include "runtime/records/record.h"
#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kTiny = "conv_transpose2d 8 -> 8; kernel 2; stride 2; input 1x6x5";

class TuneVerbTest : public testing::Test {
 protected:
  [[nodiscard]] Outcome tune(std::vector<std::string> arguments, const std::string& store = "store") const {
    arguments.insert(arguments.begin(), "tune");
    return convtgen(std::move(arguments),
                    {.environment = {{"CONVTGEN_CACHE_DIR", folder_ / store}}, .folder = folder_.path()});
  }
  Folder folder_;
};

TEST_F(TuneVerbTest, MeasuresOnceAndGoesOnWhereItWas) {
  const Outcome first = tune({"--device", "host", "-e", kTiny, "--candidates", "2"});
  EXPECT_EQ(first.exit, 0) << first.out << first.err;
  EXPECT_EQ(first.err, "");
  EXPECT_THAT(first.out, HasSubstr("tuning takes up to 5.69 KiB on host ("));
  EXPECT_THAT(first.out, HasSubstr(" of main memory: layer 'layer'\n"));
  EXPECT_THAT(first.out, HasSubstr("layer on host"));
  EXPECT_THAT(first.out, HasSubstr("\n  * "));
  EXPECT_THAT(first.out, testing::ContainsRegex("  direct_[a-z]+  "));
  EXPECT_THAT(first.out, HasSubstr("only the host device uses this record"));
  EXPECT_THAT(first.out, Not(HasSubstr("measured before")));
  const Outcome second = tune({"--device", "host", "-e", kTiny, "--candidates", "3"});
  EXPECT_EQ(second.exit, 0) << second.err;
  std::size_t before = 0;
  for (std::size_t at = 0; (at = second.out.find("(measured before)", at)) != std::string::npos; ++at) {
    ++before;
  }
  EXPECT_EQ(before, 2u) << second.out;
  EXPECT_THAT(tune({"--device", "host", "-e", kTiny, "--candidates", "2", "--again"}).out,
              Not(HasSubstr("measured before")));
}

TEST_F(TuneVerbTest, RecordsGoToAFileAndIntoAnotherStore) {
  const Outcome exported = tune({"--device", "host", "-e", kTiny, "-e", "conv_transpose1d 4 -> 4; kernel 3; input 2x9",
                                 "--candidates", "2", "--export", "a.json"});
  ASSERT_EQ(exported.exit, 0) << exported.err;
  EXPECT_THAT(exported.out, HasSubstr("a.json: 2 records (2 of host)"));
  const std::string file = read(folder_ / "a.json");
  const nlohmann::json records = nlohmann::json::parse(file).at("records");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].at("chip"), "host");
  EXPECT_EQ(records[0].at("measured").size(), 2u);
  EXPECT_THAT(file, Not(HasSubstr(folder_.path().string())));

  const Outcome imported = tune({"--import", "a.json", "--export", "b.json"}, "other");
  EXPECT_EQ(imported.exit, 0) << imported.err;
  EXPECT_THAT(imported.out, HasSubstr("a.json: 2 of 2 records taken\n"));
  EXPECT_EQ(read(folder_ / "b.json"), file) << "the same records give the same bytes";
  EXPECT_THAT(tune({"--device", "host", "-e", kTiny, "--candidates", "2"}, "other").out, HasSubstr("measured before"));
  EXPECT_THAT(tune({"--import", "a.json"}, "other").out, HasSubstr("0 of 2 records taken; there were"));
  EXPECT_THAT(tune({"--import", "a.json", "--again"}, "other").out, HasSubstr("2 of 2"));
  EXPECT_THAT(tune({"--export", "c.json", "--chip", "NVIDIA H200"}).out, HasSubstr("c.json: 0 records\n"));
  EXPECT_EQ(read(folder_ / "c.json"), "{\"records\":[\n]}\n");

  EXPECT_EQ(tune({"--export", "best.json", "--best"}, "other").exit, 0);
  const nlohmann::json best = nlohmann::json::parse(read(folder_ / "best.json")).at("records");
  ASSERT_EQ(best.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(best[i].at("layer"), records[i].at("layer"));
    ASSERT_EQ(best[i].at("measured").size(), 1u);
    for (const nlohmann::json& each : records[i].at("measured")) {
      EXPECT_LE(best[i]["measured"][0].at("milliseconds"), each.at("milliseconds"));
    }
  }
}

TEST_F(TuneVerbTest, TellsAllCandidatesToPeopleAndToPrograms) {
  const Outcome tuned = tune({"--device", "host", "-e", kTiny, "--candidates", "2", "--json", "times.json"});
  ASSERT_EQ(tuned.exit, 0) << tuned.err;
  EXPECT_THAT(tuned.out, HasSubstr(" measured  "));
  EXPECT_THAT(tuned.out, HasSubstr("  template     plan\n"));
  EXPECT_THAT(tuned.out, HasSubstr("  direct       "));
  const nlohmann::json times = nlohmann::json::parse(read(folder_ / "times.json"));
  ASSERT_EQ(times.at("layers").size(), 1u);
  const nlohmann::json& layer = times["layers"][0];
  EXPECT_EQ(layer.at("name"), "layer");
  EXPECT_EQ(layer.at("sizes"), nlohmann::json::parse(R"({"batch": 1, "extents": [1, 6, 5]})"));
  // x, weight and y: 8 channels each, of 30 inputs, 4 taps for each of 8 channels, and 120 outputs.
  EXPECT_EQ(layer.at("memory").at("device"), 4 * 8 * (30 + 4 * 8 + 120));
  EXPECT_GT(layer.at("memory").at("host"), 4 * 8 * (30 + 4 * 8));
  EXPECT_EQ(layer.at("skipped"), false);
  EXPECT_TRUE(layer.at("problem").is_null());
  ASSERT_EQ(layer.at("candidates").size(), 2u);
  int best = 0;
  for (const nlohmann::json& each : layer["candidates"]) {
    EXPECT_THAT(each.at("template"), testing::StartsWith("direct"));
    EXPECT_TRUE(each.at("parameters").is_object());
    EXPECT_GT(each.at("milliseconds").get<double>(), 0);
    EXPECT_TRUE(each.at("problem").is_null());
    best += each.at("best").get<bool>() ? 1 : 0;
  }
  EXPECT_EQ(best, 1);
  const Outcome nowhere = tune({"--device", "host", "-e", kTiny, "--json", "no/such/folder/times.json"});
  EXPECT_EQ(nowhere.exit, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("no/such/folder"));
}

TEST_F(TuneVerbTest, ALayerThatTakesMoreThanTheLimitIsSkipped) {
  const Outcome outcome = tune({"--device", "host", "-e", "conv_transpose2d 8 -> 8; kernel 2; stride 2; input 1x60x50",
                                "-e", kTiny, "--candidates", "1", "--memory-limit", "8K", "--json", "times.json"});
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("convtgen: warning: layer 'layer"));
  EXPECT_THAT(outcome.err, HasSubstr("skipped: tuning needs 481024 bytes on host ("));
  EXPECT_THAT(outcome.err, HasSubstr("; 8192 are allowed\n"));
  EXPECT_THAT(outcome.out, HasSubstr("tuning takes up to 470 KiB on host ("));
  const nlohmann::json layers = nlohmann::json::parse(read(folder_ / "times.json")).at("layers");
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].at("skipped"), true);
  EXPECT_THAT(layers[0].at("problem").get<std::string>(), HasSubstr("8192 are allowed"));
  EXPECT_EQ(layers[1].at("skipped"), false);
  EXPECT_EQ(layers[1].at("candidates").size(), 1u) << "it went on";
  const Outcome wrong = tune({"--device", "host", "-e", kTiny, "--memory-limit", "much"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("'much' is no size"));
}

/// With a stand-in for NVRTC, and for a GPU that computes nothing.
class TuneStoreTest : public testing::Test {
 protected:
  [[nodiscard]] Outcome tune(std::vector<std::string> arguments,
                             std::map<std::string, std::string> environment = {}) const {
    arguments.insert(arguments.begin(), {"tune", "-e", kTiny, "--candidates", "2"});
    environment.insert({{"CONVTGEN_CACHE_DIR", folder_ / "store"},
                        {"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC},
                        {"CONVTGEN_CUDA_DRIVER", CONVTGEN_FAKE_DRIVER},
                        {"CONVTGEN_FAKE_NVRTC_COUNT", folder_ / "compiles"}});
    return convtgen(std::move(arguments), {.environment = std::move(environment)});
  }
  [[nodiscard]] std::uintmax_t compiles() const { return std::filesystem::file_size(folder_ / "compiles"); }
  [[nodiscard]] static Problem problem() {
    return {parse_layer(kTiny).value(), Direction::kForward, target_named("sm_90a").value()};
  }
  Folder folder_;
};

TEST_F(TuneStoreTest, NothingIsCompiledTwice) {
  const Outcome ahead = tune({"--compile-only", "--arch", "sm_90a,sm_80"});
  EXPECT_EQ(ahead.exit, 0) << ahead.err;
  EXPECT_THAT(ahead.out, HasSubstr("layer for sm_90a: 2 of 2 candidates compiled, 0 were in the store\n"));
  EXPECT_THAT(ahead.out, HasSubstr("layer for sm_80: 2 of 2 candidates compiled, 0 were in the store\n"));
  EXPECT_THAT(ahead.out, HasSubstr("\n  tuning takes 5.69 KiB on the GPU and twice its L2 cache, and "));
  EXPECT_THAT(ahead.out, HasSubstr("4 binaries are ready in "));
  EXPECT_THAT(ahead.out, HasSubstr("a machine with this NVRTC ("));
  EXPECT_EQ(compiles(), 4u);
  EXPECT_THAT(tune({"--compile-only"}).out, HasSubstr("0 of 2 candidates compiled, 2 were in the store\n"));
  // Where there is no NVRTC, what any made serves.
  const Outcome without = tune({"--compile-only"}, {{"CONVTGEN_NVRTC", "/nowhere/nvrtc"}});
  EXPECT_EQ(without.exit, 0) << without.err;
  EXPECT_THAT(without.out, HasSubstr("2 were in the store"));
  // Tuning itself: this GPU's results are wrong, but all of its kernels are there.
  const Outcome tuned = tune({});
  EXPECT_EQ(tuned.exit, 1);
  EXPECT_THAT(tuned.err, HasSubstr("none of 2 candidates could be measured; of the first: its result is wrong"));
  EXPECT_EQ(compiles(), 4u);
  // Nor does the engine compile the plan that a record names.
  const auto store = std::make_shared<Store>(StoreOptions{.folder = folder_ / "store"});
  const std::vector<Plan> plans = plan(problem()).value();
  const TuningRecord record{.layer = record_layer(problem().layer, Direction::kForward),
                            .direction = Direction::kForward,
                            .chip = "GPU A",
                            .architecture = "sm_90a",
                            .sizes = {1, {6, 5}},
                            .version = "0.1.0",
                            .measured = {{plan_json(plans[1]), 1}}};
  store->insert(record_key(record), print_record(record), record.layer);
  setenv("CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC, 1);
  const auto made = CubinMaker(store, "GPU A").make_for_chip(problem().layer, Direction::kForward, Chip{90}, {});
  unsetenv("CONVTGEN_NVRTC");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(made->compiled);
  EXPECT_EQ(plan_json(made->plan), plan_json(plans[1]));
}

TEST_F(TuneStoreTest, AGpuWithTooLittleFreeMemoryIsLeftAlone) {
  const Outcome outcome = tune({"--memory-limit", "1K"});
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_THAT(outcome.out, HasSubstr("tuning takes up to 7.64 KiB on Fake GPU, where 1 GiB are free, and "));
  EXPECT_THAT(outcome.err, HasSubstr("layer 'layer': skipped: tuning needs 7824 bytes on Fake GPU ("));
  EXPECT_THAT(outcome.err, HasSubstr(", 0 for the workspace, 2000 for timing); 1024 are allowed\n"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "compiles")) << "nothing was compiled";
}

TEST_F(TuneStoreTest, TuningFillsTheStoreToo) {
  EXPECT_EQ(tune({}).exit, 1);
  EXPECT_EQ(compiles(), 2u);
  EXPECT_EQ(tune({}).exit, 1);
  EXPECT_THAT(tune({"--compile-only"}).out, HasSubstr("2 were in the store"));
  EXPECT_EQ(compiles(), 2u);
}

TEST_F(TuneStoreTest, OneThatDoesNotCompileIsTold) {
  const std::vector<Plan> plans = plan(problem()).value();
  const std::string second = specialize(problem(), plans[1]).value().symbol;
  const Outcome ahead = tune({"--compile-only"}, {{"CONVTGEN_FAKE_NVRTC_FAILS", second}});
  EXPECT_EQ(ahead.exit, 0);
  EXPECT_THAT(ahead.out, HasSubstr("1 of 2 candidates compiled"));
  EXPECT_THAT(ahead.err,
              HasSubstr("layer 'layer for sm_90a': a candidate does not compile: " + plans[1].template_name + ", "));
  EXPECT_THAT(ahead.err, HasSubstr("the source holds '" + second + "'"));
  const Outcome none = tune({"--compile-only", "--arch", "sm_80"}, {{"CONVTGEN_FAKE_NVRTC_FAILS", "__global__"}});
  EXPECT_EQ(none.exit, 1);
  EXPECT_THAT(none.out, HasSubstr("0 of 2 candidates compiled"));
}

TEST_F(TuneStoreTest, CompileOnlyNeedsAStoreAndACompiler) {
  const Outcome no_nvrtc = tune({"--compile-only"}, {{"CONVTGEN_NVRTC", "/nowhere/nvrtc"}});
  EXPECT_EQ(no_nvrtc.exit, 2);
  EXPECT_THAT(no_nvrtc.err, HasSubstr("/nowhere/nvrtc"));
  const Outcome no_store = tune({"--compile-only"}, {{"CONVTGEN_CACHE_SIZE", "0"}});
  EXPECT_EQ(no_store.exit, 2);
  EXPECT_THAT(no_store.err, HasSubstr("there is no store to keep the binaries in: "));
  EXPECT_EQ(tune({"--compile-only", "--device", "host"}).exit, 2);
  const Outcome no_flag = tune({"--arch", "sm_80,sm_89"});
  EXPECT_EQ(no_flag.exit, 2);
  EXPECT_THAT(no_flag.err, HasSubstr("--compile-only"));
}

TEST_F(TuneVerbTest, AnotherFileThanOneOfRecordsIsTold) {
  write(folder_ / "x.convt", "# a comment\nlayer a { }\n");
  write(folder_ / "object.json", "{\n\"a\": 1\n}\n");
  write(folder_ / "cut.json", "{\"records\": [\n{\"layer\": \"a\",\n");
  for (const auto& [file, line] : {std::pair{"x.convt", 1}, {"object.json", 1}, {"cut.json", 3}}) {
    const Outcome outcome = tune({"--import", file});
    EXPECT_EQ(outcome.exit, 1);
    EXPECT_EQ(outcome.err,
              fmt::format("convtgen: error: {}: line {}: this is no file of tuning records; that is a JSON "
                          "object {{\"records\": [...]}}, as 'convtgen tune --export FILE' writes it\n",
                          file, line));
  }
  write(folder_ / "bad.json", "{\"other\": [{}], \"records\": [\n\n{\"versions\":\n{\"format\": 4}},\n7]}\n");
  EXPECT_THAT(tune({"--import", "bad.json"}).err, HasSubstr("bad.json: line 3: record 1: key 'layer' not found\n"));
}

TEST_F(TuneVerbTest, WhatIsWrongIsTold) {
  EXPECT_THAT(tune({}).err, HasSubstr("no layers"));
  EXPECT_EQ(tune({}).exit, 2);
  EXPECT_EQ(tune({"--import", "nowhere.json"}).exit, 2);
  write(folder_ / "bad.json", R"({"records": [{"versions": {"format": 7}}]})");
  const Outcome bad = tune({"--import", "bad.json", "--export", "out.json"});
  EXPECT_EQ(bad.exit, 1);
  EXPECT_THAT(bad.err, HasSubstr("bad.json: line 1: record 1: a record of format 7"));
  write(folder_ / "older.json", R"({"records": [
{"versions": {"convtgen": "0.1.0", "format": 1}}]})");
  const Outcome older = tune({"--import", "older.json"});
  EXPECT_EQ(older.exit, 1);
  EXPECT_EQ(
      older.err,
      "convtgen: error: older.json: line 2: record 1: a record of format 1, by convtgen 0.1.0; this convtgen reads "
      "format 4: tune again, or convert it with generator/planner/records/migrate.py of the sources\n");
  const Outcome open = tune({"--device", "host", "-e", "conv_transpose2d 4 -> 4; kernel 2"});
  EXPECT_EQ(open.exit, 2);
  EXPECT_THAT(open.err, HasSubstr("give the sizes with --input"));
  const Outcome backward = tune(
      {"--device", "host", "-e", "conv_transpose2d 4 -> 4; kernel 2; stride 200; input 1x4x4; directions grad_input"});
  EXPECT_EQ(backward.exit, 1);
  EXPECT_THAT(backward.err, HasSubstr("stride 200x200 has 40000 phases"));
  const Outcome no_gpu = convtgen({"tune", "-e", kTiny}, {.environment = {{"CONVTGEN_CUDA_DRIVER", "/nowhere/cuda"}}});
  EXPECT_EQ(no_gpu.exit, 2);
  EXPECT_THAT(no_gpu.err, HasSubstr("/nowhere/cuda"));
}

}  // namespace
}  // namespace convtgen::test
