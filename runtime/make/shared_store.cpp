#include "runtime/make/shared_store.h"

#include <map>
#include <mutex>

#include "runtime/support/log.h"

namespace convtgen {

std::shared_ptr<Store> store_of(const std::string& folder) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<Store>>& stores = *new std::map<std::string, std::shared_ptr<Store>>;
  StoreOptions options{.folder = folder};
  options.warn = [](const std::string& message) { log(LogLevel::kWarning, message); };
  const std::lock_guard lock(mutex);
  std::shared_ptr<Store>& store = stores[folder.empty() ? default_store_folder() : folder];
  if (!store) {
    store = std::make_shared<Store>(std::move(options));
  }
  return store;
}

std::shared_ptr<Store> store_in_memory() {
  return std::make_shared<Store>(StoreOptions{.limit = 0});
}

}  // namespace convtgen
