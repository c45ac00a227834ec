// The functions of the C API on devices and kernels.
#include <algorithm>

#include "runtime/api/guard.h"
#include "runtime/api/sizes.h"

using namespace convtgen;
using namespace convtgen::api;

namespace convtgen::api {
namespace {

static_assert(CONVTGEN_WORKSPACE_ALIGNMENT == kWorkspaceAlignment);

const jit::KernelFacts* facts_of(const convtgen_kernel* kernel) {
  const jit::KernelPointer* own = find(kernel);
  return own != nullptr ? &(*own)->facts() : nullptr;
}

}  // namespace
}  // namespace convtgen::api

extern "C" {

convtgen_status convtgen_device_open(const char* which, convtgen_device** device) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = first_failure(clear_output(device, "device"), check_not_null(which, "which")); !checked) {
      return checked;
    }
    auto opened = jit::JitDevice::open(which);
    if (!opened) {
      return std::unexpected(std::move(opened.error()));
    }
    *device = make_handle<convtgen_device>(*std::move(opened));
    return {};
  });
}

const char* convtgen_device_name(const convtgen_device* device) {
  const auto* own = find(device);
  return own != nullptr ? (*own)->name().c_str() : "";
}

int convtgen_device_is_host(const convtgen_device* device) {
  const auto* own = find(device);
  return own != nullptr && (*own)->is_host() ? 1 : 0;
}

void convtgen_device_close(convtgen_device* device) {
  destroy(device);
}

convtgen_status convtgen_prepare(convtgen_device* device, const convtgen_layer* layer, convtgen_direction direction,
                                 convtgen_kernel** kernel) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked =
            first_failure(clear_output(kernel, "kernel"), check_handle(device, "device"), check_handle(layer, "layer"));
        !checked) {
      return checked;
    }
    const auto key = find(layer)->key(direction);
    auto prepared = key ? (*find(device))->prepare(**key) : std::unexpected(key.error());
    if (!prepared) {
      return std::unexpected(std::move(prepared.error()));
    }
    *kernel = make_handle<convtgen_kernel>(*std::move(prepared));
    return {};
  });
}

convtgen_status convtgen_prepare_all(convtgen_device* device, const convtgen_layer* const* layers,
                                     const convtgen_direction* directions, size_t count, int threads,
                                     convtgen_progress progress, void* user, convtgen_kernel** kernels) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = check_handle(device, "device"); !checked) {
      return checked;
    }
    if (count == 0) {
      return {};
    }
    if (kernels != nullptr) {
      std::fill_n(kernels, count, nullptr);
    }
    if (auto checked = check_not_null(layers, "layers"); !checked) {
      return checked;
    }
    if (threads < 0) {
      return fail_with(Status::kInvalidArgument, fmt::format("threads is {}; legal is 0 or more", threads));
    }
    std::vector<const jit::KernelKey*> keys;
    keys.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      auto checked = check_handle(layers[i], "layer");
      const auto key = checked ? find(layers[i])->key(directions != nullptr ? directions[i] : CONVTGEN_FORWARD)
                               : std::unexpected(std::move(checked.error()));
      if (!key) {
        return fail_with(key.error().status, fmt::format("layers[{}]: {}", i, key.error().message));
      }
      keys.push_back(*key);
    }
    std::stop_source stop;
    CallbackGuard guard;
    jit::PrepareAllOptions options{.threads = threads, .progress = {}, .stop = stop.get_token()};
    if (progress != nullptr) {
      options.progress = [&](std::size_t index, std::size_t done, const Failure* failure) {
        const auto status = failure != nullptr ? static_cast<convtgen_status>(failure->status) : CONVTGEN_OK;
        if (guard.call([&] { return progress(user, index, done, count, status); }, 1) != 0) {
          stop.request_stop();
        }
      };
    }
    auto prepared = (*find(device))->prepare_all(keys, options);
    Outcome<void> result = guard.result("progress");
    for (size_t i = 0; i < count; ++i) {
      if (!prepared[i] && result) {
        result = std::unexpected(std::move(prepared[i].error()));
      } else if (prepared[i] && kernels != nullptr) {
        kernels[i] = make_handle<convtgen_kernel>(*std::move(prepared[i]));
      }
    }
    return result;
  });
}

