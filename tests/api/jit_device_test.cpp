// A device of the engine over the fake driver: how many kernels it keeps, tuning records, cancellation.
#include "runtime/jit/device.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/chip/chip_code.h"
#include "runtime/make/choose.h"
#include "runtime/records/record.h"
#include "runtime/support/counters.h"
#include "runtime/support/log.h"
#include "tests/api/packed_record.h"
#include "tests/cuda_device/fake_driver.h"

namespace convtgen::jit {
namespace {

constexpr InputSizes kOne{1, {1, 1}};

void* address(std::uint64_t number) {
  return reinterpret_cast<void*>(number);
}
const Arrays kArrays = forward_arrays(address(0x1000), address(0x2000), nullptr, address(0x8000));

class JitDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static int count = 0;
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("convtgen_jit_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    setenv("CONVTGEN_CUDA_DRIVER", CONVTGEN_FAKE_DRIVER, 1);
    setenv("CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC, 1);
    state_ =
        reinterpret_cast<fake::StateFunction>(dlsym(dlopen(CONVTGEN_FAKE_DRIVER, RTLD_NOW), "convtgen_fake_state"))();
    *state_ = fake::State{};
  }
  void TearDown() override {
    unsetenv("CONVTGEN_CUDA_DRIVER");
    unsetenv("CONVTGEN_NVRTC");
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::shared_ptr<JitDevice> open(std::size_t most_kernels) const {
    return JitDevice::open("cuda", {.most_kernels = most_kernels, .store_folder = folder_.string()}).value();
  }
  static KernelKey numbered(int channels) {
    return KernelKey(*parse_layer("conv_transpose2d 1 -> " + std::to_string(channels) + "; kernel 1"));
  }

  std::filesystem::path folder_;
  fake::State* state_ = nullptr;
};

TEST_F(JitDeviceTest, KeepsABoundedNumberOfKernelsAndUnloadsTheRest) {
  const auto device = open(4);
  const auto run = [&](int channels, void* stream = nullptr) {
    const auto ran = device->run(numbered(channels), kArrays, kOne, stream);
    ASSERT_TRUE(ran) << ran.error().message;
  };
  const KernelPointer held = device->prepare(numbered(1)).value();
  state_->capturing = {0x55};
  ASSERT_TRUE(device->prepare(numbered(2)));
  run(2, address(0x55));  // a graph has it now
  state_->capturing.clear();
  const auto evicted = counters().evicted.load();
  for (int channels = 3; channels <= 12; ++channels) {
    run(channels);
    run(3);  // in use all the time
  }
  EXPECT_EQ(counters().evicted - evicted, 12u - 4u);
  EXPECT_EQ(device->kernel_count(), 4u);
  EXPECT_EQ(state_->live_modules, 4);
  for (const int kept : {1, 2, 3, 12}) {
    EXPECT_NE(device->find(numbered(kept)), nullptr) << kept;
  }
  const auto compiles = counters().compiles.load();
  run(4);  // gone from here, but the store has it
  EXPECT_EQ(counters().compiles, compiles);
  EXPECT_TRUE(held->launch(kArrays, kOne, nullptr));
  EXPECT_EQ(state_->wrong_contexts, 0);
}

TEST_F(JitDeviceTest, KernelsThatAreHeldGoBeyondTheBound) {
  const auto device = open(2);
  std::vector<KernelPointer> held;
  for (int channels = 1; channels <= 5; ++channels) {
    held.push_back(device->prepare(numbered(channels)).value());
  }
  EXPECT_EQ(state_->live_modules, 5);
  held.clear();
  ASSERT_TRUE(device->prepare(numbered(6)));
  EXPECT_EQ(state_->live_modules, 2);
}

TEST_F(JitDeviceTest, ACancelledPrepareLeavesNothing) {
  const auto device = open(4);
  std::stop_source stop;
  stop.request_stop();
  const auto cancelled = device->prepare(numbered(1), stop.get_token());
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().status, Status::kCancelled);
  EXPECT_TRUE(device->prepare(numbered(1)));
}

TEST_F(JitDeviceTest, ADriverThatForbidsLoadingIsNoLastingFailure) {
  const auto device = open(4);
  state_->failures["cuModuleGetFunction"] = 500;
  const auto failed = device->prepare(numbered(1));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().status, Status::kDriver);
  EXPECT_EQ(state_->live_modules, 0);
  state_->failures.clear();
  EXPECT_TRUE(device->prepare(numbered(1)));
}

TEST_F(JitDeviceTest, APlanWithPackedWeightsHasTwoKernels) {
  constexpr const char* kText = "conv_transpose2d 64 -> 64; kernel 4; stride 2; padding 1; compute tf32; input ?x32x32";
  const KernelKey layer(*parse_layer(kText));
  const std::int64_t bytes = api_test::record_packed_plan(kText, "Fake GPU", folder_);
  ASSERT_GT(bytes, 0);
  const auto compiles = counters().compiles.load();
  for (int start = 0; start < 2; ++start) {  // the second finds the binary in the store
    const auto device = open(4);
    const auto prepared = device->prepare(layer);
    ASSERT_TRUE(prepared) << prepared.error().message;
    const KernelFacts& facts = (*prepared)->facts();
    ASSERT_EQ(facts.source.recipe.kernels.size(), 2u);
    const RecipeKernel& packing = facts.source.recipe.kernels[0];
    EXPECT_EQ(facts.form.workspace_bytes(Shape{}).value(), bytes);
    EXPECT_NE(facts.plan_text.find("workspace of " + std::to_string(bytes) + " bytes"), std::string::npos)
        << facts.plan_text;
    const InputSizes sizes{2, {32, 32}};
    Arrays arrays =
        forward_arrays(address(0x10000000), address(0x20000000), nullptr, address(0x40000000), address(0x70000000));
    state_->launches.clear();
    ASSERT_TRUE((*prepared)->launch(arrays, sizes, nullptr));
    arrays.set(Role::kWeight, nullptr);
    ASSERT_TRUE(device->run(layer, arrays, sizes, nullptr));
    ASSERT_EQ(state_->launches.size(), 3u);
    EXPECT_EQ(state_->launches[0].symbol, packing.symbol);
    EXPECT_EQ(state_->launches[0].grid[0], packing.grid.blocks({}).value());
    EXPECT_EQ(state_->launches[0].arguments, (std::vector<std::uint64_t>{0x20000000, 0x70000000}));
    EXPECT_EQ(state_->launches[1].symbol, facts.source.symbol);
    EXPECT_EQ(state_->launches[1].arguments, state_->launches[2].arguments);
    arrays.workspace = nullptr;
    const auto refused = device->run(layer, arrays, sizes, nullptr);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kInvalidArgument);
    EXPECT_NE(refused.error().message.find(std::to_string(bytes) + " bytes"), std::string::npos);
  }
  EXPECT_EQ(counters().compiles - compiles, 1u);
}

