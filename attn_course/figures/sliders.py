"""A figure with sliders: redrawn by a kernel, shown from frames packed into a page, or still."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from itertools import product

import numpy as np

from attn_course.figures import display
from attn_course.figures.alt_text import describe
from attn_course.figures.legend import Places
from attn_course.figures.panel import Figure, open_figures
from attn_course.figures.panel_layout import layout
from attn_course.figures.render_svg import render_svg

_FRAMES = {1: 61, 2: 121}  # at most so many in a page, by the number of sliders
_FALLBACK_FRAMES = {1: 31, 2: 64}  # at most so many in a notebook, for when its kernel is gone
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
        """Return at most `most` values over the whole range, the start among them."""
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
    """Return a step of about a hundredth of the span: 1, 2 or 5 times a power of ten."""
    hundredth = span / 100
    power = 10.0 ** np.floor(np.log10(hundredth))
    round_numbers = power * np.array([1, 2, 5, 10])
    ratios = np.abs(np.log(round_numbers / hundredth))
    best = ratios.argmin()
    return float(round_numbers[best])


class SliderFigure:
    """`draw` with its sliders: the still picture at the start, and a frame for any values."""

    def __init__(self, draw: Drawing, sliders: dict[str, Ends]):
        self.draw = draw
        self.sliders = []
        for name, ends in sliders.items():
            if isinstance(ends, bool):
                self.sliders.append(Slider(name, 0, 1, int(ends), is_switch=True))
            else:
                self.sliders.append(Slider(name, *ends))
        self.start = {slider.name: slider.start for slider in self.sliders}
        first = self._figure(self.start)
        self.boxes = layout(first)  # the same for all frames, so that the axes stay where they are
        self.legends: Places = {}
        self.picture = display.picture_of(first)

    def _figure(self, values: dict[str, float]) -> Figure:
        """Return the figure that `draw` makes of these values."""
        before = len(open_figures)
        try:
            self.draw(**values)
        finally:
            made = open_figures[before:]
            del open_figures[before:]
        if len(made) != 1:
            raise ValueError(f"the function must draw one figure with `plots`, not {len(made)}")
        return made[0]

    def frame(self, values: dict[str, float]) -> str:
        """Return the figure at these values as SVG."""
        figure = self._figure(values)
        if len(figure.panels) != len(self.boxes):
            raise ValueError("the function must draw the same number of panels for all values")
        return render_svg(figure, self.boxes, describe(figure), self.legends)

    def page(self) -> str:
        """Return HTML whose sliders work without a kernel: every frame of a grid of values, packed."""
        return self._packed("frames.html", _FRAMES)

    def fallback(self, widget: str) -> str:
        """Return a smaller page for a notebook, seen where nothing of the class `widget` is on the page."""
        return self._packed("fallback_frames.html", _FALLBACK_FRAMES, widget=widget)

    def _packed(self, template, limits, **parts):
        """Return the template with the frames of a grid of values, and the script that shows them."""
        most = limits.get(len(self.sliders), max(limits.values()))
        per_slider = int(most ** (1 / len(self.sliders)) + 1e-9)
        choices = [slider.choices(per_slider) for slider in self.sliders]
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
        return display.frames_html(frames, controls, template, **parts)

    def description(self) -> str:
        """Return the names and ranges of the sliders as text, for readers who see no page."""
        settings = [f"{slider.label} = {slider.start:g}" for slider in self.sliders]
        return f"sliders: {', '.join(settings)}"


def explore(draw: Drawing, **sliders: Ends) -> None:
    """Show `draw(**values)` with a slider for each value, or the picture alone where no slider can run.

    sliders: name=(low, high, start) or (low, high, start, step); whole numbers give whole steps. True or
    False gives a switch, whose value is 1 or 0.
    """
    figure = SliderFigure(draw, sliders)
    audience = display.audience()
    widget = None if audience else _widget(figure)
    if audience != display.STILL and widget is None:
        display.show_interactive(figure.picture, figure.page(), figure.description())
        return

    data, metadata = display.bundle(figure.picture)
    data["text/plain"] += f" With {figure.description()}."
    if widget is not None:
        data[_VIEW] = widget._repr_mimebundle_()[_VIEW]
    display.show(data, metadata)
    if widget is not None and display.in_kernel():
        name = f"attn-live-{widget.model_id}"
        widget.add_class(name)
        display.show({"text/html": figure.fallback(name), "text/plain": figure.description()})


def _widget(figure):
    """Return the sliders and their frame; None where ipywidgets is not installed."""
    try:
        import ipywidgets
    except ImportError:
        return None

    controls = [_control(ipywidgets, slider) for slider in figure.sliders]
    style = ipywidgets.HTML(f"<style>{display.style_sheet()}</style>")
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
    return ipywidgets.VBox([*controls, style, out])


def _control(ipywidgets, slider):
    """Return the widget of a slider, wide enough for its values, or of a switch."""
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
