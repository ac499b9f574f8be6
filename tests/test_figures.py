"""The figures: a scene is what matplotlib would draw, every picture has words, sliders need no kernel."""

import base64
import io
import json
import re
import sys
import zlib

import matplotlib.pyplot as plt
import numpy as np
import pytest
from attn_course.figures.canvas import drawing_on
from attn_course.figures.scene import Scene
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from attn_course import plots
from attn_course.figures import (
    alt_text,
    display,
    layout,
    marks,
    plane,
    sliders,
)
from attn_course.figures.svg import to_svg
from attn_course.figures.ticks import NotInScene

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
    band = (np.sin(GRID) - 1, np.sin(GRID) + 1)
    plots.curves(
        GRID, {"gap": np.where(GRID < 7, GRID, np.nan)}, xlabel="t", ylabel="z", band=band, ax=right
    )
    plots.same_scale([left, right], "y")


def draw_scatter():
    ax = plots.scatter(NORMAL.reshape(-1, 2), xlabel="x", ylabel="y", label="cloud")
    plots.scatter(
        [[0, 0], [3, 4]], xlabel="x", ylabel="y", colour=6, names=["v_a", "v_b"], size=50, ax=ax
    )


def draw_histogram():
    samples = {"one": NORMAL, "two": 2 * NORMAL}
    curve = (GRID - 7, np.exp(-((GRID - 7) ** 2) / 2))
    ax = plots.histogram(samples, xlabel="x", bins=20, limits=(-7, 7), curve=curve)
    ax.set_ylim(top=1.25 * ax.get_ylim()[1])


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
    ax = plots.curves(10 ** (GRID / 3), series, xlabel="x", ylabel="y", log="xy")
    ax.set_ylim(1e-1, 1e4)


DRAWN = [
    draw_bars,
    draw_groups,
    draw_curves,
    draw_scatter,
    draw_histogram,
    draw_intervals,
    draw_maps,
    draw_arrows,
    draw_powers,
]


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    plt.close("all")
    yield
    plt.close("all")


@pytest.fixture
def shown(monkeypatch):
    """What would be displayed, as a list of mime bundles."""
    found = []
    monkeypatch.setattr(display, "show", lambda data, metadata=None: found.append(data))
    return found


def both(draw):
    """The figure by matplotlib and the scene of the same calls."""
    draw()
    figure = plt.gcf()
    figure.savefig(io.BytesIO(), format="png")
    with drawing_on(Scene(layout.freeze(figure))) as scene:
        draw()
    return figure, scene


def seen_ticks(axis, limits):
    low, high = sorted(limits)
    pairs = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
    slack = 1e-9 * (high - low)
    return [
        (p, set_powers(label.get_text())) for p, label in pairs if low - slack <= p <= high + slack
    ]


def set_powers(text):
    """Mathtext's power of ten as one line of text."""
    found = re.fullmatch(r"\$\\mathdefault\{10\^\{(-?\d+)\}\}\$", text)
    raised = str.maketrans("-01234", "⁻⁰¹²³⁴")
    return f"10{found[1].translate(raised)}" if found else text


@pytest.mark.parametrize("draw", DRAWN, ids=lambda draw: draw.__name__)
def test_a_scene_has_the_limits_ticks_and_names_that_matplotlib_has(draw):
    figure, scene = both(draw)
    assert len(scene.axes) == len(figure.axes)
    for ours, theirs in zip(scene.axes, figure.axes, strict=True):
        np.testing.assert_allclose(ours.get_ylim(), theirs.get_ylim(), atol=1e-9)
        assert ours.ylabel == theirs.get_ylabel()
        directions = [(ours.y, theirs.yaxis, theirs.get_ylim())]
        if ours.scale is None:
            np.testing.assert_allclose(ours.get_xlim(), theirs.get_xlim(), atol=1e-9)
            assert (ours.title, ours.xlabel) == (theirs.get_title(loc="left"), theirs.get_xlabel())
            directions.append((ours.x, theirs.xaxis, theirs.get_xlim()))
        for axis, other, limits in directions:
            places, labels = axis.ticks()
            wanted = seen_ticks(other, limits)
            np.testing.assert_allclose(places, [place for place, _ in wanted], atol=1e-9)
            assert labels == [label for _, label in wanted]


