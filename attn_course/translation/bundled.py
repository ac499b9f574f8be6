"""The bundled model: the translator that is installed with the course.

python -m attn_course.translation.bundled RUN [--data DIR] makes the run in RUN the bundled model.
"""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from attn_course.recorded_runs import read_json, write_json
from attn_course.training.devices import DeviceLike
from attn_course.training.trainer import write_tensors
from attn_course.translation.corpora import Corpus, load
from attn_course.translation.known_words import KnownWords
from attn_course.translation.recorder import Record, scores_of_test
from attn_course.translation.trained_translator import Run

FOLDER = Path(__file__).parent / "bundled_model"


def folder_of(run: str | Path | None) -> Path:
    """Return the folder of a run, or of the bundled model."""
    return FOLDER if run is None else Path(run)


def open_run(run: str | Path | None = None, *, device: DeviceLike = None) -> Run:
    """Return the run in a folder, or the bundled model."""
    return Run.load(folder_of(run), device=device)


def bundle(run: Path, corpus: Corpus, target: Path = FOLDER) -> Record:
    """Write the best model of a run in half precision, with its record and its scores as it now is."""
    target.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "vocabulary.json"):
        shutil.copyfile(run / name, target / name)
    weights = Run.load(run, device="cpu").model.state_dict()
    write_tensors(target / "best.pt", {name: tensor.half() for name, tensor in weights.items()})
    KnownWords.of(corpus.train).save(target)
    record = read_json(run / "record.json")
    for name in ("hypotheses", "counts", "source_words"):
        del record[name]  # they are in the record of the run itself
    halved = Run.load(target)
    scores = scores_of_test(halved, corpus.test)
    record["in half precision"] = scores["test"]
    write_json(target / "record.json", record)
    return record


def main(argv: Sequence[str] | None = None) -> None:
    """Make one run the bundled model and print its scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--data")
    options = parser.parse_args(argv)
    config = read_json(options.run / "config.json")
    corpus = load(config["corpus"], data=options.data)
    record = bundle(options.run, corpus)
    for name in ("test", "in half precision"):
        bleu = record[name]["beam 5"]["bleu"]
        print(f"{name}: BLEU {bleu:.2f} with a beam of 5")


if __name__ == "__main__":
    main()
