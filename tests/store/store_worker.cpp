// A process that uses a store, for processes_test.
//   store_worker churn FOLDER SEED   makes and finds entries until it is killed
//   store_worker one FOLDER LOG      asks for one entry, and adds a line to LOG when it makes it
// Exits with 3 when an entry has not the right bytes.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "runtime/store/store.h"
#include "tests/store/payload.h"

namespace {

using namespace convtgen;
using namespace convtgen::testing;

constexpr int kWrongBytes = 3;
constexpr unsigned kKeys = 200;

int churn(const std::string& folder, unsigned seed) {
  std::mt19937 random(seed);
  // A fraction of the keys fits, so that something is always there to make and to evict.
  Store store({.folder = folder, .limit = 2 << 20});
  const pid_t parent = getppid();
  while (getppid() == parent) {
    const unsigned index = random() % kKeys;
    const auto entry = store.get_or_make(worker_key(index), [&]() -> Made {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
      return worker_payload(index);
    });
    if (!entry || entry->bytes != worker_payload(index)) {
      return kWrongBytes;
    }
  }
  return 0;
}

int one(const std::string& folder, const char* log) {
  Store store({.folder = folder});
  const auto entry = store.get_or_make(worker_key(0), [&]() -> Made {
    const int file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const bool written = write(file, "made\n", 5) == 5;
    close(file);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return written ? worker_payload(0) : "";
  });
  return entry && entry->bytes == worker_payload(0) ? 0 : kWrongBytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    return 2;
  }
  return std::string(argv[1]) == "churn" ? churn(argv[2], static_cast<unsigned>(std::atoi(argv[3])))
                                         : one(argv[2], argv[3]);
}
