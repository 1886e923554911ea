// switchyard completion: scripts that complete the tool's words in a shell, made from its parser.

#include <cstdio>

#include "cli/commands.h"

namespace switchyard::cli {
namespace {

struct Word {
  std::string text;  // "--level"
  std::string description;
  bool takes_value = false;
};

struct Command {
  std::string name, description;
  std::vector<Word> words;
};

std::vector<Word> WordsOf(const CLI::App& app) {
  std::vector<Word> words;
  for (const CLI::Option* option : app.get_options()) {
    const bool takes_value = option->get_items_expected_max() > 0;
    for (const std::string& name : option->get_snames())
      words.push_back({"-" + name, option->get_description(), takes_value});
    for (const std::string& name : option->get_lnames())
      words.push_back({"--" + name, option->get_description(), takes_value});
  }
  return words;
}

std::vector<Command> CommandsOf(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back({command->get_name(), command->get_description(), WordsOf(*command)});
  return commands;
}

std::string Replaced(std::string text, char what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size())
    text.replace(at, 1, with);
  return text;
}

std::string Bash(const std::vector<Command>& commands) {
  std::string names, cases;
  for (const Command& command : commands) {
    names += (names.empty() ? "" : " ") + command.name;
    cases += "    " + command.name + ") words=\"";
    for (std::size_t i = 0; i < command.words.size(); ++i)
      cases += (i == 0 ? "" : " ") + command.words[i].text;
    cases += "\" ;;\n";
  }
  return "# bash completion of switchyard: source <(switchyard completion bash)\n"
         "_switchyard() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} words\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         names +
         " --help --version\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if [ \"${COMP_WORDS[1]}\" = completion ]; then words=\"bash zsh fish\"; fi\n"
         "  case $word in\n"
         "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
         "    *) if [ \"${COMP_WORDS[1]}\" = completion ]; then COMPREPLY=($(compgen -W \"$words\" "
         "-- \"$word\")); else COMPREPLY=($(compgen -f -- \"$word\")); fi ;;\n"
         "  esac\n"
         "}\n"
         "complete -o filenames -F _switchyard switchyard\n";
}

// Inside single quotes of zsh's _arguments and _describe.
std::string ZshText(const std::string& text) {
  return Replaced(Replaced(Replaced(Replaced(text, '\'', "'\\''"), '[', "\\["), ']', "\\]"), ':',
                  "\\:");
}

std::string Zsh(const std::vector<Command>& commands) {
  std::string names, cases;
  for (const Command& command : commands) {
    names += "    '" + command.name + ":" + ZshText(command.description) + "'\n";
    cases += "    " + command.name + ")\n      _arguments";
    for (const Word& word : command.words) {
      cases += " \\\n        '" + word.text + "[" + ZshText(word.description) + "]" +
               (word.takes_value ? ":value:_files" : "") + "'";
    }
    cases += command.name == "completion" ? " \\\n        '1:shell:(bash zsh fish)' ;;\n"
                                          : " \\\n        '*:file:_files' ;;\n";
  }
  return "#compdef switchyard\n"
         "# zsh completion of switchyard: source <(switchyard completion zsh)\n"
         "_switchyard() {\n"
         "  local -a commands\n"
         "  commands=(\n" +
         names +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "}\n"
         "compdef _switchyard switchyard\n";
}

std::string FishText(const std::string& text) {
  return Replaced(Replaced(text, '\\', "\\\\"), '\'', "\\'");
}

std::string Fish(const std::vector<Command>& commands) {
  std::string script = "# fish completion of switchyard: switchyard completion fish | source\n";
  for (const Command& command : commands) {
    script += "complete -c switchyard -n __fish_use_subcommand -f -a " + command.name + " -d '" +
              FishText(command.description) + "'\n";
    const std::string when =
        "complete -c switchyard -n '__fish_seen_subcommand_from " + command.name + "'";
    for (const Word& word : command.words) {
      const bool is_long = word.text.rfind("--", 0) == 0;
      script += when + (is_long ? " -l " + word.text.substr(2) : " -s " + word.text.substr(1)) +
                (word.takes_value ? " -r" : "") + " -d '" + FishText(word.description) + "'\n";
    }
    if (command.name == "completion") script += when + " -f -a 'bash zsh fish'\n";
  }
  return script;
}

}  // namespace

void AddCompletion(CLI::App& app) {
  CLI::App* command = app.add_subcommand("completion", "Print a completion script for a shell");
  const auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "Examples:\n"
      "  source <(switchyard completion bash)\n"
      "  switchyard completion zsh > ~/.zfunc/_switchyard\n"
      "  switchyard completion fish > ~/.config/fish/completions/switchyard.fish");
  command->callback([shell, &app] {
    const std::vector<Command> commands = CommandsOf(app);
    WriteText("", *shell == "bash"  ? Bash(commands)
                  : *shell == "zsh" ? Zsh(commands)
                                    : Fish(commands));
  });
}

}  // namespace switchyard::cli
