"""Times `attend` against torch's kernel and the textbook; the tests say what is right.

Run as a script. Every figure of a row comes from interleaved rounds of one run on one thread: it is
the median, over the rounds, of a time divided by that of `F.scaled_dot_product_attention`. Times are
those of the processor, so that other programs on the machine disturb them little.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import math
import subprocess
import sys
import time
import tracemalloc
from functools import partial
from statistics import median

import numpy as np
import torch
import torch.nn.functional as F

from attn_utils import attend, finish, merge, summary
from attn_utils.layers import Cache, CausalSelfAttention

SECONDS_PER_ROW = 9
CASES = [  # shape (B, H, L, d), causal, backward
    ((32, 8, 32, 32), True, False),
    ((8, 8, 128, 64), True, False),
    ((1, 8, 1024, 64), False, False),
    ((1, 8, 1024, 64), True, False),
    ((1, 1, 4096, 64), True, False),
    ((8, 8, 128, 64), True, True),
    ((1, 8, 1024, 64), True, True),
    ((1, 1, 4096, 64), True, True),
]
IMPORT = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"


def sdpa(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, is_causal=mask is not None), None


def textbook(q, k, v, mask):
    """Each line of the formula as it stands."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = F.softmax(scores, dim=-1)
    return weights @ v, weights


def module_core(q, k, v, mask):
    """The steps of nn.MultiheadAttention between its projections when weights are asked for."""
    q, k, v = (x.flatten(0, 1) for x in (q, k, v))
    q = q * math.sqrt(1 / q.shape[-1])
    if mask is None:
        scores = torch.bmm(q, k.transpose(-2, -1))
    else:
        bias = torch.zeros(mask.shape).masked_fill_(~mask, -math.inf)
        scores = torch.baddbmm(bias, q, k.transpose(-2, -1))
    weights = F.softmax(scores, dim=-1)
    return torch.bmm(weights, v), weights


def numpy_textbook(q, k, v, mask, root=np.sqrt):
    """The formula as usually typed: np.sqrt returns a float64, which widens float32 scores."""
    scores = q @ k.swapaxes(-2, -1) / root(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    weights = exps / exps.sum(-1, keepdims=True)
    return weights @ v, weights


numpy_naive = partial(numpy_textbook, root=math.sqrt)  # the same formula kept in float32


def ours(q, k, v, mask, need_weights=True):
    return attend(q, k, v, causal=mask is not None, need_weights=need_weights)


ours_without = partial(ours, need_weights=False)


def streamed(q, k, v, mask, block=256):
    """Blocks of keys merged one after the other, so that no score matrix is ever whole."""
    state = None
    for start in range(0, len(k), block):
        keys = slice(start, start + block)
        part = summary(q @ k[keys].T / math.sqrt(q.shape[-1]), v[keys])
        state = part if state is None else merge(state, part)
    return finish(state), None


COLUMNS = {
    "sdpa": (sdpa, torch),
    "textbook": (textbook, torch),
    "MHA core": (module_core, torch),
    "ours": (ours, torch),
    "no weights": (ours_without, torch),
    "np textbook": (numpy_textbook, np),
    "np naive": (numpy_naive, np),
    "np ours": (ours, np),
    "np tiled": (ours_without, np),
}


def timed(function, inputs, backward):
    start = time.process_time()
    context, _ = function(*inputs)
    if backward:
        torch.autograd.grad(context.sum(), inputs[:3])
    return time.process_time() - start


def race(shape, causal, backward):
    """Seconds of every round for each column, the columns taking turns."""
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(shape, generator=generator) for _ in range(3)]
    tensors = [x.requires_grad_(backward) for x in tensors]
    mask = torch.ones(shape[2], shape[2], dtype=torch.bool).tril() if causal else None
    inputs = {torch: [*tensors, mask]}
    inputs[np] = [None if x is None else x.detach().numpy() for x in inputs[torch]]
    runs = {name: run for name, run in COLUMNS.items() if run[1] is torch or not backward}
    seconds = {name: [] for name in runs}
    stop = time.perf_counter() + SECONDS_PER_ROW
    while time.perf_counter() < stop or len(seconds["sdpa"]) < 6:
        for name, (function, library) in runs.items():
            seconds[name].append(timed(function, inputs[library], backward))
    return {name: values[1:] for name, values in seconds.items()}  # the first round warms up


