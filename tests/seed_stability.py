"""Whether a verdict depends on luck: random (question, seed) pairs for every answer on record.

`python tests/seed_stability.py 300` runs 300 pairs; `--of 06 12.5` takes the questions of notebook 06 and
12.5 alone. The tests run a few.
"""

import argparse
import time
from dataclasses import replace
from functools import cache

import numpy as np
from course import JUDGED, answers_in, bank

from attn_course.answers import Answer
from attn_course.checking import listening, run_judge
from attn_course.derivation import Derivation

EXPECTED = {"RIGHT": "correct", "WRONG": "not yet"}


@cache
def reference(notebook):
    return answers_in("solutions", notebook)


def on_record(question, part):
    """Yield (name, answers, status) for the reference and all answers of the bank to one part."""
    space = reference(question.notebook)
    yield "the reference", [space[name] for name in part.answers], "correct"
    for kind, status in EXPECTED.items():
        for name, entry in bank(question, kind).items():
            answers = entry[0] if kind == "WRONG" else entry
            answers = answers if isinstance(answers, tuple) else (answers,)
            if _belongs(question, part, answers):
                yield name, answers, status


def _belongs(question, part, answers):
    """Whether these answers are for this part, where a question has two that are judged."""
    judged = [one for one in question.parts if one.judge]
    derived = any(isinstance(answer, Derivation) for answer in answers)
    return len(judged) == 1 or (part.kind == "derive") == derived


def surprises(question, part, seed):
    """Yield a line for each answer on record that gets another verdict than its own under this seed."""
    question = replace(question, seconds=600)  # luck is meant, not a busy machine
    for name, answers, status in on_record(question, part):
        with listening() as caught:
            callers = [Answer(answer, caught) for answer in answers]
            verdict = run_judge(question, part, np.random.default_rng(seed), callers)
        if verdict.status != status:
            yield f"{question.id} {part.kind}, seed {seed}, {name}: {verdict.status}, {verdict.message}"


def draw_pairs(count, rng, judged=JUDGED):
    """(question, part, seed) at random; every part comes once before one comes twice."""
    order = []
    while len(order) < count:
        order += list(rng.permutation(len(judged)))
    return [(*judged[k], int(rng.integers(2**31))) for k in order[:count]]


def judged_in(names):
    """The judged parts of these notebooks and questions; of all where none is named."""
    if not names:
        return JUDGED
    return [
        (question, part)
        for question, part in JUDGED
        if question.id in names or question.notebook[:2] in names
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=300, help="how many pairs")
    parser.add_argument("--of", nargs="*", metavar="NN", help="notebooks and questions: 06 12.5")
    args = parser.parse_args()
    judged = judged_in(args.of)
    num_surprises = 0
    pairs = draw_pairs(args.count, np.random.default_rng(), judged)
    for done, (question, part, seed) in enumerate(pairs, 1):
        for line in surprises(question, part, seed):
            num_surprises += 1
            print(line, flush=True)
        if done % 25 == 0:
            seconds = time.process_time()
            print(f"{done} of {args.count} pairs, {seconds:.0f} CPU seconds", flush=True)
    print(f"{args.count} pairs of {len(judged)} judged parts, {num_surprises} surprises")


if __name__ == "__main__":
    main()
