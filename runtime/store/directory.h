// What is in a folder of the file system. std::filesystem's iterators end the program where memory is out.
#pragma once

#include <string>
#include <vector>

namespace convtgen {

/// The names in a folder, sorted, without "." and ".."; empty where it can't be read. Throws std::bad_alloc.
[[nodiscard]] std::vector<std::string> names_in(int folder);
[[nodiscard]] std::vector<std::string> names_in(const std::string& folder);

/// Removes what has this name in a folder: a file, a link but not what it points to, or a folder with all that is in
/// it. True where it was there and is gone.
bool remove_tree(int folder, const char* name) noexcept;

}  // namespace convtgen
