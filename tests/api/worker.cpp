// A process of its own for the tests: api_worker ACTION DEVICE LAYER..., or
// api_worker choose KEY [CHOICE], which prints what is kept under the key.
//   prepare      prepares the layers and prints what that took
//   fork-before  forks, then opens the device in the child
//   fork-after   opens the device, then forks, and uses it in the child
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <convtgen/convtgen.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

int prepare(const convtgen::Device& device, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const convtgen::Kernel kernel = device.prepare(convtgen::Layer(text));
    std::printf("%s %s %s\n", kernel.architecture().c_str(), kernel.symbol().c_str(), kernel.key().c_str());
  }
  const convtgen_counters counters = convtgen::counters();
  const char* nvrtc = std::getenv("CONVTGEN_NVRTC");
  const bool loaded = nvrtc != nullptr && dlopen(nvrtc, RTLD_LAZY | RTLD_NOLOAD) != nullptr;
  std::printf("hits=%d misses=%d compiles=%d nvrtc=%s\n", static_cast<int>(counters.hits),
              static_cast<int>(counters.misses), static_cast<int>(counters.compiles), loaded ? "loaded" : "untouched");
  return 0;
}

int tell(const convtgen::Error& error) {
  std::printf("%s: %s\n", convtgen_status_text(error.code()), error.what());
  return 1;
}

// What the child says is the process's output; its status is the process's.
template <typename Child>
int in_child(Child child) {
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    int status = 0;
    try {
      status = child();
    } catch (const convtgen::Error& error) {
      status = tell(error);
    }
    std::fflush(stdout);
    _exit(status);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string action = argv[1];
  const std::string which = argv[2];
  if (action == "choose") {
    std::printf("%s\n", (argc > 3 ? convtgen::keep_choice(argv[2], argv[3]) : convtgen::find_choice(argv[2])).c_str());
    return 0;
  }
  const std::vector<std::string> texts(argv + 3, argv + argc);
  if (action == "fork-before") {
    const convtgen::Layer before(texts.front());  // the library is in use, CUDA is not
    return in_child([&] { return prepare(convtgen::Device(which), texts); });
  }
  const convtgen::Device device(which);
  if (action == "fork-after") {
    const convtgen::Layer layer(texts.front());
    const convtgen::Kernel kernel = device.prepare(layer);
    return in_child([&] {
      for (const bool launch : {false, true}) {
        try {
          if (launch) {
            kernel.launch({}, {1, 1, 1});
          } else {
            (void)device.prepare(layer);
          }
          return 0;
        } catch (const convtgen::Error& error) {
          (void)tell(error);
        }
      }
      try {
        (void)convtgen::Device(which);
      } catch (const convtgen::Error& error) {
        (void)tell(error);
        return 3;  // all three were refused
      }
      return 0;
    });
  }
  return prepare(device, texts);
} catch (const convtgen::Error& error) {
  return tell(error);
}
