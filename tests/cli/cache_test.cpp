#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <nlohmann/json.hpp>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/make/cubin_maker.h"
#include "runtime/records/choice.h"
#include "runtime/records/record.h"
#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kLayer = "conv_transpose2d 8 -> 6; kernel 4; stride 2; padding 1; bias";

class CacheTest : public testing::Test {
 protected:
  void SetUp() override { setenv("CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC, 1); }
  void TearDown() override {
    unsetenv("CONVTGEN_NVRTC");
    unsetenv("CONVTGEN_FAKE_NVRTC_KNOWS");
  }

  [[nodiscard]] Outcome cache(std::vector<std::string> arguments, std::map<std::string, std::string> environment = {}) {
    arguments.insert(arguments.begin(), "cache");
    environment.emplace("CONVTGEN_CACHE_DIR", folder());
    return convtgen(std::move(arguments), {.environment = std::move(environment)});
  }
  [[nodiscard]] std::string folder() const { return root_ / "store"; }

  /// As a program does that prepares the layer on a chip of this capability.
  MadeKernel make(int capability = 90, const std::string& text = kLayer) {
    const auto layer = parse_layer(text);
    auto made = CubinMaker(std::make_shared<Store>(StoreOptions{.folder = folder()}))
                    .make_for_chip(*layer, Direction::kForward, Chip{capability}, {});
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }
  void insert(const Key& key, std::string_view label) { Store({.folder = folder()}).insert(key, "bytes", label); }

  [[nodiscard]] std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& file : std::filesystem::directory_iterator(folder())) {
      found.push_back(file.path());
    }
    return found;
  }

 private:
  Folder root_;
};

TEST_F(CacheTest, Path) {
  const Outcome outcome = cache({"path"});
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_EQ(outcome.out, folder() + "\n");
  EXPECT_FALSE(std::filesystem::exists(folder())) << "to look makes no folder";
  const Outcome homeless = cache({"path"}, {{"CONVTGEN_CACHE_DIR", ""}, {"XDG_CACHE_HOME", ""}, {"HOME", ""}});
  EXPECT_EQ(homeless.exit, 2);
  EXPECT_EQ(homeless.out, "");
  EXPECT_THAT(homeless.err, HasSubstr("$HOME"));
  const Outcome off = cache({"list"}, {{"CONVTGEN_CACHE_SIZE", "0"}});
  EXPECT_EQ(off.exit, 2);
  EXPECT_THAT(off.err, HasSubstr("$CONVTGEN_CACHE_SIZE is 0"));
}

TEST_F(CacheTest, AnEmptyCacheIsNoError) {
  for (const char* verb : {"list", "verify", "prune", "clear"}) {
    const Outcome outcome = cache({verb});
    EXPECT_EQ(outcome.exit, 0) << verb << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("0 entries")) << verb;
  }
  EXPECT_EQ(cache({"list", "--json"}).out, "[]\n");
  EXPECT_EQ(cache({"why", "-e", kLayer}).exit, 0);
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(CacheTest, AFolderThatCantBeUsedSaysWhy) {
  write(folder(), "a file");
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"list"}, {"verify"}, {"prune"}, {"clear"}, {"why", "-e", kLayer}}) {
    const Outcome outcome = cache(verb);
    EXPECT_EQ(outcome.exit, 2) << verb[0];
    EXPECT_THAT(outcome.err, HasSubstr("the cache can't be used")) << verb[0];
    EXPECT_THAT(outcome.err, HasSubstr(folder())) << verb[0];
  }
  EXPECT_EQ(read(folder()), "a file");
}

TEST_F(CacheTest, ListsWhatWasMade) {
  const MadeKernel made = make();
  insert(kernel_key(EntryKind::kHostLibrary, "source", "", "g++", {}), "a_symbol");
  const Outcome outcome = cache({"list"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  for (const std::string& word :
       {made.key.substr(0, 16), std::string("cubin"), std::string("sm_90a"), std::string("0 min ago"),
        canonical_form(made.problem.layer), std::string("host library"), std::string("a_symbol"),
        std::string("2 entries"), std::string("of at most 1 GiB"), folder()}) {
    EXPECT_THAT(outcome.out, HasSubstr(word));
  }

  const auto all = nlohmann::json::parse(cache({"list", "--json"}).out);
  ASSERT_EQ(all.size(), 2U);
  const auto& entry = all[all[0]["kind"] == "cubin" ? 0 : 1];
  EXPECT_EQ(entry["key"], made.key);
  EXPECT_EQ(entry["label"], canonical_form(made.problem.layer));
  EXPECT_EQ(entry["architecture"], "sm_90a");
  EXPECT_THAT(std::string(entry["compiler"]), HasSubstr("build-id"));
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(folder()) / entry["file"]));
  EXPECT_EQ(entry["bytes"], std::filesystem::file_size(std::filesystem::path(folder()) / entry["file"]));
  EXPECT_EQ(std::string(entry["used"]).size(), 20U);
}

