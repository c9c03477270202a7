"""The style of all figures: ``style.mplstyle``, and the colors of attention weights as the color map ``attention``."""

from contextlib import AbstractContextManager
from importlib.resources import files

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from tensorboard_attention import weight_colors

WEIGHTS = ListedColormap(weight_colors() / 255, "attention").with_extremes(
    under="#e3e5e8"
)  # below 0: effects
mpl.colormaps.register(WEIGHTS, force=True)

BLUE, VERMILION, GREEN, GRAY = "#0072b2", "#d55e00", "#009e73", "#777777"


def styled() -> AbstractContextManager[None]:
    """Return a context in which figures are made and drawn in the style."""
    return mpl.rc_context(fname=str(files("seq2seq.visualization") / "style.mplstyle"))


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of so many inches that needs no window, to be called in `styled`."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure
