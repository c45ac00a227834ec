// Prebuilt kernels on the host device.
#include <convtgen/host.h>

#include <algorithm>
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
bool wraps(const void* begin, std::size_t bytes) {
  std::uint64_t end = 0;
  return __builtin_add_overflow(reinterpret_cast<std::uint64_t>(begin), bytes, &end);
}

std::unexpected<Failure> wrong(std::string message) {
  return fail_with(Status::kInvalidArgument, "call->" + std::move(message));
}

Outcome<void> check_bytes(const std::string& name, const void* begin, std::size_t bytes) {
  if (begin == nullptr && bytes > 0) {
    return wrong(name + " is null");
  }
  if (wraps(begin, bytes)) {
    return wrong(fmt::format("{} has {} bytes: more than there are addresses after it", name, bytes));
  }
  return {};
}

Outcome<void> check_argument(const std::string& name, const convtgen_host_argument& argument, std::size_t arrays) {
  const std::int64_t array = argument.map != nullptr ? argument.map->array : argument.array;
  const std::int64_t least = argument.map != nullptr ? 0 : -1;
  if (array < least || array >= static_cast<std::int64_t>(arrays)) {
    return wrong(fmt::format("{} names array {}; legal are {} to {}", name, array, least,
                             static_cast<std::int64_t>(arrays) - 1));
  }
  const convtgen_host_map* const map = argument.map;
  const auto in = [](std::int32_t value, std::int32_t end) { return value >= 0 && value < end; };
  if (map != nullptr && (!in(map->element, 8) || !in(map->swizzle, 4) || !in(map->fill, 2))) {
    return wrong(fmt::format("{}.map has element {}, swizzle {} and fill {}; legal are 0 to 7, 0 to 3, and 0 or 1",
                             name, map->element, map->swizzle, map->fill));
  }
  return {};
}

Outcome<void> check_kernel(const std::string& name, const convtgen_host_kernel& kernel, std::size_t arrays) {
  if (kernel.symbol == nullptr) {
    return wrong(name + ".symbol is null");
  }
  if (kernel.arguments == nullptr && kernel.argument_count > 0) {
    return wrong(name + ".arguments is null");
  }
  for (std::size_t i = 0; i < kernel.argument_count; ++i) {
    if (auto checked = check_argument(fmt::format("{}.arguments[{}]", name, i), kernel.arguments[i], arrays);
        !checked) {
      return checked;
    }
  }
  return {};
}

Outcome<void> check(const convtgen_host_call_fields* call) {
  if (auto checked = check_not_null(call, "call"); !checked) {
    return checked;
  }
  if (call->struct_size != sizeof(convtgen_host_call_fields)) {
    return wrong(
        fmt::format("struct_size is {}; this version knows {}", call->struct_size, sizeof(convtgen_host_call_fields)));
  }
  if (auto checked = first_failure(
          check_not_null(call->library, "call->library"), check_bytes("library", call->library, call->library_bytes),
          call->array_count == 0 ? Outcome<void>() : check_not_null(call->arrays, "call->arrays"),
          call->kernel_count == 0 ? Outcome<void>() : check_not_null(call->kernels, "call->kernels"));
      !checked) {
    return checked;
  }
  for (std::size_t i = 0; i < call->array_count; ++i) {
    const convtgen_host_array& array = call->arrays[i];
    const std::string name = fmt::format("arrays[{}]", i);
    if (array.kind < CONVTGEN_HOST_READ || array.kind > CONVTGEN_HOST_UPDATED) {
      return wrong(fmt::format("{}.kind is {}; legal are the CONVTGEN_HOST_ constants", name, array.kind));
    }
    if (auto checked = check_bytes(name, array.address, array.bytes); !checked) {
      return checked;
    }
  }
  for (std::size_t i = 0; i < call->kernel_count; ++i) {
    if (auto checked = check_kernel(fmt::format("kernels[{}]", i), call->kernels[i], call->array_count); !checked) {
      return checked;
    }
  }
  return {};
}

Outcome<LoadedKernel*> load(HostKernels& kernels, const Binary& binary, const convtgen_host_kernel& wanted) {
  auto& kernel = kernels.loaded[digest_of(binary.bytes) + fmt::format("{} {}", wanted.threads, wanted.symbol)];
  if (!kernel) {
    auto loaded = kernels.device->load(binary, {wanted.symbol, wanted.threads, wanted.shared_bytes});
    if (!loaded) {
      return fail_with(Status::kUnsupported, loaded.error());
    }
    kernel = *std::move(loaded);
  }
  return kernel.get();
}

