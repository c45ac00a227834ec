#include "runtime/make/device_maker.h"

#include <utility>

#include "runtime/make/cubin_maker.h"
#include "runtime/support/clock.h"

namespace convtgen {

Outcome<MadeKernel> DeviceMaker::find_or_compile(MadeKernel generated, BinaryKind, const std::stop_token& stop) {
  if (stop.stop_requested()) {
    return fail_with(Status::kCancelled, "cancelled");
  }
  if (auto compiler = device_.find_compiler(); !compiler) {
    return fail_with(Status::kNoCompiler, compiler.error());
  }
  const Clock::time_point start = Clock::now();
  auto binary = device_.compile(generated.source, generated.problem.target.architecture);
  if (!binary) {
    return fail_with(Status::kCompileFailed, binary.error());
  }
  generated.binary = *std::move(binary);
  generated.architecture = generated.binary.architecture;
  generated.compiled = true;
  generated.compile_ms = milliseconds_since(start);
  return generated;
}

std::shared_ptr<KernelMaker> maker_for(Device& device, std::shared_ptr<Store> store) {
  if (device.kind() == DeviceKind::kHost) {
    return std::make_shared<DeviceMaker>(device);
  }
  return std::make_shared<CubinMaker>(std::move(store));
}

}  // namespace convtgen
