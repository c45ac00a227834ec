#include "runtime/device/host/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <cstring>

#include "runtime/device/host/abi.h"
#include "runtime/device/host/compiler.h"
#include "runtime/device/host/process.h"
#include "runtime/device/host/worker.h"
#include "runtime/store/file_size_signal.h"

namespace convtgen::host {
namespace {

// The end of a packed library: a line for each kernel with its name and its parameters', the source, two lengths, this.
constexpr std::string_view kMagic = "cvthost2";
constexpr std::size_t kTail = 16 + kMagic.size();

void append_length(std::string& bytes, std::uint64_t length) {
  for (int i = 0; i < 8; ++i) {
    bytes.push_back(static_cast<char>(length >> 8 * i & 0xff));
  }
}

std::uint64_t length_at(std::string_view bytes) {
  std::uint64_t length = 0;
  for (int i = 0; i < 8; ++i) {
    length |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)])) << 8 * i;
  }
  return length;
}

// A file in memory, or where that is unsupported, one without a name.
int anonymous_file() {
  const int file = memfd_create("convtgen-kernel", MFD_CLOEXEC);
  if (file >= 0) {
    return file;
  }
  char path[] = "/tmp/convtgen-kernel-XXXXXX";
  const int fallback = mkostemp(path, O_CLOEXEC);
  if (fallback >= 0) {
    unlink(path);
  }
  return fallback;
}

bool write_all(int file, std::string_view bytes) {
  const FileSizeSignalHeld held;
  while (!bytes.empty()) {
    const ssize_t wrote = write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(wrote, 0)));
  }
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.remove_suffix(1);
  }
  return text;
}

std::string_view line_of_text(std::string_view text, long line) {
  for (; line > 1; --line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return {};
    }
    text.remove_prefix(end + 1);
  }
  return trimmed(text.substr(0, text.find('\n')));
}

std::string names_of(const std::string& symbol, const std::vector<KernelParameter>& parameters) {
  std::string line = symbol;
  for (const KernelParameter& parameter : parameters) {
    line += ' ' + parameter.name;
  }
  return line + '\n';
}

// Of the kernel `symbol` in lines of names_of().
std::vector<std::string> parameters_among(std::string_view lines, std::string_view symbol) {
  std::vector<std::string> names;
  while (!lines.empty()) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (line.substr(0, line.find(' ')) != symbol) {
      continue;
    }
    for (line.remove_prefix(symbol.size()); !line.empty();) {
      line.remove_prefix(1);  // the blank
      names.emplace_back(line.substr(0, line.find(' ')));
      line.remove_prefix(names.back().size());
    }
  }
  return names;
}

/// The bytes of library_binary().
struct Parts {
  std::string_view library, names, text;
};

Result<Parts> parts_of(std::string_view bytes) {
  if (bytes.size() < kTail || !bytes.ends_with(kMagic)) {
    return fail("these bytes are no library for the host device: compile the kernel with this version of convtgen");
  }
  const std::uint64_t text_bytes = length_at(bytes.substr(bytes.size() - kMagic.size() - 8));
  const std::uint64_t name_bytes = length_at(bytes.substr(bytes.size() - kTail));
  bytes.remove_suffix(kTail);
  if (text_bytes > bytes.size() || name_bytes > bytes.size() - text_bytes) {
    return fail("a library for the host device is cut short");
  }
  const std::size_t names = bytes.size() - text_bytes - name_bytes;
  return Parts{bytes.substr(0, names), bytes.substr(names, name_bytes), bytes.substr(names + name_bytes)};
}

}  // namespace

Binary library_binary(std::string library, const KernelSource& source) {
  std::string names;
  for (std::size_t i = 0; i < source.recipe.kernels.size(); ++i) {
    if (first_launch(source.recipe, i) == i) {
      names += names_of(source.recipe.kernels[i].symbol, source.recipe.kernels[i].parameters);
    }
  }
  library += names;
  library += source.text;
  append_length(library, names.size());
  append_length(library, source.text.size());
  library += kMagic;
  Binary binary;
  binary.kind = BinaryKind::kHostLibrary;
  binary.symbol = source.symbol;
  binary.bytes = std::move(library);
  binary.kernels = kernels_in(source);
  return binary;
}

