// Compiled libraries on disk, from one run to the next.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace convtgen::host {

/// A folder of entries, each checksummed and put there whole. A bad or missing entry is a miss; a folder that can't be
/// used (not writable, or open to others) makes every look-up a miss and every insertion nothing.
class LibraryCache {
 public:
  /// `folder`, or where it is empty $CONVTGEN_CACHE_DIR, $XDG_CACHE_HOME/convtgen or ~/.cache/convtgen.
  explicit LibraryCache(std::string folder = {});

  /// SHA-256 over the fields, each with its length, in hex.
  [[nodiscard]] static std::string key(const std::vector<std::string>& fields);

  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;
  void insert(const std::string& key, const std::string& bytes);

  /// Where entries are, or empty where there is no place for them; why() says why.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  void prune() const;

  std::string folder_;
  std::string why_;
};

}  // namespace convtgen::host