convtgen_status convtgen_launch(convtgen_kernel* kernel, const convtgen_tensors* tensors, const convtgen_sizes* sizes,
                                void* stream) {
  return guarded([&]() -> Outcome<void> {
    const jit::KernelPointer* own = find(kernel);
    if (own == nullptr) [[unlikely]] {
      return check_handle(kernel, "kernel");
    }
    if (auto checked = check_struct(tensors, "tensors"); !checked) [[unlikely]] {
      return checked;
    }
    return (*own)->launch(arrays_given(*tensors), sizes_given((*own)->facts().form.layer(), sizes), stream);
  });
}

convtgen_status convtgen_run(convtgen_device* device, const convtgen_layer* layer, convtgen_direction direction,
                             const convtgen_tensors* tensors, const convtgen_sizes* sizes, void* stream) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = first_failure(check_handle(device, "device"), check_handle(layer, "layer"),
                                     check_struct(tensors, "tensors"));
        !checked) {
      return checked;
    }
    const auto key = find(layer)->key(direction);
    if (!key) {
      return std::unexpected(key.error());
    }
    return (*find(device))->run(**key, arrays_given(*tensors), sizes_given((*key)->layer(), sizes), stream);
  });
}

convtgen_status convtgen_kernel_workspace(const convtgen_kernel* kernel, const convtgen_sizes* sizes, size_t* bytes,
                                          size_t* kept_bytes) {
  return guarded([&]() -> Outcome<void> {
    if (kept_bytes != nullptr) {
      *kept_bytes = 0;
    }
    if (auto checked = first_failure(clear_output(bytes, "bytes"), check_handle(kernel, "kernel")); !checked) {
      return checked;
    }
    const CallForm& form = (*find(kernel))->facts().form;
    const auto shape = form.shape(sizes_given(form.layer(), sizes));
    const auto needed = shape ? form.workspace_bytes(*shape) : std::unexpected(shape.error());
    if (!needed) {
      return fail_with(Status::kInvalidArgument, needed.error());
    }
    *bytes = static_cast<size_t>(*needed);
    if (kept_bytes != nullptr) {
      *kept_bytes = static_cast<size_t>(form.kept_bytes());
    }
    return {};
  });
}

int convtgen_kernel_keeps_weights(const convtgen_kernel* kernel) {
  const jit::KernelFacts* facts = facts_of(kernel);
  return facts != nullptr && facts->form.recipe().may_omit_weight() ? 1 : 0;
}

const char* convtgen_kernel_source(const convtgen_kernel* kernel) {
  const jit::KernelFacts* facts = facts_of(kernel);
  return facts != nullptr ? facts->source.text.c_str() : "";
}
const char* convtgen_kernel_plan(const convtgen_kernel* kernel) {
  const jit::KernelFacts* facts = facts_of(kernel);
  return facts != nullptr ? facts->plan_text.c_str() : "";
}
const char* convtgen_kernel_key(const convtgen_kernel* kernel) {
  const jit::KernelFacts* facts = facts_of(kernel);
  return facts != nullptr ? facts->key.c_str() : "";
}
const char* convtgen_kernel_symbol(const convtgen_kernel* kernel) {
  const jit::KernelFacts* facts = facts_of(kernel);
  return facts != nullptr ? facts->source.symbol.c_str() : "";
}
const char* convtgen_kernel_layer(const convtgen_kernel* kernel) {
  const jit::KernelFacts* facts = facts_of(kernel);
  return facts != nullptr ? facts->layer_text.c_str() : "";
}
const char* convtgen_kernel_architecture(const convtgen_kernel* kernel) {
  const jit::KernelFacts* facts = facts_of(kernel);
  return facts != nullptr ? facts->architecture.c_str() : "";
}

void convtgen_kernel_destroy(convtgen_kernel* kernel) {
  destroy(kernel);
}

}  // extern "C"
