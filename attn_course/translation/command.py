"""The command line `attn translate`: train, score, or one sentence.

torch is imported after the options are read, so that help and refusals come at once.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from attn_course.errors import UserError
from attn_course.translation.config import (
    ARCHITECTURES,
    ATTENTIONS,
    BEAM,
    PRESETS,
    for_gpu,
    transformer,
)
from attn_course.translation.corpora import load, read_lines, read_parallel

USE = """attn translate "Ein Hund rennt ..." [RUN] [--beam 5] [--show] [--html FILE]
       attn translate - [RUN] [--beam 5] < FILE
       attn translate score [RUN] --source FILE --reference FILE [--beam 5]
       attn translate train [--preset default] [--architecture gru] [--attention dot] --out RUN"""
HELP = f"""usage: {USE}

  -               translate what is piped in, a line each
  RUN             the folder of a run; without one, the model that comes with the course
  --beam          how many hypotheses a search keeps, 1 to 100; 5 if not given, 1 is greedy search
  --show          draw where each English word looked, in the terminal
  --html          write a page with that map and the list of hypotheses
  --source, --reference
                  text files, line by line; those that end in .gz are unpacked, - is piped in
  --preset        tiny (seconds; its scores mean nothing) or default (minutes) on invented scenes;
                  ladder (minutes), full (half an hour of one CPU core) or large (an hour) on Multi30k
  --architecture  {" or ".join(ARCHITECTURES)}
  --attention     what fills the slot of a gru: {", ".join(ATTENTIONS)}
  --seed          of weights, order and dropout, 1 if not given
  --tokens        the budget in target subwords, if not the preset's
  --cooldown      the last share of the budget, in which the rate falls to zero, if not the preset's
  --data          the folder of Multi30k's raw files, if they are not to be downloaded
  --out           the folder of the run; one that was stopped goes on where it was
  --device        cpu, cuda or mps, if not the best there is
  --threads       of the CPU, if not as many as torch likes
  --compile       compile the model first (a minute), for long runs on a GPU; a CPU gains nothing

