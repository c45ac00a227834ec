// Which tuning records choose plans: of the store where a layer runs here, of --tuned where files are made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/records/tuning_record.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/store/digest.h"
#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kTuned = "conv_transpose2d 8 -> 8; kernel 2; stride 2; input 1x6x5";
constexpr const char* kOther = "conv_transpose2d 8 -> 8; kernel 3; input 1x6x5";
/// kb64; a record of it ships.
constexpr const char* kShipped = "conv_transpose1d 128 -> 128; kernel 3; input 64x65536; compute tf32";

Problem problem_for(const std::string& architecture, const char* layer = kTuned) {
  return {parse_layer(layer).value(), Direction::kForward, target_named(architecture).value()};
}

/// The kernel of the plan at this place, of those without records.
std::string symbol_of(const Problem& problem, std::size_t place) {
  return specialize(problem, plan(problem, Records::kNone).value().at(place)).value().symbol;
}

/// By which the plan at this place is the fastest.
TuningRecord record_of(const Problem& problem, const std::string& chip, std::size_t place) {
  const std::vector<Plan> plans = plan(problem, Records::kNone).value();
  return {.layer = record_layer(problem.layer, problem.direction),
          .direction = problem.direction,
          .chip = chip,
          .architecture = problem.target.architecture,
          .sizes = {1, {1, 6, 5}},
          .version = "0.2.0",
          .measured = {{plan_json(plans.at(0)), 0.5}, {plan_json(plans.at(place)), 0.25}}};
}

class RecordsTest : public testing::Test {
 protected:
  [[nodiscard]] Outcome run(std::vector<std::string> arguments, const std::string& driver = "/nowhere/driver",
                            const std::string& store = "store") const {
    return convtgen(std::move(arguments), {.environment = {{"CONVTGEN_CACHE_DIR", folder_ / store},
                                                           {"CONVTGEN_CUDA_DRIVER", driver},
                                                           {"CONVTGEN_NVRTC", "/nowhere/nvrtc"}},
                                           .folder = folder_.path()});
  }
  void import(const std::vector<TuningRecord>& records) const {
    write(folder_ / "import.json", print_records(records));
    const Outcome outcome = run({"tune", "--import", "import.json"});
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
  }
  Folder folder_;
};

TEST_F(RecordsTest, RunTakesTheStoresAndSaysSo) {
  const Problem problem = problem_for("sm_80");
  ASSERT_NE(symbol_of(problem, 0), symbol_of(problem, 3));
  import({record_of(problem, "host", 3)});
  const Outcome tuned = run({"run", "--device", "host:sm_80", "-e", kTuned});
  ASSERT_EQ(tuned.exit, 0) << tuned.err;
  EXPECT_THAT(tuned.out, HasSubstr("for sm_80: " + symbol_of(problem, 3) + "\n"));
  EXPECT_THAT(tuned.out, HasSubstr("  record   of host, from the store ('convtgen tune'): 250 us there\n"));
  const Outcome planned = run({"run", "--device", "host", "--arch", "sm_80", "-e", kTuned, "--planned"});
  EXPECT_THAT(planned.out, HasSubstr("for sm_80: " + symbol_of(problem, 0) + "\n"));
  EXPECT_THAT(planned.out, HasSubstr("  record   not looked for: --planned"));
  const Outcome list = run({"run", "--device", "host", "--arch", "sm_75,sm_80", "-e", kTuned});
  EXPECT_THAT(list.out, HasSubstr("for sm_75: " + symbol_of(problem_for("sm_75"), 0) + "\n"));
  EXPECT_THAT(list.out, HasSubstr("  record   none: the planner's first plan\n"));
  EXPECT_THAT(list.out, HasSubstr("for sm_80: " + symbol_of(problem, 3) + "\n"));
  EXPECT_THAT(list.out, HasSubstr("2 of 2 verified\n"));
}

TEST_F(RecordsTest, ExplainTakesTheStoresThenTheShippedOnes) {
  const Problem problem = problem_for("sm_90a");
  import({record_of(problem, "Another GPU", 2), record_of(problem, "Fake GPU", 3)});
  const auto explain = [&](std::vector<std::string> more, const std::string& driver = "/nowhere/driver") {
    more.insert(more.begin(), {"explain", "--all", "--no-compile"});
    const Outcome outcome = run(std::move(more), driver);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return outcome.out;
  };
  const std::string here = explain({"-e", kTuned}, CONVTGEN_FAKE_DRIVER);
  EXPECT_THAT(here, HasSubstr("record      of Fake GPU, from the store ('convtgen tune'): 250 us there\n"));
  EXPECT_THAT(here, HasSubstr("kernel " + symbol_of(problem, 3) + "\n"));
  EXPECT_THAT(here, HasSubstr("  * " + plan(problem).value()[3].template_name + ": "));
  const std::string elsewhere = explain({"-e", kTuned});
  EXPECT_THAT(elsewhere, HasSubstr("record      of Another GPU, from the store"));
  EXPECT_THAT(elsewhere, HasSubstr("kernel " + symbol_of(problem, 2) + "\n"));
  EXPECT_THAT(explain({"-e", kTuned, "--chip", "Fake GPU"}), HasSubstr("kernel " + symbol_of(problem, 3) + "\n"));
  const std::string planned = explain({"-e", kTuned, "--planned"});
  EXPECT_THAT(planned, HasSubstr("record      not looked for: --planned"));
  EXPECT_THAT(planned, HasSubstr("kernel " + symbol_of(problem, 0) + "\n"));

  EXPECT_THAT(explain({"-e", kShipped}), HasSubstr("record      of NVIDIA H200, which ships with convtgen: "));
  EXPECT_THAT(explain({"-e", kShipped, "--chip", "NVIDIA H100 80GB HBM3"}),
              HasSubstr("record      of NVIDIA H100 80GB HBM3, which ships with convtgen: "));
  EXPECT_THAT(explain({"-e", kShipped, "--planned"}), Not(HasSubstr("as shipped")));
}

