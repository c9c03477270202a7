"""Print the completion of a shell: ``eval "$(seq2seq completion bash)"``

Completes commands, options, and the names of the bundled models; `train` completes keys and choices as any
Hydra application does. For zsh put ``autoload -U bashcompinit && bashcompinit`` before.
"""

from collections.abc import Sequence

from seq2seq.cli.main import COMMANDS, parser_of
from seq2seq.common.shipped import SHIPPED

SCRIPT = """\
_seq2seq() {
  local word="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "COMMANDS --help --version" -- "$word"))
  elif [ "$command" = train ]; then
    COMPREPLY=($(COMP_LINE="train ${COMP_LINE#*train }" seq2seq train -sc query=bash 2> /dev/null))
  elif [ "${word#-}" != "$word" ]; then
    COMPREPLY=($(compgen -W "$(seq2seq "$command" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u)" -- "$word"))
  else
    COMPREPLY=($(compgen -W "MODELS" -- "$word") $(compgen -f -- "$word"))
  fi
}
complete -o nospace -o filenames -F _seq2seq seq2seq
"""


def main(arguments: Sequence[str]) -> None:
    """Print the script."""
    parser = parser_of("completion", __doc__)
    parser.add_argument("shell", choices=("bash", "zsh"))
    parser.parse_args(list(arguments))
    print(SCRIPT.replace("COMMANDS", " ".join(COMMANDS)).replace("MODELS", " ".join(SHIPPED)), end="")