class CubinMakerTest : public JitDeviceTest {
 protected:
  static constexpr const char* kChip = "GPU";
  void TearDown() override {
    unsetenv("CONVTGEN_FAKE_NVRTC_KNOWS");
    JitDeviceTest::TearDown();
  }
  [[nodiscard]] std::shared_ptr<Store> store() const {
    return std::make_shared<Store>(StoreOptions{.folder = folder_.string()});
  }
  [[nodiscard]] MadeKernel make(int capability) const {
    auto made = CubinMaker(store(), kChip).make_for_chip(layer_, Direction::kForward, Chip{capability}, {});
    EXPECT_TRUE(made) << made.error().message;
    return made.value_or(MadeKernel{});
  }
  void record(const char* architecture, const Plan& best) const {
    const TuningRecord record{.layer = record_layer(layer_, Direction::kForward),
                              .direction = Direction::kForward,
                              .chip = kChip,
                              .architecture = architecture,
                              .sizes = kOne,
                              .version = "0.1.0",
                              .measured = {{plan_json(best), 1}}};
    store()->insert(record_key(record), print_record(record));
  }
  [[nodiscard]] std::vector<Plan> plans(const char* architecture) const { return plans(*target_named(architecture)); }
  [[nodiscard]] std::vector<Plan> plans(const Target& target) const {
    return plan({layer_, Direction::kForward, target}).value();
  }
  Layer layer_ = *parse_layer("conv_transpose2d 8 -> 8; kernel 3");
};

