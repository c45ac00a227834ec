// templatec <template.cu> -I <shared folder> -o <program.sexp>: makes a template program. Exit codes: 0, 1 errors in
// the template, 2 usage.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "generator/templatec/templatec.h"

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  if (arguments.size() != 5 || arguments[1] != "-I" || arguments[3] != "-o") {
    std::cerr << "usage: templatec <template.cu> -I <shared folder> -o <program.sexp>\n";
    return 2;
  }
  const convtgen::templatec::Output output =
      convtgen::templatec::compile_template({.path = arguments[0], .shared = arguments[2]});
  std::cerr << output.diagnostics;
  if (!output.ok) {
    return 1;
  }
  std::ofstream file(arguments[4], std::ios::binary);
  file << output.program;
  file.close();
  if (!file) {
    std::cerr << "templatec: can't write " << arguments[4] << '\n';
    return 1;
  }
  return 0;
}
