#include "cli/npy.h"

#include <fmt/core.h>

#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "cli/files.h"

namespace convtgen::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they stand");

constexpr std::string_view kMagic = "\x93NUMPY";

std::string_view description_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
      return "<f8";
    case Dtype::kF32:
      return "<f4";
    case Dtype::kF16:
      return "<f2";
    case Dtype::kBf16:
      return "<u2";
  }
  return "";
}

/// Two raw bytes an element: what NumPy writes for bfloat16 of the package ml_dtypes, which it does not know by name.
bool is_two_raw_bytes(std::string_view description) {
  return description == "<V2" || description == "|V2";
}

bool holds(std::string_view description, Dtype dtype) {
  return description == description_of(dtype) || (dtype == Dtype::kBf16 && is_two_raw_bytes(description));
}

/// "float64 (<f8)", as far as the description is one that users meet.
std::string readable(std::string_view description) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"f", "float"}, {"i", "int"}, {"u", "uint"}, {"c", "complex"}};
  if (is_two_raw_bytes(description)) {
    return fmt::format("ml_dtypes' bfloat16, or other raw bytes ({})", description);
  }
  if (description.size() >= 3) {
    int bytes = 0;
    std::from_chars(description.data() + 2, description.data() + description.size(), bytes);
    for (const auto& [letter, name] : kKinds) {
      if (description.substr(1, 1) == letter && bytes > 0) {
        return fmt::format("{}{}{} ({})", description[0] == '>' ? "big-endian " : "", name, bytes * 8, description);
      }
    }
  }
  return fmt::format("'{}'", description);
}

struct Header {
  std::string description;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads the header's Python dictionary: three keys in any order, with a string, True or False, and a tuple of numbers.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  std::optional<Header> read() {
    Header header;
    bool seen[3] = {};
    if (!take('{')) {
      return std::nullopt;
    }
    while (!take('}')) {
      const std::optional<std::string> key = quoted();
      if (!key || !take(':')) {
        return std::nullopt;
      }
      if (*key == "descr") {
        const std::optional<std::string> value = quoted();
        if (!value) {
          return std::nullopt;  // a list: a structured dtype
        }
        header.description = *value;
        seen[0] = true;
      } else if (*key == "fortran_order") {
        header.fortran_order = word("True");
        if (!header.fortran_order && !word("False")) {
          return std::nullopt;
        }
        seen[1] = true;
      } else if (*key == "shape") {
        if (!tuple(header.shape)) {
          return std::nullopt;
        }
        seen[2] = true;
      } else {
        return std::nullopt;
      }
      take(',');
    }
    return seen[0] && seen[1] && seen[2] ? std::optional(header) : std::nullopt;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\t')) {
      rest_.remove_prefix(1);
    }
  }
  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view text) {
    skip_space();
    if (!rest_.starts_with(text)) {
      return false;
    }
    rest_.remove_prefix(text.size());
    return true;
  }
  std::optional<std::string> quoted() {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) {
      return std::nullopt;
    }
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool tuple(std::vector<std::int64_t>& numbers) {
    if (!take('(')) {
      return false;
    }
    while (!take(')')) {
      skip_space();
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (error != std::errc{} || value < 0) {
        return false;
      }
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      word("L");  // Python 2 wrote long integers so
      numbers.push_back(value);
      take(',');
    }
    return true;
  }

  std::string_view rest_;
};

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

}  // namespace

std::string_view numpy_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
      return "float64";
    case Dtype::kF32:
      return "float32";
    case Dtype::kF16:
      return "float16";
    case Dtype::kBf16:
      return "uint16 (the bits of bf16)";
  }
  return "";
}

Result<HostArray> read_npy(const std::string& path, Dtype dtype) {
  const Result<std::string> bytes = read_file(path);
  if (!bytes) {
    return std::unexpected(bytes.error());
  }
  const std::string_view file = *bytes;
  if (!file.starts_with(kMagic) || file.size() < 10) {
    return fail(fmt::format("{}: not a .npy file, as numpy.save writes them", path));
  }
  const int version = file[6];
  if (version < 1 || version > 3) {
    return fail(fmt::format("{}: .npy version {}; versions 1 to 3 can be read", path, version));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t start = 8 + length_bytes;
  const std::size_t length = file.size() < start ? 0 : little_endian(file.substr(8, length_bytes));
  if (file.size() < start || file.size() - start < length) {
    return fail(fmt::format("{}: cut short inside its header", path));
  }
  const std::optional<Header> header = HeaderReader(file.substr(start, length)).read();
  if (!header) {
    return fail(fmt::format("{}: its header can't be read; arrays of plain numbers can", path));
  }
  if (!holds(header->description, dtype)) {
    return fail(fmt::format("{}: holds {}; the layer's dtype {} takes little-endian {} ({}){}", path,
                            readable(header->description), name_of(dtype), numpy_name(dtype), description_of(dtype),
                            dtype == Dtype::kBf16 ? ", or ml_dtypes' bfloat16 (<V2)" : ""));
  }
  if (header->fortran_order && header->shape.size() > 1) {
    return fail(fmt::format("{}: is in Fortran order; save it in C order (numpy.ascontiguousarray)", path));
  }
  const std::string_view data = file.substr(start + length);
  std::int64_t wanted = bytes_of(dtype);
  for (const std::int64_t extent : header->shape) {
    if (__builtin_mul_overflow(wanted, extent, &wanted)) {
      return fail(fmt::format("{}: {} elements are more than can be addressed", path, shape_text(header->shape)));
    }
  }
  if (static_cast<std::int64_t>(data.size()) != wanted) {
    return fail(fmt::format("{}: {} bytes follow the header, and {} elements of {} take {}", path, data.size(),
                            shape_text(header->shape), name_of(dtype), wanted));
  }
  HostArray array{dtype, header->shape, {}};
  const auto* first = reinterpret_cast<const std::byte*>(data.data());
  array.bytes.assign(first, first + data.size());
  return array;
}

std::string npy_bytes(const HostArray& array) {
  std::string shape;
  for (const std::int64_t extent : array.shape) {
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", extent);
  }
  if (array.shape.size() == 1) {
    shape += ",";
  }
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", description_of(array.dtype), shape);
  // Magic, version, length and header fill whole lines of 64 bytes.
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += '\x01';
  bytes += '\x00';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
  return bytes;
}

}  // namespace convtgen::cli
