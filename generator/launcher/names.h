// What the functions and files of a layer set are called.
#pragma once

#include <string>
#include <string_view>

#include "generator/layer/layer.h"
#include "generator/planner/chip/target.h"
#include "generator/support/error.h"

namespace convtgen {

/// "up_forward": the stem of a kernel's functions and files. The direction at its end keeps it from being a word of C
/// or C++, whatever the layer is called.
[[nodiscard]] std::string stem_of(std::string_view layer, Direction direction);

/// "up_forward.sm_90a.cu"
[[nodiscard]] std::string source_file(std::string_view stem, const Target& target);
/// "up_forward.sm_90a.cubin" or "up_forward.compute_80.ptx"
[[nodiscard]] std::string code_file(std::string_view stem, const CodeTarget& code);
/// "up_forward.host.so"
[[nodiscard]] std::string host_file(std::string_view stem);

/// Errors: what can't be the name of a C++ namespace and the beginning of C functions.
[[nodiscard]] Result<void> check_namespace(std::string_view name);

/// "NET" of "net".
[[nodiscard]] std::string capitals(std::string_view name);

/// A text of the support code, in which names begin with "ns_" and "NS_", for a namespace.
[[nodiscard]] std::string with_namespace(std::string_view text, std::string_view name);

}  // namespace convtgen
