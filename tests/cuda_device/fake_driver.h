// How tests steer the fake CUDA driver (fake_driver.cpp), which is loaded as the real one would be.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/device/cuda/cuda_api.h"

namespace convtgen::fake {

/// One launch as the driver saw it: each argument's bytes, lowest first, as wide as its parameter.
struct SeenLaunch {
  std::string symbol;
  std::vector<unsigned int> grid, block;
  unsigned int shared_bytes = 0;
  std::vector<std::uint64_t> arguments;
  unsigned int cluster = 1;
  bool overlaps = false;
  std::uint64_t stream = 0;
  unsigned long long context = 0;  // its id
};

/// The whole state. A module's image is text: a line "<symbol> <bytes of parameter> ..." for each kernel, or "bad" for
/// one it refuses; before it may stand "@ sm_80 13000" or "@ compute_80 13000", the architecture and the compiler's
/// CUDA. Real cubins and PTX are taken too. Images that tell what they are for are loaded by the rule of real drivers.
struct State {
  // What the machine is. $CONVTGEN_FAKE_NAME, $CONVTGEN_FAKE_CAPABILITY (87), $CONVTGEN_FAKE_DRIVER_VERSION (12020) and
  // $CONVTGEN_FAKE_SHARED are read when the library is loaded.
  std::string name = "Fake GPU";
  int device_count = 1;
  int driver_version = 13010;
  int capability_major = 9, capability_minor = 0;
  int l2_bytes = 1000;
  int static_shared = 16;
  int max_shared_bytes = 227 * 1024;
  std::size_t memory_bytes = std::size_t{1} << 30;
  std::vector<float> elapsed;                              // what events tell, one after the other; the last stays
  std::map<std::string, int, std::less<>> failures;        // function name -> status that it returns from now on
  std::map<std::string, int, std::less<>> failures_after;  // function name -> calls that still succeed
  std::set<std::uint64_t> capturing;                       // streams; loading a module meanwhile spoils the capture
  std::set<std::string> refused_images;                    // architectures whose images it can't take (209)
  bool record = true;                                      // whether calls and launches are kept
  bool launches_clear = false;                             // each makes all memory zero, whatever its kernel

  // What has happened.
  std::string last_image;          // the architecture of the last module, where its image told it
  std::vector<std::string> calls;  // the names, in order, those of plain questions left out
  std::vector<SeenLaunch> launches;
  std::map<std::uint64_t, std::vector<unsigned char>> memory;  // live allocations
  std::size_t most_memory = 0;                                 // bytes that were allocated at a time
  int live_modules = 0, live_streams = 0, live_events = 0, live_contexts = 0;
  int current_depth = 0;          // pushed contexts
  int calls_without_context = 0;  // of functions that need a current one
  int allowed_shared = 48 * 1024;
  int spoiled_captures = 0;
  int wrong_contexts = 0;  // uses of a module in another context than its own, or in one that is gone
};

/// Exported by the fake as `convtgen_fake_state`.
using StateFunction = State* (*)();

/// Exported as `convtgen_fake_make_context` and `convtgen_fake_destroy_context`: a context besides the primary ones.
using MakeContextFunction = void* (*)(int device);
using DestroyContextFunction = void (*)(void* context);
/// Of cuCtxPushCurrent_v2 and cuCtxPopCurrent_v2, for tests that are a caller with a context of its own.
using PushContextFunction = cuda::Status (*)(cuda::ContextHandle context);
using PopContextFunction = cuda::Status (*)(cuda::ContextHandle* context);

}  // namespace convtgen::fake
