"""The plane of queries, coloured by whose weight wins there. Draws the still picture; a script moves it."""

import json
from collections.abc import Sequence
from html import escape

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike

from attn_course.figures import charts, showing
from attn_course.figures.canvas import panels
from attn_course.figures.style import COLOURS, INK

_CELLS = 160  # of the still map, on a side
_PALE = 0.6  # how strong the map's colours are
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

    keys: (n, 2), at most six. values: (n,), (n, 2) or None. query: (2,), or (H, 2) for H heads, whose
    outputs are averaged. names: of the keys. limit: the plane reaches from -limit to limit. hull: outline
    the keys. land: say which share of all directions each key wins. noise: the largest standard deviation
    that a slider adds to the keys, drawn anew by a button.
    """
    keys = np.asarray(keys, float)
    if keys.ndim != 2 or keys.shape[1] != 2 or not 1 <= len(keys) <= INK:
        raise ValueError(f"keys must be (n, 2) with 1 to {INK} keys, not {keys.shape}")
    queries = np.atleast_2d(np.asarray(query, float))
    if limit is None:
        limit = 1.1 * max(3 * np.abs(keys).max(), np.abs(queries).max())
    draws = np.random.default_rng(0).normal(size=(_DRAWS, *keys.shape)).round(3)
    setting = {
        "keys": _plain(keys),
        "names": list(names) if names is not None else [f"key {i}" for i in range(len(keys))],
        "values": None if values is None else _plain(_values(values, len(keys))),
        "queries": _plain(queries),
        "limit": float(limit),
        "hull": hull,
        "land": land,
        "noise": float(noise),
        "draws": _plain(draws) if noise else [],
        "title": title,
    }
    moved = keys + noise * draws[0]
    picture = _still(setting, moved, queries)
    page = showing.filled(
        "plane.html",
        setting=escape(json.dumps(setting, ensure_ascii=False)),
        style=showing.asset("figure.css"),
        shared=showing.asset("shared.js"),
        script=showing.asset("plane.js"),
    )
    showing.show_moving(picture, page, "the same plane, to be moved by hand")


def territory(keys: ArrayLike, queries: ArrayLike) -> np.ndarray:
    """The weights of every query. keys: (n, 2), queries: (..., 2) -> (..., n)."""
    scores = np.asarray(queries, float) @ np.asarray(keys, float).T
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def tie_directions(keys: ArrayLike) -> np.ndarray:
    """Unit vectors, (m, 2), along which the two best keys tie: the borders of the map."""
    keys = np.asarray(keys, float)
    found = []
    for i, first in enumerate(keys):
        for second in keys[i + 1 :]:
            across = first - second
            length = np.hypot(*across)
            if not length > 1e-9:
                continue
            direction = np.array([-across[1], across[0]]) / length
            for ray in (direction, -direction):
                best = (keys @ ray).max()
                if first @ ray >= best - 1e-9:
                    found.append(ray)
    return np.array(found).reshape(-1, 2)


def _values(values, count):
    values = np.asarray(values, float)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape not in ((count,), (count, 2)):
        raise ValueError(f"values must be ({count},) or ({count}, 2), not {values.shape}")
    return values


def _plain(numbers):
    return np.asarray(numbers, float).round(6).tolist()


def _still(setting, keys, queries):
    weights = territory(keys, queries)  # (H, n)
    values = setting["values"]
    left, right, *more = panels(3 if np.ndim(values) == 2 else 2)
    _draw_map(left, setting, keys, queries)
    if len(queries) == 1:
        charts.bars(weights[0], setting["names"], title="weights", ax=right)
    else:
        groups = {f"query {h}": row for h, row in enumerate(weights, 1)}
        charts.bars(groups, setting["names"], title="weights of each head", ax=right)
    words = [_weights_in_words(setting["names"], row) for row in weights]
    if values is not None:
        output = (weights @ np.array(values)).mean(0)
        words.append(f"output {_number(output)}")
        if more:
            _draw_values(more[0], setting, output)
        else:
            right.set_title(f"weights; the output is {_number(output)}", loc="left")
    figure = left.figure
    places = ", ".join(f"({x:g}, {y:g})" for x, y in queries)
    title = setting["title"] or "whom a query attends to"
    alt = f"Territory map “{title}”: the plane of queries, coloured by the weights of the keys. "
    alt += f"Query at {places}: {'; '.join(words)}."
    picture = showing.photograph(figure, alt)
    plt.close(figure)
    return picture


def _weights_in_words(names, weights):
    return ", ".join(f"{name} {weight:.2f}" for name, weight in zip(names, weights, strict=True))


def _number(output):
    numbers = [f"{value:.2f}" for value in np.atleast_1d(output)]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"


def _draw_map(ax, setting, keys, queries):
    limit = setting["limit"]
    ends = (-limit, limit, -limit, limit)
    places = np.linspace(-limit, limit, _CELLS)
    grid = np.stack(np.meshgrid(places, places), axis=-1)  # (cells, cells, 2)
    colours = np.array([to_rgb(colour) for colour in COLOURS[: len(keys)]])
    shares = territory(keys, grid)  # (cells, cells, n)
    ax.imshow(1 - _PALE * (1 - shares @ colours), extent=ends, origin="lower", aspect="auto")
    for ray in tie_directions(keys):
        far = 2 * limit * ray
        ax.plot([0, far[0]], [0, far[1]], "--", color="black", linewidth=0.8)
    named = list(zip(setting["names"], keys, COLOURS, strict=False))
    for head, place in enumerate(queries, 1):
        name = "query" if len(queries) == 1 else f"query {head}"
        named.append((name, place, "black"))
    for name, (x, y), colour in named:
        style = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", (x, y), (0, 0), arrowprops=style)
        outline = [withStroke(linewidth=3, foreground="white")]
        side = "left" if x >= 0 else "right"
        level = "bottom" if y >= 0 else "top"
        shift = (4 if x >= 0 else -4, 3 if y >= 0 else -3)
        words = {"color": colour, "ha": side, "va": level, "path_effects": outline, "fontsize": 9}
        ax.annotate(name, (x, y), xytext=shift, textcoords="offset points", **words)
    if setting["hull"]:
        corners = _hull(keys)
        ax.fill(*corners.T, fill=False, linestyle=":", edgecolor="black")
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
    ax.set(xlabel="first coordinate of the query", ylabel="second coordinate")
    ax.grid(visible=False)
    if setting["title"]:
        ax.set_title(setting["title"], loc="left")


def _draw_values(ax, setting, output):
    axes = {"xlabel": "first coordinate", "ylabel": "second coordinate", "ax": ax}
    for i, (name, value) in enumerate(zip(setting["names"], setting["values"], strict=True)):
        charts.scatter([value], size=40, colour=i, names=[f"value of {name}"], **axes)
    charts.scatter([output], size=60, colour=INK, names=["output"], title="values", **axes)
    ax.margins(0.25)


def _hull(points):
    """The corners of the convex hull in order, (m, 2)."""
    ordered = sorted(map(tuple, points))
    lower = _half_hull(ordered)
    upper = _half_hull(ordered[::-1])
    return np.array(lower[:-1] + upper[:-1])


def _half_hull(points):
    chain: list[tuple] = []
    for point in points:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(a, b, c):
    """Positive where the way from a over b to c turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
