// How tests steer the fake CUDA driver (fake_driver.cpp), which is loaded as the real one would be.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace convtgen::fake {

/// One launch as the driver saw it: each argument's bytes, lowest first, as wide as its parameter.
struct SeenLaunch {
  std::string symbol;
  std::vector<unsigned int> grid, block;
  unsigned int shared_bytes = 0;
  std::vector<std::uint64_t> arguments;
  unsigned int cluster = 1;
};

/// The whole state. A module's image is text: "<symbol> <bytes of parameter> ...", or "bad" for one it refuses.
struct State {
  // What the machine is.
  int device_count = 1;
  int capability_major = 9, capability_minor = 0;
  int l2_bytes = 1000;
  int static_shared = 16;
  int max_shared_bytes = 227 * 1024;
  std::size_t memory_bytes = std::size_t{1} << 30;
  std::vector<float> elapsed;                 // what events tell, one after the other; the last stays
  std::map<std::string, int> failures;        // function name -> status that it returns from now on
  std::map<std::string, int> failures_after;  // function name -> calls that still succeed

  // What has happened.
  std::vector<std::string> calls;  // the names, in order, those of plain questions left out
  std::vector<SeenLaunch> launches;
  std::map<std::uint64_t, std::vector<unsigned char>> memory;  // live allocations
  int live_modules = 0, live_streams = 0, live_events = 0, live_contexts = 0;
  int current_depth = 0;          // pushed contexts
  int calls_without_context = 0;  // of functions that need a current one
  int allowed_shared = 48 * 1024;
};

/// Exported by the fake as `convtgen_fake_state`.
using StateFunction = State* (*)();

}  // namespace convtgen::fake
