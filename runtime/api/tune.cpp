// The functions of the C API on tuning.
#include "runtime/tune/tune.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "runtime/api/guard.h"
#include "runtime/api/sizes.h"
#include "runtime/device/open/open.h"
#include "runtime/jit/fork.h"
#include "runtime/make/device_maker.h"
#include "runtime/make/shared_store.h"
#include "runtime/tune/tune_memory.h"

using namespace convtgen;
using namespace convtgen::api;

namespace convtgen::api {
namespace {

/// What a call is about: a device of its own, since the engine's has no way to time a kernel, and the problem.
struct Tuning {
  std::unique_ptr<Device> device;
  TuneJob job;
};

Outcome<Tuning> tuning_of(convtgen_device* given, const convtgen_layer* layer, convtgen_direction direction,
                          const convtgen_sizes* sizes, const convtgen_tune_options* options) {
  if (auto checked = first_failure(check_handle(given, "device"), check_handle(layer, "layer"),
                                   options != nullptr ? check_struct(options, "options") : Outcome<void>(),
                                   options != nullptr && options->tensors != nullptr
                                       ? check_struct(options->tensors, "options.tensors")
                                       : Outcome<void>());
      !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  const auto key = find(layer)->key(direction);
  if (!key) {
    return std::unexpected(key.error());
  }
  const jit::JitDevice& on = **find(given);
  if (!on.is_host() && jit::cuda_lost_in_fork()) {
    return std::unexpected(jit::forked_failure());
  }
  auto device = open_device(on.is_host() ? "host" : fmt::format("cuda:{}", on.ordinal()));
  if (!device) {
    return fail_with(Status::kNoDevice, device.error());
  }
  const Result<PlannedTarget> target = target_of_device(**device, on.target().architecture, "");
  if (!target) {
    return fail_with(Status::kUnsupported, target.error());
  }
  return Tuning{*std::move(device),
                {{(*key)->layer(), (*key)->direction(), *target}, sizes_given((*key)->layer(), sizes)}};
}

TuneOptions options_of(const convtgen_tune_options* given) {
  TuneOptions options;
  if (given != nullptr) {
    options.again = given->again != 0;
    options.memory_limit = static_cast<std::int64_t>(
        std::min<std::uint64_t>(given->memory_limit, std::numeric_limits<std::int64_t>::max()));
    options.buffers = given->tensors != nullptr ? arrays_given(*given->tensors) : Arrays{};
  }
  return options;
}

}  // namespace
}  // namespace convtgen::api

extern "C" {

convtgen_status convtgen_tune(convtgen_device* device, const convtgen_layer* layer, convtgen_direction direction,
                              const convtgen_sizes* sizes, const convtgen_tune_options* given, double* milliseconds) {
  return guarded([&]() -> Outcome<void> {
    if (milliseconds != nullptr) {
      *milliseconds = 0;
    }
    auto tuning = tuning_of(device, layer, direction, sizes, given);
    if (!tuning) {
      return std::unexpected(std::move(tuning.error()));
    }
    std::stop_source stop;
    CallbackGuard guard;
    TuneOptions options = options_of(given);
    options.stop = stop.get_token();
    if (given != nullptr && given->progress != nullptr) {
      options.progress = [&](const TuneStep& step) {
        const std::string doing =
            fmt::format("candidate {} of {}: {}", step.candidate + 1, step.candidates, step.plan.summary);
        if (step.kind == TuneStep::Kind::kMeasure &&
            guard.call([&] { return given->progress(given->user, doing.c_str(), step.fraction); }, 1) != 0) {
          stop.request_stop();
        }
      };
    }
    const std::shared_ptr<Store> store = store_of((*find(device))->store_folder());
    const std::shared_ptr<KernelMaker> maker =
        maker_for(*tuning->device, store, (*find(device))->target().architecture);
    const auto tuned = tune(*tuning->device, *store, *maker, tuning->job, options);
    if (auto called = guard.result("progress"); !called) {
      return called;
    }
    if (!tuned) {
      return std::unexpected(tuned.error());
    }
    if (milliseconds != nullptr) {
      *milliseconds = tuned->candidates[tuned->best].milliseconds;
    }
    return {};
  });
}

convtgen_status convtgen_tune_memory(convtgen_device* device, const convtgen_layer* layer, convtgen_direction direction,
                                     const convtgen_sizes* sizes, const convtgen_tune_options* options,
                                     uint64_t* device_bytes, uint64_t* host_bytes) {
  return guarded([&]() -> Outcome<void> {
    for (uint64_t* bytes : {device_bytes, host_bytes}) {
      if (bytes != nullptr) {
        *bytes = 0;
      }
    }
    auto tuning = tuning_of(device, layer, direction, sizes, options);
    if (!tuning) {
      return std::unexpected(std::move(tuning.error()));
    }
    const auto memory = tune_memory(*tuning->device, tuning->job, options_of(options));
    if (!memory) {
      return std::unexpected(memory.error());
    }
    if (device_bytes != nullptr) {
      *device_bytes = static_cast<uint64_t>(memory->device());
    }
    if (host_bytes != nullptr) {
      *host_bytes = static_cast<uint64_t>(memory->host);
    }
    return {};
  });
}

}  // extern "C"
