#include "tests/launcher/built_set.h"

#include <dlfcn.h>

namespace convtgen::test {

std::vector<Compiler> strict_compilers() {
  const std::vector<std::string> strict{"-Wall", "-Wextra", "-Wpedantic", "-Wmissing-declarations", "-Werror", "-O2"};
  Compiler c{"C99", {CONVTGEN_C_COMPILER, "-std=c99", "-Wstrict-prototypes"}};
  Compiler cpp{"C++17", {CONVTGEN_CXX_COMPILER, "-x", "c++", "-std=c++17"}};
  Compiler newer{"C++20", {CONVTGEN_CXX_COMPILER, "-x", "c++", "-std=c++20"}};
  for (Compiler* compiler : {&c, &cpp, &newer}) {
    compiler->command.insert(compiler->command.end(), strict.begin(), strict.end());
  }
  return {c, cpp, newer};
}

void BuiltSet::generate(const std::string& layers, const std::string& architectures, bool host,
                        const std::map<std::string, std::string>& environment) {
  Setting here{.environment = environment, .folder = folder_.path()};
  here.environment["CONVTGEN_CACHE_DIR"] = folder_ / "cache";
  here.environment["ASAN_OPTIONS"] = "detect_leaks=0";  // of the threads that NVRTC leaves
  write(folder_ / "layers.convt", layers);
  const Outcome compiled = convtgen({"compile", "layers.convt", "--arch", architectures, "-o", "out"}, here);
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  std::vector<std::string> launcher{"launcher", "layers.convt", "--namespace", "net",
                                    "--arch",   architectures,  "-o",          "out"};
  if (host) {
    const std::string first = architectures.substr(0, architectures.find(','));
    const Outcome library =
        convtgen({"compile", "layers.convt", "--format", "host", "--arch", first, "-o", "out"}, here);
    ASSERT_EQ(library.exit, 0) << library.err;
    launcher.emplace_back("--host");
  }
  const Outcome written = convtgen(launcher, here);
  ASSERT_EQ(written.exit, 0) << written.err;
}

void BuiltSet::write_launch_code(const LayerSet& set, const SetKernel& kernel, const std::vector<TargetKernel>& made) {
  const auto shared = shared_files(set, {kernel});
  ASSERT_TRUE(shared) << shared.error().message;
  std::filesystem::create_directory(folder_ / "out");
  const auto own = kernel_files(set, kernel, made);
  ASSERT_TRUE(own) << own.error().message;
  for (const auto& files : {*shared, *own}) {
    for (const TextFile& file : files) {
      write(folder_ / ("out/" + file.name), file.text);
    }
  }
}

void BuiltSet::build(const Compiler& compiler) {
  std::vector<std::string> command = compiler.command;
  // The header before the launch code: what one declares the other must define.
  command.insert(command.end(), {"-shared", "-fPIC", "-include", "net.h", "-Wa,-Iout", "-Iout", "-I" CONVTGEN_INCLUDE,
                                 "-o", "set.so"});
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "out")) {
    if (entry.path().extension() == ".c") {
      command.push_back(entry.path().string());
    }
  }
  command.insert(command.end(), {"-ldl", "-lpthread"});
  const Outcome outcome = run_program(command, {.folder = folder_.path()});
  ASSERT_EQ(outcome.exit, 0) << compiler.name << ": " << outcome.err;
  library_ = dlopen((folder_ / "set.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library_, nullptr) << dlerror();
}

void* BuiltSet::symbol(const std::string& name) const {
  void* found = library_ != nullptr ? dlsym(library_, name.c_str()) : nullptr;
  EXPECT_NE(found, nullptr) << name;
  return found;
}

}  // namespace convtgen::test
