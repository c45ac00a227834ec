// What tuning says that it takes is what it takes, on the host device and on a GPU that a fake driver makes.
#include "runtime/tune/tune_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/compile/shared_library.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/host/host_device.h"
#include "runtime/make/device_maker.h"
#include "tests/cuda_device/fake_driver.h"
#include "tests/store/folders.h"

// The sanitizers have operators of their own.
#ifndef CONVTGEN_SANITIZED
#define CONVTGEN_COUNTS_ALLOCATIONS
namespace {

std::atomic<std::int64_t> bytes_on_heap = 0, most_on_heap = 0;

void* counted(void* block) {
  if (block == nullptr) {
    throw std::bad_alloc();
  }
  const std::int64_t now = bytes_on_heap += static_cast<std::int64_t>(malloc_usable_size(block));
  for (std::int64_t seen = most_on_heap; seen < now && !most_on_heap.compare_exchange_weak(seen, now);) {
  }
  return block;
}

void forget(void* block) noexcept {
  bytes_on_heap -= static_cast<std::int64_t>(malloc_usable_size(block));
  std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(std::malloc(std::max<std::size_t>(bytes, 1)));
}
void operator delete(void* block) noexcept {
  forget(block);
}
void operator delete(void* block, std::size_t) noexcept {
  forget(block);
}
#endif

namespace convtgen {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Problem problem_of(const std::string& layer) {
  return {parse_layer(layer).value(), Direction::kForward, target_named("sm_90a").value()};
}

// Of tf32's plans some pack the weights, and direct's do not. What is scaled by 0 is right on a GPU that writes zeros.
TuneJob tf32_job() {
  return {problem_of("conv_transpose2d 16 -> 8; kernel 2; bias; fuse scale(0); compute tf32; input 1x4x8"),
          {1, {4, 8}}};
}

constexpr std::int64_t kInputs = 4 * (16 * 4 * 8 + 16 * 8 * 2 * 2 + 8);
constexpr std::int64_t kOutputs = 4 * 8 * 5 * 9;
constexpr std::size_t kAll = 1000;  // candidates

std::int64_t largest_workspace(const TuneJob& job) {
  const Shape shape = shape_of(job.problem.layer, job.sizes).value();
  std::int64_t largest = 0;
  const std::vector<Plan> plans = plan(job.problem).value();
  for (const Plan& each : plans) {
    largest = std::max(largest, workspace_of(each, shape));
  }
  return largest;
}

/// The host device, which counts what is allocated.
class CountingDevice : public Device {
 public:
  struct Counts {
    std::int64_t now = 0, most = 0;
    int allocations = 0;
  };
  std::shared_ptr<Counts> counts = std::make_shared<Counts>();
  std::optional<std::size_t> free;  // what it says

  [[nodiscard]] DeviceKind kind() const override { return DeviceKind::kHost; }
  [[nodiscard]] std::string name() const override { return "counting"; }
  [[nodiscard]] Result<void> find_compiler() override { return host_->find_compiler(); }
  [[nodiscard]] Compiled<Binary> compile(const KernelSource& source, const std::string& architecture) override {
    return host_->compile(source, architecture);
  }
  [[nodiscard]] Result<std::unique_ptr<LoadedKernel>> load(const Binary& binary, const BinaryKernel& kernel) override {
    return host_->load(binary, kernel);
  }
  [[nodiscard]] Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    auto buffer = host_->allocate(bytes);
    return buffer ? std::make_unique<CountedBuffer>(*std::move(buffer), counts) : std::move(buffer);
  }
  [[nodiscard]] std::optional<std::size_t> free_memory() const override { return free; }
  [[nodiscard]] Result<void> upload(Buffer& to, std::span<const std::byte> from) override {
    return host_->upload(own(to), from);
  }
  [[nodiscard]] Result<void> download(std::span<std::byte> to, const Buffer& from) override {
    return host_->download(to, own(from));
  }
  [[nodiscard]] Result<void> download_part(std::span<std::byte> to, const Buffer& from, std::size_t offset) override {
    return host_->download_part(to, own(from), offset);
  }
  [[nodiscard]] Result<void> poison(Buffer& buffer, std::byte value) override {
    return host_->poison(own(buffer), value);
  }
  [[nodiscard]] Result<void> run(LoadedKernel& kernel, const Launch& launch) override {
    return host_->run(kernel, launch);
  }
  [[nodiscard]] Result<double> time(std::span<const KernelLaunch> launches, int repeats) override {
    return host_->time(launches, repeats);
  }

