#include "runtime/tune/tune.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/device/host/host_device.h"
#include "runtime/jit/device.h"
#include "runtime/make/choose.h"
#include "runtime/make/device_maker.h"
#include "runtime/make/shared_store.h"
#include "runtime/support/log.h"
#include "tests/store/folders.h"

namespace convtgen {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr InputSizes kSizes{1, {6, 9}};

Problem tiny() {
  return {parse_layer("conv_transpose2d 8 -> 16; kernel 3x2; stride 2; bias; input 1x6x9").value(), Direction::kForward,
          known_targets().front()};
}

/// A GPU as tuning sees one: the host device, with times and faults of our choice for each of a problem's plans.
class FakeGpu : public Device {
 public:
  std::map<int, double> times;  // milliseconds; 1 if missing
  int wrong = -1, broken = -1;  // the plan whose output is wrong; the one that does not compile
  std::atomic<int> compiled = 0;
  int uploads = 0;
  std::vector<std::size_t> timed;  // launches of each kernel's call

  explicit FakeGpu(const Problem& problem = tiny()) {
    const std::vector<Plan> plans = plan(problem).value();
    for (const Plan& each : plans) {
      symbols_.push_back(specialize(problem, each).value().symbol);
    }
  }
  [[nodiscard]] DeviceKind kind() const override { return DeviceKind::kCuda; }
  [[nodiscard]] std::string name() const override { return "Fake GPU"; }
  [[nodiscard]] Result<void> find_compiler() override { return host_->find_compiler(); }
  [[nodiscard]] Compiled<Binary> compile(const KernelSource& source, const std::string&) override {
    ++compiled;
    if (broken >= 0 && source.symbol == symbols_[static_cast<std::size_t>(broken)]) {
      return fail("it does not compile");
    }
    auto made = DeviceMaker(*host_, store_of("")).find_or_compile(generated_kernel({}, {}, source), BinaryKind::kCubin);
    if (!made) {
      return fail(made.error().message);
    }
    return std::move(made->binary);
  }
  [[nodiscard]] Result<std::unique_ptr<LoadedKernel>> load(const Binary& binary, const BinaryKernel& kernel) override {
    if (const auto found = std::ranges::find(symbols_, binary.symbol); found != symbols_.end()) {
      current_ = static_cast<int>(found - symbols_.begin());
    }
    return host_->load(binary, kernel);
  }
  [[nodiscard]] Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override { return host_->allocate(bytes); }
  [[nodiscard]] Result<void> upload(Buffer& to, std::span<const std::byte> from) override {
    ++uploads;
    return host_->upload(to, from);
  }
  [[nodiscard]] Result<void> download(std::span<std::byte> to, const Buffer& from) override {
    auto done = host_->download(to, from);
    if (current_ == wrong) {
      to[to.size() / 8 * 4 + 3] ^= std::byte{0x40};  // of the exponent of a float
    }
    return done;
  }
  [[nodiscard]] Result<void> download_part(std::span<std::byte> to, const Buffer& from, std::size_t offset) override {
    return host_->download_part(to, from, offset);
  }
  [[nodiscard]] Result<void> poison(Buffer& buffer, std::byte value) override { return host_->poison(buffer, value); }
  [[nodiscard]] Result<void> run(LoadedKernel& kernel, const Launch& launch) override {
    return host_->run(kernel, launch);
  }
  [[nodiscard]] Result<double> time(std::span<const KernelLaunch> launches, int) override {
    timed.push_back(launches.size());
    return times.contains(current_) ? times[current_] : 1.0;
  }

