"""The style of figures: ``figures.mplstyle``, the color map ``attention`` of weights, and fonts. Needs matplotlib.

Labels are in matplotlib's own font, and in installed ones for what it lacks, those of Noto first.
"""

import re
import warnings
from contextlib import AbstractContextManager
from functools import cache
from importlib.resources import files

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from tensorboard_attention.colors import weight_colors

WEIGHTS = ListedColormap(weight_colors() / 255, "attention").with_extremes(
    under="#e3e5e8"
)  # below 0: effects
mpl.colormaps.register(WEIGHTS, force=True)

VERMILION, GREEN, GRAY = "#d55e00", "#009e73", "#777777"

OWN = "DejaVu Sans"
LACKING = "\N{WHITE SQUARE}"
"""What stands for a character that no font has."""

_chosen: dict[str, str | None] = {}
"""Family by character; None: no font has it."""

_lacking: set[str] = set()
"""Characters that a label had and no font."""

OTHERS = (
    r"NotoSans\w*-Regular\.",
    r"wqy|SourceHanSans|msyh|simhei|PingFang|Hiragino|YuGoth|malgun|AppleGothic",
)
"""Names of the files of fonts, in the order of preference: Noto; others with Chinese, Japanese or Korean."""


def styled() -> AbstractContextManager[None]:
    """Return a context in which figures are made and drawn in the style."""
    return mpl.rc_context(fname=str(files("tensorboard_attention") / "figures.mplstyle"))


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of so many inches that needs no window, to be called in `styled`."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


@cache
def other_fonts() -> list[tuple[str, frozenset[int]]]:
    """Return the families of installed fonts of `OTHERS`, and the characters that each has."""
    paths = sorted(font_manager.findSystemFonts())
    found = []
    for path in [path for names in OTHERS for path in paths if re.search(names, path)]:
        font = font_manager.get_font(path)
        font_manager.fontManager.addfont(path)
        found.append((font.family_name, frozenset(font.get_charmap())))
    return found


def drawable(label: str) -> tuple[str, list[str]]:
    """Return a label with squares for the characters that no font has, and the families to draw it in.

    The first time that characters are lacking, one line names the packages of fonts.
    """
    own = font_manager.get_font(font_manager.findfont(OWN)).get_charmap()
    foreign = [each for each in dict.fromkeys(label) if ord(each) not in own and not each.isspace()]
    for each in foreign:
        if each in _chosen:
            continue
        _chosen[each] = next((family for family, has in other_fonts() if ord(each) in has), None)
    lacking = [each for each in foreign if _chosen[each] is None]
    if lacking and not _lacking:
        warnings.warn(
            f"no font here has {''.join(lacking[:8])}, heatmaps show squares: install one, such as Debian's packages "
            "fonts-noto-core and fonts-noto-cjk",
            stacklevel=2,
        )
    _lacking.update(lacking)
    families = dict.fromkeys(family for each in foreign if (family := _chosen[each]))
    return "".join(LACKING if each in lacking else each for each in label), [OWN, *families]
