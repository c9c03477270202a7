"""The command that prints the completion of a shell."""

from typing import Literal

from seq2seq.cli.main import COMMANDS
from seq2seq.data.folders import SHIPPED

BASH = """\
_seq2seq() {
  local word="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "COMMANDS --help --version" -- "$word"))
  elif [ "$command" = train ]; then
    COMPREPLY=($(COMP_LINE="train ${COMP_LINE#*train }" seq2seq train -sc query=bash 2> /dev/null))
    word="${COMP_LINE##* }"  # bash completes what follows its =
    case "$COMP_WORDBREAKS" in *=*) COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*=}"}"}") ;; esac
    case "${COMPREPLY[0]}" in *[=./]) compopt -o nospace ;; esac
  elif [ "${word#-}" != "$word" ]; then
    COMPREPLY=($(compgen -W "$(seq2seq "$command" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u)" -- "$word"))
  else
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -W "MODELS" -- "$word"; compgen -f -- "$word")
  fi
}
complete -F _seq2seq seq2seq
"""

FISH = """\
function _seq2seq
  set -l words (commandline -opc)
  set -l word (commandline -ct)
  if test (count $words) -eq 1
    string split ' ' 'COMMANDS --help --version'
  else if test $words[2] = train
    env COMP_LINE="train "(string replace -r '^\\\\S+ +train *' '' -- (commandline -pc)) seq2seq train -sc query=bash 2> /dev/null
  else if string match -q -- '-*' $word
    seq2seq $words[2] --help | string match -ra -- '--[a-z][a-z-]+' | sort -u
  else
    string split ' ' 'MODELS'
    __fish_complete_path $word
  end
end
complete -c seq2seq -f -a '(_seq2seq)'
"""

ZSH = """\
_seq2seq() {
  local found
  if (( CURRENT == 2 )); then
    compadd -- COMMANDS --help --version
  elif [[ $words[2] = train ]]; then
    found=($(COMP_LINE="train ${words[3,CURRENT]}" seq2seq train -sc query=bash 2> /dev/null))
    compadd -S '' -- ${(M)found:#*[=./]}
    compadd -- ${found:#*[=./]}
  elif [[ $words[CURRENT] = -* ]]; then
    compadd -- $(seq2seq $words[2] --help | grep -oE -- '--[a-z][a-z-]+' | sort -u)
  else
    compadd -- MODELS
    _files
  fi
}
(( $+functions[compdef] )) || { autoload -U compinit; compinit }
compdef _seq2seq seq2seq
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print the completion of a shell: ``eval "$(seq2seq completion bash)"``, or ``seq2seq completion fish | source``

    Completes commands, options, and the names of the shipped models; `train` completes keys and choices as any
    Hydra application does.

    Args:
        shell: The shell.
    """
    print(SCRIPTS[shell].replace("COMMANDS", " ".join(COMMANDS)).replace("MODELS", " ".join(SHIPPED)), end="")
