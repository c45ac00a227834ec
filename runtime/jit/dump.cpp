#include "runtime/jit/dump.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "runtime/store/file_size_signal.h"
#include "runtime/support/environment.h"
#include "runtime/support/log.h"

namespace convtgen::jit {

void dump(const KernelSource& source) {
  const std::string folder = environment("CONVTGEN_DUMP");
  if (folder.empty()) {
    return;
  }
  namespace fs = std::filesystem;
  const FileSizeSignalHeld held;
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path path = fs::path(folder) / (source.symbol + ".cu");
  std::ofstream file(path, std::ios::binary);
  file << source.text;
  file.close();
  if (!file) {
    log(LogLevel::kWarning, fmt::format("$CONVTGEN_DUMP: {} can't be written", path.string()));
  } else {
    log(LogLevel::kInfo, fmt::format("wrote {}", path.string()));
  }
}

}  // namespace convtgen::jit
