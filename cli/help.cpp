#include "cli/help.h"

#include <fmt/core.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/terminal.h"

namespace convtgen::cli {
namespace {

constexpr std::size_t kColumn = 30;
constexpr std::size_t kWidth = 110;

/// The text in lines that fit to the right of the options; CLI11 indents those after the first.
std::string wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string result, word;
  std::size_t column = kColumn;
  while (words >> word) {
    if (column > kColumn && column + 1 + word.size() > kWidth) {
      result += '\n';
      column = kColumn;
    } else if (column > kColumn) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

/// Of all verbs and of theirs, each once.
std::set<std::string> names_of_verbs(const CLI::App& app) {
  std::set<std::string> names;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) {
    names.insert(verb->get_name());
    names.merge(names_of_verbs(*verb));
  }
  return names;
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    column_width(kColumn);
    label("SUBCOMMAND", "VERB");
    label("Subcommands", "Verbs");
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_items_expected_max() == 0) {
      return "";
    }
    if (!option->nonpositional()) {
      return option->get_items_expected_max() > 1 ? " ..." : "";
    }
    const std::string type = option->get_type_name();
    return " " + (type.find('{') == std::string::npos ? type.substr(0, type.find(':')) : "WORD");
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = option->get_description();
    const std::string type = option->get_type_name();
    if (const std::size_t open = type.find('{'); open != std::string::npos) {
      text += " One of ";
      for (const char c : type.substr(open + 1, type.rfind('}') - open - 1)) {
        text += c == ',' ? std::string(", ") : std::string(1, c);
      }
      text += ".";
    }
    if (!option->get_default_str().empty()) {
      std::string value = option->get_default_str();  // a list in brackets
      if (value.front() == '[' && value.back() == ']') {
        value = value.substr(1, value.size() - 2);
      }
      text += " Default: " + value + ".";
    }
    return wrapped(text);
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> make_help_formatter() {
  return std::make_shared<HelpFormatter>();
}

void add_help(CLI::App& app, Exit& exit) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* verb = app.add_subcommand("help", "Print this help, or all of a verb.");
  verb->add_option("VERB", *words, "The verb.")->check(CLI::IsMember(names_of_verbs(app)));
  verb->footer(R"(
Examples:
  convtgen help
  convtgen help emit
  convtgen help cache list)");
  verb->callback([&app, words, &exit] {
    const CLI::App* shown = &app;
    std::string path = app.get_name();
    for (const std::string& word : *words) {
      const auto verbs = shown->get_subcommands([&](const CLI::App* each) { return each->get_name() == word; });
      if (verbs.empty()) {
        print_error(fmt::format("there is no verb '{} {}'", path, word));
        exit = Exit::kUsage;
        return;
      }
      shown = verbs.front();
      path += " " + word;
    }
    fmt::print("{}", shown->get_formatter()->make_help(shown, path, CLI::AppFormatMode::Normal));
  });
}

}  // namespace convtgen::cli
