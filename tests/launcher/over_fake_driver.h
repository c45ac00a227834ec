// A set's launch code over the fake driver.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

#include "tests/cuda_device/fake_driver.h"
#include "tests/launcher/built_set.h"

namespace convtgen::test {

/// An address that nothing looks at.
template <typename Element>
Element* at(std::uintptr_t address) {
  return reinterpret_cast<Element*>(address);
}

class OverFakeDriver : public testing::Test {
 protected:
  void SetUp() override {
    setenv("CONVTGEN_CUDA_DRIVER", CONVTGEN_FAKE_DRIVER, 1);
    driver_ = dlopen(CONVTGEN_FAKE_DRIVER, RTLD_NOW);
    ASSERT_NE(driver_, nullptr) << dlerror();
    state_ = reinterpret_cast<fake::StateFunction>(dlsym(driver_, "convtgen_fake_state"))();
    *state_ = fake::State{};
  }
  void TearDown() override {
    unsetenv("CONVTGEN_CUDA_DRIVER");
    while (pushed_ > 0) {
      leave_context();
    }
  }
  /// A new context on a GPU of this capability, current from now on.
  void* enter_context(int major, int minor) {
    state_->capability_major = major;
    state_->capability_minor = minor;
    void* context = reinterpret_cast<fake::MakeContextFunction>(dlsym(driver_, "convtgen_fake_make_context"))(0);
    reinterpret_cast<fake::PushContextFunction>(dlsym(driver_, "cuCtxPushCurrent_v2"))(
        static_cast<cuda::ContextHandle>(context));
    ++pushed_;
    return context;
  }
  void leave_context() {
    cuda::ContextHandle popped = nullptr;
    reinterpret_cast<fake::PopContextFunction>(dlsym(driver_, "cuCtxPopCurrent_v2"))(&popped);
    --pushed_;
  }

  BuiltSet set_;
  void* driver_ = nullptr;
  fake::State* state_ = nullptr;
  int pushed_ = 0;
};

}  // namespace convtgen::test
