// convtgen completion: scripts for shells, made from the command line's own description, so that they can't go stale.
#include <fmt/ranges.h>

#include <memory>

#include "cli/command.h"
#include "cli/terminal.h"

namespace convtgen::cli {
namespace {

enum class ValueKind { kNone, kText, kFile, kFolder, kChoice };

/// One option or positional argument of a verb.
struct Argument {
  std::vector<std::string> names;  // "--output", "-o"; empty for a positional
  std::string description;
  ValueKind kind = ValueKind::kText;
  std::string value;                 // what the value is called: "DIR"
  std::vector<std::string> choices;  // for kChoice
};

struct VerbDescription {
  std::string name;
  std::string description;
  std::vector<Argument> arguments;
  std::vector<VerbDescription> verbs;  // "list" of "cache"
};

Argument describe(const CLI::Option& option) {
  Argument argument;
  for (const std::string& name : option.get_lnames()) {
    argument.names.push_back("--" + name);
  }
  for (const std::string& name : option.get_snames()) {
    argument.names.push_back("-" + name);
  }
  argument.description = option.get_description();
  const std::string type = option.get_type_name();  // "TEXT:{text,json}", "FILE"
  argument.value = type.substr(0, type.find_first_of(":{"));
  if (const std::size_t open = type.find('{'); open != std::string::npos) {
    argument.kind = ValueKind::kChoice;
    std::string choice;
    for (const char c : type.substr(open + 1)) {
      if (c == ',' || c == '}') {
        argument.choices.push_back(choice);
        choice.clear();
      } else {
        choice += c;
      }
    }
  } else if (option.get_items_expected_max() == 0) {
    argument.kind = ValueKind::kNone;
  } else if (type == "FILE" || type == "NPY") {
    argument.kind = ValueKind::kFile;
  } else if (type == "DIR") {
    argument.kind = ValueKind::kFolder;
  }
  return argument;
}

std::vector<VerbDescription> describe_verbs(const CLI::App& app) {
  std::vector<VerbDescription> verbs;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) {
    verbs.push_back({verb->get_name(), verb->get_description(), {}, {}});
    for (const CLI::Option* option : verb->get_options(nullptr)) {
      verbs.back().arguments.push_back(describe(*option));
    }
    verbs.back().verbs = describe_verbs(*verb);
  }
  return verbs;
}

/// In single quotes, as all three shells read them.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    result += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return result + "'";
}

std::vector<std::string> names_of(const std::vector<VerbDescription>& verbs) {
  std::vector<std::string> names;
  for (const VerbDescription& verb : verbs) {
    names.push_back(verb.name);
  }
  return names;
}

const Argument* positional_of(const VerbDescription& verb) {
  for (const Argument& argument : verb.arguments) {
    if (argument.names.empty()) {
      return &argument;
    }
  }
  return nullptr;
}

std::string bash_words(const Argument* argument) {
  if (argument == nullptr) {
    return "";
  }
  switch (argument->kind) {
    case ValueKind::kChoice:
      return fmt::format("compgen -W {} -- \"$current\"", quoted(fmt::format("{}", fmt::join(argument->choices, " "))));
    case ValueKind::kFile:
      return "compgen -f -- \"$current\"";
    case ValueKind::kFolder:
      return "compgen -d -- \"$current\"";
    default:
      return "";
  }
}

/// The parts of bash's script: the verbs with those that they belong to ("cache list"), what completes the values of
/// their options, and what completes the other words.
struct BashParts {
  std::vector<std::string> verbs;
  std::string values, words;
};

void add_bash_verbs(BashParts& parts, const std::vector<VerbDescription>& verbs, const std::string& before) {
  for (const VerbDescription& verb : verbs) {
    const std::string path = before + verb.name;
    parts.verbs.push_back(quoted(path));
    std::vector<std::string> words = names_of(verb.verbs);
    for (const Argument& argument : verb.arguments) {
      words.insert(words.end(), argument.names.begin(), argument.names.end());
      if (argument.kind == ValueKind::kNone || argument.names.empty()) {
        continue;
      }
      std::vector<std::string> patterns;
      for (const std::string& name : argument.names) {
        patterns.push_back(quoted(path + ":" + name));
      }
      const std::string command = bash_words(&argument);
      parts.values += fmt::format("    {}) {} return ;;\n", fmt::join(patterns, "|"),
                                  command.empty() ? "" : fmt::format("mapfile -t COMPREPLY < <({});", command));
    }
    const std::string positional = bash_words(positional_of(verb));
    parts.words += fmt::format(
        "    {}) options={}{} ;;\n", quoted(path), quoted(fmt::format("{}", fmt::join(words, " "))),
        positional.empty()
            ? ""
            : fmt::format("; [[ $current == -* ]] || {{ mapfile -t COMPREPLY < <({}); return; }}", positional));
    add_bash_verbs(parts, verb.verbs, path + " ");
  }
}

std::string bash_script(const std::vector<VerbDescription>& verbs) {
  BashParts parts;
  add_bash_verbs(parts, verbs, "");
  return fmt::format(R"(# bash completion of convtgen: source <(convtgen completion bash)
_convtgen() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} verb= options= i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${{verb:+$verb }}${{COMP_WORDS[i]}} in
      {}) verb=${{verb:+$verb }}${{COMP_WORDS[i]}} ;;
    esac
  done
  COMPREPLY=()
  case $verb:$previous in
{}  esac
  case $verb in
    '') options={} ;;
{}  esac
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
}}
complete -o filenames -F _convtgen convtgen
)",
                     fmt::join(parts.verbs, "|"), parts.values,
                     quoted(fmt::format("{} -h --help -V --version", fmt::join(names_of(verbs), " "))), parts.words);
}

