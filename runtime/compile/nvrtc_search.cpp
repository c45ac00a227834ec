#include "runtime/compile/nvrtc_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/compile/files.h"
#include "runtime/compile/identity.h"
#include "runtime/compile/loader_path.h"
#include "runtime/compile/python_packages.h"
#include "runtime/support/environment.h"

namespace convtgen {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "libnvrtc.so";
constexpr std::string_view kBuiltins = "libnvrtc-builtins.so";

// The number after "libnvrtc.so."; the plain name counts as the least.
int version_in_name(const fs::path& file) {
  const std::string name = file.filename().string();
  int version = 0;
  for (std::size_t i = kLibrary.size() + 1; i < name.size() && std::isdigit(static_cast<unsigned char>(name[i])); ++i) {
    version = version * 10 + (name[i] - '0');
  }
  return version;
}

// The libraries of a folder, newest first.
std::vector<fs::path> libraries_in(const fs::path& folder) {
  std::vector<fs::path> files = entries_starting(folder, kLibrary);
  std::ranges::stable_sort(files, std::greater{}, version_in_name);
  return files;
}

// NVRTC opens libnvrtc-builtins by its bare name. Loaded before, it is found wherever it is.
void load_builtins_beside(const fs::path& library) {
  std::error_code error;
  const fs::path real = fs::canonical(library, error);
  for (const fs::path& file : entries_starting((error ? library : real).parent_path(), kBuiltins)) {
    (void)SharedLibrary::open(file.string());  // if it can't be loaded, NVRTC itself says so when it compiles
  }
}

// Looks at a file, or at what the loader's path has by a bare name: the file that was taken, or why none.
using Probe = std::function<Result<std::string>(const std::string& name)>;

// Goes through the places and stops at the first that has a usable library.
class Search {
 public:
  Search(Probe probe, bool may_run_python) : probe_(std::move(probe)), may_run_python_(may_run_python) {}

  bool try_file(const std::string& origin, const fs::path& file) {
    std::error_code error;
    if (!fs::exists(file, error)) {
      return miss(origin, file, "not there");
    }
    return try_library(origin, file);
  }

  bool try_library(const std::string& origin, const fs::path& name) {
    const Result<std::string> path = probe_(name.string());
    if (!path) {
      return miss(origin, name, path.error().message);
    }
    places_.push_back({origin, *path, "found"});
    return true;
  }

  bool try_folder(const std::string& origin, const fs::path& folder) {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(folder, error);
    if (!seen_.insert(error ? folder : real).second) {
      return false;
    }
    const std::vector<fs::path> files = libraries_in(folder);
    if (files.empty()) {
      return miss(origin, folder, "not there");
    }
    return std::ranges::any_of(files, [&](const fs::path& file) { return try_library(origin, file); });
  }

  // Those of the folders that hold the library; the others go unreported: Python's packages have many.
  bool try_packages(const std::string& origin, const std::vector<fs::path>& folders) {
    return std::ranges::any_of(
        folders, [&](const fs::path& folder) { return !libraries_in(folder).empty() && try_folder(origin, folder); });
  }

  bool miss(const std::string& origin, const fs::path& path, std::string why) {
    places_.push_back({origin, path.string(), std::move(why)});
    return false;
  }

  [[nodiscard]] bool may_run_python() const { return may_run_python_; }
  std::vector<NvrtcPlace> take_places() { return std::move(places_); }

 private:
  Probe probe_;
  bool may_run_python_;
  std::vector<NvrtcPlace> places_;
  std::set<fs::path> seen_;
};

bool search_build_folder(Search& search) {
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int level = 0; !error && level < 3 && folder.has_relative_path(); ++level, folder = folder.parent_path()) {
    const fs::path place = folder / "nvrtc";
    if (fs::is_directory(place, error) && (search.try_packages("the build folder", nvidia_libraries_in(place)) ||
                                           search.try_folder("the build folder", place))) {
      return true;
    }
    error.clear();
  }
  return false;
}

bool search_toolkit(Search& search, const std::string& origin, const fs::path& root) {
  if (search.try_folder(origin, root / "lib64")) {
    return true;
  }
  return std::ranges::any_of(entries_of(root / "targets"),
                             [&](const fs::path& target) { return search.try_folder(origin, target / "lib"); });
}

// Newest first; "cuda" itself, which is the machine's own choice, before all.
bool search_usr_local(Search& search) {
  std::vector<fs::path> roots = entries_starting("/usr/local", "cuda");
  std::ranges::reverse(roots);
  std::ranges::stable_partition(roots, [](const fs::path& root) { return root.filename() == "cuda"; });
  if (roots.empty()) {
    return search.miss("the CUDA toolkit", "/usr/local/cuda*/lib64", "not there");
  }
  return std::ranges::any_of(roots,
                             [&](const fs::path& root) { return search_toolkit(search, "the CUDA toolkit", root); });
}

