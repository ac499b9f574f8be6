"""A figure with sliders: moved by a kernel, by frames packed into a page, or still."""

import base64
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from itertools import product

import matplotlib.pyplot as plt
import numpy as np

from attn_course.figures import display
from attn_course.figures.alt_text import describe_scene
from attn_course.figures.canvas import drawing_on
from attn_course.figures.layout import freeze
from attn_course.figures.scene import Scene
from attn_course.figures.svg import to_svg
from attn_course.figures.ticks import NotInScene

_FRAMES = {1: 61, 2: 121}  # at most so many in a page, by the number of sliders
_SPARE_FRAMES = {1: 31, 2: 64}  # at most so many in a notebook, for when its kernel is gone
Drawing = Callable[..., object]  # called with the values of its sliders
Ends = tuple | bool  # (low, high, start), (low, high, start, step), or a switch
_VIEW = "application/vnd.jupyter.widget-view+json"


@dataclass
class Slider:
    """A number the reader moves. Whole ends and start give whole steps; a switch is 0 or 1."""

    name: str
    low: float
    high: float
    start: float
    step: float = 0.0  # chosen where it is 0
    is_switch: bool = False

    def __post_init__(self) -> None:
        self.label = self.name.replace("_", " ")
        numbers = (self.low, self.high, self.start)
        self.whole = all(isinstance(number, int) for number in numbers)
        if self.step:
            return
        if self.whole:
            self.step = 1
        else:
            self.step = _round_step(self.high - self.low)

    def choices(self, most: int) -> list[float]:
        """At most `most` values over the whole range, the start among them."""
        steps = round((self.high - self.low) / self.step)
        count = min(most, steps + 1)
        numbers = np.linspace(0, steps, count).round()
        values = self.low + self.step * numbers
        distances = np.abs(values - self.start)
        nearest = distances.argmin()
        values[nearest] = self.start
        if self.whole:
            return values.astype(int).tolist()
        return values.round(10).tolist()


def _round_step(span):
    """About a hundredth of the span, but 1, 2 or 5 times a power of ten: values that can be read."""
    wanted = span / 100
    power = 10.0 ** np.floor(np.log10(wanted))
    round_numbers = power * np.array([1, 2, 5, 10])
    ratios = np.abs(np.log(round_numbers / wanted))
    best = ratios.argmin()
    return float(round_numbers[best])


class MovingFigure:
    """`draw` with its sliders: the still picture at the start, and a frame for any values."""

    def __init__(self, draw: Drawing, sliders: dict[str, Ends]):
        self.draw = draw
        self.sliders = list(map(_slider, sliders, sliders.values()))
        self.start = {slider.name: slider.start for slider in self.sliders}
        self.in_scene = True
        self.still = self._still()

    def _still(self):
        """The picture at the start, by matplotlib; its layout is kept for the frames."""
        self.draw(**self.start)
        figure = plt.gcf()
        picture = display.photograph(figure)
        self.layout = freeze(figure)
        plt.close(figure)
        return picture

    def frame(self, values: dict[str, float]) -> str:
        """The figure at these values as HTML: a scene, or matplotlib's picture where a scene cannot."""
        if self.in_scene:
            try:
                return self._scene_frame(values)
            except NotInScene:
                self.in_scene = False

        return self._picture_frame(values)

    def _scene_frame(self, values):
        """The figure as SVG; refused where `draw` uses more than the scene has."""
        before = plt.get_fignums()
        with drawing_on(Scene(self.layout)) as scene:
            self.draw(**values)
        drawn_elsewhere = set(plt.get_fignums()) - set(before)
        for number in drawn_elsewhere:
            plt.close(number)
        if drawn_elsewhere or len(scene.axes) != len(self.layout.boxes):
            raise NotInScene("panels of its own")
        return to_svg(scene, describe_scene(scene))

    def _picture_frame(self, values):
        """The figure as matplotlib's picture."""
        self.draw(**values)
        figure = plt.gcf()
        picture = display.photograph(figure)
        plt.close(figure)
        return display.as_html(picture)

    def page(self) -> str:
        """HTML that moves without a kernel: every frame of a grid of values, packed."""
        return self._packed("frames.html", _FRAMES)

    def spare(self, widget: str) -> str:
        """A smaller page for a notebook: seen wherever nothing of the class `widget` is on the page."""
        return self._packed("spare_frames.html", _SPARE_FRAMES, widget=widget)

    def _packed(self, template, limits, **parts):
        """The template with the frames of a grid of values, and the script that shows them."""
        most = limits.get(len(self.sliders), max(limits.values()))
        each = int(most ** (1 / len(self.sliders)) + 1e-9)
        choices = [slider.choices(each) for slider in self.sliders]
        frames = []
        for chosen in product(*choices):
            values = dict(zip(self.start, chosen, strict=True))
            frames.append(self.frame(values))

        controls = []
        for slider, chosen_from in zip(self.sliders, choices, strict=True):
            control = {
                "name": slider.label,
                "switch": slider.is_switch,
                "values": chosen_from,
                "start": chosen_from.index(slider.start),
            }
            controls.append(control)

        return display.filled(
            template,
            **parts,
            style=display.asset("figure.css"),
            sliders=escape(json.dumps(controls)),
            frames=_pack(frames),
            shared=display.asset("shared.js"),
            script=display.asset("frames.js"),
        )

    def words(self) -> str:
        """What the sliders are, for those who see no page."""
        settings = [f"{slider.label} = {slider.start:g}" for slider in self.sliders]
        return f"sliders: {', '.join(settings)}"