 private:
  class CountedBuffer : public Buffer {
   public:
    CountedBuffer(std::unique_ptr<Buffer> buffer, std::shared_ptr<Counts> counts)
        : buffer_(std::move(buffer)), counts_(std::move(counts)) {
      counts_->now += static_cast<std::int64_t>(bytes());
      counts_->most = std::max(counts_->most, counts_->now);
      ++counts_->allocations;
    }
    CountedBuffer(const CountedBuffer&) = delete;
    CountedBuffer& operator=(const CountedBuffer&) = delete;
    ~CountedBuffer() override { counts_->now -= static_cast<std::int64_t>(bytes()); }
    [[nodiscard]] std::uint64_t address() const override { return buffer_->address(); }
    [[nodiscard]] std::size_t bytes() const override { return buffer_->bytes(); }
    [[nodiscard]] Buffer& inner() const { return *buffer_; }

   private:
    std::unique_ptr<Buffer> buffer_;
    std::shared_ptr<Counts> counts_;
  };
  static Buffer& own(const Buffer& buffer) { return dynamic_cast<const CountedBuffer&>(buffer).inner(); }

  std::unique_ptr<HostDevice> host_ = open_host_device().value();
};

class TuneMemoryTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<Store> open() const {
    return std::make_shared<Store>(StoreOptions{.folder = scratch_.path().string()});
  }
  [[nodiscard]] Outcome<Tuned> tune_on(Device& device, const TuneJob& job, const TuneOptions& options) const {
    const std::shared_ptr<Store> store = open();
    return tune(device, *store, *maker_for(device, store), job, options);
  }
  testing::Scratch scratch_;
};

// With the test templates, the third has a plan whose workspace grows with the call.
TEST_F(TuneMemoryTest, AWorkspaceIsThatOfTheKernelsThatAreMade) {
  for (const char* text : {"conv_transpose2d 16 -> 8; kernel 2; compute tf32; input 3x4x8",
                           "conv_transpose1d 64 -> 64; kernel 3; dtype f16; layout nhwc; input 2x128",
                           "conv_transpose2d 4 -> 4; kernel 2; fuse scale(1), scale(1); input 3x5x7"}) {
    const Problem problem = problem_of(text);
    const Shape shape = shape_of(problem.layer, known_sizes(problem.layer).value()).value();
    const std::vector<Plan> plans = candidates_of(problem, 12).value();
    std::int64_t most = 0;
    for (const Plan& each : plans) {
      const KernelSource source = specialize(problem, each).value();
      const std::int64_t bytes = CallForm::make(problem.layer, source.recipe).value().workspace_bytes(shape).value();
      EXPECT_EQ(workspace_of(each, shape), bytes) << text << ": " << each.summary;
      most = std::max(most, bytes);
    }
    EXPECT_TRUE(most > 0 || problem.layer.fuse.size() == 2) << text;
  }
}

TEST_F(TuneMemoryTest, OnTheHostDeviceItIsWhatIsAllocated) {
  CountingDevice device;
  const TuneJob job = tf32_job();
  const TuneOptions options{.candidates = 6};
  const TuneMemory memory = tune_memory(device, job, options).value();
  EXPECT_EQ(memory.inputs, kInputs);
  EXPECT_EQ(memory.outputs, kOutputs);
  EXPECT_GT(memory.workspace, 0) << "no plan packs the weights: nothing was tested";
  EXPECT_EQ(memory.timing, 0);
  EXPECT_EQ(memory.device(), kInputs + kOutputs + memory.workspace);
  const auto tuned = tune_on(device, job, options);
  ASSERT_TRUE(tuned) << tuned.error().message;
  for (const Candidate& each : tuned->candidates) {
    EXPECT_EQ(each.problem, "");
  }
  EXPECT_EQ(device.counts->most, memory.device());
  EXPECT_EQ(device.counts->now, 0) << "all is freed";
}

