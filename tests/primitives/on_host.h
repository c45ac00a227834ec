// Cases on the host device, seed after seed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/device/host/host_device.h"
#include "tests/primitives/case.h"

namespace convtgen::testing {

/// A case's kernel, compiled for a host device of its own, so that several may run side by side; or for the one that is
/// given.
class CaseOnHost {
 public:
  /// Errors: the kernel does not compile.
  [[nodiscard]] static Result<CaseOnHost> make(Case one, std::shared_ptr<HostDevice> device = nullptr);

  /// Runs it on fresh buffers: "" where it gives what the case expects, else the device's error, or which words differ.
  /// Only of inputs and maps that the device takes.
  [[nodiscard]] std::string run(std::uint64_t seed);

  /// The line of the compiled source on which line 1 of the case's body is.
  [[nodiscard]] int first_line() const { return first_line_; }

 private:
  CaseOnHost() = default;

  Case case_;
  int first_line_ = 1;
  std::shared_ptr<HostDevice> device_;
  std::unique_ptr<LoadedKernel> kernel_;
};

/// Calls work(i) for every i < count, on two threads: a kernel compiles while another one runs.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace convtgen::testing