TEST_F(CacheTest, ChoicesOfProgramsAreEntriesAsOthers) {
  {
    Store store({.folder = folder()});
    EXPECT_EQ(keep_choice(store, "my program 3; up\x1b[31m\nNVIDIA H200", "fused"), "fused");
    EXPECT_EQ(keep_choice(store, std::string(500, 'k'), "plain"), "plain");
  }
  const Outcome listed = cache({"list"});
  EXPECT_EQ(listed.exit, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("  choice "));
  EXPECT_THAT(listed.out, HasSubstr("  my program 3; up [31m\n")) << "one line, without control characters";
  EXPECT_THAT(listed.out, HasSubstr("  " + std::string(120, 'k') + "\n"));
  const auto all = nlohmann::json::parse(cache({"list", "--json"}).out);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["kind"], "choice");
  EXPECT_EQ(all[0]["architecture"], "");
  EXPECT_THAT(cache({"verify"}).out, HasSubstr("2 entries good, 0 bad"));
  EXPECT_THAT(cache({"prune", "--to", "1G"}).out, HasSubstr("removed 0 entries"));
  EXPECT_THAT(cache({"prune", "--to", "0"}).out, HasSubstr("removed 2 entries"));
  {
    Store store({.folder = folder()});
    EXPECT_EQ(keep_choice(store, "my program 3", "plain"), "plain");
  }
  EXPECT_THAT(cache({"clear"}).out, HasSubstr("removed 1 entry"));
  Store store({.folder = folder()});
  EXPECT_EQ(stored_choice(store, "my program 3"), "");
}

TEST_F(CacheTest, VerifyNamesBadEntriesAndRemovesThemWhenAsked) {
  (void)make();
  (void)make(80);
  EXPECT_THAT(cache({"verify"}).out, HasSubstr("2 entries good, 0 bad"));
  const std::filesystem::path file = files()[0];
  std::string bytes = read(file);
  bytes[bytes.size() / 2] ^= 1;
  write(file, bytes);

  const Outcome bad = cache({"verify"});
  EXPECT_EQ(bad.exit, 1);
  EXPECT_THAT(bad.out, HasSubstr("bad " + file.filename().string() + ": "));
  EXPECT_THAT(bad.out, HasSubstr("1 entry good, 1 bad"));
  EXPECT_EQ(read(file), bytes) << "nothing is removed unless asked";
  EXPECT_EQ(cache({"verify", "--remove"}).exit, 1);
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(cache({"verify"}).exit, 0);
}

