"""`ptxmm completion`: a script that lets a shell complete `ptxmm`, made from what the command line takes. Nothing of ptxmm runs
while somebody types."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

    from ptxmm.cli.options import Commands
    from ptxmm.cli.outline import Command, OptionValue, OutlinedArgument


def add(commands: Commands) -> None:
    """The options of the command."""
    from ptxmm.cli.options import command

    completion = command(
        commands,
        "completion",
        "print what lets a shell complete commands, options, models, tests and files",
        "Prints a script for bash, zsh or fish. It knows the commands of this version, their options, the models and "
        "topics, the tests that ship, and which files an option takes; it runs nothing of ptxmm. Make it anew after an update.",
        "0",
        "ptxmm completion bash > ~/.local/share/bash-completion/completions/ptxmm",
        "ptxmm completion zsh > ~/.zfunc/_ptxmm          with fpath+=(~/.zfunc) before compinit in ~/.zshrc",
        "ptxmm completion fish > ~/.config/fish/completions/ptxmm.fish",
    )
    completion.add_argument("shell", choices=tuple(_SHELLS), metavar="SHELL", help="bash, zsh or fish")


def completion(options: Namespace) -> int:
    """Runs the command; gives its exit status."""
    from ptxmm.cli.outline import outline

    sys.stdout.write(script(options.shell, outline()))
    return 0


def script(shell: str, commands: Iterable[Command]) -> str:
    """The script of a shell: `bash`, `zsh` or `fish`. Raises KeyError for another one."""
    return _SHELLS[shell](list(commands))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _tests() -> str:
    from ptxmm.cli.outline import library_words

    return " ".join(library_words())


def _flat(words: Iterable[str]) -> str:
    return " ".join(words)


# bash

_BASH = """\
# Completion of ptxmm for bash. Written by: ptxmm completion bash
_ptxmm_tests={tests}

