#include "runtime/jit/packing.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace convtgen::jit {
namespace {

constexpr std::string_view kMagic = "convtgen kernel 1\n";

std::string field(std::string_view text) {
  return fmt::format("{}:{}", text.size(), text);
}

// Takes "<size>:<text>" from the front.
std::optional<std::string_view> take_field(std::string_view& bytes) {
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), size);
  const auto digits = static_cast<std::size_t>(end - bytes.data());
  if (error != std::errc() || digits >= bytes.size() || bytes[digits] != ':' || size > bytes.size() - digits - 1) {
    return std::nullopt;
  }
  const std::string_view text = bytes.substr(digits + 1, size);
  bytes.remove_prefix(digits + 1 + size);
  return text;
}

template <typename Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string pack_kernel(const PackedKernel& kernel) {
  const Binary& binary = kernel.binary;
  return fmt::format("{}{}{}{}{}{}{}{}{}", kMagic, field(binary.kind == BinaryKind::kPtx ? "ptx" : "cubin"),
                     field(binary.architecture), field(binary.symbol), field(fmt::format("{}", binary.threads)),
                     field(fmt::format("{}", binary.shared_bytes)), field(kernel.compiled_by), field(binary.log),
                     field(binary.bytes));
}

std::optional<PackedKernel> unpack_kernel(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return std::nullopt;
  }
  bytes.remove_prefix(kMagic.size());
  const auto kind = take_field(bytes);
  const auto architecture = take_field(bytes);
  const auto symbol = take_field(bytes);
  const auto threads = take_field(bytes);
  const auto shared_bytes = take_field(bytes);
  const auto compiled_by = take_field(bytes);
  const auto log = take_field(bytes);
  const auto binary = take_field(bytes);
  PackedKernel kernel;
  if (!binary || !bytes.empty() || (*kind != "ptx" && *kind != "cubin") || !read(*threads, kernel.binary.threads) ||
      !read(*shared_bytes, kernel.binary.shared_bytes)) {
    return std::nullopt;
  }
  kernel.binary.kind = *kind == "ptx" ? BinaryKind::kPtx : BinaryKind::kCubin;
  kernel.binary.architecture = *architecture;
  kernel.binary.symbol = *symbol;
  kernel.binary.log = *log;
  kernel.binary.bytes = *binary;
  kernel.compiled_by = *compiled_by;
  return kernel;
}

}  // namespace convtgen::jit
