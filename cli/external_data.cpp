#include "cli/external_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <system_error>

#include "generator/onnx/shown.h"
#include "generator/onnx/tensor.h"

namespace convtgen::cli {
namespace {

namespace fs = std::filesystem;

/// Where the data is, with all symbolic links followed.
Result<fs::path> place_of(const std::string& location, const fs::path& folder) {
  const std::string name = onnx::shown(location);
  if (location.empty() || location.find('\0') != std::string::npos) {
    return fail(fmt::format("external data: '{}' is no name of a file", name));
  }
  std::error_code error;
  const fs::path home = fs::canonical(folder, error);
  const fs::path place = error ? fs::path() : fs::canonical(home / location, error);
  const fs::path given(location);
  if (given.is_absolute() || std::find(given.begin(), given.end(), "..") != given.end()) {
    return fail(fmt::format("external data: '{}' leads out of the model's folder; legal are files in it", name));
  }
  if (error) {
    return fail(fmt::format("external data: '{}' can't be read: {}", name, error.message()));
  }
  if (std::ranges::mismatch(home, place).in1 != home.end()) {
    return fail(fmt::format("external data: '{}' is a link that leads out of the model's folder", name));
  }
  if (!fs::is_regular_file(place, error)) {
    return fail(fmt::format("external data: '{}' is no plain file", name));
  }
  return place;
}

}  // namespace

Result<std::string> read_elements(const onnx::Elements& elements, Dtype dtype, const fs::path& folder) {
  if (!elements.external) {
    return *elements.bytes;
  }
  const onnx::ExternalData& external = *elements.external;
  const auto place = place_of(external.location, folder);
  if (!place) {
    return std::unexpected(place.error());
  }
  const std::string name = onnx::shown(external.location);
  const auto count = onnx::element_count(elements.shape);
  std::int64_t wanted = 0;
  if (!count || __builtin_mul_overflow(*count, bytes_of(dtype), &wanted)) {
    return fail(fmt::format("external data: '{}': more elements than 64 bits can count", name));
  }
  if (external.length && *external.length != wanted) {
    return fail(fmt::format("external data: '{}': its length is {}, and the elements take {} bytes", name,
                            *external.length, wanted));
  }
  std::error_code error;
  const auto size = static_cast<std::int64_t>(fs::file_size(*place, error));
  if (error || external.offset < 0 || external.offset > size || wanted > size - external.offset) {
    return fail(fmt::format("external data: '{}' has {} bytes; {} from {} on are needed", name, error ? 0 : size,
                            wanted, external.offset));
  }
  std::string bytes(static_cast<std::size_t>(wanted), '\0');
  std::ifstream file(*place, std::ios::binary);
  file.seekg(external.offset);
  if (!file.read(bytes.data(), wanted)) {
    return fail(fmt::format("external data: '{}' can't be read", name));
  }
  return bytes;
}

}  // namespace convtgen::cli
