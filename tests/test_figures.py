"""The figures: marks are drawn alike as SVG and as PNG, every picture has words, sliders need no kernel."""

import base64
import colorsys
import io
import json
import re
import subprocess
import sys
import zlib
from itertools import combinations

import numpy as np
import pytest
from course import ROOT
from matplotlib import image
from matplotlib.figure import Figure as Canvas

from attn_course import plots, verdict
from attn_course.figures import (
    alt_text,
    display,
    legend,
    marks,
    panel,
    plane,
    render_png,
    sliders,
    style,
    svg_elements,
)
from attn_course.figures.arrow_labels import shifts_of_names
from attn_course.figures.axis import linear_ticks, log_ticks
from attn_course.figures.panel_layout import Frame, layout
from attn_course.figures.render_svg import render_svg
from attn_course.verdict import State

GRID = np.linspace(0, 14, 57)
RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=400)


def draw_bars():
    plots.bars([0.2, 0.7, 0.1], ["a", "b", "rest"], title="weights")


def draw_groups():
    plots.bars({"one": [0.2, -0.3], "two": [0.5, 0.1]}, xlabel="city", ylabel="share", top=None)


def draw_curves():
    left, right = plots.panels(2)
    series = {"sine": np.sin(GRID), "-flat": 0.3 + 0 * GRID, "own": 0.05 * GRID**2}
    marked = {"here": 4.0}
    plots.curves(GRID, series, xlabel="t", ylabel="y", marks=marked, strong="own", ax=left)
    gap = {"gap": np.where(GRID < 7, GRID, np.nan)}
    plots.curves(GRID, gap, xlabel="t", ylabel="z", ax=right)
    plots.same_scale([left, right])


def draw_scatter():
    ax = plots.scatter(NORMAL.reshape(-1, 2), xlabel="x", ylabel="y", label="cloud")
    named = {"names": ["v_a", "v_b"], "colour": 6, "size": 50}
    plots.scatter([[0, 0], [3, 4]], xlabel="x", ylabel="y", **named, ax=ax)


def draw_histogram():
    samples = {"one": NORMAL, "two": 2 * NORMAL}
    curve = (GRID - 7, np.exp(-((GRID - 7) ** 2) / 2))
    plots.histogram(samples, xlabel="x", bins=20, limits=(-7, 7), curve=curve).limits(y=(0, 0.6))


def draw_intervals():
    rows = {"first": (0.4, 0.2, 0.7), "second": (0.9, 0.8, 1.1)}
    plots.intervals(rows, xlabel="gain", marks={"none": 0.0, "all": 1.0})


def draw_maps():
    left, middle, right = plots.panels(3)
    mask = np.tril(np.ones((3, 3), bool))
    plots.attention_map(mask / mask.sum(1, keepdims=True), mask=mask, xlabel="German", ax=left)
    plots.matrix([[1.5, -0.5], [0, 2]], rows=["u", "v"], columns=["long name", "w"], ax=middle)
    plots.matrix([[3, 1], [0, 2]], top=5, ax=right)


def draw_arrows():
    vectors = {"key 0": (1, 0), "key 1": (0.5, 0.8), "query": (2, -1)}
    plots.arrows(vectors, limit=3, title="plane")


def draw_powers():
    series = {"square": (1 + GRID) ** 2, "-cube": (1 + GRID) ** 3}
    ax = plots.curves(10 ** (GRID / 3), series, xlabel="x", ylabel="y", log="xy", dots=True)
    ax.limits(y=(1e-1, 1e4))


def draw_diagram():
    plots.diagram({"one\n(B, T)": (0, 0), "two": (3, 0)}, [("one\n(B, T)", "two")])


DRAWN = {  # each with its alt text
    draw_bars: "Bars “weights”; weight over key: a 0.20, b 0.70, rest 0.10.",
    draw_groups: "Bars; share over city: one: 0 0.20, 1 −0.30; two: 0 0.50, 1 0.10.",
    draw_curves: (
        "Panel 1: Curves; y over t: sine goes from 0 to 1, between −1 and 1; flat stays at 0.3; "
        "own rises from 0 to 9.8; here at 4. Panel 2: Curves; z over t: gap rises from 0 to 6.8."
    ),
    draw_scatter: (
        "Points; y over x: cloud: 200 points around (−0.1, 0.02); 2 points around (1.5, 2)."
    ),
    draw_histogram: (
        "Histogram; density over x: one highest between −0.7 and 0; two highest between −1.4 and −0.7; "
        "exact density goes from 0 to 0, between 0 and 1."
    ),
    draw_intervals: (
        "Intervals; gain: none at 0; all at 1; first from 0.2 to 0.7; second from 0.8 to 1.1."
    ),
    draw_maps: (
        "Panel 1: Map; query over German: 0 most at 0 (1), 1 most at 0 (0.5), 2 most at 0 (0.33); "
        "3 hidden cells are hatched. Panel 2: Map: u most at long name (1.5), v most at w (2). "
        "Panel 3: Map: 0 most at 0 (3), 1 most at 1 (2)."
    ),
    draw_arrows: (
        "Arrows “plane”; second coordinate over first coordinate: "
        "key 0 to (1, 0); key 1 to (0.5, 0.8); query to (2, −1)."
    ),
    draw_powers: "Curves; y over x: square rises from 1 to 2e+02; cube rises from 1 to 3e+03.",
    draw_diagram: "Diagram with arrows from one (B, T) to two.",
}
each_chart = pytest.mark.parametrize("draw", DRAWN, ids=lambda draw: draw.__name__)


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    panel.open_figures.clear()
    yield
    panel.open_figures.clear()


