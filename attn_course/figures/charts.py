"""Every figure of the course in one style; knows how to draw, not what is being claimed.

Each function takes `ax=None`, sets its own labels and returns the Axes. Colours are safe for the
colour-blind and are handed out in a fixed order.
"""

import base64
import io
import sys

import matplotlib.pyplot as plt
import numpy as np

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")
STYLE = {
    "axes.grid": True,
    "axes.prop_cycle": plt.cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "figure.figsize": (6.4, 3.6),
    "font.size": 10,
    "grid.alpha": 0.3,
    "image.cmap": "Blues",
    "legend.frameon": False,
    "lines.linewidth": 2,
}
plt.rcParams.update(STYLE)
if "IPython" in sys.modules and (_shell := sys.modules["IPython"].get_ipython()):
    # A cell that ends in a plot shows the figure alone, without the repr of its Axes.
    _shell.display_formatter.ipython_display_formatter.for_type(plt.Axes, lambda ax: None)


def panels(count, *, height=3.4, width=None):
    """`count` Axes side by side, as a list."""
    width = width or min(3.9 * count, 11.5)
    _, axes = plt.subplots(1, count, figsize=(width, height), squeeze=False)
    return list(axes[0])


def _axes(ax):
    return ax if ax is not None else plt.subplots()[1]


def _label(ax, xlabel, ylabel, title):
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if title:
        ax.set_title(title, loc="left")
    return ax


def bars(heights, labels=None, *, ylabel="weight", xlabel="key", title="", top=1.0, ax=None):
    """A bar per item, its number written on it. heights: (n,) or {name: (n,)} for groups."""
    ax = _axes(ax)
    groups = heights if isinstance(heights, dict) else {None: heights}
    size = len(next(iter(groups.values())))
    width = 0.8 / len(groups)
    for k, (name, values) in enumerate(groups.items()):
        places = np.arange(size) + (k - (len(groups) - 1) / 2) * width
        drawn = ax.bar(places, values, width, label=name)
        ax.bar_label(drawn, fmt="%.2f", fontsize=9, padding=2)
    ax.set_xticks(range(size), labels if labels is not None else range(size))
    if top:
        ax.set_ylim(min(0, *(np.min(v) for v in groups.values())), 1.12 * top)
    ax.grid(axis="x", visible=False)
    if None not in groups:
        ax.legend()
    return _label(ax, xlabel, ylabel, title)


def curves(x, series, *, xlabel, ylabel, title="", band=None, log="", marks=None, ax=None):
    """Lines over `x`. series: {label: (len(x),)}; band: (low, high) shaded; log: "", "x", "y", "xy".

    marks: {label: x position} for vertical lines. A label that starts with "-" is drawn dashed.
    """
    ax = _axes(ax)
    for label, y in series.items():
        ax.plot(x, y, "--" if label.startswith("-") else "-", label=label.lstrip("-"))
    if band is not None:
        ax.fill_between(x, *band, alpha=0.15, color=COLOURS[-1], linewidth=0)
    for label, place in (marks or {}).items():
        ax.axvline(place, color=COLOURS[-1], linestyle=":", linewidth=1.5, label=label)
    if "x" in log:
        ax.set_xscale("log")
    if "y" in log:
        ax.set_yscale("log")
    ax.legend()
    return _label(ax, xlabel, ylabel, title)


def scatter(points, *, xlabel, ylabel, title="", colour=0, label=None, size=8, ax=None):
    """A cloud of points. points: (n, 2)."""
    ax = _axes(ax)
    xs, ys = np.asarray(points, float).T
    alpha = 0.4 if len(xs) > 20 else 1  # a cloud shows its density, a landmark stands out
    ax.scatter(xs, ys, s=size, alpha=alpha, color=COLOURS[colour], label=label, linewidths=0)
    if label:
        ax.legend()
    return _label(ax, xlabel, ylabel, title)


def histogram(samples, *, xlabel, title="", bins=50, limits=None, curve=None, ax=None):
    """Densities. samples: {label: (n,)}; curve: (x, density) of the exact law drawn on top."""
    ax = _axes(ax)
    for label, values in samples.items():
        ax.hist(values, bins, range=limits, density=True, alpha=0.45, label=label)
    if curve is not None:
        ax.plot(*curve, color=COLOURS[-1], label="exact density")
    ax.legend()
    return _label(ax, xlabel, "density", title)


def intervals(rows, *, xlabel, title="", marks=None, ax=None):
    """A dot with its interval per row, from the top down. rows: {label: (value, low, high)}.

    marks: {label: x position} for vertical lines.
    """
    ax = _axes(ax)
    for place, (value, low, high) in enumerate(rows.values()):
        ax.plot([low, high], [place, place], color=COLOURS[0])
        ax.plot(value, place, "o", color=COLOURS[0])
    for k, (label, place) in enumerate((marks or {}).items()):
        ax.axvline(
            place, color=COLOURS[-1], linestyle=(":", "--")[k % 2], linewidth=1.5, label=label
        )
    ax.set_yticks(range(len(rows)), rows)
    ax.invert_yaxis()
    if marks:
        ax.legend()
    return _label(ax, xlabel, "", title)


