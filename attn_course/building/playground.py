"""The attention playground: a page on which the bundled model runs in JavaScript, and what it loads.

The weights and the recorded BLEU are written as scripts, since a page that was opened from a disk may load
scripts but no other files.
"""

import base64
import json
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from attn_course import recorded_runs, register

PAGE = resources.files("attn_course.building") / "site" / "playground"
FILES = ("index.html", "playground.css", "tokenizer.js", "engine.js", "fast.js", "play.js")
SIZES = ("width", "num_heads", "encoder_layers", "decoder_layers")


def write_playground(folder: Path) -> None:
    """Write the page and its scripts into a folder; index.html opens from a disk as well."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / name).write_text((PAGE / name).read_text("utf-8"), "utf-8")
    _write_script(folder / "model.js", "ATTENTION_MODEL", exported_model())
    questions = {}
    for name in register.NOTEBOOKS:
        for question in register.questions_of(name):
            questions[question.id] = {"title": question.title, "page": f"../{name}.html"}
    measured = {**recorded_runs.read("ablation"), "questions": questions}
    _write_script(folder / "measured.js", "ATTENTION_MEASURED", measured)


def exported_model() -> dict[str, Any]:
    """Return the bundled model as plain data: sizes, subwords, weights in half precision, known words."""
    import torch

    from attn_course.translation import known_words
    from attn_course.translation.bundled import FOLDER
    from attn_course.translation.vocabulary import Vocabulary

    config = json.loads((FOLDER / "config.json").read_text("utf-8"))
    weights = torch.load(FOLDER / "best.pt", map_location="cpu", weights_only=True)
    tokenizer = json.loads(Vocabulary.load(FOLDER / "vocabulary.json").tokenizer.to_str())["model"]
    ids = tokenizer["vocab"]
    merges = []
    for left, right in tokenizer["merges"]:
        merges += [ids[left], ids[right]]
    words = known_words.KnownWords.load(FOLDER)
    assert words is not None
    return {
        "config": {name: config[name] for name in SIZES},
        "pieces": sorted(ids, key=ids.__getitem__),
        "merges": merges,
        "known": _base64(sorted(words.numbers), "<u4"),
        "common": _base64(sorted(words.common), "<u4"),
        "longest": words.longest,
        "far": known_words.FAR,
        "german": known_words.GERMAN,
        "tensors": [[name, tensor.numel()] for name, tensor in weights.items()],
        "weights": _base64(torch.cat([tensor.flatten() for tensor in weights.values()]), "<f2"),
    }


def _base64(numbers, dtype):
    return base64.b64encode(np.asarray(numbers).astype(dtype).tobytes()).decode()


def _write_script(path, name, value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"globalThis.{name} = {text};\n", "utf-8")