def _pack(frames):
    """Frames as short text: JSON, compressed, in base64."""
    text = json.dumps(frames, ensure_ascii=False)
    packed = zlib.compress(text.encode(), 9)
    return base64.b64encode(packed).decode()


def explore(draw: Drawing, **sliders: Ends) -> None:
    """Show `draw(**values)` with a slider for each value; the picture alone where none can run.

    sliders: name=(low, high, start) or (low, high, start, step); whole numbers give whole steps. True or
    False gives a switch, whose value is 1 or 0.
    """
    figure = MovingFigure(draw, sliders)
    audience = display.audience()
    widget = None if audience else _widget(figure)
    if audience != display.STILL and widget is None:
        display.show_moving(figure.still, figure.page(), figure.words())
        return

    data, metadata = display.bundle(figure.still)
    data["text/plain"] += f" With {figure.words()}."
    if widget is not None:
        data[_VIEW] = widget._repr_mimebundle_()[_VIEW]
    display.show(data, metadata)
    if widget is not None and display.in_kernel():
        name = f"attn-live-{widget.model_id}"
        widget.add_class(name)
        display.show({"text/html": figure.spare(name), "text/plain": figure.words()})


def packed(draw: Drawing, **sliders: Ends) -> str:
    """`explore` as HTML for a page: its frames, packed, and the script that shows them."""
    return MovingFigure(draw, sliders).page()


def _slider(name, ends):
    if isinstance(ends, bool):
        return Slider(name, 0, 1, int(ends), is_switch=True)
    return Slider(name, *ends)


def _widget(figure):
    """The sliders and their frame; None where ipywidgets is not installed."""
    try:
        import ipywidgets
    except ImportError:
        return None

    controls = [_control(ipywidgets, slider) for slider in figure.sliders]
    style = ipywidgets.HTML(f"<style>{display.asset('figure.css')}</style>")
    style.layout.display = "none"
    out = ipywidgets.HTML(figure.frame(figure.start))
    out.add_class("attn-figure")

    def redraw(_: object) -> None:
        chosen = [control.value for control in controls]
        values = dict(zip(figure.start, chosen, strict=True))
        try:
            out.value = figure.frame(values)
        except Exception as error:  # what `draw` uses has changed; the old picture would lie
            reason = escape(f"{type(error).__name__}: {error}")
            out.value = f"<p>Not drawn ({reason}). Run this cell again.</p>"
            raise  # the whole of it is in the log

    for control in controls:
        control.observe(redraw, "value")
    rows = controls
    if all(slider.is_switch for slider in figure.sliders):
        rows = [ipywidgets.HBox(controls)]
    return ipywidgets.VBox([*rows, style, out])


def _control(ipywidgets, slider):
    """The widget of a slider, wide enough for its values, or of a switch."""
    if slider.is_switch:
        apart = ipywidgets.Layout(width="auto", margin="2px 20px 2px 2px")
        on = bool(slider.start)
        return ipywidgets.Checkbox(value=on, description=slider.label, indent=False, layout=apart)

    kind = ipywidgets.IntSlider if slider.whole else ipywidgets.FloatSlider
    return kind(
        value=slider.start,
        min=slider.low,
        max=slider.high,
        step=slider.step,
        description=slider.label,
        continuous_update=True,
        layout=ipywidgets.Layout(width="min(100%, 600px)"),
        style={"description_width": "initial"},
    )
