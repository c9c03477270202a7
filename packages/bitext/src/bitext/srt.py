"""Two files of subtitles, SubRip or WebVTT: what is on the screen at the same time is a pair."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from bitext.files import lines
from bitext.pair import File, FormatError, Pair

KIND = "a file of subtitles"
TIMES = re.compile(r"(?:(\d+):)?(\d+):(\d+[,.]\d+) +--> +(?:(\d+):)?(\d+):(\d+[,.]\d+)")
TAGS = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
"""What a player does not show: ``<i>``, ``{\\an8}``."""


class Cue(NamedTuple):
    """A subtitle: when it is shown, in seconds, its line in the file, and its text without tags."""

    start: float
    end: float
    place: int
    text: str


def cues(path: File) -> list[Cue]:
    """Return the subtitles of a file, in their order in time.

    Raises:
        FormatError: The file cannot be read, or is no file of subtitles.
    """
    found: list[Cue] = []
    within = False
    for number, line in enumerate(lines(path, KIND), start=1):
        if times := TIMES.match(line.strip()):
            parts = [float((part or "0").replace(",", ".")) for part in times.groups()]
            start, end = (
                3600 * hours + 60 * minutes + seconds for hours, minutes, seconds in (parts[:3], parts[3:])
            )
            found.append(Cue(start, end, number, ""))
        elif within and line.strip():
            found[-1] = found[-1]._replace(text=" ".join(f"{found[-1].text} {TAGS.sub('', line)}".split()))
        within = bool(times) or (within and bool(line.strip()))
    return sorted(found)


def read(source: File, target: File) -> Iterator[Pair]:
    """Yield the pairs; subtitles that are shown together with the same one are joined, those alone are left out.

    Two are shown together if they are for at least half of the time of the shorter one.

    Raises:
        FormatError: A file cannot be read, is none of subtitles, or no two are shown together.
    """
    first, second = cues(source), cues(target)
    groups: list[tuple[dict[Cue, None], dict[Cue, None]]] = []
    begin = 0
    for one in first:
        while begin < len(second) and second[begin].end <= one.start:
            begin += 1
        for other in islice(second, begin, None):
            if other.start >= one.end:
                break
            shared = min(one.end, other.end) - max(one.start, other.start)
            if 2 * shared < min(one.end - one.start, other.end - other.start):
                continue
            if not (groups and (one in groups[-1][0] or other in groups[-1][1])):
                groups.append(({}, {}))
            groups[-1][0][one] = groups[-1][1][other] = None
    if not groups:
        raise FormatError(f"{source} and {target} have no subtitles at the same times: are they of one film?")
    for sources, targets in groups:
        texts = (" ".join(cue.text for cue in side if cue.text) for side in (sources, targets))
        yield Pair(next(texts), next(texts), next(iter(sources)).place)