TEST_F(RecordsTest, ThoseOfAnOlderChipsKernelsOnANewerOneAreApart) {
  const Problem problem = problem_for("sm_80");
  import({record_of(problem, "Fake GPU as sm_80", 3)});
  const std::vector<std::string> explain = {"explain", "--all", "--no-compile", "-e", kTuned, "--arch", "sm_80"};
  EXPECT_THAT(run(explain).out, HasSubstr("record      none: the planner's first plan\n"));
  EXPECT_THAT(run(explain, CONVTGEN_FAKE_DRIVER).out, HasSubstr("record      none: the planner's first plan\n"));
  const Outcome asked = convtgen(explain, {.environment = {{"CONVTGEN_CACHE_DIR", folder_ / "store"},
                                                           {"CONVTGEN_CUDA_DRIVER", CONVTGEN_FAKE_DRIVER},
                                                           {"CONVTGEN_NVRTC", "/nowhere/nvrtc"},
                                                           {"CONVTGEN_ARCHITECTURE", "sm_80"}},
                                           .folder = folder_.path()});
  EXPECT_THAT(asked.out, HasSubstr("record      of Fake GPU as sm_80, from the store"));
  EXPECT_THAT(asked.out, HasSubstr("kernel " + symbol_of(problem, 3) + "\n"));
  // Records of a file count where the chip itself has none.
  const auto emitted = [&](const std::vector<TuningRecord>& records) {
    write(folder_ / "tuned.json", print_records(records));
    return run({"emit", "-e", kTuned, "--arch", "sm_80", "--tuned", "tuned.json"}).out;
  };
  const TuningRecord older = record_of(problem, "A GPU as sm_80", 2), own = record_of(problem, "Its own", 3);
  EXPECT_THAT(emitted({older}), HasSubstr(symbol_of(problem, 2)));
  EXPECT_THAT(emitted({older, own}), HasSubstr(symbol_of(problem, 3)));
}

TEST_F(RecordsTest, FilesAreTheSameWhateverTheStoreHas) {
  import({record_of(problem_for("sm_90a"), "Fake GPU", 3), record_of(problem_for("sm_90a"), "host", 3)});
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"emit"},
                                               {"emit", "-o", "out", "--manifest", "-"},
                                               {"launcher", "--namespace", "net", "-o", "out", "--manifest", "-"}}) {
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.end(), {"-e", kTuned, "-e", kShipped});
    const Outcome with = run(arguments, CONVTGEN_FAKE_DRIVER), without = run(arguments, "/nowhere/driver", "empty");
    EXPECT_EQ(with.exit, 0) << with.err;
    EXPECT_EQ(with.out, without.out) << verb[0];
    EXPECT_THAT(with.out, HasSubstr(symbol_of(problem_for("sm_90a"), 0)));
    EXPECT_THAT(with.out, Not(HasSubstr("sha256 "))) << "no file of records was given";
  }
}

TEST_F(RecordsTest, AFileOfRecordsChoosesPlansAndIsNamed) {
  const Problem problem = problem_for("sm_90a");
  // The host device's times say nothing of a GPU.
  const std::string file = print_records(std::vector{record_of(problem, "Fake GPU", 3), record_of(problem, "host", 2)});
  const std::string digest = hex_of(digest_of(file));
  write(folder_ / "tuned.json", file);
  write(folder_ / "layers.convt", std::string("layer tuned { ") + kTuned + " }\nlayer other { " + kOther + " }\n");
  const Outcome emitted =
      run({"emit", "layers.convt", "--tuned", "tuned.json", "-o", "out", "--manifest", "m.json", "--depfile", "out.d"});
  ASSERT_EQ(emitted.exit, 0) << emitted.err;
  const std::string source = read(folder_ / "out/tuned_forward.sm_90a.cu");
  EXPECT_THAT(source, HasSubstr("// By the tuning record of Fake GPU in the file with sha256 " + digest + ".\n"));
  EXPECT_THAT(source, HasSubstr(symbol_of(problem, 3)));
  EXPECT_EQ(read(folder_ / "out/other_forward.sm_90a.cu"), run({"emit", "-e", kOther}).out)
      << "a layer without a record has the bytes that it has without the file";
  const nlohmann::json kernels = nlohmann::json::parse(read(folder_ / "m.json")).at("kernels");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].at("tuned").at("file_sha256"), digest);
  EXPECT_EQ(kernels[0].at("tuned").at("chip"), "Fake GPU");
  EXPECT_FALSE(kernels[1].contains("tuned"));
  EXPECT_THAT(read(folder_ / "out.d"), HasSubstr(" \\\n  tuned.json\n"));

  const Outcome launcher = run({"launcher", "layers.convt", "--namespace", "net", "--tuned", "tuned.json", "-o", "out",
                                "--depfile", "launcher.d"});
  ASSERT_EQ(launcher.exit, 0) << launcher.err;
  EXPECT_THAT(read(folder_ / "out/net_tuned_forward.c"), HasSubstr(symbol_of(problem, 3)));
  EXPECT_THAT(read(folder_ / "launcher.d"), HasSubstr(" \\\n  tuned.json\n"));
  const Outcome compiled = run({"compile", "--format", "host", "layers.convt", "--layer", "tuned", "--tuned",
                                "tuned.json", "-o", "out", "--depfile", "compile.d"});
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("kernel " + symbol_of(problem, 3)));
  EXPECT_THAT(read(folder_ / "compile.d"), HasSubstr(" \\\n  tuned.json \\\n"));
}

