// Clocks, the shadow that they order, and when operations take effect.
#include "runtime/device/host/clock.h"

#include <gtest/gtest.h>

#include "runtime/device/host/clocked_shadow.h"
#include "runtime/device/host/operations.h"

namespace convtgen::host {
namespace {

constexpr std::uint32_t kThreads = 96;  // of a block: three warps

class Clocks : public ::testing::Test {
 protected:
  void SetUp() override {
    ordering_.begin(2, kThreads);
    shadow_.begin(256, ordering_);
  }
  void write(std::uint32_t thread, std::uint32_t byte = 0) { shadow_.note_write(byte, 1, thread, ordering_.now(), 7); }
  void read(std::uint32_t thread, std::uint32_t byte = 0) { shadow_.note_read(byte, 1, thread, ordering_.now(), 8); }
  // What kind of access keeps the thread from reading or writing; "" if none does.
  std::string conflict(std::uint32_t thread, bool writes, std::uint32_t byte = 0) {
    const auto found = shadow_.find_conflict(byte, 1, writes, thread, ordering_);
    return !found                                         ? ""
           : found->kind == Conflict::Kind::kNeverWritten ? "never written"
           : found->kind == Conflict::Kind::kRead         ? "read"
                                                          : "write";
  }
  void hand_over(std::uint32_t from, std::uint32_t to) { ordering_.acquire(to, ordering_.release(from)); }

