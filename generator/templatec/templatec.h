// The template compiler: ordinary CUDA C++ in, a template program out. Build time only; needs Clang 19.
#pragma once

#include <map>
#include <string>

namespace convtgen::templatec {

struct Input {
  std::string path;    // of the template; its folder is searched for what it includes
  std::string shared;  // the folder that is searched next, for what templates share; empty: none
  std::map<std::string, std::string> files = {};  // texts that stand before files of the same path on disk
};

struct Output {
  bool ok = false;
  std::string program;      // write_program's text; empty where not ok
  std::string diagnostics;  // Clang's and ours: `file:line:col: error: ...`
};

/// Reads the template's AST, checks its binding times and writes its program. Equal sources give equal bytes,
/// wherever they lie.
[[nodiscard]] Output compile_template(const Input& input);

}  // namespace convtgen::templatec