def hex_of(colour):
    return to_hex(colour[:3])


@pytest.mark.parametrize("draw", DRAWN, ids=lambda draw: draw.__name__)
def test_a_scene_has_the_series_and_colours_that_matplotlib_has(draw):
    figure, scene = both(draw)
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    for ours, theirs in zip([a for a in scene.axes if a.scale is None], panels, strict=True):
        of_kind = {
            kind: [m for m in ours.marks if isinstance(m, kind)] for kind in map(type, ours.marks)
        }
        lines = of_kind.get(marks.Line, [])
        rules = of_kind.get(marks.Rule, [])
        assert len(lines) + len(rules) == len(theirs.lines)
        kept = [line for line in theirs.lines if list(line.get_ydata()) != [0, 1] or not rules]
        for line, other in zip(lines, kept, strict=True):
            np.testing.assert_allclose(line.x, np.asarray(other.get_xdata(), float))
            np.testing.assert_allclose(line.y, np.asarray(other.get_ydata(), float))
            assert line.colour == other.get_color()
        for bars, other in zip(of_kind.get(marks.Bars, []), theirs.containers, strict=True):
            np.testing.assert_allclose(
                bars.top + bars.foot, [r.get_height() for r in other], atol=1e-12
            )
            np.testing.assert_allclose(bars.left, [r.get_x() for r in other], atol=1e-12)
            colours = bars.colours * (len(other) // len(bars.colours))
            assert colours == [hex_of(r.get_facecolor()) for r in other]
        clouds = [c for c in theirs.collections if len(c.get_offsets()) and c.get_sizes().size]
        for points, other in zip(of_kind.get(marks.Points, []), clouds, strict=True):
            np.testing.assert_allclose(np.c_[points.x, points.y], other.get_offsets())
            assert points.colour == hex_of(other.get_facecolor()[0])
        for cells, other in zip(of_kind.get(marks.Cells, []), theirs.images, strict=True):
            np.testing.assert_allclose(cells.values, other.get_array())
            assert (
                cells.low,
                cells.high,
            ) == other.get_clim() and cells.cmap == other.get_cmap().name
        texts = {text.get_text() for text in theirs.texts} - {""}
        assert {word.text for word in of_kind.get(marks.Word, [])} == texts


@pytest.mark.parametrize("draw", DRAWN, ids=lambda draw: draw.__name__)
def test_a_scene_and_its_figure_have_the_same_alt_text(draw):
    figure, scene = both(draw)
    assert alt_text.describe_scene(scene) == alt_text.describe_figure(figure)


def test_a_line_that_leaves_the_panel_keeps_its_numbers_and_gaps():
    _, scene = both(draw_curves)
    drawing = to_svg(scene, "two panels")
    assert "nan" not in drawing and "inf" not in drawing
    assert 'aria-label="two panels"' in drawing and drawing.count("<svg viewBox") == 2


def test_names_are_escaped_in_a_scene():
    def draw():
        plots.bars([1.0], ["<b>&"], title='"<script>"')

    _, scene = both(draw)
    drawing = to_svg(scene, '"<i>')
    assert "<script>" not in drawing and "<b>" not in drawing and "<i>" not in drawing


def test_the_alt_text_says_kind_title_axes_and_series():
    draw_curves()
    text = alt_text.describe_figure(plt.gcf())
    assert text == (
        "Panel 1: Curves; y over t; with sine, flat, own, here. Panel 2: Curves; z over t; with gap."
    )


def test_key_i_has_one_colour_as_an_arrow_and_as_a_bar():
    left, right = plots.panels(2)
    plots.arrows({"key 0": (1, 0), "key 1": (0, 1), "query": (1, 1)}, ax=left)
    plots.bars([0.3, 0.7], ax=right)
    arrows = {text.get_text(): text.get_color() for text in left.texts if text.get_text()}
    colours = [hex_of(bar.get_facecolor()) for bar in right.containers[0]]
    assert colours == [arrows["key 0"], arrows["key 1"]]
    assert arrows["query"] not in colours


def test_the_reader_s_own_curve_leaves_the_colours_of_the_others_alone():
    def colours(series):
        ax = plots.curves(GRID, series, xlabel="t", ylabel="w", strong="n = 30")
        return {
            line.get_label(): line.get_color() for line in ax.lines if line.get_label() != "n = 30"
        }

    own = {"n = 30": GRID}
    others = {"n = 3": GRID, "n = 12": 2 * GRID}
    assert colours(own | others) == colours(others | own) == colours(others)


def test_the_dots_of_a_legend_can_be_seen():
    ax = plots.scatter(NORMAL.reshape(-1, 2), xlabel="x", ylabel="y", label="cloud", size=4)
    (dot,) = ax.get_legend().legend_handles
    assert dot.get_sizes()[0] >= 36 and dot.get_alpha() == 1


def test_no_text_is_smaller_than_nine_points_and_no_figure_wider_than_a_column():
    draw_maps()
    for text in plt.gcf().findobj(plt.Text):
        assert text.get_size() >= 9, text.get_text()
    plots.panels(4, width=20)
    assert plt.gcf().get_figwidth() <= 9.0


def test_a_matrix_has_a_negative_half_where_it_is_asked_for():
    ax = plots.matrix([[3, 1]], top=4, signed=True)
    assert ax.images[0].get_clim() == (-4, 4)


def test_a_matrix_without_negative_numbers_has_no_negative_half():
    left, right = plots.panels(2)
    plots.matrix([[3, 1]], ax=left)
    plots.matrix([[3, -1]], ax=right)
    assert left.images[0].get_clim() == (0, 3) and right.images[0].get_clim() == (-3, 3)
    assert {text.get_text() for text in left.texts} == {"3", "1"}


def test_cells_of_no_interest_are_hatched_and_have_neither_number_nor_weight_on_the_scale():
    ax = plots.matrix([[9.0, 0.25], [9.0, 9.0]], mask=[[False, True], [False, False]])
    assert ax.images[0].get_clim() == (0, 0.25) and len(ax.patches) == 3
    assert [text.get_text() for text in ax.texts] == ["0.25"]


def test_a_hidden_cell_of_a_map_has_no_number_unless_it_leaks():
    mask = [[True, False, False], [True, True, False]]
    ax = plots.attention_map([[0.75, 0.25, 0], [0, 1, 0]], mask=mask)
    assert [text.get_text() for text in ax.texts] == ["0.75", "0.25", "0.00", "1.00"]


def test_words_may_stand_in_the_cells_of_a_matrix():
    ax = plots.matrix([[0, 1]], words=[["cat", "dog"]], colour_bar=False)
    assert [text.get_text() for text in ax.texts] == ["cat", "dog"]
    assert len(ax.figure.axes) == 1


def test_nested_lines_lie_on_one_another_and_are_all_seen():
    same = {"first": GRID, "second": GRID, "third": GRID}
    ax = plots.curves(GRID, same, xlabel="x", ylabel="y", nested=True)
    widths = [line.get_linewidth() for line in ax.lines]
    assert widths == sorted(set(widths), reverse=True)


def test_each_head_has_a_map_of_its_own_weights_with_the_same_words():
    weights = np.arange(12).reshape(3, 2, 2) / 12
    plots.head_maps(weights, ["a", "b"], ["c", "d"], colour_bar=False)
    axes = plt.gcf().axes
    assert [ax.get_title(loc="left") for ax in axes] == ["head 0", "head 1", "head 2"]
    for head, ax in enumerate(axes):
        np.testing.assert_array_equal(ax.images[0].get_array(), weights[head])
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b"]


def test_panels_in_rows_leave_no_empty_axes():
    assert len(plots.panels(3, columns=2)) == 3 and len(plt.gcf().axes) == 3


def moving(draw, **ends):
    return sliders.MovingFigure(draw, ends)


def draw_tilted(t):
    plots.curves(GRID, {"line": t * GRID}, xlabel="x", ylabel="y", title=f"t = {t:g}")


def test_matplotlib_draws_a_moving_figure_once_however_often_it_moves(monkeypatch):
    saved = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda *a, **k: saved.append(1) or save(*a, **k))
    figure = moving(draw_tilted, t=(0.0, 2.0, 1.0))
    for t in (0.5, 1.5, 2.0):
        assert f"t = {t:g}" in figure.frame({"t": t})
    assert len(saved) == 1 and figure.in_scene and not plt.get_fignums()


