"""The analysis of errors on real captions."""

import numpy as np
import pytest

from attn_course.translation import captions, recorder

PAIRS = [
    ("Ein roter Hund und zwei Katzen.", "A red dog and two cats."),
    ("Ein Mann mit orangefarbenem Hut.", "A man with an orange hat."),
    ("Ein Brot liegt da.", "A bread lies there."),
]


@pytest.mark.parametrize(
    ("hypotheses", "colours", "numbers"),
    [
        (["A red dog.", "A man with an orange hat.", "Bread."], (2, 2, 0), (1, 0, 0)),
        (["A blue dog and two cats.", "A hat.", "Red bread."], (2, 0, 2), (1, 1, 0)),
        (["Red red dogs.", "Three orange hats", ""], (2, 2, 0), (1, 0, 1)),
    ],
)
def test_colours_and_numbers_are_kept_lost_and_invented(hypotheses, colours, numbers):
    for kind, expected in (("colours", colours), ("numbers", numbers)):
        counts = captions.words_kept(PAIRS, hypotheses, captions.KINDS[kind])
        assert (counts["asked"], counts["kept"], counts["invented"]) == expected


def test_the_recorded_outputs_are_those_of_the_runs_that_are_named():
    analysis = captions.recorded()
    for name, pattern in captions.RUNS.items():
        (run,) = recorder.records(pattern)
        assert analysis["commands"][name] == run["command"]
        for caption in analysis["captions"]:
            assert caption["written"][name] == run["hypotheses"][caption["number"]]


def test_no_more_captions_are_kept_than_the_analysis_shows():
    analysis = captions.recorded()
    assert [caption["number"] for caption in analysis["captions"][:2]] == [*captions.ASKED]
    assert len(analysis["captions"]) == len(captions.ASKED) + len(captions.RANKS) == 6


def test_groups_of_captions_add_up_to_the_whole_test_set():
    (run,) = recorder.records(captions.RUNS["dot"])
    (whole,) = captions.bleu_by_group(run, np.zeros(1000, int))
    assert whole["captions"] == 1000
    assert whole["bleu"] == pytest.approx(run["test"]["greedy"]["bleu"], abs=0.05)
    groups = captions.recorded()["unseen"]["dot"]
    assert sum(group["captions"] for group in groups) == 1000


def test_the_table_has_a_line_for_each_run():
    lines = captions.recorded_table().splitlines()
    assert [line.split()[0] for line in lines[2:]] == [*captions.RUNS]
