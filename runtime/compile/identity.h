// Identifies a library file without loading it: loading NVRTC takes up to 0.2 s.
#pragma once

#include <string>

#include "generator/support/error.h"

namespace convtgen {

/// "build-id " and the GNU build-id of a shared library, in hexadecimal; where it has none "sha256 " and the digest of
/// the whole file, which is read anew each time. Different libraries have different identities. Errors: the file can't
/// be read, or is no shared library for this kind of machine.
[[nodiscard]] Result<std::string> library_identity(const std::string& file);

}  // namespace convtgen