/// A description inside zsh's [...] and :...:.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') {
      result += '\\';
    }
    result += c;
  }
  return result;
}

std::string zsh_action(const Argument& argument) {
  switch (argument.kind) {
    case ValueKind::kNone:
      return "";
    case ValueKind::kChoice:
      return fmt::format(":{}:({})", zsh_text(argument.value), fmt::join(argument.choices, " "));
    case ValueKind::kFile:
      return fmt::format(":{}:_files", zsh_text(argument.value));
    case ValueKind::kFolder:
      return fmt::format(":{}:_files -/", zsh_text(argument.value));
    case ValueKind::kText:
      return fmt::format(":{}:", zsh_text(argument.value));
  }
  return "";
}

/// A function that completes one of the verbs and what follows it, after those of the verbs that have verbs.
std::string zsh_function(const std::string& name, const std::string& options,
                         const std::vector<VerbDescription>& verbs) {
  std::string nested, list, cases;
  for (const VerbDescription& verb : verbs) {
    list += fmt::format("    {}\n", quoted(verb.name + ":" + zsh_text(verb.description)));
    if (!verb.verbs.empty()) {
      const std::string function = name + "_" + verb.name;
      nested += zsh_function(function, "'--help[Print help]'", verb.verbs);
      cases += fmt::format("        {}) {} ;;\n", verb.name, function);
      continue;
    }
    cases += fmt::format("        {})\n          _arguments", verb.name);
    for (const Argument& argument : verb.arguments) {
      if (argument.names.empty()) {
        cases += " \\\n            " + quoted("*" + zsh_action(argument));
        continue;
      }
      for (const std::string& option : argument.names) {
        cases += " \\\n            " +
                 quoted(fmt::format("{}[{}]{}", option, zsh_text(argument.description), zsh_action(argument)));
      }
    }
    cases += "\n          ;;\n";
  }
  return fmt::format(R"({}{}() {{
  local curcontext=$curcontext state line
  local -a verbs=(
{}  )
  _arguments -C {} '1: :->verb' '*:: :->rest'
  case $state in
    verb) _describe verb verbs ;;
    rest)
      case $line[1] in
{}      esac
      ;;
  esac
}}
)",
                     nested, name, list, options, cases);
}

std::string zsh_script(const std::vector<VerbDescription>& verbs) {
  return fmt::format(
      R"(#compdef convtgen
# zsh completion of convtgen: source <(convtgen completion zsh), or put it in $fpath as _convtgen
{}if [[ $funcstack[1] == _convtgen ]]; then _convtgen "$@"; else compdef _convtgen convtgen; fi
)",
      zsh_function("_convtgen",
                   "'(-h --help)'{-h,--help}'[Print help]' '(-V --version)'{-V,--version}'[Print the version]'",
                   verbs));
}

/// `wanted` is the condition under which these verbs are offered; `before` begins those under which one was given.
std::string fish_lines(const std::vector<VerbDescription>& verbs, const std::string& wanted,
                       const std::string& before) {
  std::string script;
  for (const VerbDescription& verb : verbs) {
    script +=
        fmt::format("complete -c convtgen -n {} -f -a {} -d {}\n", quoted(wanted), verb.name, quoted(verb.description));
    const std::string given = before + "__fish_seen_subcommand_from " + verb.name;
    const std::string here = fmt::format("complete -c convtgen -n {}", quoted(given));
    for (const Argument& argument : verb.arguments) {
      std::string line = here;
      for (const std::string& name : argument.names) {
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      switch (argument.kind) {
        case ValueKind::kNone:
          break;
        case ValueKind::kChoice:
          line += fmt::format(" {} {}", argument.names.empty() ? "-f -a" : "-x -a",
                              quoted(fmt::format("{}", fmt::join(argument.choices, " "))));
          break;
        case ValueKind::kFile:
          line += argument.names.empty() ? " -F" : " -r -F";
          break;
        case ValueKind::kFolder:
          line += " -x -a '(__fish_complete_directories)'";
          break;
        case ValueKind::kText:
          line += " -x";
          break;
      }
      script += fmt::format("{} -d {}\n", line, quoted(argument.description));
    }
    if (!verb.verbs.empty()) {
      script += fish_lines(
          verb.verbs,
          fmt::format("{}; and not __fish_seen_subcommand_from {}", given, fmt::join(names_of(verb.verbs), " ")),
          given + "; and ");
    }
  }
  return script;
}

std::string fish_script(const std::vector<VerbDescription>& verbs) {
  return "# fish completion of convtgen: convtgen completion fish | source\n" +
         fish_lines(verbs, "__fish_use_subcommand", "");
}

}  // namespace

void add_completion(CLI::App& app, Exit& exit) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("completion", "Print a completion script for a shell.");
  verb->add_option("SHELL", *shell, "The shell.")->check(CLI::IsMember({"bash", "zsh", "fish"}))->required();
  verb->footer(R"(
Examples:
  source <(convtgen completion bash)             in ~/.bashrc
  convtgen completion zsh > ~/.zfunc/_convtgen   a folder of $fpath
  convtgen completion fish > ~/.config/fish/completions/convtgen.fish)");
  verb->callback([&app, shell, &exit] {
    const std::vector<VerbDescription> verbs = describe_verbs(app);
    fmt::print("{}", *shell == "bash" ? bash_script(verbs) : *shell == "zsh" ? zsh_script(verbs) : fish_script(verbs));
    exit = Exit::kOk;
  });
}

}  // namespace convtgen::cli