#ifdef CONVTGEN_COUNTS_ALLOCATIONS
TEST_F(TuneMemoryTest, MainMemoryIsAsMuchAsIsSaid) {
  const auto device = open_host_device().value();
  const TuneJob job{problem_of("conv_transpose2d 1 -> 1; kernel 1; input 1x1000x2000"), {1, {1000, 2000}}};
  TuneOptions options{.candidates = 1};
  for (const bool sampled : {false, true}) {
    options.again = true;
    options.verify.most_outputs_for_all = sampled ? 1 : 1 << 26;
    options.verify.samples = {.random = 400'000, .most_borders = 100'000};
    const std::int64_t said = tune_memory(*device, job, options).value().host;
    most_on_heap = bytes_on_heap.load();
    const std::int64_t before = bytes_on_heap;
    const auto tuned = tune_on(*device, job, options);
    ASSERT_TRUE(tuned) << tuned.error().message;
    const std::int64_t taken = most_on_heap - before;
    // Of samples there is more room than they take: some are drawn twice.
    EXPECT_GT(said, 20'000'000);
    EXPECT_LT(taken, said + 2'000'000) << "sampled: " << sampled;
    EXPECT_GT(taken, sampled ? said / 3 : said * 9 / 10) << "sampled: " << sampled;
  }
}
#endif

TEST_F(TuneMemoryTest, WhereItIsShortNothingIsAllocated) {
  CountingDevice device;
  const TuneJob job = tf32_job();
  TuneOptions options{.candidates = 6};
  const std::int64_t needed = tune_memory(device, job, options).value().device();
  const auto expect_skipped = [&](const std::string& words) {
    const auto tuned = tune_on(device, job, options);
    ASSERT_FALSE(tuned);
    EXPECT_EQ(tuned.error().status, Status::kOutOfMemory);
    EXPECT_THAT(tuned.error().message,
                AllOf(HasSubstr("needs " + std::to_string(needed) + " bytes on counting ("), HasSubstr("; " + words)));
    EXPECT_EQ(device.counts->allocations, 0);
    EXPECT_TRUE(open()->list().empty());
  };
  options.memory_limit = needed - 1;
  expect_skipped(std::to_string(needed - 1) + " are allowed");
  device.free = needed - 1;
  options.memory_limit = needed;
  expect_skipped(std::to_string(needed - 1) + " are free");
  options.memory_limit = 0;
  expect_skipped(std::to_string(needed - 1) + " are free");
  device.free = needed;
  options.memory_limit = needed;
  EXPECT_TRUE(tune_on(device, job, options));
  // What is measured needs nothing any more.
  device.free = 0;
  EXPECT_TRUE(tune_on(device, job, options));
}

