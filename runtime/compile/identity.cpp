#include "runtime/compile/identity.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/store/digest.h"

namespace convtgen {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Note = ElfW(Nhdr);

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#else
constexpr unsigned kMachine = EM_NONE;  // not looked at
#endif
constexpr unsigned char kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr std::uint64_t kMostNotes = 1 << 20;  // bytes; those of real libraries are some hundreds

class File {
 public:
  explicit File(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status = {};
    if (descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
      size_ = static_cast<std::uint64_t>(status.st_size);
    } else if (descriptor_ >= 0) {
      close(descriptor_);
      descriptor_ = -1;
      errno = EINVAL;
    }
  }
  ~File() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

  /// False where the file does not have all of them.
  bool read(void* to, std::uint64_t bytes, std::uint64_t offset) const {
    if (offset > size_ || bytes > size_ - offset) {
      return false;
    }
    auto* out = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t got = pread(descriptor_, out, bytes, static_cast<off_t>(offset));
      if (got == 0 || (got < 0 && errno != EINTR)) {
        return false;
      }
      const std::uint64_t more = got > 0 ? static_cast<std::uint64_t>(got) : 0;
      out += more;
      offset += more;
      bytes -= more;
    }
    return true;
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  int descriptor_;
  std::uint64_t size_ = 0;
};

std::size_t rounded_up(std::size_t value, std::size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// The build-id among the notes of a segment: name "GNU", type NT_GNU_BUILD_ID.
std::optional<std::string_view> build_id_in(std::string_view notes, std::size_t alignment) {
  constexpr std::string_view kName("GNU\0", 4);
  while (notes.size() >= sizeof(Note)) {
    Note note;
    std::memcpy(&note, notes.data(), sizeof note);
    const std::size_t name_end = sizeof note + std::size_t{note.n_namesz};
    const std::size_t begin = rounded_up(name_end, alignment);
    if (begin > notes.size() || note.n_descsz > notes.size() - begin) {
      return std::nullopt;
    }
    const std::string_view name = notes.substr(sizeof note, note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && name == kName && note.n_descsz > 0) {
      return notes.substr(begin, note.n_descsz);
    }
    notes.remove_prefix(std::min(notes.size(), rounded_up(begin + note.n_descsz, alignment)));
  }
  return std::nullopt;
}

bool is_library(const Header& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == kClass &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_type == ET_DYN &&
         (kMachine == EM_NONE || header.e_machine == kMachine) && header.e_phentsize == sizeof(Segment);
}

std::optional<std::string> digest_of_file(const File& file) {
  Digest digest;
  std::string part(std::size_t{1} << 18, '\0');
  for (std::uint64_t offset = 0; offset < file.size(); offset += part.size()) {
    part.resize(std::min<std::uint64_t>(part.size(), file.size() - offset));
    if (!file.read(part.data(), part.size(), offset)) {
      return std::nullopt;
    }
    digest.add(part);
  }
  return digest.take();
}

}  // namespace

Result<std::string> library_identity(const std::string& path) {
  const File file(path);
  if (!file.is_open()) {
    return fail(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  Header header;
  if (!file.read(&header, sizeof header, 0) || !is_library(header)) {
    return fail(fmt::format("{}: no shared library for this kind of machine", path));
  }
  std::vector<Segment> segments(header.e_phnum);
  if (!file.read(segments.data(), segments.size() * sizeof(Segment), header.e_phoff)) {
    return fail(fmt::format("{}: a shared library that is cut short", path));
  }
  for (const Segment& segment : segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNotes) {
      continue;
    }
    std::string notes(segment.p_filesz, '\0');
    if (!file.read(notes.data(), notes.size(), segment.p_offset)) {
      return fail(fmt::format("{}: a shared library that is cut short", path));
    }
    if (const auto id = build_id_in(notes, segment.p_align == 8 ? 8 : 4)) {
      return "build-id " + hex_of(*id);
    }
  }
  const std::optional<std::string> digest = digest_of_file(file);
  return digest ? Result<std::string>("sha256 " + hex_of(*digest)) : fail(fmt::format("{}: it can't be read", path));
}

}  // namespace convtgen