def draw_pie(share):
    plots.panels(1)[0].pie([share, 1 - share])


def draw_own_axes(share):
    plt.subplots()[1].plot([0, share])


def draw_logarithm(share):
    plots.curves(GRID + 1, {"power": (GRID + 1) ** share}, xlabel="x", ylabel="y", log="xy")


def draw_more_panels(share):
    for ax in plots.panels(2 if share > 0.5 else 1):
        plots.bars([share], ax=ax)


@pytest.mark.parametrize("draw", [draw_pie, draw_own_axes, draw_logarithm, draw_more_panels])
def test_what_a_scene_cannot_draw_is_drawn_by_matplotlib(draw):
    figure = moving(draw, share=(0.1, 0.9, 0.3))
    assert 'src="data:image/png;base64,' in figure.frame({"share": 0.6})
    assert not figure.in_scene and not plt.get_fignums()


def test_an_option_that_a_scene_does_not_know_is_not_dropped():
    _, scene = both(draw_bars)
    with pytest.raises(NotInScene, match="hatch"):
        scene.axes[0].bar([0], [1], hatch="/")


def frames_of(page):
    packed = re.search(r'data-frames="([^"]+)"', page)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def test_a_page_holds_a_frame_for_every_place_of_its_sliders():
    def draw(t, n):
        plots.bars([t, 1 - t], title=f"t = {t:g}, n = {n}")

    page = plots.packed(draw, t=(0.0, 1.0, 0.33), n=(2, 4, 3))
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
    page = plots.packed(draw_switched, head_0=True, head_1=False)
    found = [re.search(r"on: \d, \d", frame)[0] for frame in frames_of(page)]
    assert found == ["on: 0, 0", "on: 0, 1", "on: 1, 0", "on: 1, 1"]
    assert "head 0" in page and "head_0" not in page


