"""Recorded attention maps of sentences: drawn without torch, and made by one command."""

import json
import subprocess
import sys

import numpy as np
import pytest

from attn_course import recorded_runs
from attn_course.runs.__main__ import main
from attn_course.translation.sentence_maps import END, SENTENCES, SentenceMap, recorded_map


@pytest.mark.parametrize("name", SENTENCES)
def test_a_recorded_map_is_of_its_sentence_and_its_rows_sum_to_one(name):
    found = recorded_map(name)
    assert found.sentence == SENTENCES[name]
    assert "".join(found.german) == found.sentence.replace(" ", "") + END
    assert "".join(found.english) == found.translation.replace(" ", "")
    assert found.weights.shape == (len(found.english), len(found.german))
    assert np.allclose(found.weights.sum(1), 1, atol=1e-3) and found.weights.min() >= 0


def test_the_strongest_word_of_a_row_is_named_with_its_weight():
    weights = np.array([[0.1, 0.6, 0.3], [0.7, 0.2, 0.1]])
    found = SentenceMap("Rot rennt", "runs red", ["runs", "red"], ["Rot", "rennt", END], weights)
    assert found.strongest() == [("runs", "rennt", 0.6), ("red", "Rot", 0.7)]


def test_recording_again_gives_the_maps_that_were_recorded(tmp_path):
    main(["sentence_maps", "--out", str(tmp_path / "maps.json")])
    again = json.loads((tmp_path / "maps.json").read_text("utf-8"))
    assert again["maps"] == recorded_runs.read("sentence_maps")["maps"]


def test_a_map_is_read_without_torch():
    script = (
        "import sys; from attn_course.translation.sentence_maps import recorded_map; "
        "recorded_map('hat'); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
