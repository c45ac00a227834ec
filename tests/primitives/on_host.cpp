#include "tests/primitives/on_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <span>
#include <thread>

#include "tests/primitives/emitted.h"

namespace convtgen::testing {

Result<CaseOnHost> CaseOnHost::make(Case one, std::shared_ptr<HostDevice> device) {
  CaseOnHost made;
  made.case_ = std::move(one);
  made.device_ = std::move(device);
  if (made.device_ == nullptr) {
    auto opened = open_host_device({.workers = 1});
    if (!opened) {
      return std::unexpected(opened.error());
    }
    made.device_ = std::move(*opened);
  }
  const KernelSource source = emitted(made.case_.body, made.case_.threads, made.case_.shared_bytes).source;
  const std::size_t begin = source.text.size() - made.case_.body.size();
  made.first_line_ = 1 + static_cast<int>(std::count(source.text.begin(),
                                                     source.text.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
  const Result<Binary> binary = made.device_->compile(source, "");
  if (!binary) {
    return std::unexpected(binary.error());
  }
  auto kernel = made.device_->load(*binary);
  if (!kernel) {
    return std::unexpected(kernel.error());
  }
  made.kernel_ = std::move(*kernel);
  return made;
}

std::string CaseOnHost::run(std::uint64_t seed) {
  device_->set_seed(seed);
  Launch launch{.blocks = case_.blocks,
                .threads = case_.threads,
                .shared_bytes = case_.shared_bytes,
                .arguments = {},
                .cluster = case_.cluster,
                .tensor_maps = {}};
  std::vector<std::unique_ptr<Buffer>> buffers;
  const auto add = [&](const Words& words) -> Result<void> {
    auto buffer = device_->allocate(words.size() * 4);
    if (!buffer) {
      return std::unexpected(buffer.error());
    }
    launch.arguments.push_back((*buffer)->address());
    buffers.push_back(std::move(*buffer));
    return device_->upload(*buffers.back(), std::as_bytes(std::span(words)));
  };
  for (const Words& words : case_.inputs) {
    if (const Result<void> added = add(words); !added) {
      return added.error().message;
    }
  }
  if (const Result<void> added = add(Words(case_.want.size(), kPoison)); !added) {
    return added.error().message;
  }
  const std::vector<std::uint64_t> addresses = launch.arguments;
  for (const auto& map : case_.maps) {
    launch.tensor_maps.push_back({launch.arguments.size(), map(addresses)});
    launch.arguments.push_back(0);
  }
  Words got(case_.want.size());
  Result<void> done = device_->run(*kernel_, launch);
  if (done) {
    done = device_->download(std::as_writable_bytes(std::span(got)), *buffers.back());
  }
  if (!done) {
    return done.error().message;
  }
  const auto [at, wanted] = std::ranges::mismatch(got, case_.want);
  return at == got.end()
             ? ""
             : fmt::format("wrong numbers: word {} is {:#010x}, not {:#010x}", at - got.begin(), *at, *wanted);
}

void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto some = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      work(i);
    }
  };
  std::jthread other(some);
  some();
}

}  // namespace convtgen::testing