bool search_python(Search& search) {
  const std::string origin = "Python's nvidia-cuda-nvrtc";
  const std::string conda = environment("CONDA_PREFIX");
  if ((!conda.empty() && search.try_folder("$CONDA_PREFIX", fs::path(conda) / "lib")) ||
      search.try_packages(origin, nvidia_libraries_of_python())) {
    return true;
  }
  const fs::path python = python_on_path();
  return (search.may_run_python() && !python.empty() &&
          search.try_packages(origin, nvidia_libraries_asking_python())) ||
         search.miss(origin, python.empty() ? "no python3 on PATH" : python.string(), "not there");
}

// True when a library was found.
bool search_everywhere(Search& search) {
  if (const std::string file = environment("CONVTGEN_NVRTC"); !file.empty()) {
    return search.try_file("$CONVTGEN_NVRTC", file);
  }
  if (const std::string folder = environment("CONVTGEN_NVRTC_DIR"); !folder.empty()) {
    return search.try_packages("$CONVTGEN_NVRTC_DIR", nvidia_libraries_in(folder)) ||
           search.try_folder("$CONVTGEN_NVRTC_DIR", folder);
  }
  if (search_build_folder(search)) {
    return true;
  }
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
    if (search.try_library("the loader's path", name)) {
      return true;
    }
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string root = environment(variable);
    if (!root.empty() && search_toolkit(search, fmt::format("${}", variable), root)) {
      return true;
    }
  }
  return search_usr_local(search) || search_python(search);
}

}  // namespace

Result<Nvrtc> open_nvrtc(const std::string& file) {
  load_builtins_beside(file);
  Result<SharedLibrary> library = SharedLibrary::open(file);
  if (!library) {
    return std::unexpected(library.error());
  }
  Nvrtc nvrtc;
  nvrtc.path = library->path();
  nvrtc::Api& api = nvrtc.api;
  const bool whole =
      library->bind("nvrtcGetErrorString", api.get_error_string) && library->bind("nvrtcVersion", api.version) &&
      library->bind("nvrtcGetNumSupportedArchs", api.get_num_supported_archs) &&
      library->bind("nvrtcGetSupportedArchs", api.get_supported_archs) &&
      library->bind("nvrtcCreateProgram", api.create_program) &&
      library->bind("nvrtcDestroyProgram", api.destroy_program) &&
      library->bind("nvrtcCompileProgram", api.compile_program) && library->bind("nvrtcGetPTXSize", api.get_ptx_size) &&
      library->bind("nvrtcGetPTX", api.get_ptx) && library->bind("nvrtcGetCUBINSize", api.get_cubin_size) &&
      library->bind("nvrtcGetCUBIN", api.get_cubin) &&
      library->bind("nvrtcGetProgramLogSize", api.get_program_log_size) &&
      library->bind("nvrtcGetProgramLog", api.get_program_log);
  if (!whole) {
    return fail(fmt::format("{}: no NVRTC of version 11.2 or later", nvrtc.path));
  }
  int count = 0;
  if (api.version(&nvrtc.major, &nvrtc.minor) != nvrtc::kSuccess ||
      api.get_num_supported_archs(&count) != nvrtc::kSuccess || count <= 0) {
    return fail(fmt::format("{}: does not tell its version and architectures", nvrtc.path));
  }
  nvrtc.architectures.resize(static_cast<std::size_t>(count));
  if (api.get_supported_archs(nvrtc.architectures.data()) != nvrtc::kSuccess) {
    return fail(fmt::format("{}: does not tell its architectures", nvrtc.path));
  }
  return nvrtc;
}

NvrtcSearch find_nvrtc() {
  NvrtcSearch result;
  Search search(
      [&](const std::string& name) -> Result<std::string> {
        const Result<Nvrtc> nvrtc = open_nvrtc(name);
        if (!nvrtc) {
          return std::unexpected(nvrtc.error());
        }
        result.path = nvrtc->path;
        result.major = nvrtc->major;
        result.minor = nvrtc->minor;
        return nvrtc->path;
      },
      true);
  (void)search_everywhere(search);
  result.places = search.take_places();
  return result;
}

NvrtcFile locate_nvrtc() {
  NvrtcFile result;
  Search search(
      [&](const std::string& name) -> Result<std::string> {
        std::string path = name.find('/') != std::string::npos ? name : find_on_loader_path(name);
        if (path.empty()) {
          return fail("not there");
        }
        Result<std::string> identity = library_identity(path);
        if (!identity) {
          return identity;
        }
        result.identity = std::move(*identity);
        result.path = path;
        return path;
      },
      false);
  (void)search_everywhere(search);
  result.places = search.take_places();
  return result;
}

Result<void> check_nvrtc() {
  if (locate_nvrtc().found()) {
    return {};
  }
  const NvrtcSearch search = find_nvrtc();
  return search.found() ? Result<void>() : fail(describe_missing_nvrtc(search));
}

std::string describe_missing_nvrtc(const NvrtcSearch& search) {
  std::string text =
      "NVRTC, which compiles kernels, was not found. Install the CUDA toolkit or `pip install nvidia-cuda-nvrtc`, or "
      "name the library with $CONVTGEN_NVRTC or its folder with $CONVTGEN_NVRTC_DIR. Looked at:";
  for (const NvrtcPlace& place : search.places) {
    text += fmt::format("\n  {} ({}): {}", place.origin, place.path, place.outcome);
  }
  return text;
}

}  // namespace convtgen
