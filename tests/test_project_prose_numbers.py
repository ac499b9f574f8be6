"""What the prose of 12-16 states as found is printed by a cell of the same notebook."""

import json
import re

import pytest
from course import ROOT, SOURCES

from attn_course import register

# notebook: {words of its prose: what a cell prints, or the alt text of its figure}
FACTS = {
    "12_position": {
        "the four outputs are in reverse order": "in reverse: ",
        "so it moves along with them": "padding: 720 of 720 orders",
        "The causal triangle and the ring stay": "causal: 1 of 720 orders",
        "With the ring twelve orders": "ring: 12 of 720 orders",
        "all 24 orders give the same point": "depth 1: 24 orders, up to 0.00 apart",
        "Two layers tell orders apart": "depth 2: 24 orders, up to 0.",
        "and *ab* from *aabb*": "(1, 3) and (1, 1, 3, 3): one layer 0.000, two layers 0.",
        "constant sequence all outputs are equal": "(3,) and (3, 3, 3): one layer 0.000, two layers 0.000",
        "Pair 0 at position 44": "returns of pair 0, in steps: 1 6 19 25 44 333 710",
        "with $d = 64$ no position is as close": "d = 64: nearest to 0 is 1, 1.47185 away",
        "$p + 710$ differs by 0.00006": "d = 2: nearest to 0 is 710, 0.00006 away",
        "other pairs tell them apart": "d = 4: nearest to 0 is 1885, 0.04441 away",
        "its cosine is almost $-1$": "sine of 355: -0.00003, cosine -1.00000",
        "The inner product ($W = I$) has them": "W = I: varies by 0.0",
        "and so has every $W$ made of": "blocks: varies by 0.0",
        "the few matrices that commute": "W that commute with M: 16 of 256 dimensions",
        "scores highest at distance nine": "largest score at distance 9",
        "reaches its bound": "bound                    0.3304               0.2391",
        "perfect up to position 15": "learned      1.00 / 1.00 / 1.00",
        "falls to chance (one in eight)": "learned      1.00 / 1.00 / 1.00   0.14 / 0.13 / 0.12",
        "to about a half, later a quarter": "0.43 / 0.45 / 0.51   0.44 / 0.48 / 0.32   0.23 / 0.26 / 0.28",
        "at 16 to 31 still says nearly every": "RoPE         1.00 / 1.00 / 1.00   1.00 / 1.00 / 1.00",
        "depends on the seed": "0.86 / 0.94 / 0.62   0.46 / 0.54 / 0.26",
        "nearly as high as that of the token three back": "best distance above 15 is 104, score 14.2",
        "Random offsets help against the first failure": "sinusoid, trained at random offsets",
        "The mean over tokens is;": "1. reversed: mean differs by 0.00",
        "one output is not": "differs by 0.00, place 0 by 0.50",
        "says the letter twelve back": "4 times the length              3 back             12 back",
        "further training are not enough": "interpolated        0.14 (0.13-0.14)    0.45 (0.43-0.50)    0.14",
        "neither way is better than leaving RoPE alone": "as trained          0.92 (0.80-1.00)",
        "the weight $1/t$": "of 2, 5, 10 tokens: 0.50 0.20 0.10",
    },
    "13_fast_attention": {
        "the single key is ahead": "weights 0.42 and 0.58",
        "Blocks merge exactly": "two blocks, merged: off by less than 1e-12: True",
        "a line of slope 2": "all scores at once: 67,108,864 operations at T = S = 1024; at 2048 the largest "
        "tensor is 4 times",
        "The stream has slope 1": "at 2048 the largest tensor is 2 times as large",
        "as many operations, the printed $4TSd$": "blocks of 64: 67,108,864 operations",
        "Each row of $dS$ adds up to 0": "rows of dS add up to 0.0 0.0 0.0 0.0",
        "The way back has the same two slopes": "blocks of 64: the largest tensor at T = S = 2048",
        "stops growing at 2048": "4096 ones in float16 add up to 2048, the weights to 2",
        "the sum of that row is then 0": "the tensor's maximum subtracted: 0.0",
        "in the last digits at most": "off by less than 1e-12: True",
        "is what the others contribute": "4. without the other weights dS is off by up to 0.",
    },
    "14_induction": {
        "the second *b* finds *r*": "abracadab -> r 1.00",
        "gives each a third": "abracada -> b 0.33",
        "between the last two printed numbers": "n = 1,000: 11.50; n = 1,000,000: 18.41",
        "falls within a few steps": "two layers: 100% of ten letters said twice",
        "the recorded seeds agree": "1 layer x 2 heads, ten seeds: songs 0.15-0.16",
        "at most three rows are right": "1 head, how many of 60 starts get this many right: {'2 rows': 54",
        "Two heads have two denominators": "this many right: {'2 rows': 4, '4 rows': 56}",
        "In both tables the diagonal stands out": "matching: copying score 1.00",
        "but keys cannot": "k cut 0.15, v cut 1.00",
        "cutting both destroys the answer": "layer 2, both 0.04",
        "the stripe is gone": "the same, k cut: 0.17",
        "induction score of 0.90": "its induction score: 0.90",
        "fails on eight letters twice": "one layer: 8 letters twice, 0% right",
    },
    "15_decoding": {
        "how often its score is computed": "without a cache: 204 scores",
        "the head says about 1.5 where 0": "window: mean error 0.00 with a partner in sight, 1.5",
        "Keeping *one* token, the first, repairs": "with the sink 0.004 or less",
        "each layer adds `window` - 1 tokens": "four layers with a window of 16 reach 60 tokens back",
        "every distance needs a matrix of its own": "spanned by the matrices of 20 distances: 8",
        "their rank, as printed, is only": "{'softmax': 16, 'φ = exp': 4}",
        "The weights differ from those of the softmax": "the two differ by up to 0.",
        "Training reaches $1 - d/n$": "10 keys, d = 4, ten seeds: error 0.6000 to 0.6000",
        "Softmax can read every key": "softmax, d = 2",
    },
    "16_gates_and_memory": {
        "the log-sum-exp of all scores, which is 2.52": "the log-sum-exp of the five scores is 2.52",
        "returns about 1.5 where 0 is right": "nothing: without a partner 1.49",
        "A gate of the token cannot know": "gate of the token: without a partner 0.73",
        "even if it is fixed at 0": "sink at 0: without a partner 0.00",
        "The more of them there are, the further the gate opens": "16 keys: 0.01; 256 keys: 0.1",
        "one of ten keys may have the weight 0.8585": "of 10 keys has at most 0.8585, one of 1000 0.0518",
        "The needed bound grows with $\\log n$": "4.01 for 32 keys, 5.75 for 1,000 keys, 9.21 for",
        "holds little of the weight": "the best 64th of the keys holds 0.12",
        "sets that drop more weight have a smaller": "sets of four have a smaller error than the top four",
        "the mean of four values misses the newest one": "linear, four writes: 0.7",
        "Softmax with a slope puts its weight on the newest key": "softmax with a slope, four writes: 0.0",
        "leaves other keys alone: its error is zero": "delta rule, four writes: 0.000",
        "it takes one sixth of the weight": "the sink's weight: 0.167",
        "the hidden key has weight again": "weight of the hidden key, t = 2: 0.119",
        "also loses what an orthogonal key holds": "key b keeps 0.5 under decay, 1.0 under the delta rule",
        "One key along the query hides among": "5. the block of the best key is missed in ",
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
    text = re.sub(r"\]\(https?://\S+\)", "]", prose_of(name))
    years_questions_minutes = r"\b20[12]\d\b|\(\d{4}\)|\b1[0-6]\.\d\b|\b\d+ min\b"
    text = re.sub(years_questions_minutes, "", text)
    numbers = re.findall(r"\d+\.\d+|\d[\d,]*\d\d", text)
    assert [number for number in numbers if number.replace(",", "") not in shown] == []


PART = re.compile(r"\*\*The (written|code)(?: part)?(?: of [\d.]+)?\*\* \(([\d.]+) points?\)")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_points_of_a_part_in_the_text_are_those_of_the_register(source):
    question = None
    for line in source.read_text("utf-8").splitlines():
        if heading := re.match(r"# ### (\d+\.\d+)", line):
            question = register.find(heading[1])
        for kind, points in PART.findall(line):
            assert float(points) == question.part(kind).points, line