  Ordering ordering_;
  ClockedShadow shadow_;
};

TEST_F(Clocks, AThreadKnowsWhatItDidAndNobodyElseDoes) {
  EXPECT_EQ(conflict(0, false), "never written");
  EXPECT_EQ(conflict(0, true), "");
  write(0);
  EXPECT_EQ(conflict(0, false), "");
  EXPECT_EQ(conflict(0, true), "");
  EXPECT_EQ(conflict(1, false), "write");
  EXPECT_EQ(conflict(1, true), "write");
  read(0);
  EXPECT_EQ(conflict(0, true), "");
}

TEST_F(Clocks, KnowledgeIsHandedOnThroughOthers) {
  write(0);
  hand_over(0, 40);
  EXPECT_EQ(conflict(40, false), "");
  EXPECT_EQ(conflict(70, false), "write");
  hand_over(40, 70);
  EXPECT_EQ(conflict(70, true), "");
  // What was done after the handing over is not known by it.
  write(0, 1);
  hand_over(40, 70);
  EXPECT_EQ(conflict(70, false, 1), "write");
}

TEST_F(Clocks, AWriterMustKnowEveryReader) {
  write(0);
  ordering_.synchronise_block(0);
  for (const std::uint32_t reader : {1U, 33U, 65U, 1U}) {
    EXPECT_EQ(conflict(reader, false), "");
    read(reader);
  }
  EXPECT_EQ(conflict(95, true), "read");
  hand_over(1, 95);
  hand_over(33, 95);
  EXPECT_EQ(conflict(95, true), "read");
  hand_over(65, 95);
  EXPECT_EQ(conflict(95, true), "");
  read(33);  // again, later
  EXPECT_EQ(conflict(95, true), "read");
}

TEST_F(Clocks, ABlockBarrierTellsItsBlockOnly) {
  write(5);
  ordering_.synchronise_block(0);
  EXPECT_EQ(conflict(95, true), "");
  EXPECT_EQ(conflict(96, false), "write");  // of the other block
}

TEST_F(Clocks, AWarpTellsItsLanes) {
  write(3);
  ordering_.synchronise_warp(0, 0x0000000f);
  EXPECT_EQ(conflict(2, true), "");
  EXPECT_EQ(conflict(4, false), "write");
  ordering_.synchronise_warp(0, ~0U);
  EXPECT_EQ(conflict(4, true), "");
  EXPECT_EQ(conflict(32, false), "write");
  hand_over(31, 32);  // lane 31 hands on what the warp told it
  EXPECT_EQ(conflict(32, false), "");
}

TEST_F(Clocks, AnAgentIsKnownToWhoLearnsOfIt) {
  const std::uint32_t agent = ordering_.make_agent(AgentKind::kCopies, 3);
  shadow_.note_write(0, 1, agent, ordering_.now(), 9);
  EXPECT_EQ(conflict(3, false), "write");
  ordering_.learn(3, agent, ordering_.advance());
  EXPECT_EQ(conflict(3, false), "");
  EXPECT_EQ(conflict(4, false), "write");
  hand_over(3, 4);
  EXPECT_EQ(conflict(4, false), "");
  shadow_.note_write_in_flight(0, 1, agent, 9);
  ordering_.learn(3, agent, ordering_.advance());
  EXPECT_EQ(conflict(3, false), "write");
}

TEST_F(Clocks, AFenceCountsBeforeTheHandingOver) {
  const auto unfenced = [&](std::uint32_t thread, std::uint32_t byte) {
    return shadow_.find_unfenced(byte, 1, thread, ordering_).has_value();
  };
  write(0);
  EXPECT_TRUE(unfenced(0, 0));
  hand_over(0, 40);
  ordering_.fence(0, FenceKind::kProxy);
  EXPECT_FALSE(unfenced(0, 0));
  EXPECT_TRUE(unfenced(40, 0));  // its fence came after
  hand_over(0, 40);
  EXPECT_FALSE(unfenced(40, 0));
  write(0, 1);
  ordering_.fence(0, FenceKind::kMbarrierInit);
  EXPECT_TRUE(unfenced(0, 1));
}

TEST_F(Clocks, ANewClusterHasForgottenAll) {
  write(0);
  ordering_.begin(1, kThreads);
  shadow_.begin(256, ordering_);
  EXPECT_EQ(conflict(1, false), "never written");
  EXPECT_EQ(conflict(1, true), "");
}

// Readers come again and again: their lists don't grow without end, and none is forgotten.
TEST_F(Clocks, ListsOfReadersStaySmall) {
  write(0);
  ordering_.synchronise_block(0);
  for (int round = 0; round < 40000; ++round) {
    for (const std::uint32_t reader : {10U, 50U, 60U}) {
      read(reader);
      ordering_.advance();
      read(reader, 1 + reader);
    }
  }
  for (std::uint32_t byte = 2; byte < 100; ++byte) {
    write(0, byte);
  }
  hand_over(10, 95);
  hand_over(60, 95);
  EXPECT_EQ(conflict(95, true), "read");
  hand_over(50, 95);
  EXPECT_EQ(conflict(95, true), "");
}

TEST(OperationsTest, WaitForTheirGroups) {
  // Whatever the timing: what a wait covers has happened after it, in order, and each operation once.
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    Operations operations;
    operations.begin(2, random);
    std::vector<int> done;
    const auto ask = [&](int number) {
      EXPECT_FALSE(operations.issue(
          1,
          [&done, number]() -> std::optional<Fault> {
            done.push_back(number);
            return std::nullopt;
          },
          random));
    };
    ask(0);
    ask(1);
    operations.close_group(1, 10);
    ask(2);
    operations.close_group(1, 20);
    operations.close_group(1, 30);
    ask(3);
    EXPECT_EQ(operations.newest_covered(1, 3), nullptr);
    ASSERT_NE(operations.newest_covered(1, 2), nullptr);
    EXPECT_EQ(operations.newest_covered(1, 2)->time, 10U);
    EXPECT_EQ(operations.newest_covered(1, 0)->end, 3U);
    EXPECT_FALSE(operations.finish(1, operations.newest_covered(1, 2)->end));
    EXPECT_GE(done.size(), 2U);
    EXPECT_FALSE(operations.finish(1, operations.newest_covered(1, 0)->end));
    EXPECT_GE(done.size(), 3U);
    while (!operations.idle()) {
      EXPECT_FALSE(operations.perform_one(random));
    }
    EXPECT_EQ(done, (std::vector<int>{0, 1, 2, 3}));
  }
}

TEST(OperationsTest, HappenEarlyLateAndInBetween) {
  int early = 0;
  int late = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    Operations operations;
    operations.begin(1, random);
    int done = 0;
    for (int i = 0; i < 8; ++i) {
      EXPECT_FALSE(operations.issue_alone(
          [&done]() -> std::optional<Fault> {
            ++done;
            return std::nullopt;
          },
          random));
    }
    EXPECT_EQ(operations.idle(), done == 8);
    early += done == 8 ? 1 : 0;
    late += done == 0 ? 1 : 0;
  }
  EXPECT_GT(early, 10);
  EXPECT_GT(late, 10);
  EXPECT_LT(early + late, 55);
}

}  // namespace
}  // namespace convtgen::host
