"""The plane of queries, coloured by the keys' weights: a still picture, and a script that moves it."""

import json
from collections.abc import Sequence
from html import escape
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from attn_course.figures import charts, display
from attn_course.figures.arrow_labels import shifts_of_names
from attn_course.figures.marks import Image, Line
from attn_course.figures.panel import Panel, open_figures, panels
from attn_course.figures.style import COLOURS, INK, TEXT, rgb

_CELLS = 160  # of the still map, on a side
_PALE = 0.6  # how strong the map's colours are
_SAME = 1e-9  # two keys or scores that differ by less are equal
_DRAWS = 24  # of the noise, kept in the page: the same ones for every size of it


def query_plane(
    keys: ArrayLike,
    values: ArrayLike | None = None,
    *,
    query: ArrayLike = (2.0, 1.0),
    names: Sequence[str] | None = None,
    limit: float | None = None,
    hull: bool = False,
    land: bool = False,
    noise: float = 0.0,
    title: str = "",
) -> None:
    """Show whom every query of the plane attends to; the query and the keys can be moved, without a kernel.

    keys: (n, 2), at most six. values: (n,), (n, 1) or None. query: (2,), or (H, 2) for H heads, whose
    outputs are averaged. names: of the keys. limit: the plane reaches from -limit to limit. hull: outline
    the keys. land: say which share of all directions each key wins. noise: the largest standard deviation
    that a slider adds to the keys, drawn anew by a button.
    """
    points = _keys(keys)
    queries = np.atleast_2d(np.asarray(query, float))
    if limit is None:
        farthest = np.abs([*3 * points, *queries]).max()
        limit = 1.1 * farthest
    if names is None:
        names = [f"key {i}" for i in range(len(points))]
    draws = np.random.default_rng(0).normal(size=(_DRAWS, *points.shape))
    setting = {
        "keys": _plain(points),
        "names": list(names),
        "values": None if values is None else _plain(_values(values, len(points))),
        "queries": _plain(queries),
        "limit": float(limit),
        "hull": hull,
        "land": land,
        "noise": float(noise),
        "draws": _plain(draws.round(3)) if noise else [],
        "title": title,
    }
    moved = points + noise * draws[0].round(3)
    picture = _still(setting, moved, queries)
    page = display.fill_template(
        "plane.html",
        setting=escape(json.dumps(setting, ensure_ascii=False)),
        style=display.style_sheet(),
        shared=display.asset("shared.js"),
        script=display.asset("plane.js"),
    )
    display.show_interactive(picture, page, "the same plane, to be moved by hand")


def query_weights(keys: ArrayLike, queries: ArrayLike) -> np.ndarray:
    """Return the weights of every query. keys: (n, 2), queries: (..., 2) -> (..., n)."""
    keys = np.asarray(keys, float)
    queries = np.asarray(queries, float)
    scores = queries @ keys.T
    highest = scores.max(-1, keepdims=True)
    powers = np.exp(scores - highest)
    return powers / powers.sum(-1, keepdims=True)


def tie_directions(keys: ArrayLike) -> np.ndarray:
    """Return unit vectors, (m, 2), along which the two best keys tie: the borders of the map."""
    keys = np.asarray(keys, float)
    directions = []
    for first, second in combinations(keys, 2):
        across = first - second
        length = np.hypot(*across)
        if not length > _SAME:
            continue
        x, y = across / length
        along = np.array([-y, x])
        for ray in (along, -along):
            best = (keys @ ray).max()
            if first @ ray >= best - _SAME:
                directions.append(ray)

    return np.array(directions).reshape(-1, 2)


def _keys(keys):
    """Return the keys as an array (n, 2), or raise an error that says what is wrong with them."""
    keys = np.asarray(keys, float)
    in_plane = keys.ndim == 2 and keys.shape[1] == 2
    if not in_plane or not 1 <= len(keys) <= INK:
        raise ValueError(f"keys must be (n, 2) with 1 to {INK} keys, not {keys.shape}")
    return keys


def _values(values, count):
    """Return the values as an array (n,), or raise an error that says what is wrong with them."""
    values = np.asarray(values, float)
    if values.shape not in ((count,), (count, 1)):
        raise ValueError(f"values must be ({count},), not {values.shape}")
    return values.ravel()