Result<std::string_view> library_in(std::string_view bytes) {
  const auto parts = parts_of(bytes);
  if (!parts) {
    return std::unexpected(parts.error());
  }
  return parts->library;
}

Result<std::unique_ptr<Library>> Library::load(const std::string& bytes, const std::string& symbol) {
  const auto parts = parts_of(bytes);
  if (!parts) {
    return std::unexpected(parts.error());
  }
  std::unique_ptr<Library> library(new Library);
  library->source_ = parts->text;
  library->parameter_names_ = parameters_among(parts->names, symbol);

  library->file_ = anonymous_file();
  if (library->file_ < 0 || !write_all(library->file_, parts->library)) {
    return fail(fmt::format("no file for a kernel's library: {}", std::strerror(errno)));
  }
  const std::string path = fmt::format("/proc/self/fd/{}", library->file_);
  library->handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle_ == nullptr) {
    return fail(fmt::format("a kernel's library can't be loaded: {}", dlerror()));
  }
  const auto* version = static_cast<const int*>(dlsym(library->handle_, "convtgen_host_version"));
  const auto attach =
      reinterpret_cast<void (*)(const ConvtgenHostTable*)>(dlsym(library->handle_, "convtgen_host_attach"));
  if (version == nullptr || *version != CONVTGEN_HOST_ABI_VERSION || attach == nullptr) {
    return fail("a library of another version of the host device: compile the kernel again");
  }
  const auto* parameters =
      static_cast<const int*>(dlsym(library->handle_, ("convtgen_host_parameters_" + symbol).c_str()));
  library->entry_ = reinterpret_cast<Entry>(dlsym(library->handle_, ("convtgen_host_entry_" + symbol).c_str()));
  if (parameters == nullptr || library->entry_ == nullptr) {
    return fail(fmt::format("a library for the host device has no kernel '{}'", symbol));
  }
  library->parameter_count_ = *parameters;
  if (const void* cluster = dlsym(library->handle_, ("convtgen_host_cluster_" + symbol).c_str())) {
    library->cluster_ = *static_cast<const int*>(cluster);
  }
  library->asynchronous_ = dlsym(library->handle_, "convtgen_host_asynchronous") != nullptr;
  ConvtgenHostTable table = {};
  add_access_checks(table);
  add_collectives(table);
  add_mbarriers(table);
  add_copies(table);
  add_tensor_copies(table);
  add_matrices(table);
  add_warp_products(table);
  add_products(table);
  add_clusters(table);
  attach(&table);

  link_map* map = nullptr;
  if (dlinfo(library->handle_, RTLD_DI_LINKMAP, &map) != 0) {
    return fail(fmt::format("a kernel's library has no address: {}", dlerror()));
  }
  library->base_ = map->l_addr;
  // Such a library is linked at 0: its headers stand at its base.
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(library->base_);
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(library->base_ + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD) {
      library->constants_.push_back(
          {.begin = library->base_ + segments[i].p_vaddr, .bytes = segments[i].p_memsz, .written = nullptr, .gap = 0});
    }
  }
  return library;
}

Library::~Library() {
  if (handle_ != nullptr) {
    dlclose(handle_);
  }
  if (file_ >= 0) {
    close(file_);
  }
}

std::string_view Library::parameter_name(std::size_t index) const {
  return index < parameter_names_.size() ? std::string_view(parameter_names_[index]) : std::string_view();
}

std::string Library::line_of(std::uintptr_t return_address) const {
  constexpr const char* kUnknown = "an unknown line";
  const std::string path = fmt::format("/proc/{}/fd/{}", getpid(), file_);
  const std::string address = fmt::format("{:#x}", return_address - 1 - base_);
  for (const char* program : {"addr2line", "llvm-addr2line"}) {
    const auto said = run_process({program, "-i", "-e", path, address});
    if (!said || said->status != 0) {
      continue;
    }
    // One line for each level of inlining, the innermost first: "<folder>/kernel.cu:12 (discriminator 3)".
    const std::string mark = std::string(kSourceName) + ":";
    const std::size_t found = said->output.find(mark);
    if (found == std::string::npos) {
      return kUnknown;
    }
    const long line = std::strtol(said->output.c_str() + found + mark.size(), nullptr, 10);
    return line > 0 ? fmt::format("line {} `{}`", line, line_of_text(source_, line)) : kUnknown;
  }
  return kUnknown;
}

}  // namespace convtgen::host
