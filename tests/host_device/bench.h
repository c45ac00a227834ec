// Small kernels on the host device: what the tests of this folder share.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/host/host_device.h"
#include "runtime/make/device_maker.h"
#include "runtime/make/shared_store.h"

namespace convtgen::testing {

inline std::unique_ptr<HostDevice> open_host(HostOptions options = {}) {
  auto device = open_host_device(std::move(options));
  EXPECT_TRUE(device) << device.error().message;
  return std::move(*device);
}

/// The source of a kernel named "kernel" with these parameters (names for messages).
inline KernelSource source_of(const std::string& text, const std::vector<std::string>& names = {}) {
  KernelSource source;
  source.text = text;
  source.symbol = "kernel";
  RecipeKernel& kernel = source.recipe.kernels.emplace_back();
  kernel.symbol = source.symbol;
  for (const std::string& name : names) {
    kernel.parameters.push_back({.name = name, .type = ""});
  }
  return source;
}

inline Result<std::unique_ptr<LoadedKernel>> build(Device& device, const KernelSource& source) {
  auto made =
      DeviceMaker(device, store_of("")).find_or_compile(generated_kernel({}, {}, source), BinaryKind::kHostLibrary);
  if (!made) {
    return fail(made.error().message);
  }
  return device.load(made->binary);
}

/// A buffer on the device.
template <typename T>
class Array {
 public:
  Array(Device& device, const std::vector<T>& values) : Array(device, values.size()) {
    const auto uploaded = device.upload(*buffer_, std::as_bytes(std::span(values)));
    EXPECT_TRUE(uploaded) << uploaded.error().message;
  }
  /// Never written.
  Array(Device& device, std::size_t count) : device_(device), count_(count) {
    auto buffer = device.allocate(count * sizeof(T));
    EXPECT_TRUE(buffer) << buffer.error().message;
    buffer_ = std::move(*buffer);
  }
  [[nodiscard]] std::uint64_t address() const { return buffer_->address(); }
  [[nodiscard]] Buffer& buffer() { return *buffer_; }
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> result(count_);
    const auto downloaded = device_.download(std::as_writable_bytes(std::span(result)), *buffer_);
    EXPECT_TRUE(downloaded) << downloaded.error().message;
    return result;
  }

 private:
  Device& device_;
  std::size_t count_;
  std::unique_ptr<Buffer> buffer_;
};

struct Shape {
  std::int64_t blocks = 1;
  int threads = 32;
  std::int64_t shared_bytes = 0;
};

/// Compiles and runs; the error's message, or "" where all went well.
inline std::string launch(Device& device, const KernelSource& source, Shape shape,
                          const std::vector<std::uint64_t>& arguments) {
  auto kernel = build(device, source);
  if (!kernel) {
    return kernel.error().message;
  }
  const auto ran = device.run(
      **kernel,
      {.blocks = shape.blocks, .threads = shape.threads, .shared_bytes = shape.shared_bytes, .arguments = arguments});
  return ran ? "" : ran.error().message;
}

}  // namespace convtgen::testing
