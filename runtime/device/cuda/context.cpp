#include "runtime/device/cuda/context.h"

#include <fmt/format.h>

namespace convtgen {
namespace {

// After these every later call of the process on this context gives the same error again.
bool loses_context(cuda::Status status) {
  switch (status) {
    case cuda::kErrorIllegalAddress:
    case cuda::kErrorLaunchTimeout:
    case cuda::kErrorAssert:
    case cuda::kErrorHardwareStackError:
    case cuda::kErrorIllegalInstruction:
    case cuda::kErrorMisalignedAddress:
    case cuda::kErrorInvalidAddressSpace:
    case cuda::kErrorInvalidPc:
    case cuda::kErrorLaunchFailed:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<std::shared_ptr<CudaContext>> CudaContext::open(std::shared_ptr<const CudaDriver> driver, int ordinal) {
  std::shared_ptr<CudaContext> context(new CudaContext(std::move(driver)));
  const cuda::Api& api = context->api();
  const std::string what = fmt::format("opening GPU {}", ordinal);
  if (const Result<void> got = context->check(api.device_get(&context->device_, ordinal), what); !got) {
    return std::unexpected(got.error());
  }
  cuda::ContextHandle primary = nullptr;
  if (const Result<void> got = context->check(api.device_primary_ctx_retain(&primary, context->device_), what); !got) {
    return std::unexpected(got.error());
  }
  context->context_ = primary;
  const CurrentContext current(*context);
  if (const Result<void> got = context->check(api.stream_create(&context->stream_, cuda::kStreamNonBlocking), what);
      !got) {
    return std::unexpected(got.error());
  }
  return context;
}

CudaContext::~CudaContext() {
  // Failures here have nobody to go to; a context that a fault has lost fails all of them.
  if (stream_ != nullptr) {
    const CurrentContext current(*this);
    (void)api().stream_destroy(stream_);
  }
  if (context_ != nullptr) {
    (void)api().device_primary_ctx_release(device_);
  }
}

Result<void> CudaContext::check(cuda::Status status, std::string_view what) const {
  Result<void> result = driver_->check(status, what);
  if (!result && loses_context(status)) {
    return fail(result.error().message + "; this GPU can't be used again in this process");
  }
  return result;
}

Result<void> CudaContext::synchronise(std::string_view what) const {
  return check(api().stream_synchronize(stream_), what);
}

CurrentContext::CurrentContext(const CudaContext& context)
    : context_(context), pushed_(context.api().ctx_push_current(context.context_) == cuda::kSuccess) {}

CurrentContext::~CurrentContext() {
  cuda::ContextHandle popped = nullptr;
  if (pushed_) {
    (void)context_.api().ctx_pop_current(&popped);
  }
}

}  // namespace convtgen