TEST_F(CacheTest, PrunesToASize) {
  (void)make(80);
  (void)make(90);
  const Outcome whole = cache({"prune", "--to", "1G"});
  EXPECT_EQ(whole.exit, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("removed 0 entries"));
  const std::filesystem::path file = files()[0];  // the other one is pruned
  std::filesystem::last_write_time(files()[1], std::filesystem::file_time_type::clock::now() - std::chrono::hours(5));
  EXPECT_THAT(cache({"list"}).out, HasSubstr("5 h ago"));
  const Outcome one = cache({"prune", "--to", std::to_string(std::filesystem::file_size(file))});
  EXPECT_THAT(one.out, HasSubstr("removed 1 entry"));
  EXPECT_EQ(files(), std::vector{file});
  const Outcome wrong = cache({"prune", "--to", "much"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("'much' is no size"));
}

TEST_F(CacheTest, Clears) {
  (void)make(80);
  (void)make(90);
  const Outcome outcome = cache({"clear"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("removed 2 entries"));
  EXPECT_TRUE(files().empty());
}

TEST_F(CacheTest, WhyIsAHitForWhatTheRuntimeMade) {
  const MadeKernel made = make();
  const Outcome hit = cache({"why", "-e", kLayer});
  EXPECT_EQ(hit.exit, 0) << hit.err;
  EXPECT_THAT(hit.out, HasSubstr("layer, forward for sm_90a: hit"));
  EXPECT_THAT(hit.out, HasSubstr(made.key.substr(0, 16)));
  const Outcome without = cache({"why", "-e", kLayer}, {{"CONVTGEN_NVRTC", "/nowhere"}});
  EXPECT_THAT(without.out, HasSubstr(": hit"));
  EXPECT_THAT(without.err, HasSubstr("no NVRTC is found"));

  // PTX, of a chip that this NVRTC does not know.
  setenv("CONVTGEN_FAKE_NVRTC_KNOWS", "75 80", 1);
  EXPECT_EQ(make(120).architecture, "compute_80");
  const Outcome ptx = cache({"why", "-e", kLayer, "--arch", "sm_120"});
  EXPECT_THAT(ptx.out, HasSubstr("sm_120: hit"));
  EXPECT_THAT(ptx.out, HasSubstr(", ptx"));
}

TEST_F(CacheTest, WhyGoesByTuningRecords) {
  const MadeKernel untuned = make();
  const std::vector<Plan> plans = plan(untuned.problem).value();
  ASSERT_GE(plans.size(), 2u);
  const auto store = std::make_shared<Store>(StoreOptions{.folder = folder()});
  const Layer& layer = untuned.problem.layer;
  for (const char* chip : {"GPU A", "GPU B", "host"}) {
    const TuningRecord record{.layer = record_layer(layer, Direction::kForward),
                              .direction = Direction::kForward,
                              .chip = chip,
                              .architecture = "sm_90a",
                              .sizes = {1, {8, 8}},
                              .version = "0.1.0",
                              .measured = {{plan_json(plans[1]), 1}}};
    store->insert(record_key(record), print_record(record), record.layer);
  }
  const Outcome tuned = cache({"why", "-e", kLayer});
  EXPECT_EQ(tuned.exit, 0) << tuned.err;
  EXPECT_THAT(tuned.out, HasSubstr("layer, forward for sm_90a on GPU A: miss\n"));
  EXPECT_THAT(tuned.out, HasSubstr("layer, forward for sm_90a on GPU B: miss\n"));
  EXPECT_THAT(tuned.out, HasSubstr("differs      source"));
  EXPECT_THAT(tuned.out, HasSubstr("plan         by the tuning record of this GPU\n"));
  EXPECT_THAT(tuned.out, Not(HasSubstr("host")));

  const auto made = CubinMaker(store, "GPU A").make_for_chip(layer, Direction::kForward, Chip{90}, {});
  ASSERT_TRUE(made && made->key != untuned.key);
  const Outcome hit = cache({"why", "-e", kLayer, "--chip", "GPU A"});
  EXPECT_THAT(hit.out, HasSubstr("on GPU A: hit\n  key          " + made->key.substr(0, 16)));
  EXPECT_THAT(hit.out, Not(HasSubstr("GPU B")));
  // One without a record has the kernel of the planner's first plan, and so has another architecture.
  const Outcome other = cache({"why", "-e", kLayer, "--chip", "GPU C"});
  EXPECT_THAT(other.out, HasSubstr("on GPU C: hit\n  key          " + untuned.key.substr(0, 16)));
  EXPECT_THAT(other.out, HasSubstr("the planner's first: this GPU has no tuning record"));
  EXPECT_THAT(cache({"why", "-e", kLayer, "--arch", "sm_80"}).out, HasSubstr("layer, forward for sm_80: miss"));
}

TEST_F(CacheTest, PruneRemovesOtherVersionsWhenThatIsAskedFor) {
  insert(kernel_key(EntryKind::kCubin, "source", "sm_90a", "nvrtc", {}), "own");
  const std::string own = files().front().string();
  // Of another key, and of another version by its head.
  const std::size_t digit = folder().size() + 1;
  std::string other = own;
  other[digit] = own[digit] == '0' ? '1' : '0';
  write(other, "convtgen store 99\n and what that one writes");
  const Outcome plain = cache({"prune"});
  EXPECT_THAT(plain.out, HasSubstr("removed 0 entries (0 B); "));
  EXPECT_EQ(files().size(), 2u);
  const Outcome asked = cache({"prune", "--other-versions"});
  EXPECT_EQ(asked.exit, 0) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("removed 1 entry of other versions (43 B)\nremoved 0 entries"));
  EXPECT_EQ(files(), std::vector<std::filesystem::path>{own});
}

TEST_F(CacheTest, WhyNamesTheFieldsThatDiffer) {
  EXPECT_THAT(cache({"why", "-e", kLayer}).out, HasSubstr("nearest      none"));
  (void)make();
  // A library that is not the one that compiled it, as after an update.
  const Outcome updated = cache({"why", "-e", kLayer}, {{"CONVTGEN_NVRTC", CONVTGEN_FAKE_DRIVER}});
  EXPECT_THAT(updated.out, HasSubstr(": miss"));
  EXPECT_THAT(updated.out, HasSubstr("of this layer\n"));
  EXPECT_THAT(updated.out, HasSubstr("differs      compiler"));
  EXPECT_THAT(updated.out, HasSubstr("was        build-id"));
  EXPECT_THAT(updated.out, Not(HasSubstr("differs      source")));

  const Outcome chip = cache({"why", "-e", kLayer, "--arch", "sm_80"});
  EXPECT_THAT(chip.out, HasSubstr("differs      architecture\n    was        sm_90a\n    is now     sm_80\n"));
  EXPECT_THAT(chip.out, HasSubstr("differs      source"));
  EXPECT_THAT(chip.out, Not(HasSubstr("differs      compiler")));

  const Outcome other = cache({"why", "-e", "conv_transpose2d 8 -> 7; kernel 4; stride 2; padding 1; bias"});
  EXPECT_THAT(other.out, HasSubstr("of another layer"));
  EXPECT_THAT(other.out, HasSubstr("conv_transpose2d 8 -> 6"));
}

TEST_F(CacheTest, WhyFindsTheNearestEntry) {
  const MadeKernel made = make();
  const Key key = binary_key(made, BinaryKind::kCubin, "");
  const std::string label = canonical_form(made.problem.layer);
  ASSERT_EQ(cache({"clear"}).exit, 0);
  // As an older version of the program would have made it, with an option that is gone.
  std::string source(key.field("source"));
  const std::size_t end = source.rfind("\n}");
  source.insert(end, "\n  // an old line");
  insert(kernel_key(EntryKind::kCubin, source, "sm_90a", "build-id 1", {"--std=c++17", "--old"}), label);
  // These are less alike: another architecture, another kind, another layer, another direction.
  insert(kernel_key(EntryKind::kCubin, source, "sm_80", "build-id 1", {"--std=c++17"}), label);
  insert(kernel_key(EntryKind::kPtx, key.field("source"), "sm_90a", "build-id 1", {"--std=c++17"}), label);
  insert(kernel_key(EntryKind::kCubin, "other", "sm_90a", "build-id 1", {"--std=c++17"}), "another layer");
  insert(kernel_key(EntryKind::kCubin, "// another direction", "sm_90a", "build-id 1", {"--std=c++17", "--old"}),
         label);
  const auto line =
      std::to_string(std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(end), '\n') + 2);

  const Outcome outcome = cache({"why", "-e", kLayer});
  EXPECT_THAT(outcome.out, HasSubstr("of this layer"));
  EXPECT_THAT(outcome.out, HasSubstr("differs      source\n"));
  EXPECT_THAT(outcome.out, HasSubstr("line " + line + ":   // an old line\n"));
  EXPECT_THAT(outcome.out, HasSubstr("line " + line + ": }  // namespace "));
  EXPECT_THAT(outcome.out, HasSubstr("differs      option\n    was        --old\n    is now     none\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("differs      architecture")));
}

TEST_F(CacheTest, WhyTellsOfABadEntry) {
  (void)make();
  const std::filesystem::path file = files()[0];
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  const Outcome outcome = cache({"why", "-e", kLayer});
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_THAT(outcome.out, HasSubstr(": miss"));
  EXPECT_THAT(outcome.out, HasSubstr("there is a file of that key, but"));
}

TEST_F(CacheTest, WhyOfLayersOfAFile) {
  const Folder layers;
  write(layers / "two.convt",
        "layer a { conv_transpose2d 2 -> 3; kernel 4 }\nlayer b { conv_transpose2d 2 -> 4; kernel 4 }\n");
  (void)make(90, "conv_transpose2d 2 -> 3; kernel 4");
  const Outcome both = cache({"why", layers / "two.convt"});
  EXPECT_EQ(both.exit, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("a, forward for sm_90a: hit"));
  EXPECT_THAT(both.out, HasSubstr("b, forward for sm_90a: miss"));
  EXPECT_THAT(cache({"why", layers / "two.convt", "--layer", "b"}).out, Not(HasSubstr("a, forward")));
  EXPECT_EQ(cache({"why", "-e", "conv_transpose2d 0 -> 0"}).exit, 1);
  EXPECT_EQ(cache({"why"}).exit, 2);
}

TEST_F(CacheTest, WrongUsage) {
  const Outcome missing = cache({});
  EXPECT_EQ(missing.exit, 2);
  EXPECT_THAT(missing.err, HasSubstr("a verb is missing: list, verify, prune, clear, path, why"));
  EXPECT_THAT(missing.err, HasSubstr("'convtgen cache --help'"));
  const Outcome unknown = cache({"lits"});
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there is no verb 'cache lits'; did you mean 'cache list'?"));
  const Outcome option = cache({"list", "--colour"});
  EXPECT_EQ(option.exit, 2);
  EXPECT_THAT(option.err, HasSubstr("--colour"));
  EXPECT_THAT(option.err, HasSubstr("'convtgen cache list --help'"));
}

}  // namespace
}  // namespace convtgen::test
