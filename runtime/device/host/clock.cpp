#include "runtime/device/host/clock.h"

#include <algorithm>

namespace convtgen::host {
namespace {

void raise_to(Clock& clock, std::uint32_t id, Time time) {
  if (clock.size() <= id) {
    clock.resize(id + 1, 0);
  }
  clock[id] = std::max(clock[id], time);
}

// Clears clocks but keeps their memory.
void reset(std::vector<Clock>& clocks, std::size_t count) {
  clocks.resize(count);
  for (Clock& clock : clocks) {
    clock.clear();
  }
}

}  // namespace

void join(Clock& into, const Clock& from) {
  if (into.size() < from.size()) {
    into.resize(from.size(), 0);
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    into[i] = std::max(into[i], from[i]);
  }
}

void Ordering::begin(std::uint32_t blocks, std::uint32_t threads) {
  threads_ = threads;
  warps_ = (threads + 31) / 32;
  first_ = ++time_;
  agents_.clear();
  const std::size_t all = std::size_t{blocks} * threads;
  reset(threads_know_, all);
  reset(warps_know_, std::size_t{blocks} * warps_);
  reset(blocks_know_, blocks);
  for (auto& kind : fences_) {
    kind.resize(all);
    for (auto& times : kind) {
      times.clear();
    }
  }
}

std::uint32_t Ordering::make_agent(AgentKind kind, std::uint32_t owner) {
  agents_.push_back({kind, owner});
  return static_cast<std::uint32_t>(threads_know_.size() + agents_.size() - 1);
}

Agent Ordering::agent(std::uint32_t id) const {
  const auto threads = static_cast<std::uint32_t>(threads_know_.size());
  return id < threads ? Agent{AgentKind::kThread, id} : agents_[id - threads];
}

Clock Ordering::release(std::uint32_t thread) {
  Clock clock = blocks_know_[block_of(thread)];
  join(clock, warps_know_[warp_of(thread)]);
  join(clock, threads_know_[thread]);
  raise_to(clock, thread, advance());
  return clock;
}

void Ordering::acquire(std::uint32_t thread, const Clock& clock) {
  join(threads_know_[thread], clock);
}

void Ordering::learn(std::uint32_t thread, std::uint32_t id, Time time) {
  raise_to(threads_know_[thread], id, time);
}

void Ordering::synchronise_block(std::uint32_t block) {
  Clock& all = blocks_know_[block];
  for (std::uint32_t warp = block * warps_; warp < (block + 1) * warps_; ++warp) {
    join(all, warps_know_[warp]);
    warps_know_[warp].clear();
  }
  const Time time = advance();
  for (std::uint32_t thread = block * threads_; thread < (block + 1) * threads_; ++thread) {
    join(all, threads_know_[thread]);
    threads_know_[thread].clear();
    raise_to(all, thread, time);
  }
}

void Ordering::synchronise_warp(std::uint32_t first_thread, std::uint32_t mask) {
  const std::uint32_t lanes = std::min(32U, threads_ - first_thread % threads_);
  const bool whole = mask == (lanes == 32 ? ~0U : (1U << lanes) - 1);
  Clock partial;
  Clock& all = whole ? warps_know_[warp_of(first_thread)] : partial;
  const Time time = advance();
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if ((mask >> lane & 1) != 0) {
      join(all, threads_know_[first_thread + lane]);
      raise_to(all, first_thread + lane, time);
      if (whole) {
        threads_know_[first_thread + lane].clear();
      }
    }
  }
  for (std::uint32_t lane = 0; lane < lanes && !whole; ++lane) {
    if ((mask >> lane & 1) != 0) {
      join(threads_know_[first_thread + lane], partial);
    }
  }
}

void Ordering::fence(std::uint32_t thread, FenceKind kind) {
  fences_[static_cast<int>(kind)][thread].push_back(advance());
}

bool Ordering::fenced(std::uint32_t thread, std::uint32_t owner, Time time, FenceKind kind) const {
  const std::vector<Time>& times = fences_[static_cast<int>(kind)][owner];
  const auto after = std::ranges::upper_bound(times, time);
  return after != times.end() && knows(thread, owner, *after - 1);
}

}  // namespace convtgen::host