def attention_map(weights, queries=None, keys=None, *, mask=None, title="", numbers=None, ax=None):
    """Queries down, keys across, colour fixed to 0..1, masked cells hatched.

    weights: (T, S). queries, keys: labels. mask: boolean (T, S), True = may look.
    numbers: write each weight into its cell (by default where there are few).
    """
    ax = _axes(ax)
    weights = np.asarray(weights, float)
    _grid_of_cells(ax, weights, 0, 1, "weight")
    if mask is not None:
        for row, column in np.argwhere(~np.asarray(mask)):
            cell = plt.Rectangle(
                (column - 0.5, row - 0.5), 1, 1, fill=False, hatch="///", alpha=0.4
            )
            ax.add_patch(cell)
    if numbers or (numbers is None and weights.size <= 36):
        _write_numbers(ax, weights, lambda value: value > 0.6)
    rows, columns = weights.shape
    ax.set_yticks(range(rows), queries if queries is not None else range(rows))
    slanted = keys is not None and max(map(len, map(str, keys))) > 3
    labels = keys if keys is not None else range(columns)
    ax.set_xticks(
        range(columns), labels, rotation=45 * slanted, ha="right" if slanted else "center"
    )
    return _label(ax, "key", "query", title)


def matrix(values, *, rows=None, columns=None, title="", numbers=None, ax=None):
    """A signed matrix as a heat map, purple positive, orange negative, white at zero."""
    ax = _axes(ax)
    values = np.asarray(values, float)
    size = max(np.abs(values).max(), 1e-12)
    _grid_of_cells(ax, values, -size, size, "", cmap="PuOr")
    if numbers or (numbers is None and values.size <= 36):
        _write_numbers(ax, values, lambda value: abs(value) > 0.6 * size)
    ax.set_yticks(range(values.shape[0]), rows if rows is not None else range(values.shape[0]))
    ax.set_xticks(
        range(values.shape[1]), columns if columns is not None else range(values.shape[1])
    )
    return _label(ax, "", "", title)


def _grid_of_cells(ax, values, low, high, label, cmap=None):
    image = ax.imshow(values, vmin=low, vmax=high, cmap=cmap, aspect="auto")
    ax.figure.colorbar(image, ax=ax, label=label, fraction=0.046)
    ax.grid(visible=False)


def _write_numbers(ax, values, is_dark):
    for (row, column), value in np.ndenumerate(values):
        colour = "white" if is_dark(value) else "black"
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=9, color=colour)


def arrows(vectors, *, title="", limit=None, ax=None):
    """Vectors in the plane from the origin. vectors: {label: (2,)}."""
    ax = _axes(ax)
    for k, (label, (x, y)) in enumerate(vectors.items()):
        colour = COLOURS[k % len(COLOURS)]
        head = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", (x, y), (0, 0), arrowprops=head)
        ax.annotate(label, (x, y), xytext=(4, 4), textcoords="offset points", color=colour)
    limit = limit or 1.25 * max(np.abs(np.asarray(v, float)).max() for v in vectors.values())
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
    return _label(ax, "first coordinate", "second coordinate", title)


def explore(draw, **sliders):
    """Show `draw(**values)` with a slider for each value; the picture alone where none can run.

    sliders: name=(low, high, start) or (low, high, start, step); whole numbers give whole steps.
    The output holds both: front ends with widgets show the sliders, all others the picture.
    """
    from IPython.display import display

    start = {name: ends[2] for name, ends in sliders.items()}
    text = f"sliders: {', '.join(f'{name} = {value}' for name, value in start.items())}"
    bundle = {"image/png": _picture(draw, start), "text/plain": text}
    bundle |= _widget(draw, sliders)
    display(bundle, raw=True)


def _picture(draw, values):
    draw(**values)
    buffer = io.BytesIO()
    plt.gcf().savefig(buffer, format="png", metadata={"Software": None})
    plt.close()
    return base64.b64encode(buffer.getvalue()).decode()


def _widget(draw, sliders):
    """The mime bundle of the sliders, empty where ipywidgets is not installed."""
    try:
        import ipywidgets
    except ImportError:
        return {}
    controls = {name: _slider(ipywidgets, name, *ends) for name, ends in sliders.items()}
    out = ipywidgets.Image(format="png", value=base64.b64decode(_picture(draw, _values(controls))))

    def redraw(_):
        out.value = base64.b64decode(_picture(draw, _values(controls)))

    for control in controls.values():
        control.observe(redraw, "value")
    shown = ipywidgets.VBox([*controls.values(), out])
    kind = "application/vnd.jupyter.widget-view+json"
    return {kind: shown._repr_mimebundle_()[kind]}


def _values(controls):
    return {name: control.value for name, control in controls.items()}


def _slider(ipywidgets, name, low, high, start, step=None):
    whole = all(isinstance(value, int) for value in (low, high, start))
    kind = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
    step = step or (1 if whole else (high - low) / 100)
    options = {"min": low, "max": high, "step": step, "continuous_update": False}
    return kind(value=start, description=name, **options)
