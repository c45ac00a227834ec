// A stand-in for NVRTC: "compiles" kernels into the text that the fake driver loads, a line "<symbol> <bytes of
// parameter> ..." for each, after "@ sm_80 13000": its architecture and version.
//   $CONVTGEN_FAKE_NVRTC_VERSION  its version ("12.4"); by default 13.0
//   $CONVTGEN_FAKE_NVRTC_KNOWS  its architectures ("75 80 90"); by default those up to 120
//   $CONVTGEN_FAKE_NVRTC_FAILS  a text: sources that hold it do not compile
//   $CONVTGEN_FAKE_NVRTC_STATUS what those get (a nvrtcResult) instead of NVRTC_ERROR_COMPILATION
//   $CONVTGEN_FAKE_NVRTC_LOG    their log
//   $CONVTGEN_FAKE_NVRTC_MS     how long a compile takes
//   $CONVTGEN_FAKE_NVRTC_COUNT  a file that gets one byte for each compile, from any process
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/compile/nvrtc_api.h"

using namespace convtgen::nvrtc;

namespace convtgen::nvrtc {
struct ProgramOpaque {
  std::string source;
  std::string output;
  std::string log;
};
}  // namespace convtgen::nvrtc

namespace {

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

std::vector<int> architectures() {
  std::istringstream words(variable("CONVTGEN_FAKE_NVRTC_KNOWS", "75 80 86 89 90 100 120"));
  std::vector<int> all;
  for (int each = 0; words >> each;) {
    all.push_back(each);
  }
  return all;
}

// "sm_80" of "--gpu-architecture=sm_80".
std::string architecture_in(int count, const char* const* options) {
  constexpr std::string_view kOption = "--gpu-architecture=";
  for (int i = 0; i < count; ++i) {
    if (std::string_view(options[i]).starts_with(kOption)) {
      return options[i] + kOption.size();
    }
  }
  return "";
}

// The line of a kernel by its signature, between "__global__" and the brace after it.
std::string line_of(std::string_view signature) {
  const std::size_t close = signature.find(") {");
  const std::size_t open = signature.rfind('(', close);
  std::size_t begin = open;
  while (begin > 0 && signature[begin - 1] != ' ') {
    --begin;
  }
  std::string image(signature.substr(begin, open - begin));
  std::istringstream parameters(std::string(signature.substr(open + 1, close - open - 1)));
  for (std::string parameter; std::getline(parameters, parameter, ',');) {
    const bool wide = parameter.find('*') != std::string::npos || parameter.find("long") != std::string::npos;
    image += wide ? " 8" : " 4";
  }
  return image + "\n";
}

std::string image_of(std::string_view source) {
  constexpr std::string_view kKernel = "extern \"C\" __global__";
  std::string image;
  for (std::size_t at = source.find(kKernel); at != std::string_view::npos; at = source.find(kKernel, at + 1)) {
    image += line_of(source.substr(at));
  }
  return image;
}

Status give(const std::string& text, std::size_t* size) {
  *size = text.size() + 1;
  return kSuccess;
}
Status give(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return kSuccess;
}

}  // namespace

extern "C" {

const char* nvrtcGetErrorString(Status) {
  return "as the test asked";
}
Status nvrtcVersion(int* major, int* minor) {
  return std::sscanf(variable("CONVTGEN_FAKE_NVRTC_VERSION", "13.0").c_str(), "%d.%d", major, minor) == 2
             ? kSuccess
             : kErrorCompilation;
}
Status nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(architectures().size());
  return kSuccess;
}
Status nvrtcGetSupportedArchs(int* all) {
  for (const int each : architectures()) {
    *all++ = each;
  }
  return kSuccess;
}
Status nvrtcCreateProgram(Program* program, const char* source, const char*, int, const char* const*,
                          const char* const*) {
  *program = new ProgramOpaque{source, {}, {}};
  return kSuccess;
}
Status nvrtcDestroyProgram(Program* program) {
  delete *program;
  return kSuccess;
}
Status nvrtcCompileProgram(Program program, int count, const char* const* options) {
  if (const std::string file = variable("CONVTGEN_FAKE_NVRTC_COUNT", ""); !file.empty()) {
    const int descriptor = open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (write(descriptor, "x", 1) != 1) {
      std::abort();
    }
    close(descriptor);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(variable("CONVTGEN_FAKE_NVRTC_MS", "0").c_str())));
  const std::string wrong = variable("CONVTGEN_FAKE_NVRTC_FAILS", "");
  if (!wrong.empty() && program->source.find(wrong) != std::string::npos) {
    program->log = variable("CONVTGEN_FAKE_NVRTC_LOG", ("the source holds '" + wrong + "'").c_str()) + "\n";
    const std::string status = variable("CONVTGEN_FAKE_NVRTC_STATUS", "");
    return status.empty() ? kErrorCompilation : static_cast<Status>(std::stoi(status));
  }
  int major = 0, minor = 0;
  (void)nvrtcVersion(&major, &minor);
  const std::string architecture = architecture_in(count, options);
  program->output = "@ " + architecture + " " + std::to_string(1000 * major + 10 * minor);
  if (architecture.starts_with("compute_")) {
    program->output += " .version " + std::to_string(major - 4) + "." + std::to_string(minor);
  }
  program->output += "\n" + image_of(program->source);
  return kSuccess;
}
Status nvrtcGetPTXSize(Program program, std::size_t* size) {
  return give(program->output, size);
}
Status nvrtcGetPTX(Program program, char* to) {
  return give(program->output, to);
}
Status nvrtcGetCUBINSize(Program program, std::size_t* size) {
  return give(program->output, size);
}
Status nvrtcGetCUBIN(Program program, char* to) {
  return give(program->output, to);
}
Status nvrtcGetProgramLogSize(Program program, std::size_t* size) {
  return give(program->log, size);
}
Status nvrtcGetProgramLog(Program program, char* to) {
  return give(program->log, to);
}

}  // extern "C"