@pytest.fixture
def boxes(monkeypatch):
    """What stands in each column of widgets that is shown to a kernel."""
    monkeypatch.delenv("ATTN_FIGURES", raising=False)
    ipywidgets = pytest.importorskip("ipywidgets")
    made = []
    box = ipywidgets.VBox
    monkeypatch.setattr(ipywidgets, "VBox", lambda children: made.append(children) or box(children))
    return made


def test_switches_stand_side_by_side_and_redraw_the_picture(shown, boxes):
    plots.explore(draw_switched, head_0=True, head_1=False)
    row, _, picture = boxes[0]
    first, second = row.children
    assert (first.description, first.value, second.value) == ("head 0", True, False)
    second.value = True
    assert "on: 1, 1" in picture.value


def test_a_stored_picture_is_given_its_alt_text_and_other_outputs_are_left_alone():
    picture = {
        "data": {"image/png": "AAAA\n", "text/plain": "Bars."},
        "metadata": {"image/png": {"alt": 'Bars “<a> & "b"”.'}},
    }
    printed = {"name": "stdout", "text": "1"}
    table = {"data": {"text/html": "<table>"}, "metadata": {}}
    words = {"cell_type": "markdown", "source": "text"}
    outputs = [picture, printed, table]
    assert plots.add_alt_texts({"cells": [words, {"outputs": outputs}]}) == 1
    assert 'alt="Bars “&lt;a&gt; &amp; &quot;b&quot;”."' in picture["data"]["text/html"]
    assert 'src="data:image/png;base64,AAAA"' in picture["data"]["text/html"]
    assert table["data"] == {"text/html": "<table>"} and printed == {"name": "stdout", "text": "1"}