def ratio(seconds, name, base):
    return median(a / b for a, b in zip(seconds[name], seconds[base], strict=True))


def peak_megabytes(function, L):
    """The most that one call on NumPy arrays holds beyond its inputs, one head of width 64."""
    inputs = [np.random.default_rng(0).standard_normal((L, 64), np.float32) for _ in range(3)]
    tracemalloc.start()
    function(*inputs, None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


@torch.no_grad()
def decoding_seconds(T, cached):
    """The processor time of T tokens, one at a time, through one layer of width 256."""
    torch.manual_seed(0)
    layer = CausalSelfAttention(256, 4).eval()
    x = torch.randn(1, T, 256)
    cache = Cache()
    start = time.process_time()
    for t in range(T):
        if cached:
            layer(x[:, t : t + 1], cache)
        else:
            layer(x[:, : t + 1])
    return time.process_time() - start


def import_seconds(name, times=5):
    """The median over fresh interpreters of the processor time one import takes."""
    command = [sys.executable, "-c", IMPORT.format(name)]
    outputs = [subprocess.check_output(command, text=True) for _ in range(times)]
    return median(float(output) for output in outputs)


def table():
    """Print one row per case, as multiples of SDPA, and return the seconds behind it."""
    print(
        f"{'B,H,L,d':16}{'mode':15}{'sdpa ms':>9}",
        *(f"{name:>11}" for name in COLUMNS if name != "sdpa"),
    )
    results = {}
    for shape, causal, backward in CASES:
        seconds = results[shape, causal, backward] = race(shape, causal, backward)
        mode = ("causal " if causal else "") + ("fwd+bwd" if backward else "fwd")
        cells = [f"{ratio(seconds, name, 'sdpa'):11.2f}" for name in seconds if name != "sdpa"]
        label = ",".join(map(str, shape))
        print(f"{label:16}{mode:15}{1e3 * median(seconds['sdpa']):9.2f}", *cells, flush=True)
    return results


def time_targets(results):
    """Yield (claim, measured, limit) for every target of speed; a claim is met at or below its limit."""
    for (shape, causal, backward), seconds in results.items():
        L, forward = shape[2], not backward
        label = f"{shape}{' causal' if causal else ''}{' fwd+bwd' if backward else ''}"
        for peer in ("textbook", "MHA core"):
            yield f"{label}: ours / {peer}", ratio(seconds, "ours", peer), 1.0
        if forward and L <= 128:
            yield f"{label}: ours / sdpa", ratio(seconds, "ours", "sdpa"), 1.3
        if forward and L == 4096:
            yield f"{label}: ours / sdpa", ratio(seconds, "ours", "sdpa"), 2.5
        yield f"{label}: no weights / sdpa", ratio(seconds, "no weights", "sdpa"), 1.05
        if forward and L >= 1024:
            for peer in ("np textbook", "np naive"):
                yield f"{label}: np ours / {peer}", ratio(seconds, "np ours", peer), 0.5


def main():
    torch.set_num_threads(1)
    targets = list(time_targets(table()))
    print("\npeak memory of one head, d = 64, NumPy float32, MB")
    for name, function, L in [
        ("naive", numpy_naive, 8192),
        ("ours, with weights", ours, 8192),
        ("ours, merged", streamed, 8192),
        ("ours, tiled", ours_without, 8192),
        ("ours, tiled", ours_without, 16384),
    ]:
        megabytes = peak_megabytes(function, L)
        print(f"  {name:20} L = {L:6}{megabytes:9.1f}")
    targets.append(("tiled NumPy at L = 16384, MB", megabytes, 16))
    print("\ndecoding with a cache: times faster than without")
    for T in (64, 256, 512):
        print(f"  T = {T:4}{decoding_seconds(T, False) / decoding_seconds(T, True):9.1f}")
    seconds = import_seconds("attn_utils")
    print(f"\nimport attn_utils {seconds:.3f} s, of which numpy {import_seconds('numpy'):.3f} s")
    targets.append(("import attn_utils, s", seconds, 0.3))
    print("\ntargets")
    for claim, measured, limit in targets:
        print(
            f"  {'met   ' if measured <= limit else 'missed'}  {claim}: {measured:.2f} (<= {limit})"
        )


if __name__ == "__main__":
    main()
