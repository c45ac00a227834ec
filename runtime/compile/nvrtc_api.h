// The part of NVRTC's C interface that is used here, declared by ourselves so that no CUDA header is needed to build.
// Names and values as in the public reference, https://docs.nvidia.com/cuda/nvrtc/.
#pragma once

#include <cstddef>

namespace convtgen::nvrtc {

struct ProgramOpaque;
using Program = ProgramOpaque*;  // nvrtcProgram

// nvrtcResult; only the values that the code distinguishes.
enum Status : int {
  kSuccess = 0,
  kErrorInvalidOption = 5,
  kErrorCompilation = 6,
  kErrorBuiltinOperationFailure = 7,  // libnvrtc-builtins was not found, most often
};

/// The functions; get_ptx is nvrtcGetPTX, and so on.
struct Api {
  const char* (*get_error_string)(Status);
  Status (*version)(int* major, int* minor);
  Status (*get_num_supported_archs)(int* count);
  Status (*get_supported_archs)(int* architectures);
  Status (*create_program)(Program*, const char* source, const char* name, int header_count, const char* const* headers,
                           const char* const* include_names);
  Status (*destroy_program)(Program*);
  Status (*compile_program)(Program, int option_count, const char* const* options);
  Status (*get_ptx_size)(Program, std::size_t*);
  Status (*get_ptx)(Program, char*);
  Status (*get_cubin_size)(Program, std::size_t*);
  Status (*get_cubin)(Program, char*);
  Status (*get_program_log_size)(Program, std::size_t*);
  Status (*get_program_log)(Program, char*);
};

}  // namespace convtgen::nvrtc
