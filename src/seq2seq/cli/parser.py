"""The parser of a command, made of the signature and the docstring of its function.

A keyword-only parameter is an option, ``beam_size`` is ``--beam-size``; one before them is an argument by position. Its
annotation says what is taken:

    bool                      nothing: the option switches it on
    Literal["a", "b"]         a choice
    Sequence[X], list[X]      several values after the option; the option several times
    X | None                  X
    Annotated[X, …]           X by its name in the help (a text), within bounds, read by a function, which refuses wrong values
    **options: Annotated[Any, function]    the options of another function, to which they go

The section Args of the docstring has the help. The default is added to it.
"""

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from hydra_checked import fits, in_words, kind_of, nearest
from seq2seq.common.errors import InputError

SHORT = {"output": ["-o"]}
"""Options with a second name."""

OTHER = {
    "input": "source",
    "src": "source",
    "tgt": "target",
    "ref": "reference",
    "sentences": "sentence",
    "lang": "to",
}
"""Names of other toolkits and commands -> names here."""

METAVARS = {int: "N", float: "X", str: "TEXT", Path: "FILE"}


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong.

    Attributes:
        needed: Options that cannot be left out.
        places: What stands by position, as the help names it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.needed: list[argparse.Action] = []
        self.places: list[str] = []

    def error(self, message: str) -> NoReturn:
        """Print the message, and exit with status 2."""
        words = re.findall(r"--([\w-]+)", message) if "unrecognized" in message else []
        known = {place.lower(): f"{place}, which stands without --{place.lower()}" for place in self.places}
        known |= {option: f"--{option}" for option in re.findall(r"--([\w-]+)", self.format_help())}
        if choice := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message):
            words, known = [choice[1]], {each: each for each in re.findall(r"[\w-]+", choice[2])}
        near = [found for word in words if (found := nearest(OTHER.get(word, word), known))]
        near += [
            "reference" for word in words if word in ("target", "tgt") and not near and "reference" in known
        ]
        near += [each for word in words for each in known if word in each.split("-")]
        hint = f"did you mean {known[near[0]]}? " if near else ""
        self.exit(2, f"error: {message}; {hint}{self.prog} --help lists what it takes\n")

    def parse(self, arguments: Sequence[str]) -> dict[str, Any]:
        """Return the arguments of the function; what stands by position is checked first, then whether an option is missing."""
        found = vars(self.parse_intermixed_args(arguments))
        if missing := [each for each in self.needed if each.dest not in found]:
            self.error(
                f"{', '.join('/'.join(each.option_strings) for each in missing)}: this option is needed"
            )
        return found


def parser_of(name: str, function: Callable[..., Any]) -> Parser:
    """Return the parser of a command; what it finds are the arguments of its function."""
    parser = Parser(
        prog=f"seq2seq {name}",
        description=documented(function)[0],
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=30),
    )
    usage = [add(parser, *each) for each in parameters(function)]
    parser.usage = " ".join([parser.prog, *filter(None, usage), "[OPTIONS]"])
    return parser


def add(parser: Parser, parameter: inspect.Parameter, hint: Any, text: str) -> str:
    """Add a parameter to a parser; return how the usage shows it, empty for an option that can be left out."""
    keywords, default, name = argument(hint), parameter.default, parameter.name
    is_needed, is_option = default is parameter.empty, parameter.kind is parameter.KEYWORD_ONLY
    if is_needed and is_option:
        keywords["default"] = argparse.SUPPRESS
    elif not is_needed:
        keywords["default"] = default
        text += "" if default in (None, "", ()) or default is False else f" (default: {default})"
    if is_option:
        names = [*SHORT.get(name, ()), f"--{name.replace('_', '-')}"]
        action = parser.add_argument(*names, help=text, **keywords)
        parser.needed += [action] if is_needed else []
        return f"{names[0]} {action.metavar or '|'.join(action.choices or ())}" if is_needed else ""
    if not is_needed:
        keywords["nargs"] = "*" if "nargs" in keywords else "?"
    action = parser.add_argument(name, help=text, **keywords)
    parser.places += [action.metavar] if isinstance(action.metavar, str) else []
    shown = f"{action.metavar or '|'.join(action.choices or ())}{' …' if action.nargs in ('+', '*') else ''}"
    return shown if is_needed else f"[{shown}]"


def parameters(function: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, Any, str]]:
    """Yield the parameters of a command with their annotations and their help; those of a function called with them, too."""
    texts, hints = documented(function)[1], get_type_hints(function, include_extras=True)
    found = inspect.signature(function).parameters
    for name, parameter in found.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            if name != "self":
                yield parameter, hints[name], texts.get(name, "").replace("%", "%%")
            continue
        for inner, hint, text in parameters(get_args(hints[name])[1]):
            if inner.kind is inner.KEYWORD_ONLY and inner.name not in found:
                yield inner, hint, text


def documented(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the description in a docstring, and the text of each argument."""
    description, _, rest = (inspect.getdoc(function) or "").replace("``", "").partition("\n\nArgs:\n")
    arguments = re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.split(r"\n(?=\S)", rest)[0], re.MULTILINE)
    return description, {name: " ".join(text.split()).rstrip(".") for name, text in arguments}


def argument(hint: Any) -> dict[str, Any]:
    """Return what `add_argument` takes for an annotation."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is bool:
        return {"action": "store_true"}
    if origin is Literal:
        return {"choices": parts}
    if origin in (Union, UnionType):
        return argument(parts[0])
    if origin is list:
        return argument(parts[0]) | {"action": "append"}
    if origin is Sequence:
        return argument(parts[0]) | {"nargs": "+"}
    if origin is Annotated:
        found = argument(parts[0])
        if parts[0] in (int, float):
            found["type"] = number_of(hint)
        names = [each for each in parts[1:] if isinstance(each, str)]
        readers = [read_by(each) for each in parts[1:] if callable(each)]
        return found | ({"metavar": names[0]} if names else {}) | ({"type": readers[0]} if readers else {})
    return {"type": hint, "metavar": METAVARS[hint]}


def number_of(hint: Any) -> Callable[[str], float]:
    """Return a type of an argument: it reads a number within the bounds of an annotation, those of `annotated_types`."""
    kind, sort = kind_of(hint), get_args(hint)[0]

    def read(text: str) -> float:
        with suppress(ValueError):
            if fits(number := sort(text), kind):
                return number
        raise argparse.ArgumentTypeError(f"{text}: expected {in_words(kind)}")

    return read


def read_by(check: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a type of an argument: it returns what `check` returns, or ends the program with what `check` refuses."""

    def read(text: str) -> Any:
        try:
            return check(text)
        except InputError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(2)

    return read
