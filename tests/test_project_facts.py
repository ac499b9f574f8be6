"""What the prose of 11 and 12 states as found is printed by a cell of the same notebook."""

import json
import re

import pytest
from course import ROOT

# notebook: {words of its prose: what a cell prints, or the alt text of its figure}
FACTS = {
    "11_position": {
        "the four outputs stand in reverse": "in reverse: ",
        "moves along with them and does no harm": "'padding': 720}",
        "The triangle and the ring stay where they are": "{'no mask': 720, 'causal': 1, 'ring': 12,",
        "all 24 orders fall on one point": "depth 1: 24 orders, up to 0.00 apart",
        "Two layers tell orders apart": "depth 2: 24 orders, up to 0.",
        "and *ab* from *aabb*": "(1, 3) and (1, 1, 3, 3): one layer 0.000, two layers 0.",
        "Constant sequences stay constant": "(3,) and (3, 3, 3): one layer 0.000, two layers 0.000",
        "Pair 0 at position 44": "returns of pair 0, in steps: 1 6 19 25 44 333 710",
        "with $d = 64$ no position comes as close": "d = 64: nearest to 0 is 1, 1.47185 away",
        "$p + 710$ differs by 0.00006": "d = 2: nearest to 0 is 710, 0.00006 away",
        "other pairs keep them apart": "d = 4: nearest to 0 is 1885, 0.04441 away",
        "355 is no twin but an antipode": "sine of 355: -0.00003, cosine -1.00000",
        "The inner product has them": "W = I: varies by 0.0",
        "and so has every $W$ of blocks": "blocks: varies by 0.0",
        "and they are few": "W that commute with M: 16 of 256 dimensions",
        "is seen best nine back": "largest score at distance 9",
        "meets its bound": "bound                    0.3304               0.2391",
        "perfect up to 15": "learned      1.00 / 1.00 / 1.00",
        "falls to chance (one in eight)": "learned      1.00 / 1.00 / 1.00   0.14 / 0.13 / 0.12",
        "to about a half, later a quarter": "0.43 / 0.45 / 0.51   0.44 / 0.48 / 0.32   0.23 / 0.26 / 0.28",
        "at 16 to 31 still says nearly every": "RoPE         1.00 / 1.00 / 1.00   1.00 / 1.00 / 1.00",
        "depends on the seed": "0.86 / 0.94 / 0.62   0.46 / 0.54 / 0.26",
        "some are nearly as high as that three back": "best distance above 15 is 104, score 14.2",
        "Random offsets cure the first failure": "sinusoid, trained at random offsets",
        "say the token *six* back": "RoPE with positions halved afterwards, 6 back",
        "The mean over tokens is": "1. reversed: mean differs by 0.00",
        "the output of a place is not": "differs by 0.00, place 0 by 0.50",
        "Reorder the features and scores agree": "neighbours, features reordered",
        "It cannot tell 2048 from 2049": "2049 is 2048",
        "it takes fewer": "2πb is 62832; of 256 hands the slowest takes 60611",
        "reads $1/t$ off a start token": "of 2, 5, 10 tokens: 0.50 0.20 0.10",
    },
    "12_fast_attention": {
        "the single key is ahead": "shares 0.42 and 0.58",
        "Blocks merge exactly": "two blocks, merged: off by less than 1e-12: True",
        "a line of slope 2": "all scores at once: 67,108,864 operations at T = S = 1024; at 2048 the largest "
        "tensor is 4 times",
        "The stream has slope 1": "at 2048 the largest tensor is 2 times as large",
        "as many operations, $4TSd$ as printed": "blocks of 64: 67,108,864 operations",
        "how often its score is computed": "without a cache: 204 scores",
        "Nothing is approximated": "one by one and at once: equal, True",
        "operations (the printed ratio)": "operations without a cache / with one: 569",
        "expect that neighbours share": "heads 0 to 5 use groups 0 0 0 1 1 1",
        "The printed ranks deny it": "rank of one key projection 4, of two 8",
        "they are different weights": "the two differ by up to 0.",
        "$d = 4$ singular values are no rounding error": "{'softmax': 16, 'φ = exp': 4}",
        "Training finds $1 - d/n$ and nothing below": "d = 4: 0.6000 0.6000 0.6000",
        "is at least $1 - d/n$": "any sign, d = 4, errors for n = 2 to 24: 0.0 0.0 0.333 0.5 0.6",
        "and zero only for": "any sign, d = 8, errors for n = 2 to 24: 0.0 0.0 0.0 0.0 0.2 0.333",
        "sorts its keys into $d$ drawers": "different rows of these weights: 4 4 4",
        "its weights may have rank $n$ even for $d = 2$": "softmax, d = 2, errors for n = 2 to 24: 0.0 0.0",
        "Softmax reads every key": "smallest weight of a query on its own key 0.99998",
        "in half precision at 2048": "adding ones stops at {'float16': 2048",
        "whose sum is 0": "of the tensor's maximum 0.0, of the mean inf",
        "A true score may lie below": "3. weight of the hidden key 1",
        "differ in the last digits at most": "off by less than 1e-12: True",
        "more keys than half of $d$": "state 4096, cache of 32 keys 4096, of 64 keys 8192",
    },
}


def cells_of(name):
    path = ROOT / "solutions" / f"{name}.ipynb"
    return json.loads(path.read_text("utf-8"))["cells"]


def prose_of(name):
    texts = ["".join(cell["source"]) for cell in cells_of(name) if cell["cell_type"] == "markdown"]
    return " ".join("\n".join(texts).split())


def printed_by(name):
    """The text of all outputs: printed lines, verdicts, the alt texts of figures."""
    texts = []
    for cell in cells_of(name):
        for output in cell.get("outputs", []):
            texts.append("".join(output.get("text", "")))
            texts.append("".join(output.get("data", {}).get("text/plain", "")))
    return "\n".join(texts)


@pytest.mark.parametrize("name", FACTS)
def test_what_a_text_states_a_cell_prints(name):
    prose = prose_of(name)
    printed = printed_by(name)
    assert [words for words in FACTS[name] if words not in prose] == []
    assert [shown for shown in FACTS[name].values() if shown not in printed] == []


@pytest.mark.parametrize("name", FACTS)
def test_every_decimal_and_every_large_number_of_a_text_stands_in_a_cell(name):
    shown = printed_by(name)
    for cell in cells_of(name):
        if cell["cell_type"] == "code":
            shown += "".join(cell["source"])

    shown = shown.replace("_", "").replace(",", "")
    text = re.sub(r"\(\d{4}\)|\b1[0-2]\.\d\b", "", prose_of(name))  # years, questions
    numbers = re.findall(r"\d+\.\d+|\d[\d,]*\d\d", text)
    assert [number for number in numbers if number.replace(",", "") not in shown] == []
