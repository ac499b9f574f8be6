"""Knows the command line `attn translate`: train, score, or one sentence; all work is done elsewhere."""

import argparse
import os
import sys
from contextlib import contextmanager
from dataclasses import replace

import torch
import torch.distributed as dist

from attn_course.translation.config import PRESETS
from attn_course.translation.corpora import DataError, load, read_parallel
from attn_course.translation.recording import record, without_paths
from attn_course.translation.runs import Run
from attn_course.translation.scoring import score
from attn_course.translation.training import Trainer
from attn_utils.layers import SLOTS

USE = """attn translate train [--attention dot] [--preset default] [--seed 1] [--data DIR] --out RUN
       attn translate score RUN --source FILE --reference FILE [--beam 5]
       attn translate "Ein Hund rennt ..." RUN [--beam 5]"""
HELP = f"""usage: {USE}

  --attention  what fills the slot: {", ".join(SLOTS)}
  --preset     tiny (seconds; its scores mean nothing) or default (minutes) on invented scenes,
               ladder (minutes) or full (half an hour of one CPU core) on Multi30k
  --tokens     the budget in target subwords, if not the preset's
  --data       the folder of Multi30k's raw files, if they are not to be downloaded
  --out        the folder of the run; one that was stopped goes on where it was
  --threads    of the CPU, if not as many as torch likes"""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise DataError(f"{message}; see attn translate --help.")


def main(argv=None):
    """Run one command; the exit status is 0, or 2 after one sentence about what was wrong."""
    argv = sys.argv[1:] if argv is None else list(argv)
    verbs = {"train": _train, "score": _score}
    try:
        if not argv or {"-h", "--help"} & set(argv):
            print(HELP)
            return 0 if argv else 2
        return verbs[argv[0]](argv[1:]) if argv[0] in verbs else _sentence(argv)
    except DataError as error:
        print(f"attn translate: {error}", file=sys.stderr)
        return 2


def _up_to(highest):
    """A reader of whole numbers from 1 to highest."""

    def read(text):
        if not text.isdecimal() or not 1 <= int(text) <= highest:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {highest}")
        return int(text)

    return read


def _parser():
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--threads", type=_up_to(1024))
    return parser


def _options(parser, argv):
    """The parsed arguments, after torch has been given its threads."""
    options = parser.parse_args(argv)
    if options.threads:
        torch.set_num_threads(options.threads)
    return options


def _train(argv):
    parser = _parser()
    parser.add_argument("--attention", default="dot", choices=list(SLOTS))
    parser.add_argument("--preset", default="default", choices=list(PRESETS))
    parser.add_argument("--seed", type=_up_to(2**20), default=1)
    parser.add_argument("--tokens", type=_up_to(2**40))
    parser.add_argument("--data")
    parser.add_argument("--out", required=True)
    options = _options(parser, argv)
    config = replace(PRESETS[options.preset], attention=options.attention, seed=options.seed)
    config = replace(config, tokens=options.tokens or config.tokens)
    if options.data and config.corpus != "multi30k":
        raise DataError(
            f"the {options.preset} preset needs no data: choose --preset ladder or full with it."
        )
    with _processes() as rank:
        trainer = Trainer(load(config.corpus, data=options.data), config, options.out)
        run = trainer.fit()
        if rank == 0:
            _report(record(trainer, run, without_paths(["train", *argv])))
    return 0


@contextmanager
def _processes():
    """Join the other processes when torchrun has started several; the rank of this one."""
    if "RANK" not in os.environ:
        yield 0
        return
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield dist.get_rank()
    finally:
        dist.destroy_process_group()


def _report(result):
    test = result["test"]
    print(f"test: perplexity {test['perplexity']:.2f} per subword, teacher forcing on")
    for search in ("greedy", "beam 5"):
        print(f"test, {search}: BLEU {test[search]['bleu']:.2f}, chrF {test[search]['chrf']:.2f}")
    print(test["greedy"]["signature"])


def _score(argv):
    parser = _parser()
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--source", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--beam", type=_up_to(100), default=1)
    options = _options(parser, argv)
    sources, references = read_parallel(options.source, options.reference)
    hypotheses = Run.load(options.run).translate(sources, beam_size=options.beam)
    scores = score(hypotheses, references)
    print(f"BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}\n{scores['signature']}")
    return 0


def _sentence(argv):
    parser = _parser()
    parser.add_argument("sentence")
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--beam", type=_up_to(100), default=5)
    options = _options(parser, argv)
    if not options.sentence.strip():
        raise DataError("the sentence is empty.")
    print(Run.load(options.run).translate([options.sentence], beam_size=options.beam)[0])
    return 0


if __name__ == "__main__":  # torchrun -m attn_course.translation.command train ...
    sys.exit(main())
