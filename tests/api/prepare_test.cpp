// Preparing: the store, one compile a kernel, failures, older compilers and drivers, forks, several kernels at once.
#include <dlfcn.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "tests/api/fake_gpu.h"

namespace convtgen::api_test {
namespace {

class PrepareTest : public FakeGpuTest {
 protected:
  static std::string quoted(const std::string& text) { return "'" + text + "'"; }
  static Layer numbered(int channels) {
    return Layer("conv_transpose2d 1 -> " + std::to_string(channels) + "; kernel 1");
  }
};

TEST_F(PrepareTest, AHitNeverLoadsNvrtc) {
  const Ran cold = worker("prepare cuda " + quoted(kOpenLayer));
  EXPECT_EQ(cold.status, 0) << cold.output;
  EXPECT_NE(cold.output.find("hits=0 misses=1 compiles=1 nvrtc=loaded"), std::string::npos) << cold.output;
  const Ran warm = worker("prepare cuda " + quoted(kOpenLayer));
  EXPECT_NE(warm.output.find("hits=1 misses=0 compiles=0 nvrtc=untouched"), std::string::npos) << warm.output;
  EXPECT_EQ(cold.output.substr(0, cold.output.find('\n')), warm.output.substr(0, warm.output.find('\n')));

  // The same without any NVRTC on the machine; what is not there needs one, and says so.
  setenv("CONVTGEN_NVRTC", "/nonexistent/libnvrtc.so", 1);
  const Ran without = worker("prepare cuda " + quoted(kOpenLayer));
  EXPECT_NE(without.output.find("hits=1 misses=0 compiles=0 nvrtc=untouched"), std::string::npos) << without.output;
  const Ran missing = worker("prepare cuda 'conv_transpose2d 1 -> 1; kernel 9'");
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.output.find("no compiler: NVRTC, which compiles kernels, was not found"), std::string::npos)
      << missing.output;
}

TEST_F(PrepareTest, SixteenProcessesCompileAKernelOnce) {
  setenv("CONVTGEN_FAKE_NVRTC_MS", "200", 1);
  std::string command;
  for (int i = 0; i < 16; ++i) {
    command += std::string(CONVTGEN_API_WORKER) + " prepare cuda " + quoted(kOpenLayer) + " & ";
  }
  const Ran ran = run_command(command + "wait");
  std::size_t done = 0;
  for (std::size_t at = ran.output.find("sm_90a"); at != std::string::npos; at = ran.output.find("sm_90a", at + 1)) {
    ++done;
  }
  EXPECT_EQ(done, 16u) << ran.output;
  EXPECT_EQ(compiles(), 1u);
}

TEST_F(PrepareTest, ThreadsThatAskForOneLayerShareItsCompile) {
  setenv("CONVTGEN_FAKE_NVRTC_MS", "50", 1);
  const Device device("cuda");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { (void)device.prepare(Layer(kOpenLayer)); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(compiles(), 1u);
  EXPECT_EQ(state_->live_modules, 1);
}

TEST_F(PrepareTest, EqualLayersAreOneWhateverTheyAreCalled) {
  const Device device("cuda");
  const Kernel a = device.prepare(Layer("layer a { conv_transpose2d 2 -> 3; kernel 4x4 }"));
  const Kernel b = device.prepare(Layer("layer b { kernel 4\n conv_transpose2d 2 -> 3 }"));
  EXPECT_EQ(a.key(), b.key());
  EXPECT_EQ(compiles(), 1u);
  EXPECT_NE(device.prepare(Layer("conv_transpose2d 2 -> 3; kernel 4; fuse relu")).key(), a.key());
}

TEST_F(PrepareTest, AFailedCompileIsToldAgainWithoutCompiling) {
  setenv("CONVTGEN_FAKE_NVRTC_FAILS", "conv_transpose2d", 1);
  const Device device("cuda");
  std::uintmax_t plans = 0;
  for (int i = 0; i < 3; ++i) {
    const Thrown thrown = thrown_by([&] { (void)device.prepare(Layer(kOpenLayer)); });
    expect_error(thrown, CONVTGEN_COMPILE_FAILED, "the source holds 'conv_transpose2d'");
    expect_error(thrown, CONVTGEN_COMPILE_FAILED, "[layer: conv_transpose2d 8 -> 6; kernel 4x4;");
    plans = i == 0 ? compiles() : plans;
  }
  EXPECT_GT(plans, 1u) << "each plan has its turn";
  EXPECT_EQ(compiles(), plans);
  expect_error(thrown_by([&] { (void)Device("cuda").prepare(Layer(kOpenLayer)); }), CONVTGEN_COMPILE_FAILED,
               "the source");
  EXPECT_EQ(compiles(), plans) << "remembered by the process, not by the device alone";
}

TEST_F(PrepareTest, APlanThatDoesNotCompileIsPassedOver) {
  std::string first;
  {
    const Kernel kernel = Device("cuda").prepare(Layer(kOpenLayer));
    first = kernel.symbol();
  }
  std::filesystem::remove_all(folder_ / "store");
  setenv("CONVTGEN_CACHE_DIR", (folder_ / "other").c_str(), 1);
  setenv("CONVTGEN_FAKE_NVRTC_FAILS", first.c_str(), 1);
  for (int i = 0; i < 2; ++i) {
    const Kernel kernel = Device("cuda").prepare(Layer(kOpenLayer));
    EXPECT_NE(kernel.symbol(), first);
    EXPECT_NE(kernel.source().find(kernel.symbol()), std::string::npos);
    kernel.launch(some_tensors(), {1, 5, 7});
    EXPECT_EQ(state_->launches.back().symbol, kernel.symbol());
  }
  EXPECT_EQ(compiles(), 3u);
  EXPECT_NE(log_.find("plan 1 of "), std::string::npos) << log_;
  EXPECT_NE(log_.find("the source holds '" + first + "'"), std::string::npos) << log_;
}

TEST_F(PrepareTest, ASlowCompileIsToldBefore) {
  (void)Device("cuda").prepare(Layer(kOpenLayer));
  EXPECT_EQ(log_.find("NVRTC may take"), std::string::npos) << log_;
  // Its taps are written out, each with many multiply-adds.
  const Layer slow("conv_transpose1d 512 -> 256; kernel 256; input 4x333");
  (void)Device("cuda").prepare(slow);
  EXPECT_NE(log_.find("lines: NVRTC may take about "), std::string::npos) << log_;
  log_.clear();
  (void)Device("cuda").prepare(slow);
  EXPECT_EQ(log_, "") << "the store has it";
}

TEST_F(PrepareTest, ALayerWithoutForwardIsToldTheField) {
  const Layer layer("conv_transpose2d 8 -> 8; kernel 3; directions grad_input");
  expect_error(
      thrown_by([&] { (void)Device("cuda").prepare(layer); }), CONVTGEN_INVALID_ARGUMENT,
      "directions: the layer has grad_input, and a kernel for forward is wanted; legal is 'directions forward, "
      "grad_input'");
}

TEST_F(PrepareTest, AFailureThatMayPassIsNotRemembered) {
  const Device device("cuda");
  const auto expect_failure = [&](const std::string& words) {
    expect_error(thrown_by([&] { (void)device.prepare(Layer(kOpenLayer)); }), CONVTGEN_COMPILE_FAILED, words);
  };
  setenv("CONVTGEN_FAKE_NVRTC_FAILS", "conv_transpose2d", 1);
  setenv("CONVTGEN_FAKE_NVRTC_STATUS", "1", 1);  // NVRTC_ERROR_OUT_OF_MEMORY
  expect_failure("the source holds");
  setenv("CONVTGEN_FAKE_NVRTC_STATUS", "11", 1);  // NVRTC_ERROR_INTERNAL_ERROR
  expect_failure("the source holds");
  unsetenv("CONVTGEN_FAKE_NVRTC_STATUS");
  setenv("CONVTGEN_FAKE_NVRTC_LOG", "kernel.cu(7): catastrophic error: out of memory", 1);
  expect_failure("out of memory");
  unsetenv("CONVTGEN_FAKE_NVRTC_FAILS");
  EXPECT_NE(device.prepare(Layer(kOpenLayer)).symbol(), "");
}

TEST_F(PrepareTest, AnOlderNvrtcMakesPtxWithOneNote) {
  state_->capability_major = 12;
  setenv("CONVTGEN_FAKE_NVRTC_KNOWS", "75 80 86 89 90", 1);
  const Device device("cuda");
  const Kernel kernel = device.prepare(Layer(kOpenLayer));
  EXPECT_EQ(kernel.architecture(), "compute_89");  // not 90: PTX of sm_90a runs on that chip alone
  EXPECT_NE(kernel.source().find("forward for sm_89"), std::string::npos);
  (void)device.prepare(numbered(3));
  EXPECT_NE(log_.find("does not know compute capability 12.0 yet: kernels are compiled to PTX for sm_89"),
            std::string::npos)
      << log_;
  EXPECT_EQ(log_.find("does not know"), log_.rfind("does not know"));
  kernel.launch(some_tensors(), {1, 5, 7});
  EXPECT_EQ(state_->launches.at(0).symbol, kernel.symbol());

  const auto hits = counters().hits;
  EXPECT_EQ(Device("cuda").prepare(Layer(kOpenLayer)).architecture(), "compute_89");
  EXPECT_EQ(counters().hits, hits + 1);
}

TEST_F(PrepareTest, AChipThatNobodyKnowsYetGetsThePtxOfTheNewest) {
  state_->capability_major = 13;
  EXPECT_EQ(Device("cuda").prepare(Layer(kOpenLayer)).architecture(), "compute_120");
  state_->capability_major = 5;
  expect_error(thrown_by([] { (void)Device("cuda").prepare(Layer(kOpenLayer)); }), CONVTGEN_UNSUPPORTED, "5.0");
}

TEST_F(PrepareTest, AnOldDriverIsToldBothVersions) {
  state_->driver_version = 12020;
  state_->failures["cuModuleLoadDataEx"] = 222;
  const Device device("cuda");
  const Thrown thrown = thrown_by([&] { (void)device.prepare(Layer(kOpenLayer)); });
  expect_error(thrown, CONVTGEN_DRIVER, "up to CUDA 12.2 make, and this was made by NVRTC 13.0");
  state_->failures.clear();  // no compile has failed, so it is tried again
  (void)device.prepare(Layer(kOpenLayer));
  EXPECT_EQ(compiles(), 1u);
}

TEST_F(PrepareTest, WorksInAChildForkedBeforeCudaAndSaysSoAfter) {
  const Ran before = worker("fork-before cuda " + quoted(kOpenLayer));
  EXPECT_EQ(before.status, 0) << before.output;
  EXPECT_NE(before.output.find("compiles=1"), std::string::npos) << before.output;
  const Ran after = worker("fork-after cuda " + quoted(kOpenLayer));
  EXPECT_EQ(after.status, 3) << after.output;
  std::size_t told = 0;
  const std::string words = "forked after CUDA was started: this process was forked";
  for (std::size_t at = after.output.find(words); at != std::string::npos; at = after.output.find(words, at + 1)) {
    ++told;
  }
  EXPECT_EQ(told, 3u) << after.output;
}

TEST_F(PrepareTest, SeveralAtOnceWithProgress) {
  const Device device("cuda");
  std::vector<Layer> layers;
  std::vector<const Layer*> pointers;
  for (int i = 1; i <= 12; ++i) {
    layers.push_back(numbered(i));
  }
  for (const Layer& layer : layers) {
    pointers.push_back(&layer);
  }
  std::vector<std::size_t> done;
  const std::vector<Kernel> kernels =
      device.prepare_all(pointers, 4, [&](std::size_t, std::size_t now, std::size_t count, convtgen_status status) {
        done.push_back(now);
        return status == CONVTGEN_OK && count == 12;
      });
  ASSERT_EQ(kernels.size(), 12u);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(kernels[i].layer(), layers[i].text());
    EXPECT_EQ(done[i], i + 1);
  }
  EXPECT_EQ(compiles(), 12u);
}

TEST_F(PrepareTest, OneFailureLeavesTheOthers) {
  setenv("CONVTGEN_FAKE_NVRTC_FAILS", "// conv_transpose2d 1 -> 2;", 1);
  const Device device("cuda");
  const Layer a = numbered(1), b = numbered(2), c = numbered(3);
  const convtgen_layer* layers[] = {a.handle(), b.handle(), c.handle()};
  convtgen_kernel* kernels[3];
  EXPECT_EQ(convtgen_prepare_all(device.handle(), layers, nullptr, 3, 0, nullptr, nullptr, kernels),
            CONVTGEN_COMPILE_FAILED);
  const Kernel first(kernels[0]), second(kernels[1]), third(kernels[2]);
  EXPECT_NE(first.handle(), nullptr);
  EXPECT_EQ(second.handle(), nullptr);
  EXPECT_NE(third.handle(), nullptr);
}

TEST_F(PrepareTest, ProgressCancels) {
  const Device device("cuda");
  const Layer a = numbered(1), b = numbered(2), c = numbered(3);
  std::vector<convtgen_status> seen;
  const Thrown thrown = thrown_by([&] {
    (void)device.prepare_all({&a, &b, &c}, 1, [&](std::size_t, std::size_t, std::size_t, convtgen_status status) {
      seen.push_back(status);
      return false;
    });
  });
  EXPECT_EQ(thrown.status, CONVTGEN_CANCELLED);
  EXPECT_EQ(seen, (std::vector<convtgen_status>{CONVTGEN_OK, CONVTGEN_CANCELLED, CONVTGEN_CANCELLED}));
  EXPECT_EQ(compiles(), 1u);
  (void)device.prepare(b);  // it can be had all the same
  EXPECT_THROW((void)device.prepare_all({&a, &c}, 1,
                                        [](std::size_t, std::size_t, std::size_t, convtgen_status) -> bool {
                                          throw std::runtime_error("of the caller");
                                        }),
               std::runtime_error);
}

// C has no exceptions, but its callbacks may be C++.
TEST_F(PrepareTest, WhatACallbackThrowsIsTheCallersError) {
  const Device device("cuda");
  std::vector<Layer> layers;
  std::vector<const convtgen_layer*> handles;
  for (int i = 1; i <= 8; ++i) {
    layers.push_back(numbered(i));
  }
  for (const Layer& layer : layers) {
    handles.push_back(layer.handle());
  }
  const auto prepare_all = [&](int threads, convtgen_progress progress) {
    return convtgen_prepare_all(device.handle(), handles.data(), nullptr, handles.size(), threads, progress, nullptr,
                                nullptr);
  };
  for (const int threads : {1, 4}) {
    EXPECT_EQ(prepare_all(threads,
                          [](void*, std::size_t, std::size_t, std::size_t, convtgen_status) -> int {
                            throw std::runtime_error("words of the callback");
                          }),
              CONVTGEN_CANCELLED);
    EXPECT_STREQ(convtgen_last_error(), "progress threw: words of the callback");
    EXPECT_EQ(
        prepare_all(threads, [](void*, std::size_t, std::size_t, std::size_t, convtgen_status) -> int { throw 1; }),
        CONVTGEN_CANCELLED);
    EXPECT_STREQ(convtgen_last_error(), "progress threw: what is no std::exception");
  }
}

TEST_F(PrepareTest, WhatTheLogThrowsChangesNothing) {
  static std::atomic<int> told{0};
  convtgen_set_log(
      [](void*, convtgen_log_level, const char*) {
        ++told;
        throw 1;
      },
      nullptr, CONVTGEN_LOG_DEBUG);
  const Device device("cuda");
  const Layer a = numbered(1), b = numbered(2), c = numbered(3), d = numbered(4);
  EXPECT_EQ(device.prepare_all({&a, &b, &c, &d}, 4).size(), 4u);
  EXPECT_GE(told, 4);
}

TEST_F(PrepareTest, WritesSourcesWhereAsked) {
  setenv("CONVTGEN_DUMP", (folder_ / "dump").c_str(), 1);
  const Kernel kernel = Device("cuda").prepare(Layer(kOpenLayer));
  std::ifstream file(folder_ / "dump" / (kernel.symbol() + ".cu"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, kernel.source());
  setenv("CONVTGEN_DUMP", "/dev/null/nowhere", 1);
  (void)Device("cuda").prepare(numbered(1));
  EXPECT_NE(log_.find("$CONVTGEN_DUMP: /dev/null/nowhere"), std::string::npos) << log_;
}

TEST_F(PrepareTest, WhatHasNoKernelIsTold) {
  const Layer huge("conv_transpose2d 1 -> 1; kernel 1; stride 30000");
  expect_error(thrown_by([&] { (void)Device("cuda").prepare(huge); }), CONVTGEN_UNSUPPORTED, "phases");
  expect_error(thrown_by([&] { (void)Device("host").prepare(huge); }), CONVTGEN_UNSUPPORTED, "phases");
}

TEST_F(PrepareTest, ABadStoreIsNoError) {
  const auto before = compiles();
  setenv("CONVTGEN_CACHE_DIR", "/dev/null/store", 1);
  (void)Device("cuda").prepare(Layer(kOpenLayer));
  (void)Device("cuda").prepare(Layer(kOpenLayer));
  EXPECT_EQ(compiles() - before, 1u);  // in memory
  EXPECT_NE(log_.find("/dev/null/store"), std::string::npos) << log_;
}

}  // namespace
}  // namespace convtgen::api_test
