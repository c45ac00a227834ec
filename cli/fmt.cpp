// convtgen fmt: layer files in their one form.
#include <memory>

#include "cli/command.h"
#include "cli/files.h"
#include "cli/reporter.h"
#include "cli/terminal.h"
#include "generator/language/language.h"

namespace convtgen::cli {
namespace {

struct FmtOptions {
  std::vector<std::string> files;
  bool check = false;
  bool in_place = false;
  std::size_t error_limit = kErrorLimit;
};

Exit format_one(const FmtOptions& options, const std::string& path, Reporter& reporter) {
  const Result<std::string> text = read_file(path);
  if (!text) {
    print_error(text.error().message);
    return Exit::kUsage;
  }
  const auto formatted = format_file(*text);
  if (!formatted) {
    reporter.report(formatted.error(), *text, path == "-" ? "<stdin>" : path);
    return Exit::kWrong;
  }
  if (options.check) {
    if (*formatted != *text) {
      fmt::print("{}: not formatted\n", path);
      return Exit::kWrong;
    }
    return Exit::kOk;
  }
  if (!options.in_place) {
    fmt::print("{}", *formatted);
    return Exit::kOk;
  }
  if (*formatted != *text) {
    if (auto written = write_file(path, *formatted); !written) {
      print_error(written.error().message);
      return Exit::kUsage;
    }
  }
  return Exit::kOk;
}

}  // namespace

void add_fmt(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<FmtOptions>();
  CLI::App* verb = app.add_subcommand("fmt", "Lay out layer files anew; comments stay.");
  verb->add_option("FILE", options->files, "Layer files; '-' is standard input.")->type_name("FILE")->required();
  auto* check = verb->add_flag("--check", options->check, "Write nothing; exit with 1 if a file would change.");
  verb->add_flag("-i,--in-place", options->in_place, "Write the files themselves instead of standard output.")
      ->excludes(check);
  add_error_limit_option(*verb, options->error_limit);
  verb->footer(R"(
Examples:
  convtgen fmt layers.convt            prints the file as it should be
  convtgen fmt -i *.convt              rewrites the files that differ
  convtgen fmt --check *.convt         for CI: names the files that differ
-i keeps a file's permissions and writes through symbolic links; the new text is put in its place at once, so that
other hard links keep the old text. A file that may not be written to is an error.)");
  verb->callback([options, &exit] {
    for (const std::string& path : options->files) {
      if (options->in_place && path == "-") {
        print_error(
            "--in-place: standard input ('-') is no file; leave out --in-place, and it goes to standard output");
        exit = Exit::kUsage;
        return;
      }
    }
    Reporter reporter(false, options->error_limit);
    for (const std::string& path : options->files) {
      exit = worse(exit, format_one(*options, path, reporter));
    }
    reporter.finish();
  });
}

}  // namespace convtgen::cli
