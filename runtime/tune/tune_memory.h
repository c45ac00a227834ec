// How much memory tuning needs, and whether it is free.
#pragma once

#include <cstdint>

#include "runtime/tune/tune.h"

namespace convtgen {

/// Bytes that a tuning has allocated at a time, at most. 2^63 - 1 where there would be more.
struct TuneMemory {
  // On the device; 0 for what the caller gives. The host device's buffers are in main memory too, and its record
  // of written bytes is as large again.
  std::int64_t inputs = 0;     // what calls read: x, weight and bias in the forward direction
  std::int64_t outputs = 0;    // what they write
  std::int64_t workspace = 0;  // the largest of the candidates'
  std::int64_t timing = 0;     // what Device::time() allocates for itself

  std::int64_t host = 0;  // in main memory: inputs, the reference and results; not what compiling takes

  [[nodiscard]] std::int64_t device() const;
};

/// Of the first `options.candidates` plans of a job. Nothing is specialised, compiled or allocated.
/// Errors: kUnsupported, no plan; kInvalidArgument, sizes that don't fit the layer.
[[nodiscard]] Outcome<TuneMemory> tune_memory(const Device& device, const TuneJob& job,
                                              const TuneOptions& options = {});

/// Of plans whose workspaces have at most these bytes, with these arrays of the caller's, and without what
/// Device::time() takes.
[[nodiscard]] TuneMemory tune_memory(const Problem& problem, const Shape& shape, std::int64_t workspace,
                                     const Arrays& given = {}, const VerifyOptions& verify = TuneOptions().verify);

/// The caller's arrays that tuning uses: none on the host device, whose checks need buffers of its own.
[[nodiscard]] Arrays used_arrays(const Device& device, const TuneOptions& options);

/// Bytes of a plan's workspace, from its recipe.
[[nodiscard]] std::int64_t workspace_of(const Plan& plan, const Shape& shape);

/// Whether so many bytes are more than the caller's workspace has.
[[nodiscard]] bool outgrows_given(std::int64_t workspace, const TuneOptions& options);

/// Errors: kOutOfMemory, more is needed than `options.memory_limit` allows or than is free on the device.
[[nodiscard]] Outcome<void> check_memory(const Device& device, const TuneMemory& memory, const TuneOptions& options);

}  // namespace convtgen