# Folders; hidden ones once the point is typed.
_ptxmm_folders() {{
    local name=${{1##*/}} folder
    compgen -d -- "$1" | while IFS= read -r folder; do
        if [[ $name == .* || ${{folder##*/}} != .* ]]; then printf '%s\n' "$folder"; fi
    done
}}

# What of a list of words begins with a word, then folders, and files of the endings that follow.
_ptxmm_offer() {{
    local word=$1 list=$2 ending found=
    shift 2
    while IFS= read -r reply; do COMPREPLY+=("$reply"); done < <(compgen -W "$list" -- "$word")
    for ending in "$@"; do
        while IFS= read -r reply; do
            COMPREPLY+=("$reply")
            found=1
        done < <(if [[ $ending == / ]]; then _ptxmm_folders "$word"; else compgen -f -X "!*$ending" -- "$word"; fi)
    done
    [[ $found ]] && compopt -o filenames 2> /dev/null
}}

# Tests of the library once somebody asks for those, and files.
_ptxmm_test() {{
    local word=$1
    shift
    if [[ $word == library:* ]]; then
        _ptxmm_offer "${{word#library:}}" "$_ptxmm_tests"
        COMPREPLY=("${{COMPREPLY[@]/#/library:}}")
    else
        _ptxmm_offer "$word" library: "$@"
        [[ ${{COMPREPLY[0]}} == library: ]] && compopt -o nospace 2> /dev/null
    fi
}}

_ptxmm() {{
    local line=${{COMP_LINE:0:COMP_POINT}} words=() reply current= previous= command= option=
    read -ra words <<< "$line"
    if [[ $line == *[[:space:]] ]]; then words+=(""); fi
    current=${{words[${{#words[@]}}-1]}}
    if ((${{#words[@]}} > 2)); then
        command=${{words[1]}}
        previous=${{words[${{#words[@]}}-2]}}
    fi
    COMPREPLY=()
    if [[ $current == --*=* ]]; then
        option=${{current%%=*}}=
        previous=${{current%%=*}}
        current=${{current#*=}}
    fi
    case "$command $previous" in
{cases}
    *)
        case "$command" in
        '') _ptxmm_offer "$current" {commands} ;;
{behind}
        esac
        ;;
    esac
    # The shell takes the text behind the last : or = of a word for the word.
    if [[ $COMP_WORDBREAKS != *=* ]]; then COMPREPLY=("${{COMPREPLY[@]/#/$option}}"); fi
    if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
        reply=${{current%"${{current##*:}}"}}
        COMPREPLY=("${{COMPREPLY[@]#"$reply"}}")
    fi
}}
complete -F _ptxmm ptxmm
"""


def _in_bash(value: OptionValue) -> str:
    """What offers a value."""
    endings = [*(["/"] if value.folders or any(value.files) else []), *value.files]
    files = " ".join(map(_quoted, endings))
    if value.tests:
        return f'_ptxmm_test "$current" {files}'
    return f'_ptxmm_offer "$current" {_quoted(_flat(value.words))} {files}'.rstrip()


def _bash(commands: list[Command]) -> str:
    cases, behind = [], []
    for command in commands:
        for offered, names in _alike(command).items():
            shown = "|".join(f"'{command.name} {name}'" for name in names)
            cases.append(f"    {shown}) {offered} ;;")
        options = _flat(name for argument in command.arguments for name in argument.names)
        alone = [_in_bash(a.value) for a in command.arguments if not a.names and a.value]
        offers = [f"if [[ $current == -* ]]; then _ptxmm_offer \"$current\" '{options}'"]
        offers += [f"else {one}" for one in alone[:1]]
        behind.append(f"        {command.name}) {'; '.join(offers)}; fi ;;")
    every = _quoted(_flat([*(command.name for command in commands), "--help", "--version"]))
    return _BASH.format(tests=_quoted(_tests()), cases="\n".join(cases), behind="\n".join(behind), commands=every)


def _alike(command: Command) -> dict[str, list[str]]:
    """What offers values, and the options whose values it offers."""
    found: dict[str, list[str]] = {}
    for argument in command.arguments:
        if argument.names and argument.value is not None:
            found.setdefault(_in_bash(argument.value), []).extend(argument.names)
    return found


# zsh

_ZSH = """\
#compdef ptxmm
# Completion of ptxmm for zsh. Written by: ptxmm completion zsh

_ptxmm_tests() {{
  if [[ $PREFIX == library:* ]]; then
    compset -P library:
    compadd -- {tests}
  else
    compadd -S '' -- library:
  fi
}}

_ptxmm_values() {{
  local ret=1
  compadd -- ${{@[(r)--,-1][2,-1]}} && ret=0
  while [[ $1 != -- ]]; do
    case $1 in
      tests) _ptxmm_tests && ret=0 ;;
      folders) _files -/ && ret=0 ;;
      files) _files && ret=0 ;;
      *) _files -g $1 && ret=0 ;;
    esac
    shift
  done
  return ret
}}

_ptxmm() {{
  local curcontext=$curcontext state line
  local -a commands
  commands=(
{commands}
  )
  _arguments -C '(- *)--version[show the version]' '(- *)'{{-h,--help}}'[show help]' \\
    '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
      case $words[1] in
{cases}
      esac
      ;;
  esac
}}

if [[ $funcstack[1] == _ptxmm ]]; then _ptxmm "$@"; else compdef _ptxmm ptxmm; fi
"""


def _in_zsh(argument: OutlinedArgument) -> str:
    """What `_arguments` takes for it."""
    what = "".join("\\" + c if c in "[]:\\" else c for c in argument.what)
    value = ""
    if argument.value is not None:
        label = "value" if argument.metavar.startswith("{") else argument.metavar.replace(":", "\\:")
        value = f":{label}:{{_ptxmm_values {_kinds(argument.value)}}}"
    if not argument.names:
        return _quoted(f"{'*' if argument.many else ''}{value}" if argument.many else value)
    if len(argument.names) == 1 or argument.many:
        many = "*" if argument.many else ""
        return " ".join(_quoted(f"{many}{name}[{what}]{value}") for name in argument.names)
    return " ".join(_quoted(f"({_flat(argument.names)}){name}[{what}]{value}") for name in argument.names)


def _kinds(value: OptionValue) -> str:
    """The words of `_ptxmm_values`."""
    kinds = ["tests"] if value.tests else []
    kinds += ["folders"] if value.folders else []
    endings = [ending.removeprefix(".") for ending in value.files if ending]
    if len(endings) < len(value.files):
        kinds.append("files")
    elif endings:
        # What stands alone in parentheses at the end of a pattern is something else to zsh.
        kinds.append(f'"*.{endings[0]}"' if len(endings) == 1 else f'"*.({"|".join(endings)})"')
    return " ".join([*kinds, "--", *value.words])


def _zsh(commands: list[Command]) -> str:
    shown = [f"    {_quoted(c.name + ':' + c.what.replace(':', chr(92) + ':'))}" for c in commands]
    cases = [f"        {c.name}) _arguments -S {' '.join(map(_in_zsh, c.arguments))} ;;" for c in commands]
    return _ZSH.format(tests=_tests(), commands="\n".join(shown), cases="\n".join(cases))


# fish

#: Folders, and files of some endings.
_FISH_FILES = """\
function _ptxmm_files
    for path in (__fish_complete_path (commandline -ct))
        set -l name (string split -m 1 \\t -- $path)[1]
        for ending in / $argv
            if string match -q -- "*$ending" $name
                echo $name
            end
        end
    end
end"""


def _fish(commands: list[Command]) -> str:
    lines = ["# Completion of ptxmm for fish. Written by: ptxmm completion fish", f"set -g _ptxmm_tests {_tests()}"]
    lines += [_FISH_FILES, "complete -c ptxmm -f"]
    none = "not __fish_seen_subcommand_from " + _flat(command.name for command in commands)
    lines.append(f"complete -c ptxmm -n {_quoted(none)} -l version -d 'show the version'")
    for command in commands:
        lines.append(f"complete -c ptxmm -n {_quoted(none)} -a {command.name} -d {_quoted(command.what)}")
        seen = f"complete -c ptxmm -n {_quoted(f'__fish_seen_subcommand_from {command.name}')}"
        for argument in command.arguments:
            names = "".join(f" -{'l' if n.startswith('--') else 's'} {n.lstrip('-')}" for n in argument.names)
            takes = "" if argument.value is None else " -x" if argument.names else ""
            what = f" -d {_quoted(argument.what)}" if argument.names else ""
            offered = f" -a {_quoted(_in_fish(argument.value))}" if argument.value and any(argument.value) else ""
            if names or offered:
                lines.append(f"{seen}{names}{takes}{offered}{what}")
    return "\n".join(lines) + "\n"


def _in_fish(value: OptionValue) -> str:
    """The words of a value, some of them made by commands of fish."""
    parts = list(value.words)
    if value.tests:
        parts.append("library:$_ptxmm_tests")
    if value.folders:
        parts.append("(__fish_complete_directories)")
    if any(value.files):
        parts.append(f"(_ptxmm_files {_flat(value.files)})")
    elif value.files:
        parts.append("(__fish_complete_path (commandline -ct))")
    return " ".join(parts)


_SHELLS: dict[str, Callable[[list[Command]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