@pytest.fixture
def shown_to(monkeypatch):
    """A function of an audience: what it would see from now on, as a list of mime bundles."""

    def show(audience):
        found = []
        monkeypatch.setenv("ATTN_FIGURES", audience)
        monkeypatch.setattr(display, "show", lambda data, metadata=None: found.append(data))
        return found

    return show


def drawn(draw):
    """The one figure that a function makes."""
    draw()
    (figure,) = panel.open_figures
    return figure


def svg_of(figure):
    return render_svg(figure, layout(figure), alt_text.describe(figure))


def marks_of(ax, kind):
    return [mark for mark in ax.marks if isinstance(mark, kind)]


def texts_of(ax):
    return [mark.text for mark in marks_of(ax, marks.Text)]


@pytest.fixture
def axes_of(monkeypatch):
    """The Axes of matplotlib that a figure's PNG was drawn on, panel by panel."""
    found = []
    save = Canvas.savefig
    monkeypatch.setattr(Canvas, "savefig", lambda *a, **k: found.append(a[0]) or save(*a, **k))

    def axes(figure):
        render_png.render_png(figure)
        return [ax for ax in found[-1].axes if ax.get_label() != "<colorbar>"]

    return axes


def test_importing_the_figures_and_drawing_marks_loads_no_matplotlib():
    code = (
        "import sys; from attn_course import plots; ax = plots.bars([0.5, 0.5]);"
        "from attn_course.figures import panel_layout, render_svg;"
        "render_svg.render_svg(ax.figure, panel_layout.layout(ax.figure), '');"
        "print('matplotlib' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


@each_chart
def test_both_renderers_show_the_same_ticks_limits_and_names(draw, axes_of):
    figure = drawn(draw)
    text = svg_of(figure)
    for ours, theirs in zip(figure.panels, axes_of(figure), strict=True):
        for axis, other in ((ours.x, theirs.xaxis), (ours.y, theirs.yaxis)):
            places, labels = axis.ticks()
            np.testing.assert_allclose(other.get_ticklocs(), places)
            assert [label.get_text() for label in other.get_ticklabels()] == labels
            np.testing.assert_allclose(other.get_view_interval(), axis.limits())
            for label in [*labels, axis.label]:
                assert f">{label}</text>" in text or not label
        assert theirs.get_title(loc="left") == ours.title
        assert f">{ours.title}</text>" in text or not ours.title


@each_chart
def test_both_renderers_draw_every_mark(draw, axes_of):
    figure = drawn(draw)
    for ours, theirs in zip(figure.panels, axes_of(figure), strict=True):
        lines = marks_of(ours, marks.Line) + marks_of(ours, marks.Rule)
        assert len(theirs.lines) == len(lines)
        assert len(theirs.containers) == len(marks_of(ours, marks.Bars))
        assert len(theirs.collections) == len(marks_of(ours, marks.Points))
        assert len(theirs.images) == len(marks_of(ours, marks.Cells))
        arrows = marks_of(ours, marks.Arrow)
        assert [text.get_text() for text in theirs.texts if text.get_text()] == texts_of(ours)
        assert len(theirs.texts) == len(texts_of(ours)) + len(arrows)

    text = svg_of(figure)
    for ax in figure.panels:
        for word in texts_of(ax):
            assert f">{word}</text>" in text


@each_chart
def test_axes_stay_inside_their_drawing(draw):
    for box in layout(drawn(draw)):
        assert 0 < box.left < box.right <= box.width
        assert 0 < box.top < box.bottom < box.height


def test_panels_of_a_row_are_equally_high_whatever_their_labels():
    left, right = plots.panels(2)
    plots.bars([1.0], ["one\ntwo"], title="high", ax=left)
    plots.bars([1.0], xlabel="", ax=right)
    one, other = layout(left.figure)
    assert (one.top, one.bottom) == (other.top, other.bottom)


def test_a_unit_is_equally_long_in_both_directions_where_it_is_asked_for():
    ax = plots.scatter([[0, 0], [4, 1]], xlabel="x", ylabel="y").limits(x=(0, 4), y=(0, 1)).equal()
    (box,) = layout(ax.figure)
    assert box.right - box.left == pytest.approx(4 * (box.bottom - box.top))


def test_a_line_that_leaves_the_panel_keeps_its_numbers_and_gaps():
    drawing = svg_of(drawn(draw_curves))
    assert "nan" not in drawing and "inf" not in drawing
    assert drawing.count("<svg viewBox") == 2


def test_names_are_escaped():
    ax = plots.bars([1.0], ["<b>&"], title='"<script>"')
    drawing = render_svg(ax.figure, layout(ax.figure), '"<i>')
    assert "<script>" not in drawing and "<b>" not in drawing and "<i>" not in drawing


@pytest.mark.parametrize(
    ("ends", "places", "labels"),
    [
        ((0, 1.05), [0, 0.2, 0.4, 0.6, 0.8, 1], ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        ((-0.7, 14.7), [0, 2.5, 5, 7.5, 10, 12.5], ["0.0", "2.5", "5.0", "7.5", "10.0", "12.5"]),
        ((-3, 110_000), [0, 20_000, 40_000, 60_000, 80_000, 100_000], None),
        ((-0.02, 0.021), [-0.02, -0.01, 0, 0.01, 0.02], ["−0.02", "−0.01", "0.00", "0.01", "0.02"]),
    ],
)
def test_ticks_are_round_numbers_with_the_same_digits(ends, places, labels):
    found, written = linear_ticks(*ends, 6)
    np.testing.assert_allclose(found, places, atol=1e-12)
    assert written == (labels or [str(place) for place in places])


@pytest.mark.parametrize(
    ("ends", "labels"),
    [
        ((0.05, 500), ["10⁻¹", "10⁰", "10¹", "10²"]),
        ((3, 80), ["5", "10", "20", "50"]),
        ((1e-9, 10), ["10⁻⁹", "10⁻⁷", "10⁻⁵", "10⁻³", "10⁻¹", "10¹"]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_powers_or_round_numbers(ends, labels):
    assert log_ticks(*ends, 6)[1] == labels


def test_an_axis_whose_numbers_are_all_equal_has_limits_around_them():
    axis = plots.curves([2, 2], {"one": [3, 3]}, xlabel="x", ylabel="y").y
    low, high = axis.limits()
    assert low < 3 < high and axis.ticks()[0]


NOT_A_NUMBER = [np.nan, np.inf, -np.inf, 0.0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", NOT_A_NUMBER)
def test_wrong_answers_that_are_no_numbers_are_drawn_all_the_same(value):
    figures = [
        plots.bars([value, 1.0]),
        plots.curves([0, 1], {"one": [value, value]}, xlabel="x", ylabel="y", log="y"),
        plots.arrows({"query": (value, value)}),
        plots.scatter([[value, value]], xlabel="x", ylabel="y", names=["here"]),
        plots.matrix([[value, 1.0]]),
        plots.attention_map([[value, 1.0]]),
        plots.curves([0, 1], {"one": [0, 1]}, xlabel="x", ylabel="y", marks={"here": value}),
    ]
    for ax in figures:
        drawing = svg_of(ax.figure)
        assert 'd="Mnan' not in drawing and render_png.render_png(ax.figure)


def test_cells_are_coloured_as_the_scale_says():
    cells = marks.Cells(np.array([[0.0, 1.0]]), 0, 1, "blues")
    np.testing.assert_allclose(cells.image().colours[0, 0] * 255, [247, 251, 255])
    np.testing.assert_allclose(cells.image().colours[0, 1] * 255, [8, 48, 107])


def test_an_image_of_cells_is_a_png_that_others_read():
    imread = pytest.importorskip("matplotlib.image").imread
    colours = RNG.integers(0, 256, (3, 5, 3)) / 255
    read = imread(io.BytesIO(svg_elements.encode_png(colours)))
    np.testing.assert_allclose(read, colours, atol=1e-6)


@each_chart
def test_the_alt_text_says_kind_title_axes_and_what_is_seen(draw):
    assert alt_text.describe(drawn(draw)) == DRAWN[draw]


def test_key_i_has_one_colour_as_an_arrow_and_as_a_bar():
    left, right = plots.panels(2)
    plots.arrows({"key 0": (1, 0), "key 1": (0, 1), "query": (1, 1)}, ax=left)
    plots.bars([0.3, 0.7], ax=right)
    arrows = {mark.name: mark.colour for mark in marks_of(left, marks.Arrow)}
    (bars,) = marks_of(right, marks.Bars)
    assert bars.colours == [arrows["key 0"], arrows["key 1"]]
    assert arrows["query"] not in bars.colours


def test_arrows_along_one_line_are_drawn_beside_each_other():
    ax = plots.arrows({"query": (0, 4), "shadow": (0, 1.5), "key 0": (0, 1), "key 1": (2, 1)})
    starts = {mark.name: tuple(mark.start) for mark in marks_of(ax, marks.Arrow)}
    assert starts["query"] == starts["key 1"] == (0, 0)
    assert len({starts["query"], starts["shadow"], starts["key 0"]}) == 3
    for mark in marks_of(ax, marks.Arrow):
        wanted = {"query": (0, 4), "shadow": (0, 1.5), "key 0": (0, 1), "key 1": (2, 1)}[mark.name]
        np.testing.assert_allclose(mark.end - mark.start, wanted)


def test_the_reader_s_own_curve_leaves_the_colours_of_the_others_alone():
    def colours(series):
        ax = plots.curves(GRID, series, xlabel="t", ylabel="w", strong="n = 30")
        lines = marks_of(ax, marks.Line)
        return {line.label: line.colour for line in lines if line.label != "n = 30"}

    own = {"n = 30": GRID}
    others = {"n = 3": GRID, "n = 12": 2 * GRID}
    assert colours(own | others) == colours(others | own) == colours(others)


def test_the_dots_of_a_legend_can_be_seen(axes_of):
    ax = plots.scatter(NORMAL.reshape(-1, 2), xlabel="x", ylabel="y", label="cloud", size=4)
    (theirs,) = axes_of(ax.figure)
    (dot,) = theirs.get_legend().legend_handles
    assert dot.get_sizes()[0] >= 36 and dot.get_alpha() == 1
    assert re.search(r'<circle [^>]*r="4\.5"', svg_of(ax.figure))


def test_a_legend_of_a_drawing_moves_only_when_something_is_in_its_way():
    def place(y, places):
        ax = plots.curves(GRID, {"line": y}, xlabel="x", ylabel="y").limits(y=(0, 1))
        (box,) = layout(ax.figure)
        list(legend.draw_legend(Frame(ax, box), 0, places))
        return places[0]

    places = {}
    assert place(np.where(GRID > 7, 0.95, 0.5), places) == 1  # the right corner is taken
    assert place(0 * GRID + 0.5, places) == 1  # free again, but it stays


def test_no_text_is_smaller_than_nine_points_and_no_figure_wider_than_a_column(axes_of):
    figure = drawn(draw_maps)
    for ax in axes_of(figure):
        for text in ax.figure.findobj(lambda part: hasattr(part, "get_fontsize")):
            assert text.get_fontsize() >= 9, text.get_text()
    sizes = re.findall(r'font-size="([\d.]+)"', svg_of(figure))
    assert min(map(float, sizes)) >= 9 * 100 / 72
    assert plots.panels(4, width=20)[0].figure.width <= 9.0


@pytest.mark.parametrize(
    ("values", "options", "ends"),
    [
        ([[3, 1]], {}, (0, 3)),
        ([[3, -1]], {}, (-3, 3)),
        ([[3, 1]], {"top": 4, "signed": True}, (-4, 4)),
    ],
)
def test_a_matrix_has_a_negative_half_where_it_is_needed_or_asked_for(values, options, ends):
    (cells,) = marks_of(plots.matrix(values, **options), marks.Cells)
    assert (cells.low, cells.high) == ends


LEAKING = [[0.5, 0.25], [0.5, 0.0]]
HALF = {"mask": [[True, False], [True, False]]}
HATCHED = [[[0, 1], [1, 1]]]


@pytest.mark.parametrize(
    ("draw", "texts", "hatched"),
    [
        (lambda: plots.matrix([[3, 1]]), ["3", "1"], []),
        (lambda: plots.matrix([[0, 1]], words=[["cat", "dog"]]), ["cat", "dog"], []),
        (lambda: plots.matrix(LEAKING, **HALF), ["0.50", "0.25", "0.50"], HATCHED),
        (lambda: plots.attention_map(LEAKING, **HALF), ["0.50", "0.25", "0.50"], HATCHED),
    ],
)
def test_a_cell_has_its_number_or_word_and_a_hidden_one_only_if_it_leaks(draw, texts, hatched):
    ax = draw()
    assert texts_of(ax) == texts
    assert [mark.cells.tolist() for mark in marks_of(ax, marks.Hatching)] == hatched


def test_names_of_bars_are_slanted_where_they_would_meet():
    wide, narrow = plots.panels(1, width=9)[0], plots.panels(3)[0]
    names = ["understanding", "of", "attention", "heads"]
    for ax in (wide, narrow):
        plots.bars([1, 2, 3, 4], names, ax=ax)
    assert not wide.x.is_slanted and narrow.x.is_slanted


def test_numbers_on_narrow_bars_have_one_digit_less():
    wide, narrow = plots.panels(1, width=9)[0], plots.panels(3)[0]
    for ax in (wide, narrow):
        plots.bars([0.25] * 8, ax=ax)
    assert set(texts_of(wide)) == {"0.25"} and set(texts_of(narrow)) == {"0.2"}


def test_a_legend_outside_leaves_its_width_free_beside_the_panel(axes_of):
    ax = plots.curves(GRID, {"a long name of a line": GRID}, xlabel="x", ylabel="y")
    (inside,) = layout(ax.figure)
    (outside,) = layout(ax.legend_outside().figure)
    assert inside.right - outside.right > 100
    text = re.search(r'<text x="([\d.]+)"[^>]*>a long name', svg_of(ax.figure))
    assert float(text[1]) > outside.right
    (theirs,) = axes_of(ax.figure)
    place = theirs.get_legend().get_window_extent()
    assert place.x0 >= theirs.get_window_extent().x1


def test_nested_lines_lie_on_one_another_and_are_all_seen():
    same = {"first": GRID, "second": GRID, "third": GRID}
    ax = plots.curves(GRID, same, xlabel="x", ylabel="y", nested=True)
    widths = [line.width for line in marks_of(ax, marks.Line)]
    assert widths == sorted(set(widths), reverse=True)


def test_a_curve_whose_name_begins_with_an_underscore_is_not_in_the_legend():
    ax = plots.curves(GRID, {"one": GRID, "_other": GRID}, xlabel="x", ylabel="y")
    assert [line.label for line in marks_of(ax, marks.Line)] == ["one", ""]


def test_each_head_has_a_map_of_its_own_weights_with_the_same_words():
    weights = np.arange(12).reshape(3, 2, 2) / 12
    plots.head_maps(weights, queries=["a", "b"], colour_bar=False)
    (figure,) = panel.open_figures
    assert [ax.title for ax in figure.panels] == ["head 0", "head 1", "head 2"]
    for head, ax in enumerate(figure.panels):
        (cells,) = marks_of(ax, marks.Cells)
        np.testing.assert_array_equal(cells.values, weights[head])
        assert ax.y.ticks()[1] == ["a", "b"] and ax.colour_bar is None


def with_sliders(draw, **ends):
    return sliders.SliderFigure(draw, ends)


def draw_tilted(t):
    plots.curves(GRID, {"line": t * GRID}, xlabel="x", ylabel="y", title=f"t = {t:g}")


def test_matplotlib_draws_a_figure_with_sliders_once_however_often_they_move(monkeypatch):
    saved = []
    save = Canvas.savefig
    monkeypatch.setattr(Canvas, "savefig", lambda *a, **k: saved.append(1) or save(*a, **k))
    figure = with_sliders(draw_tilted, t=(0.0, 2.0, 1.0))
    for t in (0.5, 1.5, 2.0):
        assert f"t = {t:g}" in figure.frame({"t": t})
    assert len(saved) == 1 and not panel.open_figures


def draw_more_panels(share):
    for ax in plots.panels(2 if share > 0.5 else 1):
        plots.bars([share], ax=ax)


def draw_two_figures(share):
    plots.bars([share])
    plots.bars([share])


def test_a_function_that_draws_no_figure_or_several_is_told_so():
    for draw, count in ((lambda share: None, 0), (draw_two_figures, 2)):
        with pytest.raises(ValueError, match=f"must draw one figure with `plots`, not {count}"):
            with_sliders(draw, share=(0.1, 0.9, 0.3))
    assert not panel.open_figures


def test_a_function_whose_number_of_panels_changes_is_told_so():
    figure = with_sliders(draw_more_panels, share=(0.1, 0.9, 0.3))
    with pytest.raises(ValueError, match="the same number of panels"):
        figure.frame({"share": 0.6})


def frames_of(page):
    packed = re.search(r'data-frames="([^"]+)"', page)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def test_a_page_holds_a_frame_for_every_place_of_its_sliders():
    def draw(t, n):
        plots.bars([t, 1 - t], title=f"t = {t:g}, n = {n}")

    page = with_sliders(draw, t=(0.0, 1.0, 0.33), n=(2, 4, 3)).page()
    frames = frames_of(page)
    found = [re.search(r"t = ([\d.]+), n = (\d)", frame).groups() for frame in frames]
    assert len(found) == len(set(found)) == 11 * 3
    assert ("0.33", "3") in found and ("0", "2") in found and ("1", "4") in found
    assert len(page) < 30_000


def test_the_choices_of_a_slider_keep_its_ends_its_start_and_its_kind():
    whole = sliders.Slider("d", 1, 512, 64).choices(61)
    assert whole[0] == 1 and whole[-1] == 512 and 64 in whole and len(whole) == 61
    assert all(type(value) is int for value in whole)
    assert sliders.Slider("beta", 0.2, 3.0, 2.0, 0.1).choices(5) == [0.2, 0.9, 1.6, 2.0, 3.0]


@pytest.mark.parametrize(
    ("ends", "step"),
    [
        ((0.0, 14.0, 4.0), 0.1),
        ((0.2, 4.0, 3.0), 0.05),
        ((1.0, 60.0, 20.0), 0.5),
        ((-8.0, -2.0, -4.0), 0.05),
    ],
)
def test_the_steps_of_a_slider_are_round_and_meet_its_start(ends, step):
    low, _, start = ends
    assert sliders.Slider("t", *ends).step == pytest.approx(step)
    assert (start - low) / step == pytest.approx(round((start - low) / step))


def draw_switched(head_0, head_1):
    plots.bars([head_0, head_1], title=f"on: {head_0:g}, {head_1:g}")


def test_a_page_holds_every_setting_of_its_switches():
    page = with_sliders(draw_switched, head_0=True, head_1=False).page()
    found = [re.search(r"on: \d, \d", frame)[0] for frame in frames_of(page)]
    assert found == ["on: 0, 0", "on: 0, 1", "on: 1, 0", "on: 1, 1"]
    assert "head 0" in page and "head_0" not in page


@pytest.fixture
def boxes(monkeypatch):
    """What stands in each column of widgets that is shown to a kernel."""
    ipywidgets = pytest.importorskip("ipywidgets")
    made = []
    box = ipywidgets.VBox
    monkeypatch.setattr(ipywidgets, "VBox", lambda children: made.append(children) or box(children))
    return made


def test_switches_have_names_and_redraw_the_picture(shown_to, boxes):
    shown_to("")
    plots.explore(draw_switched, head_0=True, head_1=False)
    first, second, _, picture = boxes[0]
    assert (first.description, first.value, second.value) == ("head 0", True, False)
    second.value = True
    assert "on: 1, 1" in picture.value


def test_a_still_figure_is_a_png_and_a_drawing_that_takes_its_place_where_scripts_run(shown_to):
    shown = shown_to("")
    plots.bars([0.2, 0.8], title='two "bars"')
    display.show_open_figures()
    (bundle,) = shown
    page = bundle["text/html"]
    alt = "Bars “two &quot;bars&quot;”; weight over"
    assert page.startswith(f'<img class="attn-picture" alt="{alt}')
    (drawing,) = frames_of(page)
    assert "two &quot;bars&quot;" in drawing and "var(--c0)" in drawing
    assert bundle["image/png"] in page and not panel.open_figures


def test_a_stored_notebook_keeps_one_still_picture_and_its_words(shown_to):
    shown = shown_to("still")
    plots.bars([0.2, 0.8])
    display.show_open_figures()
    plots.explore(draw_tilted, t=(0.0, 2.0, 1.0))
    assert [set(bundle) for bundle in shown] == [{"image/png", "text/plain"}] * 2
    words = "Curves “t = 1”; y over x: line rises from 0 to 14. With sliders: t = 1."
    assert shown[1]["text/plain"] == words


def test_a_page_gets_the_still_picture_first_and_then_what_moves(shown_to):
    shown = shown_to("page")
    plots.explore(draw_tilted, t=(0.0, 2.0, 1.0))
    still, moves = shown
    assert 'alt="Curves “t = 1”; y over x: line rises from 0 to 14."' in still["text/html"]
    assert len(frames_of(moves["text/html"])) == 61


def test_without_ipywidgets_a_reader_gets_what_a_page_gets(shown_to, monkeypatch):
    shown = shown_to("")
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    plots.explore(draw_tilted, t=(0.0, 2.0, 1.0))
    assert ["image/png" in data for data in shown] == [True, False]


def test_a_slider_moves_the_picture_while_it_is_dragged(shown_to, boxes):
    shown = shown_to("")
    plots.explore(draw_tilted, t=(0.0, 2.0, 1.0))
    control, _, picture = boxes[0]
    assert control.continuous_update and "t = 1" in picture.value
    control.value = 1.5
    assert "t = 1.5" in picture.value
    (bundle,) = shown
    assert sliders._VIEW in bundle and "image/png" in bundle


def test_a_picture_that_can_no_longer_be_drawn_says_so_in_its_place(shown_to, boxes):
    shown_to("")
    space = {"top": 1.0}
    plots.explore(lambda t: plots.bars([t], top=space["top"]), t=(0.0, 2.0, 1.0))
    control, _, picture = boxes[0]
    del space["top"]
    with pytest.raises(KeyError):
        control.value = 1.5
    assert "Not drawn (KeyError: &#x27;top&#x27;)" in picture.value and "svg" not in picture.value
    space["top"] = 1.0
    control.value = 0.5
    assert "svg" in picture.value


def test_a_kernel_leaves_frames_beside_its_sliders_that_only_show_where_these_do_not(
    shown_to, monkeypatch
):
    shown = shown_to("")
    ipywidgets = pytest.importorskip("ipywidgets")
    monkeypatch.setattr(display, "in_kernel", lambda: True)
    plots.explore(draw_tilted, t=(0.0, 2.0, 1.0))
    live, fallback = shown
    assert sliders._VIEW in live
    page = fallback["text/html"]
    assert len(frames_of(page)) == 31
    name = re.search(r'data-widget="([\w-]+)"', page)[1]
    assert f'body:has(.{name}) [data-widget="{name}"] {{ display: none; }}' in page
    models = ipywidgets.Widget.get_manager_state()["state"].values()
    assert (name,) in [model["state"].get("_dom_classes") for model in models]


def test_a_plane_is_a_picture_with_words_and_a_script_that_asks_no_one(shown_to):
    shown = shown_to("still")
    plots.query_plane([[1, 0], [0, 1]], [1.0, 3.0], query=(2, 2), names=["a", "b"])
    still, moves = shown
    assert "Query at (2, 2): a 0.50, b 0.50; output 2.00." in still["text/plain"]
    assert "image/png" in still and "image/png" not in moves
    addresses = set(re.findall(r"https?://[^\"' ]+", moves["text/html"]))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_a_plane_is_written_the_same_way_at_every_run(shown_to):
    shown = shown_to("still")
    for _ in range(2):
        plots.query_plane([[1, 0], [0, 1], [-1, -1]], noise=0.2)
    assert shown[1] == shown[3] and shown[0]["text/plain"] == shown[2]["text/plain"]


@pytest.mark.parametrize("keys", [np.ones((2, 3)), np.ones((7, 2)), np.ones(2), np.ones((0, 2))])
def test_a_plane_names_the_shape_of_keys_it_cannot_show(keys):
    with pytest.raises(ValueError, match=re.escape(str(keys.shape))):
        plots.query_plane(keys)


def test_borders_are_where_the_two_best_keys_tie():
    keys = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1]])
    rays = plane.tie_directions(keys)
    assert len(rays) == 3  # the key inside the others has no border
    for ray in rays:
        weights = np.sort(plane.query_weights(keys, 50 * ray))
        np.testing.assert_allclose(weights[-2:], 0.5, atol=1e-6)


def test_a_mark_beside_all_intervals_is_not_drawn_on_the_edge_of_the_figure():
    rows = {"small": (3.4, 2.1, 4.7), "large": (45.0, 43.3, 46.6)}
    ax = plots.intervals(rows, xlabel="gain", marks={"no gain": 0})
    low, high = ax.x.limits()
    assert -low > 0.04 * (high - low)


def test_a_diagram_has_a_line_of_text_for_each_line_and_arrows_from_border_to_border():
    (ax,) = drawn(draw_diagram).panels
    assert texts_of(ax) == ["one", "(B, T)", "two"]
    (arrow,) = marks_of(ax, marks.Arrow)
    assert arrow.start.tolist() == [0.85, 0]  # half the width of a box
    assert arrow.end.tolist() == [2.15, 0]


POINTS = 193 / 2  # from the middle of a panel to its edge
CROWDS = {
    "four keys and a query": ([(3, 1), (1, 0), (0.7, 0.7), (0, 1), (-1, 0)], 4.0),
    "a short key beside a long query": (
        [(2.6, -1), (1, 0), (0, 1), (-1, 0), (0, -1), (0.3, 0.2)],
        3.3,
    ),
    "three arrows along one line": ([(0, 4), (0, 1), (2.6, 1.5), (0, 1.5)], 4.6),
}
each_crowd = pytest.mark.parametrize(("ends", "limit"), CROWDS.values(), ids=CROWDS)


def boxes_of_names(ends, limit):
    """(left, right, low, high) of each name, a letter taken as narrower than it is."""
    names = [f"key {k}" for k in range(len(ends))]
    middles = np.array(ends) * POINTS / limit + shifts_of_names(names, ends, limit)
    half = 2.5 * len(names[0])
    return [(x - half, x + half, y - 4, y + 4) for x, y in middles]


@each_crowd
def test_no_name_stands_on_another_or_leaves_the_panel(ends, limit):
    found = boxes_of_names(ends, limit)
    for one, other in combinations(found, 2):
        aside = one[1] <= other[0] or other[1] <= one[0]
        assert aside or one[3] <= other[2] or other[3] <= one[2]
    assert np.abs(found).max() <= POINTS


@each_crowd
def test_no_name_hides_the_tip_of_an_arrow(ends, limit):
    tips = np.array(ends) * POINTS / limit
    for left, right, low, high in boxes_of_names(ends, limit):
        assert not any(left < x < right and low < y < high for x, y in tips)


def test_the_style_sheet_is_made_of_the_palette(monkeypatch):
    assert re.findall(r"--c\d: (#[0-9a-f]{6})", display.asset("figure.css")) == []
    monkeypatch.setitem(style.PALETTE, "orange", "#123456")
    light, dark = re.findall(r"\{[^{}]*--c0:[^{}]*\}", display.style_sheet())
    assert re.findall(r"--c\d: (#[0-9a-f]{6})", light) == list(style.PALETTE.values())
    assert "--c1: #123456" in light
    assert re.findall(r"--c\d: (#[0-9a-f]{6})", dark) == list(style.DARK_PALETTE.values())
    assert list(style.DARK_PALETTE) == list(style.PALETTE)


def test_verdicts_have_colours_of_the_palette():  # which they do not import: a check loads no figures
    assert verdict.COLOURS[State.CORRECT] == style.PALETTE["blue"]
    assert verdict.COLOURS[State.NOT_YET] == style.PALETTE["orange"]


HUES = {"blue": (0.5, 0.7), "orange": (0.04, 0.09), "green": (0.3, 0.48), "pink": (0.83, 0.95)}
HUES |= {
    "yellow": (0.1, 0.18),
    "light blue": (0.5, 0.7),
}  # where a reader sees a colour of that name


def test_a_colour_is_what_its_name_says():
    for name, (low, high) in HUES.items():
        red, green, blue = style.rgb([style.PALETTE[name]])[0]
        assert low <= colorsys.rgb_to_hsv(red, green, blue)[0] <= high, name


def test_the_text_of_a_notebook_names_the_colour_that_is_drawn():
    text = (ROOT / "solutions" / "06_transformer_attention.py").read_text("utf-8")
    assert "its bar is orange" in text and "colours = [sentence == k" in text
    assert list(style.PALETTE)[True] == "orange"


@pytest.mark.parametrize("name", ["01_copying", "02_average_of_two"])
def test_stored_pictures_are_drawn_in_the_palette_of_today(name):
    cells = json.loads((ROOT / "solutions" / f"{name}.ipynb").read_text("utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    codes = set()
    for output in outputs:
        if picture := output.get("data", {}).get("image/png"):
            pixels = image.imread(io.BytesIO(base64.b64decode("".join(picture))))
            codes |= set(map(bytes, (255 * pixels[..., :3]).round().astype("uint8").reshape(-1, 3)))
    for name in ("blue", "orange", "green"):
        assert bytes.fromhex(style.PALETTE[name][1:]) in codes, "run attn build --force"


def test_a_reversed_axis_stays_reversed_on_a_common_scale():
    one, other = plots.panels(2)
    one.limits(y=(5, 0))
    other.limits(y=(2, 8))
    plots.same_scale([one, other])
    assert one.y.limits() == (8, 0) and other.y.limits() == (0, 8)


def test_a_bar_without_a_number_is_not_called_zero():
    ax = plots.bars([0.25, np.nan], xlabel="token")
    assert alt_text.describe(ax.figure).endswith("0 0.25, 1 without a finite number.")
    many = plots.bars(np.full(20, np.nan), xlabel="token")
    assert alt_text.describe(many.figure).endswith("20 bars, highest 0 without a finite number.")


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ([np.nan, np.inf, 1.0, 1.0, 2.0], "highest between 1 and 1.5"),
        ([np.nan], "without a sample"),
        ([], "without a sample"),
        ([5.0], "without a sample"),
    ],
)
def test_a_histogram_leaves_out_what_is_no_number_or_outside_its_limits(samples, words):
    ax = plots.histogram({"": samples}, xlabel="x", bins=4, limits=(1, 3))
    assert alt_text.describe(ax.figure) == f"Histogram; density over x: {words}."
    plots.histogram({"": samples}, xlabel="x")  # whose limits are those of the samples


def test_points_that_are_not_drawn_are_not_counted():
    ax = plots.scatter([[np.nan, 1], [1, 2], [3, 2]], xlabel="x", ylabel="y", label="cloud")
    assert alt_text.describe(ax.figure) == "Points; y over x: cloud: 2 points around (2, 2)."


def test_many_bars_are_bars_and_bars_that_touch_are_a_histogram():
    many = plots.bars(np.arange(20) / 20, xlabel="token")
    assert alt_text.describe(many.figure).startswith(
        "Bars"
    ) and "20 bars, highest 19 0.95" in alt_text.describe(many.figure)
    few = plots.histogram({"": [1.0, 2.0, 2.5]}, xlabel="x", bins=3)
    assert alt_text.describe(few.figure).startswith("Histogram")


def test_the_number_of_a_negative_bar_stands_above_the_ticks():
    ax = plots.bars([0.5, -0.8], xlabel="token")
    low, high = ax.y.limits()
    assert low <= -0.8 - 0.1 * (high - low)
