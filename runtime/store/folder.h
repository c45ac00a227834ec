// The folder that entries are in: whether it can be trusted, and its files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/support/error.h"

namespace convtgen {

/// $CONVTGEN_CACHE_DIR, $XDG_CACHE_HOME/convtgen or $HOME/.cache/convtgen; empty where no home is known.
[[nodiscard]] std::string default_store_folder();

inline constexpr std::string_view kEntryEnding = ".entry";
inline constexpr std::string_view kLockEnding = ".lock";
inline constexpr std::string_view kStagedEnding = ".staged";

/// A folder opened for one operation. All of its files are reached through its descriptor, so that the folder that was
/// judged is the one that is used, whatever becomes of its path.
class Folder {
 public:
  /// Where `make`, it and the folders above are made, for this user alone (0700). A symbolic link is followed, and what
  /// it points to is judged. Errors: it is not there, can't be made or opened, is no folder, belongs to another user,
  /// or others can write to it.
  [[nodiscard]] static Result<Folder> open(const std::string& path, bool make);
  Folder(Folder&& from) noexcept;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder& operator=(Folder&&) = delete;
  ~Folder();

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// A whole file, noted as used just now (at most once an hour). Nothing where it can't be read, whatever the reason,
  /// or is no plain file.
  [[nodiscard]] std::optional<std::string> read(const std::string& name, bool note_use = true) const;
  /// Its first bytes, at most so many; not noted as a use. Nothing as in read().
  [[nodiscard]] std::optional<std::string> read_begin(const std::string& name, std::size_t most) const;
  /// Writes a file next to it, has the disk keep it, and renames it, so that a reader sees all of it or nothing.
  /// What is no plain file in its place is removed. Errors: the step that failed, with the system's reason, a full
  /// file-size limit too; nothing is left.
  [[nodiscard]] Result<void> publish(const std::string& name, std::string_view bytes) const;
  [[nodiscard]] bool has(const std::string& name) const;
  /// Whether what has this name is no plain file: a folder, a link, a FIFO.
  [[nodiscard]] bool is_stray(const std::string& name) const;
  /// Removes what has this name, a folder with all in it; links are not followed. True when it was there and is gone.
  bool remove(const std::string& name) const;

  struct File {
    std::string name;
    std::uint64_t bytes = 0;
    std::int64_t used = 0;  // when it was written or noted as used: nanoseconds since 1970
    bool plain = true;      // false for what the store never makes: a folder, a link, a FIFO
  };
  /// What has a name that the store gives, with this ending, by name; empty where the folder can't be read.
  [[nodiscard]] std::vector<File> files(std::string_view ending) const;
  /// The names of entries of a family, without looking at the files.
  [[nodiscard]] std::vector<std::string> members(const std::string& family) const;

 private:
  explicit Folder(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace convtgen
