#include "runtime/make/compile_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <new>
#include <thread>

namespace convtgen {
namespace {

/// Kernels of plans that differ in their alignment.
std::vector<PlannedKernel> kernels(int count) {
  std::vector<PlannedKernel> all;
  for (int i = 0; i < count; ++i) {
    all.push_back({});
    all.back().plan.alignment = i;
  }
  return all;
}

Outcome<MadeKernel> compiled(const Plan& plan) {
  MadeKernel made;
  made.binary.log = std::to_string(plan.alignment);
  return made;
}

TEST(CompileAhead, GivesEachKernelItsOwn) {
  CompileAhead ahead(
      kernels(20),
      [](const Problem&, const Plan& plan) {
        return plan.alignment == 7 ? fail_with(Status::kInternal, "seven") : compiled(plan);
      },
      4);
  for (int i = 19; i >= 0; --i) {
    const auto made = ahead.take(static_cast<std::size_t>(i));
    ASSERT_EQ(made.has_value(), i != 7);
    if (made) {
      EXPECT_EQ(made->binary.log, std::to_string(i));
    } else {
      EXPECT_EQ(made.error().message, "seven");
    }
  }
  EXPECT_EQ(ahead.done(), 20u);
}

TEST(CompileAhead, CompilesSeveralAtATimeAndNoMore) {
  constexpr int kThreads = 3;
  std::latch all_there(kThreads);  // passed only if as many compile at once
  std::atomic<int> now = 0, most = 0;
  CompileAhead ahead(
      kernels(9),
      [&](const Problem&, const Plan& plan) {
        const int here = ++now;
        for (int seen = most; seen < here && !most.compare_exchange_weak(seen, here);) {
        }
        if (plan.alignment < kThreads) {
          all_there.arrive_and_wait();
        }
        --now;
        return compiled(plan);
      },
      kThreads);
  for (std::size_t i = 0; i < 9; ++i) {
    ASSERT_TRUE(ahead.take(i));
  }
  EXPECT_EQ(most, kThreads);
}

TEST(CompileAhead, WhatIsNotBegunIsLeftOut) {
  std::atomic<int> begun = 0;
  {
    CompileAhead ahead(
        kernels(1000),
        [&](const Problem&, const Plan& plan) {
          ++begun;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return compiled(plan);
        },
        2);
    ASSERT_TRUE(ahead.take(0));
  }
  EXPECT_LT(begun, 500);
}

TEST(CompileAhead, AnExceptionIsThatKernelsError) {
  CompileAhead ahead(
      kernels(2),
      [](const Problem&, const Plan& plan) { return plan.alignment == 0 ? throw std::bad_alloc() : compiled(plan); },
      1);
  EXPECT_FALSE(ahead.take(0));
  EXPECT_TRUE(ahead.take(1));
  CompileAhead none({}, [](const Problem&, const Plan& plan) { return compiled(plan); }, 8);
  EXPECT_EQ(none.count(), 0u);
}

}  // namespace
}  // namespace convtgen
