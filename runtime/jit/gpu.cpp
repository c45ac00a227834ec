#include "runtime/jit/gpu.h"

#include <fmt/format.h>

#include "runtime/jit/fork.h"

namespace convtgen::jit {

Outcome<std::shared_ptr<Gpu>> Gpu::open(int ordinal) {
  if (cuda_lost_in_fork()) {
    return std::unexpected(forked_failure());
  }
  auto driver = CudaDriver::open();
  if (!driver) {
    std::string message = driver.error().message;
    if (message.find("NOT_INITIALIZED") != std::string::npos) {
      return fail_with(Status::kForked, message + ": " + forked_failure().message);
    }
    return fail_with(Status::kNoDevice, std::move(message));
  }
  note_cuda_start();
  const Result<int> count = (*driver)->device_count();
  if (!count) {
    return fail_with(Status::kNoDevice, count.error());
  }
  if (ordinal < 0 || ordinal >= *count) {
    return fail_with(Status::kNoDevice, *count == 0
                                            ? fmt::format("the CUDA driver ({}) sees no GPU", (*driver)->path())
                                            : fmt::format("no GPU {}: there are {}, counted from 0", ordinal, *count));
  }
  auto info = (*driver)->device_info(ordinal);
  if (!info) {
    return fail_with(Status::kNoDevice, info.error());
  }
  std::shared_ptr<Gpu> gpu(new Gpu);
  gpu->driver_ = *std::move(driver);
  gpu->info_ = *std::move(info);
  const std::string what = fmt::format("opening GPU {}", ordinal);
  if (const auto got = gpu->driver_->check(gpu->api().device_get(&gpu->device_, ordinal), what); !got) {
    return fail_with(Status::kDriver, got.error());
  }
  cuda::ContextHandle primary = nullptr;
  if (const auto got = gpu->driver_->check(gpu->api().device_primary_ctx_retain(&primary, gpu->device_), what); !got) {
    return fail_with(Status::kDriver, got.error());
  }
  gpu->primary_ = primary;
  return gpu;
}

Gpu::~Gpu() {
  if (primary_ != nullptr && !cuda_lost_in_fork()) {
    (void)api().device_primary_ctx_release(device_);
  }
}

cuda::ContextHandle Gpu::context_here() const {
  cuda::ContextHandle current = nullptr;
  cuda::DeviceOrdinal device = 0;
  const bool ours = api().ctx_get_current(&current) == cuda::kSuccess && current != nullptr &&
                    api().ctx_get_device(&device) == cuda::kSuccess && device == device_;
  return ours ? current : primary_;
}

unsigned long long Gpu::id_of(cuda::ContextHandle context) const {
  unsigned long long id = 0;
  if (api().ctx_get_id != nullptr && api().ctx_get_id(context, &id) != cuda::kSuccess) {
    return ~0ULL;  // of no context that lives
  }
  return id;
}

bool Gpu::capturing(cuda::StreamHandle stream) const {
  cuda::StreamCaptureStatus status = cuda::kCaptureNone;
  // An error also means a capture: the default stream must not be asked while another one is captured.
  return api().stream_is_capturing(stream, &status) != cuda::kSuccess || status != cuda::kCaptureNone;
}

ContextScope::ContextScope(const Gpu& gpu, cuda::ContextHandle context) : gpu_(gpu) {
  cuda::ContextHandle current = nullptr;
  if (gpu.api().ctx_get_current(&current) != cuda::kSuccess || current != context) {
    status_ = gpu.api().ctx_push_current(context);
    pushed_ = status_ == cuda::kSuccess;
  }
}

ContextScope::~ContextScope() {
  cuda::ContextHandle popped = nullptr;
  if (pushed_) {
    (void)gpu_.api().ctx_pop_current(&popped);
  }
}

}  // namespace convtgen::jit
