// Loops over independent indices on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace convtgen {

/// Calls body(begin, end) for slices that cover [0, count) once; slices of `grain` are handed out as threads ask.
/// The body must not throw.
template <typename Body>
void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t slices = (count + grain - 1) / grain;
  std::atomic<std::int64_t> next = 0;
  const auto work = [&] {
    for (std::int64_t slice = next++; slice < slices; slice = next++) {
      body(slice * grain, std::min(count, (slice + 1) * grain));
    }
  };
  const std::int64_t threads = std::min<std::int64_t>(slices, std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::jthread> helpers;
  for (std::int64_t i = 1; i < threads; ++i) {
    helpers.emplace_back(work);
  }
  work();
}

}  // namespace convtgen
