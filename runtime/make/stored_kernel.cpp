#include "runtime/make/stored_kernel.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace convtgen {
namespace {

constexpr std::string_view kPacked = "convtgen kernel ";
constexpr std::string_view kMagic = "convtgen kernel 4\n";
static_assert(kMagic.starts_with(kPacked));

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

// Takes a field that holds a number. False where it holds none.
template <typename Number>
bool take_number(std::string_view& bytes, Number& number) {
  const auto text = take_field(bytes);
  if (!text) {
    return false;
  }
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() && end == text->data() + text->size();
}

bool take_text(std::string_view& bytes, std::string& text) {
  const auto field = take_field(bytes);
  text = field.value_or("");
  return field.has_value();
}

std::string encode_kernels(const std::vector<BinaryKernel>& kernels) {
  std::string bytes;
  for (const BinaryKernel& kernel : kernels) {
    bytes +=
        field(kernel.symbol) + field(fmt::format("{}", kernel.threads)) + field(fmt::format("{}", kernel.shared_bytes));
  }
  return bytes;
}

// False where encode_kernels() did not write the bytes.
bool decode_kernels(std::string_view bytes, std::vector<BinaryKernel>& kernels) {
  while (!bytes.empty()) {
    BinaryKernel& kernel = kernels.emplace_back();
    if (!take_text(bytes, kernel.symbol) || !take_number(bytes, kernel.threads) ||
        !take_number(bytes, kernel.shared_bytes)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string encode_kernel(const StoredKernel& kernel) {
  const Binary& binary = kernel.binary;
  return fmt::format("{}{}{}{}{}{}{}{}", kMagic, field(binary.kind == BinaryKind::kPtx ? "ptx" : "cubin"),
                     field(binary.architecture), field(binary.symbol), field(encode_kernels(binary.kernels)),
                     field(kernel.compiled_by), field(binary.log), field(binary.bytes));
}

bool is_packed_otherwise(std::string_view bytes) {
  return bytes.starts_with(kPacked) && !bytes.starts_with(kMagic);
}

std::optional<StoredKernel> decode_kernel(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return std::nullopt;
  }
  bytes.remove_prefix(kMagic.size());
  StoredKernel kernel;
  Binary& binary = kernel.binary;
  std::string kind, kernels;
  if (!take_text(bytes, kind) || (kind != "ptx" && kind != "cubin") || !take_text(bytes, binary.architecture) ||
      !take_text(bytes, binary.symbol) || !take_text(bytes, kernels) || !decode_kernels(kernels, binary.kernels) ||
      !take_text(bytes, kernel.compiled_by) || !take_text(bytes, binary.log) || !take_text(bytes, binary.bytes) ||
      !bytes.empty()) {
    return std::nullopt;
  }
  binary.kind = kind == "ptx" ? BinaryKind::kPtx : BinaryKind::kCubin;
  return kernel;
}

}  // namespace convtgen
