"""The alt text of a picture, from its titles, axes and legends. Reads figures, draws none."""

from matplotlib.figure import Figure

from attn_course.figures import marks
from attn_course.figures.scene import Scene

_MANY = 12  # bars: more are a histogram
_COLOUR_BAR = "<colorbar>"  # matplotlib's label of such Axes


def describe_figure(figure: Figure) -> str:
    """The alt text of a matplotlib figure."""
    panels = [ax for ax in figure.axes if ax.get_label() != _COLOUR_BAR]
    return _in_words([_facts(ax) for ax in panels])


def describe_scene(scene: Scene) -> str:
    """The alt text of a scene: the same words as for the figure it stands for."""
    panels = [axes for axes in scene.axes if axes.scale is None]
    return _in_words([_scene_facts(axes) for axes in panels])


def _in_words(panels):
    """One sentence for each panel. panels: kind, title, x, y and the names in the legend."""
    sentences = [_sentence(*panel) for panel in panels]
    if len(sentences) == 1:
        return sentences[0]
    numbered = [f"Panel {k}: {sentence}" for k, sentence in enumerate(sentences, 1)]
    return " ".join(numbered)


def _sentence(kind, title, x, y, names):
    """What kind of picture, its title, its axes, the names in its legend."""
    title = _one_line(title)
    x = _one_line(x)
    y = _one_line(y)
    text = kind.capitalize()
    if title:
        text += f" “{title}”"
    if x and y:
        text += f"; {y} over {x}"
    elif x or y:
        text += f"; {x or y}"
    if names:
        listed = ", ".join(names)
        text += f"; with {listed}"
    return f"{text}."


def _one_line(text):
    return " ".join(text.split())


def _facts(ax):
    """What `_sentence` needs, from an Axes of matplotlib."""
    title = ax.get_title(loc="left") or ax.get_title()
    kind = _kind(ax)
    legend = ax.get_legend()
    texts = legend.get_texts() if legend else []
    if kind == "arrows":
        texts = ax.texts
    names = [text.get_text() for text in texts if text.get_text()]
    return kind, title, ax.get_xlabel(), ax.get_ylabel(), names


def _kind(ax):
    """What an Axes of matplotlib shows, in one word."""
    if ax.images:
        return "map"
    if any(getattr(text, "arrow_patch", None) for text in ax.texts):
        return "arrows"
    bars = [len(container) for container in ax.containers]
    lines = [len(line.get_xdata()) for line in ax.lines]
    return _kind_of_marks(bars, lines, bool(ax.collections))


def _kind_of_marks(bars, lines, has_points):
    """bars, lines: how many bars each group has, how many points each line."""
    if bars:
        return "histogram" if max(bars) > _MANY else "bars"
    if any(count > 2 for count in lines):
        return "curves"
    if has_points:
        return "points"
    return "intervals" if lines else "panel"


def _scene_facts(axes):
    """What `_sentence` needs, from a panel of a scene."""
    kind = _scene_kind(axes)
    names = []
    if kind == "arrows":
        names = [mark.text for mark in axes.marks if isinstance(mark, marks.Word)]
    elif axes.has_legend:
        names = [mark.label for mark in axes.marks if mark.label]
    return kind, axes.title, axes.xlabel, axes.ylabel, names


def _scene_kind(axes):
    """What a panel of a scene shows, in one word."""
    found = {type(mark) for mark in axes.marks}
    if marks.Cells in found:
        return "map"
    if marks.Arrow in found:
        return "arrows"
    bars = []
    lines = []
    for mark in axes.marks:
        if isinstance(mark, marks.Bars):
            bars.append(len(mark.left))
        elif isinstance(mark, marks.Line):
            lines.append(len(mark.x))
    return _kind_of_marks(bars, lines, marks.Points in found)
