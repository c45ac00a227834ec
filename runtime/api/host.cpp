// Prebuilt kernels on the host device.
#include <convtgen/host.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/api/guard.h"
#include "runtime/device/host/host_device.h"
#include "runtime/store/digest.h"

using namespace convtgen;
using namespace convtgen::api;

namespace {

/// The process's host device with the kernels that are loaded there. Its launches take turns with the copies of their
/// arrays: a launch looks at every buffer there is.
struct HostKernels {
  std::mutex mutex;
  std::unique_ptr<HostDevice> device;
  std::map<std::string, std::unique_ptr<LoadedKernel>> loaded;  // by the digest of symbol and library
};

HostKernels& host_kernels() {
  static HostKernels& kernels = *new HostKernels;  // threads may launch until the process ends
  return kernels;
}

// Whether bytes that begin at an address would end beyond the last one.
bool wraps(std::uint64_t begin, std::size_t bytes) {
  std::uint64_t end = 0;
  return __builtin_add_overflow(begin, bytes, &end);
}

Outcome<void> check(const convtgen_host_launch_fields* launch) {
  if (auto checked = check_not_null(launch, "launch"); !checked) {
    return checked;
  }
  if (launch->struct_size != sizeof(convtgen_host_launch_fields)) {
    return fail_with(Status::kInvalidArgument, fmt::format("launch->struct_size is {}; this version knows {}",
                                                           launch->struct_size, sizeof(convtgen_host_launch_fields)));
  }
  if (auto checked = first_failure(
          check_not_null(launch->library, "launch->library"), check_not_null(launch->symbol, "launch->symbol"),
          launch->argument_count == 0 ? Outcome<void>() : check_not_null(launch->arguments, "launch->arguments"));
      !checked) {
    return checked;
  }
  if (wraps(reinterpret_cast<std::uint64_t>(launch->library), launch->library_bytes)) {
    return fail_with(Status::kInvalidArgument, fmt::format("launch->library_bytes is {}: more than there are addresses "
                                                           "behind launch->library",
                                                           launch->library_bytes));
  }
  for (std::size_t i = 0; i < launch->argument_count; ++i) {
    const convtgen_host_argument& argument = launch->arguments[i];
    if (argument.kind < CONVTGEN_HOST_INTEGER || argument.kind > CONVTGEN_HOST_WRITTEN) {
      return fail_with(
          Status::kInvalidArgument,
          fmt::format("launch->arguments[{}].kind is {}; legal are the CONVTGEN_HOST_ constants", i, argument.kind));
    }
    if (argument.kind != CONVTGEN_HOST_INTEGER && argument.value == 0 && argument.bytes > 0) {
      return fail_with(Status::kInvalidArgument, fmt::format("launch->arguments[{}].value is null", i));
    }
    if (argument.kind != CONVTGEN_HOST_INTEGER && wraps(argument.value, argument.bytes)) {
      return fail_with(Status::kInvalidArgument,
                       fmt::format("launch->arguments[{}].bytes is {}: more than there are addresses behind its value",
                                   i, argument.bytes));
    }
  }
  return {};
}

Outcome<LoadedKernel*> load(HostKernels& kernels, const convtgen_host_launch_fields& launch) {
  if (!kernels.device) {
    HostOptions options;
    options.cache = false;  // nothing is compiled
    auto device = open_host_device(std::move(options));
    if (!device) {
      return fail_with(Status::kInternal, device.error());
    }
    kernels.device = *std::move(device);
  }
  Binary binary;
  binary.kind = BinaryKind::kHostLibrary;
  binary.symbol = launch.symbol;
  binary.bytes.assign(static_cast<const char*>(launch.library), launch.library_bytes);
  auto& kernel = kernels.loaded[digest_of(binary.bytes) + fmt::format("{} {}", launch.threads, binary.symbol)];
  if (!kernel) {
    auto loaded = kernels.device->load(binary, {binary.symbol, launch.threads, launch.shared_bytes});
    if (!loaded) {
      return fail_with(Status::kUnsupported, loaded.error());
    }
    kernel = *std::move(loaded);
  }
  return kernel.get();
}

/// A buffer of its own for every array: so an index that leaves it meets no other.
Outcome<std::unique_ptr<Buffer>> copy_in(HostDevice& device, const convtgen_host_argument& argument) {
  constexpr std::byte kPoison{0xff};  // every float of these bytes is a NaN
  auto buffer = device.allocate(argument.bytes);
  if (!buffer) {
    return fail_with(Status::kOutOfMemory, buffer.error());
  }
  const auto done =
      argument.kind == CONVTGEN_HOST_READ
          ? device.upload(**buffer, std::span(reinterpret_cast<const std::byte*>(argument.value), argument.bytes))
          : device.poison(**buffer, kPoison);
  if (!done) {
    return fail_with(Status::kOutOfMemory, done.error());
  }
  return *std::move(buffer);
}

Outcome<void> run(HostKernels& kernels, const convtgen_host_launch_fields& fields) {
  auto kernel = load(kernels, fields);
  if (!kernel) {
    return std::unexpected(std::move(kernel.error()));
  }
  HostDevice& device = *kernels.device;
  const std::span arguments(fields.arguments, fields.argument_count);
  std::vector<std::unique_ptr<Buffer>> buffers(arguments.size());
  Launch launch;
  launch.blocks = fields.blocks;
  launch.threads = fields.threads;
  launch.shared_bytes = fields.shared_bytes;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind == CONVTGEN_HOST_INTEGER) {
      launch.arguments.push_back(arguments[i].value);
      continue;
    }
    auto buffer = copy_in(device, arguments[i]);
    if (!buffer) {
      return std::unexpected(std::move(buffer.error()));
    }
    buffers[i] = *std::move(buffer);
    launch.arguments.push_back(buffers[i]->address());
  }
  if (const auto ran = device.run(**kernel, launch); !ran) {
    return fail_with(Status::kKernelFault, ran.error());
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind == CONVTGEN_HOST_WRITTEN) {
      const std::span to(reinterpret_cast<std::byte*>(arguments[i].value), arguments[i].bytes);
      if (const auto copied = device.download(to, *buffers[i]); !copied) {
        return fail_with(Status::kInternal, copied.error());
      }
    }
  }
  return {};
}

}  // namespace

extern "C" convtgen_status convtgen_host_launch(const convtgen_host_launch_fields* launch) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = check(launch); !checked) {
      return checked;
    }
    HostKernels& kernels = host_kernels();
    const std::lock_guard lock(kernels.mutex);
    return run(kernels, *launch);
  });
}