def test_a_stored_notebook_keeps_one_still_picture_and_its_words(shown, monkeypatch):
    monkeypatch.setenv("ATTN_FIGURES", "still")
    plots.explore(draw_tilted, t=(0.0, 2.0, 1.0))
    (bundle,) = shown
    assert set(bundle) == {"image/png", "text/plain"}
    assert bundle["text/plain"] == "Curves “t = 1”; y over x; with line. With sliders: t = 1."


def test_a_page_gets_the_still_picture_first_and_then_what_moves(shown, monkeypatch):
    monkeypatch.setenv("ATTN_FIGURES", "page")
    plots.explore(draw_tilted, t=(0.0, 2.0, 1.0))
    still, moves = shown
    assert 'alt="Curves “t = 1”; y over x; with line."' in still["text/html"]
    assert len(frames_of(moves["text/html"])) == 61


def test_without_ipywidgets_a_reader_gets_what_a_page_gets(shown, monkeypatch):
    monkeypatch.delenv("ATTN_FIGURES", raising=False)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    plots.explore(draw_tilted, t=(0.0, 2.0, 1.0))
    assert ["image/png" in data for data in shown] == [True, False]


def test_a_slider_moves_the_picture_while_it_is_dragged(shown, boxes):
    plots.explore(draw_tilted, t=(0.0, 2.0, 1.0))
    control, _, picture = boxes[0]
    assert control.continuous_update and "t = 1" in picture.value
    control.value = 1.5
    assert "t = 1.5" in picture.value
    (bundle,) = shown
    assert sliders._VIEW in bundle and "image/png" in bundle


def test_a_picture_that_can_no_longer_be_drawn_says_so_in_its_place(shown, boxes):
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
    shown, monkeypatch
):
    monkeypatch.delenv("ATTN_FIGURES", raising=False)
    ipywidgets = pytest.importorskip("ipywidgets")
    monkeypatch.setattr(display, "in_kernel", lambda: True)
    plots.explore(draw_tilted, t=(0.0, 2.0, 1.0))
    live, spare = shown
    assert sliders._VIEW in live
    page = spare["text/html"]
    assert len(frames_of(page)) == 31
    name = re.search(r'data-widget="([\w-]+)"', page)[1]
    assert f'body:has(.{name}) [data-widget="{name}"] {{ display: none; }}' in page
    models = ipywidgets.Widget.get_manager_state()["state"].values()
    assert (name,) in [model["state"].get("_dom_classes") for model in models]


def test_a_plane_is_a_picture_with_words_and_a_script_that_asks_no_one(shown, monkeypatch):
    monkeypatch.setenv("ATTN_FIGURES", "still")
    plots.query_plane([[1, 0], [0, 1]], [1.0, 3.0], query=(2, 2), names=["a", "b"])
    still, moves = shown
    assert "Query at (2, 2): a 0.50, b 0.50; output 2.00." in still["text/plain"]
    assert "image/png" in still and "image/png" not in moves
    addresses = set(re.findall(r"https?://[^\"' ]+", moves["text/html"]))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_a_plane_is_written_the_same_way_at_every_run(shown, monkeypatch):
    monkeypatch.setenv("ATTN_FIGURES", "still")
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
        weights = np.sort(plane.territory(keys, 50 * ray))
        np.testing.assert_allclose(weights[-2:], 0.5, atol=1e-6)


def test_a_mark_beside_all_intervals_is_not_drawn_on_the_edge_of_the_figure():
    rows = {"small": (3.4, 2.1, 4.7), "large": (45.0, 43.3, 46.6)}
    ax = plots.intervals(rows, xlabel="gain", marks={"no gain": 0})
    low, high = ax.get_xlim()
    assert -low > 0.04 * (high - low)