Ctrl-C stops a training after the step it is at; the same command goes on from there."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see attn translate --help.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0, or 2 after one sentence about what was wrong."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(words)
    except UserError as refusal:
        print(f"attn translate: {refusal}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(f"\nattn translate: {str(interrupt) or 'stopped.'}", file=sys.stderr)
        return 130


def _run(words):
    if not words:
        print(HELP)
        return 2
    if "-h" in words or "--help" in words:
        print(HELP)
        return 0
    verb, *rest = words
    if verb == "train":
        _train(rest)
    elif verb == "score":
        _score(rest)
    else:
        _sentence(words)
    return 0


def _up_to(highest):
    """A reader of whole numbers from 1 to highest."""

    def read(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= highest:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {highest}")
        return int(text)

    return read


def _share(text):
    """A reader of numbers above 0 and up to 1."""
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and up to 1")
    return share


def _parser():
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--threads", type=_up_to(1024))
    parser.add_argument("--device")
    return parser


def _options(parser, words):
    """The parsed arguments, after torch has been given its threads."""
    options = parser.parse_args(words)
    if options.threads:
        import torch

        torch.set_num_threads(options.threads)
    return options


def _say(text):
    """Something to look at while the next step takes its time; not for those who redirect it."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)


def _train(words):
    parser = _parser()
    parser.add_argument("--attention", choices=ATTENTIONS)
    parser.add_argument("--architecture", default="gru", choices=ARCHITECTURES)
    parser.add_argument("--preset", default="default", choices=list(PRESETS))
    parser.add_argument("--seed", type=_up_to(2**20), default=1)
    parser.add_argument("--tokens", type=_up_to(2**40))
    parser.add_argument("--cooldown", type=_share)
    parser.add_argument("--data")
    parser.add_argument("--out", required=True)
    parser.add_argument("--compile", action="store_true")
    _say("starting ...")
    options = _options(parser, words)
    config = _config(options)
    corpus = load(config.corpus, data=options.data)
    _say(f"{len(corpus.train):,} sentence pairs to train on; loading torch ...")
    from attn_course.translation.recorder import (
        record,
        without_paths,
    )
    from attn_course.translation.training import Trainer

    with _processes() as rank:
        config = _for_device(config, options)
        _say(f"learning {config.vocabulary:,} subwords, or finding them learnt ...")
        trainer = Trainer(
            corpus,
            config,
            options.out,
            device=options.device,
            compiled=options.compile,
        )
        run = _compiled_fit(trainer) if options.compile else trainer.fit()
        if rank == 0:
            command = without_paths(["train", *words])
            _report(record(trainer, run, command))


def _compiled_fit(trainer):
    """The run, or one sentence where torch lacks what it needs to compile."""
    from torch._dynamo.exc import TorchDynamoException

    try:
        return trainer.fit()
    except TorchDynamoException:
        raise UserError(
            "torch cannot compile the model on this machine: leave --compile out, nothing was lost."
        ) from None


def _config(options):
    """The preset that was named, with the changes that were asked for."""
    config = replace(PRESETS[options.preset], seed=options.seed)
    if options.data and config.corpus != "multi30k":
        raise UserError(
            f"the {options.preset} preset needs no data: choose --preset ladder, full or large with it."
        )
    if options.architecture == "transformer" and options.attention:
        raise UserError("a transformer has attention of its own: leave --attention out.")
    if options.architecture == "transformer":
        config = transformer(config)
    elif options.attention:
        config = replace(config, attention=options.attention)
    if options.tokens:
        config = replace(config, tokens=options.tokens)
    if options.cooldown:
        config = replace(config, cooldown=options.cooldown)
    return config


def _for_device(config, options):
    """The batch that suits the device; a budget that was asked for stays."""
    from attn_course.training.devices import best_device

    if best_device(options.device).type != "cuda":
        return config
    suited = for_gpu(config)
    return replace(suited, tokens=config.tokens) if options.tokens else suited


@contextmanager
def _processes():
    """Join the other processes when torchrun has started several; the rank of this one."""
    if "RANK" not in os.environ:
        yield 0
        return
    import torch
    import torch.distributed as dist

    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield dist.get_rank()
    finally:
        dist.destroy_process_group()


def _report(result):
    test = result["test"]
    perplexity = test["perplexity"]
    print(f"test: perplexity {perplexity:.2f} per subword, teacher forcing on")
    for search in ("greedy", "beam 5"):
        print(f"test, {search}: {_scores(test[search])}")
    print(test["greedy"]["signature"])


def _scores(scores):
    bleu = scores["bleu"]
    chrf = scores["chrf"]
    return f"BLEU {bleu:.2f}, chrF {chrf:.2f}"


def _score(words):
    parser = _parser()
    parser.add_argument("run", metavar="RUN", nargs="?")
    parser.add_argument("--source", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--beam", type=_up_to(100), default=BEAM)
    options = _options(parser, words)
    sources, references = read_parallel(options.source, options.reference)
    _say(f"translating {len(sources):,} lines ...")
    from attn_course.translation.bundled import open_run
    from attn_course.translation.scoring import score

    run = open_run(options.run, device=options.device)
    scores = score(run.translate(sources, beam_size=options.beam), references)
    print(_scores(scores))
    print(scores["signature"])


def _sentence(words):
    parser = _parser()
    parser.add_argument("sentence")
    parser.add_argument("run", metavar="RUN", nargs="?")
    parser.add_argument("--beam", type=_up_to(100), default=BEAM)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--html", type=Path, metavar="FILE")
    options = _options(parser, words)
    if options.sentence == "-":
        _lines(options)
        return
    if not options.sentence.strip():
        raise UserError("the sentence is empty.")
    _say("loading torch ...")
    from attn_course.translation.bundled import (
        folder_of,
        open_run,
    )
    from attn_course.translation.sentence import draw, explain, write_page

    run = open_run(options.run, device=options.device)
    found = explain(run, options.sentence, folder_of(options.run), beam_size=options.beam)
    print(found.translation)
    if options.show:
        print(draw(found))
    if options.html:
        write_page(found, options.html)
    _remark(found.remark)


def _remark(text):
    """After what was found, and apart from it."""
    if text:
        sys.stdout.flush()
        print(f"attn translate: {text}", file=sys.stderr)


def _lines(options):
    """Translate what is piped in, a line each."""
    if options.show or options.html:
        raise UserError("--show and --html are for one sentence.")
    lines = read_lines("-")
    _say(f"translating {len(lines):,} lines ...")
    from attn_course.translation.bundled import (
        folder_of,
        open_run,
    )
    from attn_course.translation.known_words import KnownWords

    run = open_run(options.run, device=options.device)
    for line in run.translate(lines, beam_size=options.beam):
        print(line)
    known = KnownWords.load(folder_of(options.run))
    if known:
        _remark(known.remark_on_lines(lines))


if __name__ == "__main__":  # torchrun -m attn_course.translation.command train ...
    sys.exit(main())
