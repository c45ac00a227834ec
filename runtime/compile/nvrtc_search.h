// Where NVRTC is on this machine, and where it was looked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/compile/nvrtc_api.h"
#include "runtime/compile/shared_library.h"

namespace convtgen {

/// A place where the search looked.
struct NvrtcPlace {
  std::string origin;   // "$CUDA_HOME", "the loader's path", ...
  std::string path;     // the file or the folder
  std::string outcome;  // "found", "not there", or why it could not be used
  bool operator==(const NvrtcPlace&) const = default;
};

/// NVRTC as it was found, or not.
struct NvrtcSearch {
  std::string path;  // of the library; empty if not found
  int major = 0, minor = 0;
  std::vector<NvrtcPlace> places;  // in the order tried, up to the one that is used
  [[nodiscard]] bool found() const { return !path.empty(); }
};

/// An NVRTC library that is open.
struct Nvrtc {
  nvrtc::Api api{};
  std::string path;
  int major = 0, minor = 0;
  std::vector<int> architectures;  // 75, 80, ... as nvrtcGetSupportedArchs returns them
};

/// Looks anew each time, in this order; nothing is cached:
/// $CONVTGEN_NVRTC (a file), $CONVTGEN_NVRTC_DIR (a folder, or one that `pip install --target` filled); where one of
/// these is set, nothing else is looked at, so that a wrong path is reported and not skipped; `nvrtc` next to this
/// program or up to two folders above it (the build folder), the loader's path, $CUDA_HOME, $CUDA_PATH,
/// /usr/local/cuda*, and the nvidia-cuda-nvrtc package of Python: virtual and Conda environments, the python3 on PATH,
/// the home and the system; last of all, python3 is run.
[[nodiscard]] NvrtcSearch find_nvrtc();

/// NVRTC's file on this machine, and which NVRTC it is.
struct NvrtcFile {
  std::string path;                // empty if not found
  std::string identity;            // library_identity() of it; empty if not found
  std::vector<NvrtcPlace> places;  // as in NvrtcSearch
  [[nodiscard]] bool found() const { return !path.empty(); }
};

/// Looks in the places of find_nvrtc, in their order, but at files only: nothing is loaded and no program is run. So it
/// also accepts a library that can't be loaded or is too old, and does not find one that only python3 knows.
[[nodiscard]] NvrtcFile locate_nvrtc();

/// Loads nothing where locate_nvrtc() finds one.
/// Errors: there is no NVRTC on this machine; describe_missing_nvrtc().
[[nodiscard]] Result<void> check_nvrtc();

/// Opens a library file and checks that it has the functions that are used.
/// Errors: it can't be loaded, or is no NVRTC of 11.2 or later.
[[nodiscard]] Result<Nvrtc> open_nvrtc(const std::string& file);

/// What the user reads if none was found: how to get it, and the places tried.
[[nodiscard]] std::string describe_missing_nvrtc(const NvrtcSearch& search);

}  // namespace convtgen
