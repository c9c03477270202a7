"""Hooks of MkDocs: generated reference pages, notebooks as pages, formulas as MathML, links to source files."""

import base64
import contextlib
import html
import importlib
import io
import json
import os
import re
import sys
from pathlib import Path

import yaml
from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ("attention", "training", "score")


def on_files(files, config):
    """Add the pages that are generated: all keys, all commands, the notebooks with their outputs."""
    sys.path.insert(0, str(ROOT / "src"))
    pages = {"keys": keys_page(), "commands": commands_page(), "old_keys": old_keys_page()}
    for name, content in ((f"reference/{name}.md", content) for name, content in pages.items()):
        files.append(File.generated(config, name, content=content))
    for name in NOTEBOOKS:
        text, images = notebook_page(name)
        files.append(File.generated(config, f"tutorials/{name}.md", content=text))
        for path, image in images.items():
            files.append(File.generated(config, f"tutorials/{path}", content=image))
    from seq2seq.export.translating_page import export_page

    folder = live_model(config)
    card = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    example = min((each["text"] for each in card["widget"]), key=len)
    files.append(File.generated(config, "live.html", content=export_page(folder, example)))
    return files


def live_model(config):
    """Return the folder of the model that translates on the home page: the first of `extra.live_models` that is there."""
    folders = (ROOT / "data" / "models" / name for name in config.extra["live_models"])
    return next(folder for folder in folders if folder.is_dir())


def on_page_markdown(markdown, page, config, files):
    """Name the model of the home page, and point links that leave docs/ to the repository, or make them plain text."""
    markdown = markdown.replace("LIVE_MODEL", live_model(config).name)

    def replace(match):
        label, link = match[1], match[2]
        path = link.partition("#")[0]
        if "://" in link or not path:
            return match[0]
        folder = ROOT / "docs" / Path(page.file.src_uri).parent
        target = Path(os.path.normpath(folder / path))
        if target.is_relative_to(ROOT / "docs"):
            return match[0]
        place = target.relative_to(ROOT).as_posix()
        if config.repo_url:
            return f"[{label}]({config.repo_url.rstrip('/')}/blob/main/{place})"
        return (
            label
            if "`" in label
            else f"{label} (`{place}`)"
            if Path(place).name not in label
            else f"`{place}`"
        )

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", replace, markdown)


def on_page_content(content, page, config, files):
    r"""Replace ``\(…\)`` and ``\[…\]``, as the extension arithmatex leaves them, by MathML."""
    inline = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
    return inline.sub(
        lambda found: convert(html.unescape(found[3]), display="inline" if found[2] == "(" else "block"),
        content,
    )


def keys_page():
    """Return the page of all configuration keys, from the files of conf/ and their comments."""
    lines = [
        "# All keys",
        "",
        "Made from the files in `conf/`. `key=value` on the command line changes a key, `group=choice` chooses a "
        "file. Keys of a node with `_target_` are arguments of that class; `+key=value` gives one that the file "
        "does not list.",
        "",
    ]
    files = [ROOT / "conf/config.yaml", *sorted(ROOT.glob("conf/*/*.yaml"))]
    group = None
    for path in files:
        if path.parent.name in ("hydra", "paths"):
            continue
        if path.parent.name != group:
            group = path.parent.name
            lines += [f"## {group if group != 'conf' else 'The root'}", ""]
        about, rows = read_keys(path, group)
        if path.name != "config.yaml":
            lines += [f"### `{group}={path.stem}`", ""]
        lines += [*about, ""]
        if rows:
            lines += ["| key | default | meaning |", "| --- | --- | --- |"]
            lines += [f"| `{key}` | {value} | {comment} |" for key, value, comment in rows]
            lines += [""]
    return "\n".join(lines)


