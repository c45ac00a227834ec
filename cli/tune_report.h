// What convtgen tune prints about the candidates that it measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/tune/tune_memory.h"

namespace convtgen::cli {

/// A layer in one direction, and the result of its tuning.
struct TunedLayer {
  std::string name;
  TuneJob job;
  std::optional<TuneMemory> memory;  // nothing where there is no plan
  Outcome<Tuned> tuned;
};

/// The numbers in which a plan differs from the other plans of its template: "channels_per_thread 8, threads_y 16"; its
/// summary where it is the only one.
[[nodiscard]] std::string differences_of(const Plan& plan, const std::vector<const Plan*>& all);

/// A table: a line for each candidate, with its times, its template and the numbers that only it has.
[[nodiscard]] std::string tune_table(const Tuned& tuned);

/// The memory of the layer that needs the most on the device: "tuning takes up to 1.5 MiB on GPU A, where 70 GiB
/// are free, and 9.1 MiB of main memory: layer 'up'\n". Empty where there is no plan of any.
[[nodiscard]] std::string memory_line(const Device& device, const std::vector<TunedLayer>& layers);

/// All of it for programs: times in milliseconds, memory in bytes, null if absent.
[[nodiscard]] std::string tune_json(const std::string& device, const std::vector<TunedLayer>& layers);

}  // namespace convtgen::cli
