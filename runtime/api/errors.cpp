#include <array>

#include "runtime/api/guard.h"

namespace convtgen::api {
namespace {

std::string& last_message() {
  thread_local std::string message;
  return message;
}

constexpr std::array kStatusTexts = {
    "ok",           "invalid argument", "invalid layer",  "unsupported",
    "no device",    "no compiler",      "compile failed", "driver error",
    "not prepared", "cancelled",        "out of memory",  "forked after CUDA was started",
    "kernel fault", "internal error"};

static_assert(static_cast<int>(Status::kInvalidArgument) == CONVTGEN_INVALID_ARGUMENT);
static_assert(static_cast<int>(Status::kInvalidLayer) == CONVTGEN_INVALID_LAYER);
static_assert(static_cast<int>(Status::kUnsupported) == CONVTGEN_UNSUPPORTED);
static_assert(static_cast<int>(Status::kNoDevice) == CONVTGEN_NO_DEVICE);
static_assert(static_cast<int>(Status::kNoCompiler) == CONVTGEN_NO_COMPILER);
static_assert(static_cast<int>(Status::kCompileFailed) == CONVTGEN_COMPILE_FAILED);
static_assert(static_cast<int>(Status::kDriver) == CONVTGEN_DRIVER);
static_assert(static_cast<int>(Status::kNotPrepared) == CONVTGEN_NOT_PREPARED);
static_assert(static_cast<int>(Status::kCancelled) == CONVTGEN_CANCELLED);
static_assert(static_cast<int>(Status::kOutOfMemory) == CONVTGEN_OUT_OF_MEMORY);
static_assert(static_cast<int>(Status::kForked) == CONVTGEN_FORKED);
static_assert(static_cast<int>(Status::kKernelFault) == CONVTGEN_KERNEL_FAULT);
static_assert(static_cast<int>(Status::kInternal) == CONVTGEN_INTERNAL);
static_assert(kStatusTexts.size() == CONVTGEN_INTERNAL + 1);

}  // namespace

std::unexpected<Failure> wrong_struct_size(const char* name, std::size_t given, std::size_t legal) {
  return fail_with(
      Status::kInvalidArgument,
      fmt::format("{}: struct_size is {}; in convtgen {} it is {}: set it as the header says, and build the program "
                  "against the header of this library (docs/migration.md)",
                  name, given, convtgen_version_text(), legal));
}

convtgen_status report(Status status, const char* message) noexcept {
  try {
    last_message() = message;
  } catch (...) {
    last_message().clear();
  }
  return static_cast<convtgen_status>(status);
}

convtgen_status report(const Failure& failure) noexcept {
  return report(failure.status, failure.message.c_str());
}

}  // namespace convtgen::api

extern "C" {

const char* convtgen_status_text(int status) {
  const auto index = static_cast<std::size_t>(status);
  return index < convtgen::api::kStatusTexts.size() ? convtgen::api::kStatusTexts[index] : "unknown status";
}

const char* convtgen_last_error(void) {
  return convtgen::api::last_message().c_str();
}

int convtgen_version(void) {
  return 10000 * CONVTGEN_VERSION_MAJOR + 100 * CONVTGEN_VERSION_MINOR + CONVTGEN_VERSION_PATCH;
}

const char* convtgen_version_text(void) {
#define CONVTGEN_TEXT_OF(number) #number
#define CONVTGEN_VERSION_TEXT(major, minor, patch) \
  CONVTGEN_TEXT_OF(major) "." CONVTGEN_TEXT_OF(minor) "." CONVTGEN_TEXT_OF(patch)
  return CONVTGEN_VERSION_TEXT(CONVTGEN_VERSION_MAJOR, CONVTGEN_VERSION_MINOR, CONVTGEN_VERSION_PATCH);
}

}  // extern "C"