def read_keys(path, group):
    """Return the comment lines at the start of a YAML file, and its (key, default, comment)."""
    package, about, rows, stack = [] if group == "conf" else [group], [], [], []
    in_defaults, in_about = False, True
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# @package"):
            name = line.split()[-1]
            package = [] if name == "_global_" else name.split(".")
            continue
        if line.startswith("#"):
            if in_about:
                text = line.removeprefix("# ").removeprefix("#")
                about.append(f"    {text.strip()}" if text.startswith("  ") else text)
            continue
        found = re.match(r"( *)([\w.]+):(?: +(.*?))?(?:\s+# (.*))?$", line)
        if line.startswith("defaults:"):
            in_defaults, in_about = True, False
        elif line and line[0] not in " -":
            in_defaults = False
        if in_defaults or not found:
            continue
        in_about = False
        indent, key, value, comment = len(found[1]), found[2], found[3], found[4] or ""
        if value and value.startswith("# "):
            value, comment = None, value[2:]
        while stack and stack[-1][0] >= indent:
            stack.pop()
        dotted = ".".join([*package, *(name for _, name in stack), key])
        stack.append((indent, key))
        if not value or key == "_partial_" or dotted.startswith("hydra"):
            if comment and not value:
                rows.append((dotted, "", cell(comment)))
            continue
        rows.append((dotted, f"`{cell(value)}`", cell(comment)))
    return spaced(about), rows


def spaced(lines):
    """Return lines with blank ones around indented lines, which are code."""
    found, code = [], False
    for line in lines:
        if line.startswith("    ") != code:
            found.append("")
            code = not code
        found.append(line)
    return found


def cell(text):
    """Return text for a cell of a Markdown table."""
    return text.replace("|", "\\|").strip()


def commands_page():
    """Return the page of commands: targets of make, and the help of every command."""
    from seq2seq.cli.main import COMMANDS

    os.environ["COLUMNS"] = "100"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):.*## (.*)$", makefile, re.MULTILINE)
    lines = ["# Commands", "", "Made from the help of each command.", "", "## make", ""]
    lines += ["| target | what it does |", "| --- | --- |"]
    lines += [f"| `make {name}` | {cell(text)} |" for name, text in targets]
    lines += [""]
    for name, (module, about) in COMMANDS.items():
        lines += [f"## seq2seq {name}", "", f"{about[0].upper()}{about[1:]}.", ""]
        if name == "train":
            lines += [
                "The same as `python train.py`: see [all keys](keys.md) and [configuration](configuration.md).",
                "",
            ]
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
            importlib.import_module(module).main(["--help"])
        lines += ["```text", output.getvalue().rstrip(), "```", ""]
    return "\n".join(lines)


def old_keys_page():
    """Return the table of the keys of earlier versions."""
    from seq2seq.old_names import old_keys

    lines = [
        "# Old keys",
        "",
        "Keys and options of earlier versions and what replaces them. The program prints the same hint.",
        "",
    ]
    lines += ["| before | now |", "| --- | --- |"]
    lines += [f"| `{old}` | `{new}` |" for old, new in old_keys().items()]
    lines += [
        "",
        "`scripts/rerun.py RUN` is now `python train.py --config-path RUN/.hydra hydra.run.dir=FOLDER`.",
    ]
    return "\n".join([*lines, ""])


def notebook_page(name):
    """Return a notebook as Markdown, and its images by file name."""
    cells = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    parts, images = [], {}
    for cell_of_notebook in cells:
        source = "".join(cell_of_notebook["source"])
        if "REPOSITORY" in source:  # for hosted notebooks
            continue
        if cell_of_notebook["cell_type"] == "markdown":
            source = re.sub(r"\[!\[Open in Colab\].*\n*", "", source)
            source = re.sub(r"\]\(\.\./(?!docs/)", "](../../", source)
            source = re.sub(r"(?m)^(#.*)\$\\sqrt (\w)\$", r"\1√\2", source)  # no formulas in the contents
            parts.append(source.replace("](../docs/", "](../").replace(".ipynb)", ".md)"))
            continue
        parts.append(f"```python\n{source}\n```")
        text = ""
        for output in cell_of_notebook.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                path = f"{name}_{len(images) + 1}.png"
                images[path] = base64.b64decode(data["image/png"])
                parts.append(f"![Output of the cell above]({path})")
            elif "text/html" in data:
                parts.append(f'<div class="cell-output">{"".join(data["text/html"])}</div>')
            else:
                text += "".join(output.get("text", data.get("text/plain", "")))
        if text:
            parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n", images
