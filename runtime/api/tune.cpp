// The function of the C API that measures plans.
#include "runtime/tune/tune.h"

#include <fmt/core.h>

#include "runtime/api/guard.h"
#include "runtime/api/sizes.h"
#include "runtime/device/open/open.h"
#include "runtime/jit/fork.h"
#include "runtime/make/device_maker.h"
#include "runtime/make/shared_store.h"

using namespace convtgen;
using namespace convtgen::api;

namespace convtgen::api {
namespace {

/// Tunes on a device of its own: the engine's has no way to time a kernel, and its kernels stay as they are.
Outcome<double> tune_on(const jit::JitDevice& on, const Layer& layer, const InputSizes& sizes,
                        const TuneOptions& options) {
  if (!on.is_host() && jit::cuda_lost_in_fork()) {
    return std::unexpected(jit::forked_failure());
  }
  DeviceOptions opening{.gpu = on.ordinal(), .host = {}};
  auto device = open_device(on.is_host() ? "host" : "cuda", opening);
  if (!device) {
    return fail_with(Status::kNoDevice, device.error());
  }
  const std::string own = (*device)->architecture();
  const Result<Target> target = own.empty() ? known_targets().front() : target_named(own);
  if (!target) {
    return fail_with(Status::kUnsupported, target.error());
  }
  const Problem problem{layer, Direction::kForward, *target};
  if (auto planned = plan(problem); !planned) {
    return fail_with(Status::kUnsupported, planned.error());
  }
  if (auto shape = shape_of(layer, sizes); !shape || shape->output_elements == 0) {
    return fail_with(Status::kInvalidArgument,
                     shape ? "batch is 0: there is nothing to measure" : shape.error().message);
  }
  const std::shared_ptr<Store> store = store_of(on.store_folder());
  const std::shared_ptr<KernelMaker> maker = maker_for(**device, store);
  const auto tuned = tune(**device, *store, *maker, {problem, sizes}, options);
  if (!tuned) {
    return std::unexpected(tuned.error());
  }
  return tuned->candidates[tuned->best].milliseconds;
}

}  // namespace
}  // namespace convtgen::api

extern "C" {

convtgen_status convtgen_tune(convtgen_device* device, const convtgen_layer* layer, int64_t batch, int64_t height,
                              int64_t width, int again, convtgen_tune_progress progress, void* user,
                              double* milliseconds) {
  return guarded([&]() -> Outcome<void> {
    if (milliseconds != nullptr) {
      *milliseconds = 0;
    }
    if (auto checked = first_failure(check_handle(device, "device"), check_handle(layer, "layer")); !checked) {
      return checked;
    }
    std::stop_source stop;
    CallbackGuard guard;
    TuneOptions options{.again = again != 0, .stop = stop.get_token()};
    if (progress != nullptr) {
      options.progress = [&](const TuneStep& step) {
        const std::string doing =
            fmt::format("candidate {} of {}: {}", step.candidate + 1, step.candidates, step.plan.summary);
        if (step.kind == TuneStep::Kind::kMeasure &&
            guard.call([&] { return progress(user, doing.c_str(), step.fraction); }, 1) != 0) {
          stop.request_stop();
        }
      };
    }
    const Layer& own = find(layer)->layer();
    auto tuned = tune_on(**find(device), own, sizes_given(own, batch, height, width), options);
    if (auto called = guard.result("progress"); !called) {
      return called;
    }
    if (!tuned) {
      return std::unexpected(std::move(tuned.error()));
    }
    if (milliseconds != nullptr) {
      *milliseconds = *tuned;
    }
    return {};
  });
}

}  // extern "C"
