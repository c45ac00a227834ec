// Ends compilers and removes temporary files when a signal ends the program.
#pragma once

#include <filesystem>

namespace convtgen::cli {

/// From now on SIGINT, SIGTERM and SIGHUP end the program as they do by default, but first end the compilers that it
/// has started, and remove temporary folders and the files of remove_on_signal(). A signal that the caller had ignored
/// (nohup) stays ignored.
void clean_up_on_signals();

/// The file is removed if a signal ends the program before keep_on_signal().
void remove_on_signal(const std::filesystem::path& file);
void keep_on_signal(const std::filesystem::path& file);

}  // namespace convtgen::cli
