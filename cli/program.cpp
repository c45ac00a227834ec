// The program. Each verb has a file of its own.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/program.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "generator/language/suggest.h"

namespace convtgen::cli {
namespace {

constexpr const char* kFooter = R"(
Examples:
  convtgen new up --layer "conv_transpose2d 8 -> 4; kernel 4; stride 2"    a project that runs a layer
  convtgen check layers.convt                    every error of a file, with line and column
  convtgen import model.onnx -o layers.convt     the transposed convolutions of an ONNX model
  convtgen emit layers.convt -o out/             one .cu a layer, for sm_90a
  convtgen launcher layers.convt --namespace net -o out/    the C code that launches them
  convtgen explain layers.convt --arch sm_80     what would run there, and why
  convtgen run layers.convt --input 1x32x64      on a GPU, else on the host device; verified in fp64
  convtgen run -e "conv_transpose2d 8 -> 4; kernel 3; stride 2; input 1x16x16"
  convtgen tune layers.convt                     measures plans on the GPU; the runtime uses the fastest from then on
  convtgen cache list                            what was compiled before and is kept
  convtgen doctor                                what works on this machine, and what does not, and why
  convtgen help run                              all of a verb, as 'convtgen run --help' does

A layer file reads like this (docs/language.md):
  layer up {
    conv_transpose2d 64 -> 32
    kernel 4x4; stride 2x2; padding 1x1
    input 8x32x32            # batch x height x width; "?" = known only at run time
  }

Exit codes: 0 all is well; 1 the input or a result is wrong; 2 wrong usage, or this machine lacks something.)";

std::string verb_names(const CLI::App& app) {
  std::string names;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", verb->get_name());
  }
  return names;
}

/// "cache list " where that much of the command line was understood, and the verb that it names.
struct Given {
  const CLI::App* verb;
  std::string words;
  int count = 0;
};
Given given_verb(const CLI::App& app) {
  Given given{&app, ""};
  while (!given.verb->get_subcommands().empty()) {
    given.verb = given.verb->get_subcommands().front();
    given.words += given.verb->get_name() + " ";
    ++given.count;
  }
  return given;
}

/// "there is no verb 'chek'; did you mean 'check'?" where that is what is wrong.
std::string verb_suggestion(const Given& given, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::App* verb : given.verb->get_subcommands(nullptr)) {
    names.push_back(verb->get_name());
  }
  const std::vector<std::string_view> verbs(names.begin(), names.end());
  const int next = 1 + given.count;
  if (verbs.empty() || argc <= next || argv[next][0] == '-' ||
      std::find(verbs.begin(), verbs.end(), argv[next]) != verbs.end()) {
    return "";
  }
  const std::string_view near = nearest(argv[next], verbs);
  return fmt::format("there is no verb '{}{}'{}", given.words, argv[next],
                     near.empty() ? "" : fmt::format("; did you mean '{}{}'?", given.words, near));
}

int machine_lacks(std::string_view what) {
  print_error(what);
  return static_cast<int>(Exit::kUsage);
}

/// Runs the verb that is named. May throw what standard output does.
int run_verb(int argc, char** argv) {
  CLI::App app{"convtgen turns descriptions of transposed convolutions into CUDA source specialised for each of them."};
  app.name("convtgen");
  app.footer(kFooter);
  app.set_version_flag("-V,--version", "convtgen " CONVTGEN_VERSION, "Print the version and stop.");
  app.set_help_flag("-h,--help", "Print this help and stop.");
  app.require_subcommand(1);
  app.formatter(make_help_formatter());

  Exit exit = Exit::kOk;
  add_new(app, exit);
  add_check(app, exit);
  add_fmt(app, exit);
  add_import(app, exit);
  add_emit(app, exit);
  add_explain(app, exit);
  add_compile(app, exit);
  add_launcher(app, exit);
  add_run(app, exit);
  add_tune(app, exit);
  add_cache(app, exit);
  add_doctor(app, exit);
  add_completion(app, exit);
  add_help(app, exit);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // help or version
      std::ostringstream text;
      app.exit(error, text, text);
      fmt::print("{}", text.str());
      return 0;
    }
    if (argc < 2) {
      print_on_stderr(app.help());
      return static_cast<int>(Exit::kUsage);
    }
    const Given given = given_verb(app);
    const std::string suggestion = verb_suggestion(given, argc, argv);
    print_error(!suggestion.empty() ? suggestion
                : given.verb->get_subcommands(nullptr).empty()
                    ? error.what()
                    : fmt::format("a verb is missing: {}", verb_names(*given.verb)));
    print_on_stderr(fmt::format("'convtgen {}--help' lists what is legal.\n", given.words));
    return static_cast<int>(Exit::kUsage);
  }
  return static_cast<int>(exit);
}

}  // namespace

int run_program(int argc, char** argv) {
  reserve_standard_streams();
  clean_up_on_signals();
  int exit = 0;
  try {
    exit = run_verb(argc, argv);
  } catch (const std::bad_alloc&) {
    return machine_lacks("not enough memory; run takes smaller sizes with --input");
  } catch (const std::length_error&) {
    return machine_lacks("not enough memory; run takes smaller sizes with --input");
  } catch (const std::system_error& error) {
    return machine_lacks(error.what());  // standard output that can't be written
  }
  // What is buffered still may not fit on a full disk: half an emitted file must not look like a whole one.
  const bool flushed = std::fflush(stdout) == 0;
  if (!flushed || std::ferror(stdout) != 0) {  // now, or when a verb flushed it
    return machine_lacks(
        fmt::format("cannot write to file: {}", flushed ? "standard output" : std::generic_category().message(errno)));
  }
  return exit;
}

}  // namespace convtgen::cli
