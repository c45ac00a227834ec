// The part of NVRTC's C interface that is used here, declared by ourselves so that no CUDA header is needed to build.
// Names and values as in the public reference, https://docs.nvidia.com/cuda/nvrtc/.
#pragma once

#include <cstddef>

namespace convtgen::nvrtc {

struct ProgramOpaque;
using Program = ProgramOpaque*;  // nvrtcProgram

// nvrtcResult; only those that are told apart.
enum Status : int {
  kSuccess = 0,
  kErrorInvalidOption = 5,
  kErrorCompilation = 6,
  kErrorBuiltinOperationFailure = 7,  // libnvrtc-builtins was not found, most often
};

/// The functions, by the names that the library exports without "nvrtc".
struct Api {
  const char* (*GetErrorString)(Status);
  Status (*Version)(int* major, int* minor);
  Status (*GetNumSupportedArchs)(int* count);
  Status (*GetSupportedArchs)(int* architectures);
  Status (*CreateProgram)(Program*, const char* source, const char* name, int header_count, const char* const* headers,
                          const char* const* include_names);
  Status (*DestroyProgram)(Program*);
  Status (*CompileProgram)(Program, int option_count, const char* const* options);
  Status (*GetPTXSize)(Program, std::size_t*);
  Status (*GetPTX)(Program, char*);
  Status (*GetCUBINSize)(Program, std::size_t*);
  Status (*GetCUBIN)(Program, char*);
  Status (*GetProgramLogSize)(Program, std::size_t*);
  Status (*GetProgramLog)(Program, char*);
};

}  // namespace convtgen::nvrtc