TEST_F(RecordsTest, AFileThatDoesNotHelpIsTold) {
  EXPECT_EQ(run({"emit", "-e", kTuned, "--tuned", "nowhere.json"}).exit, 2);
  write(folder_ / "no.json", "[]\n");
  const Outcome no = run({"emit", "-e", kTuned, "--tuned", "no.json"});
  EXPECT_EQ(no.exit, 1);
  EXPECT_THAT(no.err, HasSubstr("no.json: line 1: this is no file of tuning records"));
  TuningRecord gone = record_of(problem_for("sm_90a"), "Fake GPU", 3);
  gone.measured = {{R"({"parameters":{},"template":"direct"})", 1}};
  write(folder_ / "gone.json", print_records(std::vector{gone}));
  const Outcome stale = run({"emit", "-e", kTuned, "--tuned", "gone.json"});
  EXPECT_EQ(stale.exit, 0);
  EXPECT_THAT(stale.err, HasSubstr("gone.json: the record of 'conv_transpose2d 8 -> 8; "));
  EXPECT_THAT(stale.err, HasSubstr("its plan is no longer offered"));
  EXPECT_EQ(stale.out, run({"emit", "-e", kTuned}).out);
}

TEST_F(RecordsTest, ArchitecturesAreListsAndDevicesHaveNumbers) {
  const Outcome explained = run({"explain", "--no-compile", "-e", kTuned, "--arch", "sm_80,sm_90a"});
  EXPECT_THAT(explained.out, testing::AllOf(HasSubstr("for sm_80\n"), HasSubstr("for sm_90a\n")));
  const Outcome why = run({"cache", "why", "-e", kTuned, "--arch", "sm_80,sm_90a"});
  EXPECT_THAT(why.out, testing::AllOf(HasSubstr("for sm_80: miss"), HasSubstr("for sm_90a: miss")));
  for (const char* verb : {"run", "tune"}) {
    EXPECT_THAT(run({verb, "-e", kTuned, "--device", "cuda:1"}, CONVTGEN_FAKE_DRIVER).err,
                HasSubstr("no GPU 1: there are 1"));
    EXPECT_THAT(run({verb, "-e", kTuned, "--device", "host:sm_91"}).err,
                HasSubstr("--device: device 'host:sm_91': unknown architecture 'sm_91'; known are sm_75, "));
    EXPECT_THAT(run({verb, "-e", kTuned, "--device", "cuda1"}).err,
                HasSubstr("unknown device 'cuda1'; legal are auto, host, host:ARCH (such as host:sm_90a), cuda and "
                          "cuda:N"));
  }
  EXPECT_EQ(run({"tune", "-e", kTuned, "--device", "auto"}).exit, 2);
  const Outcome both = run({"run", "-e", kTuned, "--device", "host:sm_80", "--arch", "sm_90a"});
  EXPECT_EQ(both.exit, 2);
  EXPECT_THAT(both.err, HasSubstr("--device host:sm_80 and --arch both name the architecture: give one of them"));
  const Outcome out = run({"run", "-e", kTuned, "--device", "host", "--arch", "sm_80,sm_90a", "--out", "y.npy"});
  EXPECT_EQ(out.exit, 2);
  EXPECT_THAT(out.err, HasSubstr("--out is for one architecture"));
}

TEST_F(RecordsTest, TuningOnTheHostDeviceIsForTheArchitectureThatIsNamed) {
  ASSERT_EQ(run({"tune", "--device", "host:sm_80", "-e", kTuned, "--candidates", "2", "--export", "a.json"}).exit, 0);
  EXPECT_THAT(read(folder_ / "a.json"), HasSubstr("\"architecture\":\"sm_80\""));
  EXPECT_THAT(run({"run", "--device", "host:sm_80", "-e", kTuned}).out, HasSubstr("record   of host, from the store"));
}

}  // namespace
}  // namespace convtgen::test
