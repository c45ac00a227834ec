#include "runtime/make/device_maker.h"

#include <optional>
#include <string>
#include <utility>

#include "runtime/compile/code_here.h"
#include "runtime/device/host/library.h"
#include "runtime/make/cubin_maker.h"
#include "runtime/make/kept_kernel.h"
#include "runtime/support/clock.h"

namespace convtgen {
namespace {

bool take_library(MadeKernel& made, std::string_view library) {
  made.binary = host::library_binary(std::string(library), made.source);
  return true;
}

Outcome<MadeKernel> compile_unkept(Device& device, MadeKernel made) {
  auto binary = device.compile(made.source, made.problem.target.architecture);
  if (!binary) {
    return fail_with(Status::kCompileFailed, binary.error());
  }
  made.binary = *std::move(binary);
  made.architecture = made.binary.architecture;
  made.compiled = true;
  return made;
}

}  // namespace

Outcome<MadeKernel> DeviceMaker::find_or_compile(MadeKernel generated, BinaryKind, const std::stop_token& stop) {
  if (stop.stop_requested()) {
    return fail_with(Status::kCancelled, "cancelled");
  }
  if (auto compiler = device_.find_compiler(); !compiler) {
    return fail_with(Status::kNoCompiler, compiler.error());
  }
  const Clock::time_point start = Clock::now();
  // The shared library alone is kept: what the binary has besides is made anew from the source.
  const auto compile = [this, source = generated.source,
                        architecture = generated.problem.target.architecture]() -> Made {
    const auto binary = device_.compile(source, architecture);
    if (!binary) {
      return std::unexpected(binary.error());
    }
    const auto library = host::library_in(binary->bytes);
    return library ? Made(std::string(*library)) : std::unexpected(library.error());
  };
  const std::optional<Key> key = device_.library_key(generated.source);
  const std::string label = generated.source.symbol;
  auto made = key ? find_or_compile_kept(*store_, {*key, label, take_library, compile}, std::move(generated), stop)
                  : compile_unkept(device_, std::move(generated));
  if (made) {
    made->compile_ms = milliseconds_since(start);
  }
  return made;
}

std::shared_ptr<KernelMaker> maker_for(Device& device, std::shared_ptr<Store> store, std::string_view architecture) {
  if (device.kind() == DeviceKind::kHost) {
    return std::make_shared<DeviceMaker>(device, std::move(store));
  }
  const auto chip = device.chip() ? chip_here(*device.chip(), architecture) : fail("");
  const auto code = chip ? code_here(*chip) : std::unexpected(NoCode{});
  return std::make_shared<CubinMaker>(std::move(store), std::string(),
                                      code && code->is_ptx ? BinaryKind::kPtx : BinaryKind::kCubin);
}

}  // namespace convtgen