 private:
  std::unique_ptr<HostDevice> host_ = open_host_device().value();
  std::vector<std::string> symbols_;  // in the order of the plans
  int current_ = -1;                  // the plan that was loaded last
};

/// Tuning with the device's own compiler.
Outcome<Tuned> tune_on(Device& device, Store& store, Problem problem, const InputSizes& sizes,
                       const TuneOptions& options = {}) {
  problem.target.chip = device.kind() == DeviceKind::kHost ? std::string(kHostChip) : device.name();
  DeviceMaker maker(device, store_of(""));
  return tune(device, store, maker, {problem, sizes}, options);
}

class TuneTest : public ::testing::Test {
 protected:
  [[nodiscard]] Store open() const { return Store({.folder = scratch_.path().string()}); }
  [[nodiscard]] std::optional<TuningRecord> stored(std::string_view chip) const {
    const auto entry = open().find(record_key(tiny(), chip));
    return entry ? std::optional(parse_record(entry->bytes).value()) : std::nullopt;
  }
  testing::Scratch scratch_;
};

TEST_F(TuneTest, TheFastestOfTheRightOnesIsStored) {
  FakeGpu gpu;
  gpu.broken = 1;
  gpu.wrong = 2;
  gpu.times = {{0, 4}, {1, 1}, {2, 2}, {3, 3}, {4, 5}};
  Store store = open();
  const auto tuned = tune_on(gpu, store, tiny(), kSizes, {.candidates = 5});
  ASSERT_TRUE(tuned) << tuned.error().message;
  ASSERT_EQ(tuned->candidates.size(), 5u);
  EXPECT_EQ(tuned->best, 3u);
  EXPECT_EQ(tuned->candidates[1].problem, "it does not compile");
  EXPECT_THAT(tuned->candidates[2].problem,
              AllOf(HasSubstr("its result is wrong: "), HasSubstr("; 1 of 3744 checked outputs are wrong")));
  EXPECT_EQ(tuned->candidates[4].milliseconds, 5);
  const auto record = stored("Fake GPU");
  ASSERT_TRUE(record);
  EXPECT_EQ(*record, tuned->record);
  EXPECT_EQ(record->measured.size(), 3u);
  EXPECT_EQ(best_of(*record)->plan, plan_json(tuned->candidates[3].plan));
  EXPECT_EQ(record->sizes, kSizes);
}

TEST(Candidates, ComeOfEachTemplateOrAsTheyStand) {
  const Problem problem = tiny();
  const std::vector<Plan> all = candidates_of(problem, 1000).value(), one = candidates_of(problem, 1000, 1).value();
  std::set<std::string> templates, compared;
  for (const Plan& each : all) {
    templates.insert(each.template_name);
  }
  for (const Plan& each : one) {
    EXPECT_TRUE(compared.insert(each.template_name).second) << each.template_name;
  }
  EXPECT_EQ(compared, templates);
  EXPECT_GT(templates.size(), 1u);
  EXPECT_EQ(plan_json(one.front()), plan_json(all.front()));
  EXPECT_EQ(candidates_of(problem, 2, 1).value().size(), 2u);
}

TEST_F(TuneTest, CandidatesShareTheirInputs) {
  FakeGpu gpu;
  Store store = open();
  const auto tuned = tune_on(gpu, store, tiny(), kSizes, {.candidates = 4});
  ASSERT_TRUE(tuned) << tuned.error().message;
  EXPECT_EQ(tuned->record.measured.size(), 4u);
  EXPECT_EQ(gpu.uploads, 3) << "x, weight and bias";
  ASSERT_TRUE(tune_on(gpu, store, tiny(), kSizes, {.candidates = 4}));
  EXPECT_EQ(gpu.uploads, 3) << "there was nothing to measure";
}

TEST_F(TuneTest, PackingTheWeightsIsPartOfAPlansTime) {
  const Problem problem{parse_layer("conv_transpose2d 16 -> 8; kernel 2; compute tf32; input 1x4x8").value(),
                        Direction::kForward, target_named("sm_90a").value()};
  FakeGpu gpu(problem);
  Store store = open();
  const auto tuned = tune_on(gpu, store, problem, {1, {4, 8}}, {.candidates = 3});
  ASSERT_TRUE(tuned) << tuned.error().message;
  std::vector<std::size_t> launches;
  for (const Candidate& each : tuned->candidates) {
    EXPECT_EQ(each.problem, "");
    launches.push_back(each.plan.launch.packed_bytes() > 0 ? 2 : 1);
  }
  EXPECT_EQ(gpu.timed, launches);
  EXPECT_THAT(launches, Contains(2u));
}

TEST_F(TuneTest, ARunThatWasStoppedGoesOn) {
  FakeGpu gpu;
  gpu.times = {{0, 4}, {1, 3}};
  std::stop_source stop;
  TuneOptions options{.candidates = 4, .stop = stop.get_token()};
  options.progress = [&](const TuneStep& step) {
    if (step.fraction > 0.2) {
      stop.request_stop();  // before the second is measured
    }
  };
  {
    Store store = open();
    const auto stopped = tune_on(gpu, store, tiny(), kSizes, options);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().status, Status::kCancelled);
    EXPECT_EQ(stopped.error().message, "stopped before candidate 3 of 4; those before it are recorded");
    EXPECT_EQ(stored("Fake GPU")->measured.size(), 2u);
  }
  gpu.compiled = 0;
  Store store = open();
  const auto tuned = tune_on(gpu, store, tiny(), kSizes, {.candidates = 4});
  ASSERT_TRUE(tuned) << tuned.error().message;
  EXPECT_EQ(gpu.compiled, 2) << "what is recorded is not compiled";
  EXPECT_TRUE(tuned->candidates[1].recorded);
  EXPECT_FALSE(tuned->candidates[2].recorded);
  EXPECT_EQ(tuned->best, 2u);
  gpu.compiled = 4;
  // All is there now; other sizes and --again are measured anew.
  ASSERT_TRUE(tune_on(gpu, store, tiny(), kSizes, {.candidates = 4}));
  EXPECT_EQ(gpu.compiled, 4);
  ASSERT_TRUE(tune_on(gpu, store, tiny(), kSizes, {.candidates = 2, .again = true}));
  EXPECT_EQ(gpu.compiled, 6);
  Problem open_sizes = tiny();
  open_sizes.layer.batch.reset();
  ASSERT_TRUE(tune_on(gpu, store, open_sizes, kSizes, {.candidates = 1}));
  ASSERT_TRUE(tune_on(gpu, store, open_sizes, {2, {6, 9}}, {.candidates = 1}));
  EXPECT_EQ(gpu.compiled, 8);
}