using Buffers = std::vector<std::unique_ptr<Buffer>>;

/// A buffer of its own for every array: so an index that leaves it meets no other.
Outcome<Buffers> copy_in(HostDevice& device, std::span<const convtgen_host_array> arrays) {
  constexpr std::byte kPoison{0xff};  // every float of these bytes is a NaN
  Buffers buffers;
  for (const convtgen_host_array& array : arrays) {
    auto buffer = device.allocate(array.bytes);
    if (!buffer) {
      return fail_with(Status::kOutOfMemory, buffer.error());
    }
    const auto done =
        array.kind == CONVTGEN_HOST_READ || array.kind == CONVTGEN_HOST_UPDATED
            ? device.upload(**buffer, std::span(static_cast<const std::byte*>(array.address), array.bytes))
            : device.poison(**buffer, kPoison);
    if (!done) {
      return fail_with(Status::kOutOfMemory, done.error());
    }
    buffers.push_back(*std::move(buffer));
  }
  return buffers;
}

TensorMap map_of(const convtgen_host_map& given, const Buffers& buffers) {
  TensorMap map;
  map.element = static_cast<TensorMap::Element>(given.element);
  map.rank = given.rank;
  map.address = buffers[static_cast<std::size_t>(given.array)]->address();
  std::ranges::copy(given.sizes, map.sizes.begin());
  std::ranges::copy(given.pitches, map.pitches.begin());
  std::ranges::copy(given.box, map.box.begin());
  std::ranges::copy(given.steps, map.steps.begin());
  map.swizzle = static_cast<TensorMap::Swizzle>(given.swizzle);
  map.fill = static_cast<TensorMap::Fill>(given.fill);
  return map;
}

Launch launch_of(const convtgen_host_kernel& kernel, const Buffers& buffers) {
  Launch launch;
  launch.blocks = kernel.blocks;
  launch.threads = kernel.threads;
  launch.shared_bytes = kernel.shared_bytes;
  for (std::size_t i = 0; i < kernel.argument_count; ++i) {
    const convtgen_host_argument& argument = kernel.arguments[i];
    launch.arguments.push_back(argument.map != nullptr ? 0
                               : argument.array >= 0   ? buffers[static_cast<std::size_t>(argument.array)]->address()
                                                       : argument.value);
    if (argument.map != nullptr) {
      launch.tensor_maps.push_back({i, map_of(*argument.map, buffers)});
    }
  }
  return launch;
}

Outcome<void> run(HostKernels& kernels, const convtgen_host_call_fields& call) {
  if (!kernels.device) {
    auto device = open_host_device();
    if (!device) {
      return fail_with(Status::kInternal, device.error());
    }
    kernels.device = *std::move(device);
  }
  HostDevice& device = *kernels.device;
  Binary binary;
  binary.kind = BinaryKind::kHostLibrary;
  binary.bytes.assign(static_cast<const char*>(call.library), call.library_bytes);
  const std::span wanted(call.kernels, call.kernel_count);
  std::vector<LoadedKernel*> loaded;
  for (const convtgen_host_kernel& kernel : wanted) {
    const auto own = load(kernels, binary, kernel);
    if (!own) {
      return std::unexpected(own.error());
    }
    loaded.push_back(*own);
  }
  const std::span arrays(call.arrays, call.array_count);
  const auto buffers = copy_in(device, arrays);
  if (!buffers) {
    return std::unexpected(buffers.error());
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].blocks == 0) {
      continue;
    }
    if (const auto ran = device.run(*loaded[i], launch_of(wanted[i], *buffers)); !ran) {
      return fail_with(Status::kKernelFault, ran.error());
    }
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].kind == CONVTGEN_HOST_WRITTEN || arrays[i].kind == CONVTGEN_HOST_UPDATED) {
      const std::span to(static_cast<std::byte*>(arrays[i].address), arrays[i].bytes);
      if (const auto copied = device.download(to, *(*buffers)[i]); !copied) {
        return fail_with(Status::kInternal, copied.error());
      }
    }
  }
  return {};
}

}  // namespace

extern "C" convtgen_status convtgen_host_call(const convtgen_host_call_fields* call) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = check(call); !checked) {
      return checked;
    }
    HostKernels& kernels = host_kernels();
    const std::lock_guard lock(kernels.mutex);
    return run(kernels, *call);
  });
}
