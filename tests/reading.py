"""What one reads to understand a decoder: python -m tests.reading

Every function of this project that a step executes, and how the classes behind them are made: lines
of code, without docstrings, comments and blank lines.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

import seq2seq

ROOT = Path(seq2seq.__file__).parent
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


def executed(function, *arguments):
    """File and name of every function of this project that a call executes."""
    seen = set()

    def look(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT):
            seen.add((path, frame.f_code.co_qualname))

    sys.setprofile(look)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return seen


def lines_of_code(path, qualified_names):
    """Lines of these functions, and of the heads and constructors of their classes."""
    text = path.read_text("utf-8")
    wanted, code = set(), code_lines(text)
    classes = {name.rpartition(".")[0] for name in qualified_names if "." in name}
    functions = {*qualified_names, *(f"{name}.__init__" for name in classes)}
    for name, node in definitions(ast.parse(text)):
        if name in functions:
            wanted |= set(range(node.lineno, node.end_lineno + 1)) - docstring(node)
        elif name in classes:
            wanted.add(node.lineno)
    return len(wanted & code)


def code_lines(text):
    """Numbers of the lines that hold code, or a docstring."""
    found = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT and token.string.strip():
            found |= set(range(token.start[0], token.end[0] + 1))
    return found


def docstring(node):
    """Numbers of its lines."""
    if ast.get_docstring(node) is None:
        return set()
    return set(range(node.body[0].lineno, node.body[0].end_lineno + 1))


def definitions(tree, prefix=""):
    """Qualified names and nodes of functions and classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from definitions(node, f"{prefix}{node.name}.")


def reading_of(function, *arguments):
    """Lines of code by file."""
    by_file = {}
    for path, name in executed(function, *arguments):
        by_file.setdefault(path, set()).add(name)
    counts = {str(path.relative_to(ROOT)): lines_of_code(path, by_file[path]) for path in by_file}
    return Counter(counts)


def reading_of_the_default():
    """Of a step of the default kind of model: additive attention, deep readout, two layers."""
    import torch  # noqa: PLC0415 - tests load it behind an import hook

    from tests.models import model_of  # noqa: PLC0415 - the same

    model = model_of(num_layers=2, readout_size=5)
    ids, is_token = torch.tensor([[4, 5, 3]]), torch.ones(1, 3, dtype=torch.bool)
    memory = model.encode(ids, torch.tensor([3]), is_token)
    state = model.decoder.initial_state(memory)
    embedded = model.decoder.embedding(torch.tensor([4]))
    return reading_of(model.decoder.step, embedded, state, memory)


if __name__ == "__main__":
    counts = reading_of_the_default()
    for name, lines in counts.most_common():
        print(f"{lines:5} {name}")
    print(f"{counts.total():5} lines in {len(counts)} files")