TEST_F(TuneMemoryTest, OneJobThatIsSkippedKeepsNoOther) {
  CountingDevice device;
  const std::vector<TuneJob> jobs{{problem_of("conv_transpose2d 16 -> 8; kernel 2; input 1x40x80"), {1, {40, 80}}},
                                  {problem_of("conv_transpose2d 16 -> 8; kernel 2; input 1x4x8"), {1, {4, 8}}}};
  const std::shared_ptr<Store> store = open();
  std::vector<Status> told;
  int compiles = 0;
  TuneOptions options{.candidates = 2, .memory_limit = 10'000};
  options.progress = [&](const TuneStep& step) {
    EXPECT_EQ(step.job, 1u);
    EXPECT_EQ(step.to_compile, 2u) << "what is skipped is not compiled";
    ++compiles;
  };
  tune_all(device, *store, *maker_for(device, store), jobs, options, [&](std::size_t, const Outcome<Tuned>& tuned) {
    told.push_back(tuned ? Status::kOk : tuned.error().status);
  });
  EXPECT_THAT(told, ::testing::ElementsAre(Status::kOutOfMemory, Status::kOk));
  EXPECT_EQ(compiles, 4);
}

// The arrays are not used, since the checks need buffers of their own; what has no room in them is passed over all the
// same.
TEST_F(TuneMemoryTest, TheHostDeviceGoesByTheGivenWorkspaceAlone) {
  CountingDevice device;
  const TuneJob job = tf32_job();
  alignas(kWorkspaceAlignment) char memory[kWorkspaceAlignment] = {};
  // Up to the first that needs no workspace.
  const std::vector<Plan> plans = plan(job.problem).value();
  const auto last = std::ranges::find_if(plans, [](const Plan& each) { return each.launch.packed_bytes() == 0; });
  ASSERT_NE(last, plans.end());
  TuneOptions options{.candidates = static_cast<std::size_t>(last - plans.begin()) + 1};
  options.buffers = forward_arrays(memory, memory, memory, memory, memory);
  options.buffers.workspace_bytes = 0;
  const TuneMemory needed = tune_memory(device, job, options).value();
  EXPECT_EQ(needed.device(), kInputs + kOutputs);
  const auto tuned = tune_on(device, job, options);
  ASSERT_TRUE(tuned) << tuned.error().message;
  std::size_t passed_over = 0;
  for (const Candidate& each : tuned->candidates) {
    EXPECT_EQ(each.problem, each.plan.launch.packed_bytes() == 0
                                ? ""
                                : "its workspace needs " + std::to_string(each.plan.launch.packed_bytes()) +
                                      " bytes; the one that is given has 0");
    passed_over += each.problem.empty() ? 0 : 1;
  }
  EXPECT_GT(passed_over, 0u);
  EXPECT_EQ(tuned->record.measured.size(), tuned->candidates.size() - passed_over);
  EXPECT_EQ(device.counts->most, needed.device());
  EXPECT_TRUE(std::ranges::all_of(memory, [](char byte) { return byte == 0; }));
  // With room for all, all of the others are measured.
  options.buffers.workspace_bytes = largest_workspace(job);
  EXPECT_EQ(tune_on(device, job, options)->record.measured.size(), tuned->candidates.size());
}

/// A GPU of the fake driver, with the fake NVRTC; all that its kernels write is zero.
class FakeGpuMemoryTest : public TuneMemoryTest {
 protected:
  void SetUp() override {
    setenv("CONVTGEN_CUDA_DRIVER", CONVTGEN_FAKE_DRIVER, 1);
    setenv("CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC, 1);
    const auto opened = SharedLibrary::open(CONVTGEN_FAKE_DRIVER);
    ASSERT_TRUE(opened) << opened.error().message;
    fake::StateFunction function = nullptr;
    ASSERT_TRUE(opened->bind("convtgen_fake_state", function));
    state_ = function();
    *state_ = fake::State{};
    state_->launches_clear = true;
    device_ = open_cuda_device(0).value();
  }
  void TearDown() override {
    unsetenv("CONVTGEN_CUDA_DRIVER");
    unsetenv("CONVTGEN_NVRTC");
  }
  [[nodiscard]] std::int64_t most() const { return static_cast<std::int64_t>(state_->most_memory); }
  [[nodiscard]] std::ptrdiff_t allocations() const { return std::ranges::count(state_->calls, "cuMemAlloc"); }

  fake::State* state_ = nullptr;
  std::unique_ptr<Device> device_;
};

TEST_F(FakeGpuMemoryTest, ItIsWhatIsAllocated) {
  const TuneJob job = tf32_job();
  const TuneOptions options{.candidates = kAll, .repeats = 1};
  const TuneMemory memory = tune_memory(*device_, job, options).value();
  EXPECT_EQ(memory.inputs, kInputs);
  EXPECT_EQ(memory.outputs, kOutputs);
  EXPECT_EQ(memory.workspace, largest_workspace(job));
  EXPECT_GT(memory.workspace, 0);
  EXPECT_EQ(memory.timing, 2 * state_->l2_bytes);
  EXPECT_EQ(allocations(), 0) << "it is a question";
  const auto tuned = tune_on(*device_, job, options);
  ASSERT_TRUE(tuned) << tuned.error().message;
  EXPECT_EQ(tuned->record.measured.size(), tuned->candidates.size());
  // The plan with the largest workspace may have been timed before the rest was there.
  EXPECT_GE(most(), memory.device() - memory.timing);
  EXPECT_LE(most(), memory.device());
  ASSERT_TRUE(tune_on(*device_, job, {.candidates = kAll, .repeats = 1, .again = true}));
  EXPECT_EQ(most(), memory.device());
}

TEST_F(FakeGpuMemoryTest, WhatIsFreeIsTheDriversWord) {
  const TuneJob job = tf32_job();
  const TuneOptions options{.candidates = 6, .repeats = 1};
  const std::int64_t needed = tune_memory(*device_, job, options).value().device();
  state_->memory_bytes = static_cast<std::size_t>(needed - 1);
  const auto skipped = tune_on(*device_, job, options);
  ASSERT_FALSE(skipped);
  EXPECT_EQ(skipped.error().status, Status::kOutOfMemory);
  EXPECT_THAT(skipped.error().message, HasSubstr(std::to_string(needed - 1) + " are free"));
  EXPECT_EQ(allocations(), 0);
  ++state_->memory_bytes;
  EXPECT_TRUE(tune_on(*device_, job, options));
  // The flushing buffer stays, and is counted once.
  EXPECT_TRUE(tune_on(*device_, job, {.candidates = 6, .repeats = 1, .again = true}));
  // A driver that does not know stops nobody.
  state_->failures["cuMemGetInfo"] = 1;
  EXPECT_TRUE(tune_on(*device_, job, {.candidates = 6, .repeats = 1, .again = true}));
}

TEST_F(FakeGpuMemoryTest, GivenArraysAreUsed) {
  const TuneJob job = tf32_job();
  const std::int64_t workspace = largest_workspace(job);
  std::vector<std::unique_ptr<Buffer>> own;
  std::vector<std::uint64_t> sizes;
  const auto array = [&](std::int64_t bytes) {
    own.push_back(device_->allocate(static_cast<std::size_t>(bytes)).value());
    sizes.push_back(static_cast<std::uint64_t>(bytes));
    return reinterpret_cast<void*>(own.back()->address());
  };
  TuneOptions options{.candidates = kAll, .repeats = 1, .memory_limit = 2 * state_->l2_bytes};
  options.buffers =
      forward_arrays(array(4 * 16 * 4 * 8), array(4 * 16 * 8 * 2 * 2), array(4 * 8), array(kOutputs), array(workspace));
  options.buffers.workspace_bytes = workspace;
  EXPECT_EQ(tune_memory(*device_, job, options).value().device(), 2 * state_->l2_bytes) << "the timing's own";
  state_->calls.clear();
  const auto tuned = tune_on(*device_, job, options);
  ASSERT_TRUE(tuned) << tuned.error().message;
  EXPECT_EQ(tuned->record.measured.size(), tuned->candidates.size());
  EXPECT_EQ(allocations(), 1) << "the timing's own";
  // The regions of a workspace lie within it.
  const auto is_given = [&](std::uint64_t address) {
    bool given = false;
    for (std::size_t i = 0; i < own.size(); ++i) {
      given = given || (address >= own[i]->address() && address < own[i]->address() + sizes[i]);
    }
    return given;
  };
  for (const fake::SeenLaunch& launch : state_->launches) {
    for (const std::uint64_t argument : launch.arguments) {
      EXPECT_TRUE(argument < 0x7f0000000000 || is_given(argument)) << launch.symbol;
    }
  }
  EXPECT_EQ(std::ranges::count(state_->calls, "cuMemFree"), 0) << "they are the caller's";
  // Some given, some not.
  options.buffers.set(Role::kX, nullptr);
  options.memory_limit = 0;
  options.again = true;
  EXPECT_EQ(tune_memory(*device_, job, options).value().device(), 4 * 16 * 4 * 8);
  EXPECT_TRUE(tune_on(*device_, job, options));
  EXPECT_EQ(allocations(), 2);
}

TEST_F(FakeGpuMemoryTest, AWorkspaceThatIsTooSmallForAllIsALackOfMemory) {
  const TuneJob job = tf32_job();
  TuneOptions options{.candidates = 1, .repeats = 1};
  ASSERT_GT(plan(job.problem).value().front().launch.packed_bytes(), 0);
  const auto workspace = device_->allocate(128).value();
  options.buffers.workspace = reinterpret_cast<void*>(workspace->address());
  options.buffers.workspace_bytes = 128;
  const auto none = tune_on(*device_, job, options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().status, Status::kOutOfMemory);
  EXPECT_THAT(none.error().message, HasSubstr("bytes; the one that is given has 128"));
}

}  // namespace
}  // namespace convtgen
