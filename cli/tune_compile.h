// convtgen tune --compile-only: the candidates' binaries, made where no GPU is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "runtime/make/compile_ahead.h"
#include "runtime/store/store.h"
#include "runtime/tune/tune_memory.h"

namespace convtgen::cli {

/// A layer for one architecture, and the plans that tuning would measure.
struct LayerCandidates {
  std::string name;  // "up for sm_90a"
  Problem problem;
  std::vector<Plan> plans;
  std::optional<TuneMemory> memory;  // that tuning needs; nullopt if sizes are open
};

/// Puts all binaries into the store, `threads` at a time, and prints the result of each layer. `kWrong` if none of a
/// layer's plans compiles; `kUsage` if there is no store, or no NVRTC for binaries that the store lacks.
[[nodiscard]] Exit compile_candidates(const std::shared_ptr<Store>& store, const std::vector<LayerCandidates>& layers,
                                      std::size_t threads);

}  // namespace convtgen::cli