TEST_F(TuneTest, JobsAreToldInTheirOrderAndEqualOnesAreMeasuredOnce) {
  FakeGpu gpu;
  Store store = open();
  Problem backward = tiny();
  backward.direction = Direction::kGradInput;
  const std::vector<TuneJob> jobs{{tiny(), kSizes}, {backward, kSizes}, {tiny(), kSizes}};
  std::vector<std::string> told;
  std::vector<TuneStep::Kind> steps;
  std::vector<double> fractions;
  TuneOptions options{.candidates = 2};
  options.progress = [&](const TuneStep& step) {
    steps.push_back(step.kind);
    fractions.push_back(step.fraction);
  };
  DeviceMaker maker(gpu, store_of(""));
  tune_all(gpu, store, maker, jobs, options, [&](std::size_t job, const Outcome<Tuned>& tuned) {
    told.push_back(!tuned ? tuned.error().message
                          : fmt::format("{}{}", job, tuned->candidates[1].recorded ? " recorded" : ""));
  });
  EXPECT_THAT(told, ::testing::ElementsAre("0", HasSubstr("a kernel for grad_input is wanted"), "2 recorded"));
  using enum TuneStep::Kind;
  EXPECT_THAT(steps, ::testing::ElementsAre(kCompile, kMeasure, kCompile, kMeasure));
  EXPECT_THAT(fractions, ::testing::ElementsAre(0, 0, 0.25, 0.25)) << "two jobs of two candidates each";
  EXPECT_EQ(gpu.timed.size(), 2u);
}

TEST_F(TuneTest, WhatCanNotBeMeasured) {
  FakeGpu gpu;
  gpu.broken = 0;
  Store store = open();
  const auto none = tune_on(gpu, store, tiny(), kSizes, {.candidates = 1});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().status, Status::kCompileFailed);
  EXPECT_EQ(none.error().message, "none of 1 candidates could be measured; of the first: it does not compile");
  EXPECT_FALSE(stored("Fake GPU"));
  Problem open_sizes = tiny();
  open_sizes.layer.batch.reset();
  EXPECT_THAT(tune_on(gpu, store, open_sizes, {0, {6, 9}}).error().message, HasSubstr("nothing to measure"));
  EXPECT_EQ(tune_on(gpu, store, tiny(), {1, {7, 9}}).error().status, Status::kInvalidArgument);
  Problem backward = tiny();
  backward.direction = Direction::kGradInput;
  EXPECT_EQ(tune_on(gpu, store, backward, kSizes).error().status, Status::kUnsupported);
}

TEST_F(TuneTest, TheEngineTakesTheRecordFromThenOn) {
  const auto host = open_host_device().value();
  const jit::KernelKey layer(tiny().layer);
  const auto prepared_plan = [&] {  // as a new process
    const auto device = jit::JitDevice::open("host", {.store_folder = scratch_.path().string()}).value();
    return plan_text(device->prepare(layer).value()->facts().plan);
  };
  const std::vector<Plan> plans = plan(tiny()).value();
  EXPECT_EQ(prepared_plan(), plan_text(plans.front()));
  Store store = open();
  const auto tuned = tune_on(*host, store, tiny(), kSizes, {.candidates = 3});
  ASSERT_TRUE(tuned) << tuned.error().message;
  EXPECT_EQ(tuned->record.chip, kHostChip);
  EXPECT_EQ(prepared_plan(), plan_text(plans[tuned->best]));
  // Whichever it was: the record decides.
  TuningRecord record = tuned->record;
  record.measured[1].milliseconds = 1e-9;
  store.insert(record_key(record), print_record(record));
  EXPECT_EQ(prepared_plan(), plan_text(plans[1]));
  // A plan that is gone is not missed, but told; so is a template.
  std::string told;
  set_log_sink([&](LogLevel, std::string_view message) { told += message; }, LogLevel::kWarning);
  for (const auto& [lost, words] :
       {std::pair("direct", "its plan is no longer offered"), std::pair("lost", "there is no template 'lost'")}) {
    record.measured[1].plan = fmt::format(R"({{"parameters":{{}},"template":"{}"}})", lost);
    store.insert(record_key(record), print_record(record));
    EXPECT_EQ(prepared_plan(), plan_text(plans.front()));
    EXPECT_THAT(told, HasSubstr(words));
    EXPECT_THAT(told, HasSubstr("'convtgen tune' measures anew"));
    told.clear();
  }
  set_log_sink({}, LogLevel::kWarning);
}

}  // namespace
}  // namespace convtgen