def _plain(numbers):
    """Return numbers as lists, rounded to be short on a page."""
    return np.asarray(numbers, float).round(6).tolist()


def _still(setting, keys, queries):
    """Return the plane at its start, as a picture. keys: (n, 2), noise included; queries: (H, 2)."""
    weights = query_weights(keys, queries)  # (H, n)
    values = setting["values"]
    left, right = panels(2)
    _draw_map(left, setting, keys, queries)
    _draw_weights(right, setting["names"], weights)
    words = []
    for row in weights:
        pairs = zip(setting["names"], row, strict=True)
        words.append(", ".join(f"{name} {weight:.2f}" for name, weight in pairs))
    if values is not None:
        output = (weights @ np.array(values)).mean()
        words.append(f"output {output:.2f}")
        right.title = f"weights; the output is {output:.2f}"

    open_figures.remove(left.figure)
    title = setting["title"] or "whom a query attends to"
    places = ", ".join(f"({x:g}, {y:g})" for x, y in queries)
    alt = f"Query plane “{title}”: the plane of queries, coloured by the weights of the keys."
    alt += f" Query at {places}: {'; '.join(words)}."
    return display.picture_of(left.figure, alt)


def _draw_weights(ax, names, weights):
    """Draw a bar for each key, or a group for each head. weights: (H, n)."""
    if len(weights) == 1:
        charts.bars(weights[0], names, title="weights", ax=ax)
        return
    groups = {}
    for head, row in enumerate(weights, 1):
        groups[f"query {head}"] = row
    charts.bars(groups, names, title="weights of each head", ax=ax)


def _draw_map(ax: Panel, setting: dict, keys: np.ndarray, queries: np.ndarray) -> None:
    """Draw the coloured plane with its borders and arrows."""
    limit = setting["limit"]
    places = np.linspace(-limit, limit, _CELLS)
    x, y = np.meshgrid(places, places[::-1])
    grid = np.stack([x, y], axis=-1)  # (cells, cells, 2)
    mixed = query_weights(keys, grid) @ rgb(COLOURS[: len(keys)])  # (cells, cells, 3)
    ax.add(Image(1 - _PALE * (1 - mixed), -limit, limit, -limit, limit))
    for ray in tie_directions(keys):
        _add_outline(ax, np.array([(0, 0), 2 * limit * ray]), "--")
    _draw_arrows(ax, setting["names"], keys, queries, limit)
    if setting["hull"]:
        corners = _hull(keys)
        _add_outline(ax, np.concatenate([corners, corners[:1]]), ":")
    ax.limits(x=(-limit, limit), y=(-limit, limit)).equal()
    ax.x.has_grid = False
    ax.y.has_grid = False
    ax.x.label = "first coordinate of the query"
    ax.y.label = "second coordinate"
    ax.title = setting["title"]


def _add_outline(ax: Panel, points: np.ndarray, dash: str) -> None:
    """Draw a thin line through points, (n, 2)."""
    x, y = points.T
    ax.add(Line(x, y, TEXT, 0.8, dash))


def _draw_arrows(ax, names, keys, queries, limit):
    """Draw every key, (n, 2), and query, (H, 2), as an arrow from the origin, its name beside its tip."""
    count = len(queries)
    named = [f"query {head}" for head in range(1, count + 1)]
    if count == 1:
        named = ["query"]
    words = [*named, *names]
    ends = np.concatenate([queries, keys])
    colours = [TEXT] * count
    colours += COLOURS[: len(keys)]
    shifts = shifts_of_names(words, ends, limit)
    for word, end, shift, colour in zip(words, ends, shifts, colours, strict=True):
        charts.add_arrow(ax, end, word, shift, colour, halo=True)


def _hull(points):
    """Return the corners of the convex hull in order, (m, 2)."""
    corners: list[np.ndarray] = []
    ordered = sorted(points, key=tuple)
    for way in (ordered, ordered[::-1]):  # the lower corners, then the upper ones
        chain: list[np.ndarray] = []
        for point in way:
            while len(chain) > 1 and not _turns_left(chain[-2], chain[-1], point):
                chain.pop()
            chain.append(point)
        corners += chain[:-1]
    return np.array(corners)


def _turns_left(a, b, c):
    """Return True if the way from a over b to c turns left."""
    return np.linalg.det([b - a, c - a]) > 0