TEST_F(CubinMakerTest, PtxForANewerChipGoesByTuningRecords) {
  setenv("CONVTGEN_FAKE_NVRTC_KNOWS", "75 80", 1);
  const std::vector<Plan> older = plans(within(*target_named("sm_80"), *target_named("sm_120")));
  ASSERT_GE(older.size(), 3u);
  EXPECT_EQ(plan_json(make(120).plan), plan_json(older[0]));
  // The chip's own record, where the older target has its plan too; what was compiled before it is replaced.
  record("sm_120", older[1]);
  MadeKernel made = make(120);
  EXPECT_EQ(made.architecture, "compute_80");
  EXPECT_EQ(plan_json(made.plan), plan_json(older[1]));
  EXPECT_TRUE(made.compiled);
  EXPECT_EQ(made.binary.symbol, made.source.symbol);
  EXPECT_FALSE(make(120).compiled);
  // One that is of the older target itself comes first.
  record("sm_80", older[2]);
  made = make(120);
  EXPECT_EQ(plan_json(made.plan), plan_json(older[2]));
  EXPECT_TRUE(made.compiled);
  made = make(120);
  EXPECT_FALSE(made.compiled);
  EXPECT_EQ(made.binary.symbol, made.source.symbol);
}

TEST_F(CubinMakerTest, AnEntryThatIsWholeAndNoKernelIsReplaced) {
  const MadeKernel first = make(90);
  const Key key = binary_key(first, BinaryKind::kCubin, locate_nvrtc().identity);
  ASSERT_EQ(key.hex(), first.key);
  store()->insert(key, "convtgen kernel 99\n");
  const MadeKernel again = make(90);
  EXPECT_TRUE(again.compiled);
  EXPECT_EQ(again.binary.bytes, first.binary.bytes);
  EXPECT_FALSE(make(90).compiled);
}

TEST_F(CubinMakerTest, WhatOneWayCompilesTheOthersFind) {
  const MadeKernel first = make(90);
  EXPECT_TRUE(first.compiled);
  const std::vector<Plan> all = plans("sm_90a");
  CubinMaker maker(store());
  const Outcome<MadeKernel> others[] = {
      maker.make(first.problem, first.plan), maker.make_first(first.problem, all),
      maker.find_or_compile(generated_kernel(first.problem, first.plan, first.source), BinaryKind::kCubin)};
  for (const auto& other : others) {
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_FALSE(other->compiled);
    EXPECT_EQ(other->key, first.key);
    EXPECT_EQ(other->binary.bytes, first.binary.bytes);
    EXPECT_EQ(other->place, 0u);
  }
}

TEST_F(CubinMakerTest, PtxForAnOlderChipIsNotTakenWhereItMustBeTheTargets) {
  setenv("CONVTGEN_FAKE_NVRTC_KNOWS", "75 80", 1);
  EXPECT_EQ(make(120).architecture, "compute_80");
  setenv("CONVTGEN_FAKE_NVRTC_KNOWS", "75 80 120", 1);
  CubinMaker maker(store());
  const auto generated = maker.generate(layer_, Direction::kForward, *target_named("sm_120"));
  ASSERT_TRUE(generated) << generated.error().message;
  const auto made = maker.find_or_compile(*generated, BinaryKind::kPtx);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->compiled);
  EXPECT_EQ(made->architecture, "compute_120");
  const MadeKernel again = make(120);
  EXPECT_FALSE(again.compiled);
  EXPECT_EQ(again.architecture, "compute_120");
}

class FirstKernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](LogLevel, std::string_view message) { log_ += std::string(message) + "\n"; },
                 LogLevel::kWarning);
  }
  void TearDown() override { set_log_sink({}, LogLevel::kOff); }

  /// The index of the plan that was taken, where those before `good` do not compile; for ever, if `lasting`.
  Outcome<std::size_t> taken(std::size_t good, const Specializer& specializer = specialize, bool lasting = true) {
    const auto finish = [&](MadeKernel generated) -> Outcome<MadeKernel> {
      if (generated.place < good) {
        return std::unexpected(
            Failure{Status::kCompileFailed, "compiler says " + std::to_string(generated.place), lasting});
      }
      return generated;
    };
    auto made = first_kernel(problem_, plans_, finish, 0, specializer);
    if (!made) {
      return std::unexpected(std::move(made.error()));
    }
    return made->place;
  }

  Problem problem_{*parse_layer("conv_transpose2d 8 -> 8; kernel 3"), Direction::kForward,
                   target_named("sm_90a").value()};
  std::vector<Plan> plans_ = plan(problem_).value();
  std::string log_;
};

TEST_F(FirstKernelTest, PassesOverWhatDoesNotCompile) {
  EXPECT_EQ(taken(0).value(), 0u);
  EXPECT_EQ(log_, "");
  EXPECT_EQ(taken(2).value(), 2u);
  EXPECT_NE(log_.find("plan 1 of "), std::string::npos) << log_;
  EXPECT_NE(log_.find("is passed over: compiler says 1 [layer: conv_transpose2d 8 -> 8;"), std::string::npos) << log_;
}

// Out of memory, say: another plan is no remedy, and would be slower from then on.
TEST_F(FirstKernelTest, AFailureThatMayPassIsTold) {
  const auto failed = taken(1, specialize, false);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "compiler says 0");
  EXPECT_EQ(log_, "");
}

TEST_F(FirstKernelTest, PassesOverWhatCanNotBeSpecialised) {
  int asked = 0;
  const auto refusing = [&](const Problem& problem, const Plan& plan) -> Result<KernelSource> {
    return asked++ == 0 ? fail("the template refuses") : specialize(problem, plan);
  };
  EXPECT_EQ(taken(0, refusing).value(), 1u);
  EXPECT_NE(log_.find("is passed over: the template refuses"), std::string::npos) << log_;
}

TEST_F(FirstKernelTest, WhereNoneIsLeftTheFirstReasonIsTold) {
  const auto none = taken(plans_.size());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().status, Status::kCompileFailed);
  EXPECT_EQ(none.error().message, "compiler says 0");
  const auto refused = taken(0, [](const Problem&, const Plan&) -> Result<KernelSource> { return fail("refused"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kInternal);
  EXPECT_EQ(refused.error().message, "refused");
}

TEST(ChooseTest, ARecordIsHeldToThePlanners) {
  const Problem problem{*parse_layer("conv_transpose2d 8 -> 8; kernel 3"), Direction::kForward,
                        target_named("sm_90a").value()};
  const std::vector<Plan> plans = plan(problem).value();
  TuningRecord record{.layer = record_layer(problem.layer, problem.direction),
                      .direction = problem.direction,
                      .chip = "NVIDIA H200",
                      .architecture = "sm_90a",
                      .sizes = kOne,
                      .version = "0.1.0",
                      .measured = {}};
  for (const Plan& each : plans) {
    record.measured = {{plan_json(plans.front()), 2}, {plan_json(each), 1}};
    const std::vector<Plan> chosen = choose_plans(problem, print_record(record)).value();
    EXPECT_EQ(plan_text(chosen.front()), plan_text(each));
    EXPECT_EQ(chosen.size(), plans.size());
  }
  for (const std::string& other : {std::string(), std::string("no record"), print_record(record) + "x"}) {
    EXPECT_EQ(plan_text(choose_plans(problem, other).value().front()), plan_text(plans.front()));
  }
}

}  // namespace
}  // namespace convtgen::jit
