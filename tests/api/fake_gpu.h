// A test with the fake driver and the fake NVRTC in place of the machine's, and a store of its own.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <convtgen/convtgen.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/api/thrown.h"
#include "tests/cuda_device/fake_driver.h"

namespace convtgen::api_test {

inline constexpr const char* kOpenLayer = "conv_transpose2d 8 -> 6; kernel 4; stride 2; padding 1; bias";

/// Runs a command; what it prints and its status.
struct Ran {
  std::string output;
  int status = 0;
};
inline Ran run_command(const std::string& command) {
  Ran ran;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (std::size_t got = 0; (got = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    ran.output.append(buffer, got);
  }
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

class FakeGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    static int count = 0;
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("convtgen_api_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(folder_);
    setenv("CONVTGEN_CACHE_DIR", (folder_ / "store").c_str(), 1);
    setenv("CONVTGEN_CUDA_DRIVER", CONVTGEN_FAKE_DRIVER, 1);
    setenv("CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC, 1);
    setenv("CONVTGEN_FAKE_NVRTC_COUNT", (folder_ / "compiles").c_str(), 1);
    unsetenv("CONVTGEN_LOG");
    library_ = dlopen(CONVTGEN_FAKE_DRIVER, RTLD_NOW);
    ASSERT_NE(library_, nullptr) << dlerror();
    state_ = function<fake::StateFunction>("convtgen_fake_state")();
    *state_ = fake::State{};
    convtgen_set_log([](void* user, convtgen_log_level,
                        const char* message) { *static_cast<std::string*>(user) += std::string(message) + "\n"; },
                     &log_, CONVTGEN_LOG_WARNING);
  }
  void TearDown() override {
    convtgen_set_log(nullptr, nullptr, CONVTGEN_LOG_OFF);
    for (const char* name :
         {"CONVTGEN_CACHE_DIR", "CONVTGEN_CUDA_DRIVER", "CONVTGEN_NVRTC", "CONVTGEN_FAKE_NVRTC_COUNT",
          "CONVTGEN_FAKE_NVRTC_KNOWS", "CONVTGEN_FAKE_NVRTC_FAILS", "CONVTGEN_FAKE_NVRTC_STATUS",
          "CONVTGEN_FAKE_NVRTC_LOG", "CONVTGEN_FAKE_NVRTC_MS", "CONVTGEN_DUMP", "CONVTGEN_ARCHITECTURE"}) {
      unsetenv(name);
    }
    std::filesystem::remove_all(folder_);
  }

  /// Runs of the fake NVRTC, in all processes.
  [[nodiscard]] std::uintmax_t compiles() const {
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(folder_ / "compiles", error);
    return error ? 0 : bytes;
  }
  [[nodiscard]] static Ran worker(const std::string& words) {
    return run_command(std::string(CONVTGEN_API_WORKER) + " " + words + " 2>&1");
  }
  [[nodiscard]] void* make_context(int device) const {
    return function<fake::MakeContextFunction>("convtgen_fake_make_context")(device);
  }
  void destroy_context(void* context) const {
    function<fake::DestroyContextFunction>("convtgen_fake_destroy_context")(context);
  }
  void push(void* context) const {
    function<fake::PushContextFunction>("cuCtxPushCurrent_v2")(static_cast<cuda::ContextHandle>(context));
  }
  void pop() const {
    cuda::ContextHandle popped = nullptr;
    function<fake::PopContextFunction>("cuCtxPopCurrent_v2")(&popped);
  }
  template <typename Function>
  [[nodiscard]] Function function(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }

  std::filesystem::path folder_;
  void* library_ = nullptr;
  fake::State* state_ = nullptr;
  std::string log_;
};

/// An address of the right alignment that nobody looks at.
inline void* address(std::uint64_t number) {
  return reinterpret_cast<void*>(number);
}
inline Tensors some_tensors() {
  return Tensors::forward(address(0x10000000), address(0x20000000), address(0x30000000), address(0x40000000));
}

}  // namespace convtgen::api_test
