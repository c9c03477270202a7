"""The page of all claims, in Markdown."""

from collections.abc import Mapping
from pathlib import Path

from seq2seq.claims.result import Result, claim_names, kept
from seq2seq.plain_text import one_line
from seq2seq.storage.writing import write_file
from seq2seq.sweeps.hypothesis import files_now

PAGE, FOLDER = "claims.md", "claims"

HEAD = """# Claims about attention, tested

Each was written down in [conf/sweep/claims](../conf/sweep/claims) before its first run; the program
tests it, and writes this page: `python scripts/claim.py NAME`. *Reproduced*: all that was expected
is so; *not reproduced*: nothing of it; *depends*: some. Behind each difference stands its interval;
those of the comparisons that decide a claim hold together at 95 %, and allow for luck with
sentences and with seeds ([sweeps.md](sweeps.md)). A comparison that is *asked only* decides
nothing; *not shown*: the interval holds both. BLEU, AER (on the validation split) and words that
stay are of a hundred. Time is that of all runs, on a core each. *Stale*: what the row rests on has
changed since.
"""


def write_page(folder: Path) -> Path:
    """Write it of the results that are kept beside it.

    Args:
        folder: of the documents.
    """
    results = kept(folder / FOLDER)
    rows = ["| claim | verdict | runs | time | commit |", "| --- | --- | --- | --- | --- |"]
    now = files_now() if results else {}
    rows += [_row(each, now) for each in results]
    sections = [_section(each, folder / FOLDER) for each in results]
    known = {each.name for each in results}
    waiting = ", ".join(f"`{name}`" for name in claim_names() if name not in known)
    rest = [f"Written down and not run yet: {waiting}.", ""] if waiting else []
    write_file(folder / PAGE, "\n".join([HEAD, *rows, "", *rest, *sections]))
    return folder / PAGE


def _row(result: Result, now: Mapping[str, str]) -> str:
    cells = [
        f"[{result.says}](#{result.name})",
        _verdict(result, now),
        str(result.num_runs),
        f"{result.minutes:,.0f} min",
        " ".join(result.commits),
    ]
    return one_line(f"| {' | '.join(cells)} |")


def _verdict(result: Result, now: Mapping[str, str]) -> str:
    """In a word, and whether it is stale."""
    changed = result.changed(now)
    others = f" and {len(changed) - 1} others have" if len(changed) > 1 else " has"
    stale = f" (stale: {changed[0]}{others} changed)" if changed else ""
    return f"**{result.verdict.value}**{stale}"


def _section(result: Result, folder: Path) -> str:
    """What was found, the picture, and what somebody wrote about it in NAME.txt beside it."""
    note = folder / f"{result.name}.txt"
    lines = [
        f"## {result.name}",
        "",
        f"{result.says} ({result.source})",
        "",
        *(f"- {each.words()}" for each in result.found),
        "",
        f"![{result.name}]({FOLDER}/{result.name}.png)",
        "",
    ]
    said = [note.read_text(encoding="utf-8", errors="replace")] if note.is_file() else []
    return "\n".join([*map(one_line, lines), *said])
