"""`attn translate`: train, score, or translate. torch is imported after the options are read."""

import logging
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from attn_course.command_line import SETTINGS, UNUSABLE, Command, PositiveNumber, WholeNumber, log
from attn_course.errors import UserError
from attn_course.translation.config import (
    ARCHITECTURES,
    ATTENTIONS,
    BEAM,
    PRESETS,
    Config,
    for_gpu,
    gpu_remark,
    transformer,
)
from attn_course.translation.corpora import (
    TEST_SETS,
    load,
    name_of,
    read_lines,
    read_parallel,
    test_set,
)

SENTENCE = "SENTENCE"  # the command that runs where the first word names no other


class TranslateGroup(click.Group):
    """`attn translate train`, `score`, or else a sentence; its help describes all three."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; those that begin with no command are about a sentence."""
        if not args:
            print(ctx.get_help())
            ctx.exit(UNUSABLE)
        if args[0] not in (*self.commands, "-h", "--help"):
            args = [SENTENCE, *args]
        ctx.obj = args  # what was typed, for the record of a run
        return super().parse_args(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of each command below the other."""
        self.format_help_text(ctx, formatter)
        for name, command in sorted(self.commands.items()):
            below = click.Context(command, ctx, info_name=name if name != SENTENCE else "")
            formatter.write("\n")
            command.format_help(below, formatter)


@click.group(cls=TranslateGroup, context_settings=SETTINGS)
def translate() -> None:
    """Translate with a trained model, score one, or train one.

    Everything that can be translated is German, everything that comes out is English. RUN is the
    folder of a run; without one, the model that comes with the course is used.
    """


def _use_threads(context, param, number):
    if number:
        import torch

        torch.set_num_threads(number)


def command(function: Any) -> click.Command:
    """Make a function one of the commands; torch gets its threads while the options are read."""
    threads = click.option(
        "--threads",
        type=WholeNumber(1, 1024),
        expose_value=False,
        callback=_use_threads,
        help="Threads of the CPU, if not as many as torch likes.",
    )
    device = click.option("--device", help="cpu, cuda or mps, if not the best there is.")
    name = SENTENCE if function.__name__ == "sentence" else function.__name__
    return translate.command(name, cls=Command, context_settings=SETTINGS)(
        device(threads(function))
    )


beam_option = click.option(
    "--beam",
    type=WholeNumber(1, 100),
    default=BEAM,
    show_default=True,
    help="How many hypotheses a search keeps; 1 is greedy search.",
)


def _say(text):
    """Print a line about the step that comes next, unless the output is redirected."""
    if sys.stderr.isatty() and log.isEnabledFor(logging.INFO):
        print(text, file=sys.stderr, flush=True)


@command
@click.option("--attention", type=click.Choice(ATTENTIONS), help="What fills the slot of a gru.")
@click.option("--architecture", type=click.Choice(ARCHITECTURES), default="gru", show_default=True)
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    help="tiny (seconds; its scores mean nothing) and default (minutes) use invented scenes; ladder "
    "(minutes), full (half an hour of one CPU core) and large (an hour) use Multi30k. Not named, it is "
    "default, or ladder with --data. On a GPU, full and large take four times the text in each step "
    "and in all.",
)
@click.option(
    "--seed",
    type=WholeNumber(1, 2**20),
    default=1,
    show_default=True,
    help="Of weights, order and dropout.",
)
@click.option(
    "--tokens",
    type=WholeNumber(1, 2**40),
    help="The budget in target subwords, if not the preset's.",
)
@click.option(
    "--cooldown",
    type=PositiveNumber(1),
    help="The last share of the budget, in which the learning rate falls to zero, if not the preset's.",
)
@click.option(
    "--data",
    metavar="FOLDER",
    help="Text of your own, train.de and train.en (.gz too), with any preset; or Multi30k's six files.",
)
@click.option("--out", required=True, metavar="RUN", help="The folder of the run.")
@click.pass_obj
def train(words: list[str], **choices: Any) -> None:
    """Train a translator and record the run.

    Ctrl-C stops after the step it is at; the same command goes on from there.
    """
    _say("starting ...")
    options = SimpleNamespace(**choices)
    config = config_of(options)
    corpus = load(config.corpus, data=options.data)
    _say(f"{len(corpus.train):,} sentence pairs to train on; loading torch ...")
    from attn_course.training.devices import best_device
    from attn_course.translation.recorder import record, without_paths
    from attn_course.translation.training import Trainer

    if best_device(options.device).type == "cuda":
        config = config_for_gpu(config, options.tokens)
    _say(f"learning {config.vocabulary:,} subwords ...")
    trainer = Trainer(corpus, config, options.out, device=options.device)
    run = trainer.fit()
    typed = without_paths(["attn", "translate", *words], data="DIR", out="RUN")
    test = record(trainer, run, typed)["test"]
    print(f"test: perplexity {test['perplexity']:.2f} per subword, teacher forcing on")
    for search in ("greedy", "beam 5"):
        print(f"test, {search}: {_scores(test[search])}")
    print(test["greedy"]["signature"])


def config_of(options):
    """Return the settings of the preset, with the changes that were asked for."""
    preset = options.preset or ("ladder" if options.data else "default")
    config = replace(PRESETS[preset], seed=options.seed)
    if options.architecture == "transformer" and options.attention:
        raise UserError("a transformer has attention of its own: leave --attention out.")
    if options.architecture == "transformer":
        config = transformer(config)
    elif options.attention:
        config = replace(config, attention=options.attention)
    if options.data:
        config = replace(config, corpus=name_of(options.data))
    if options.tokens:
        config = replace(config, tokens=options.tokens)
    if options.cooldown:
        config = replace(config, cooldown=options.cooldown)
    return config


def config_for_gpu(config: Config, tokens: int | None) -> Config:
    """Return the settings for a GPU, and say what they change; a budget that was asked for stays."""
    changed = for_gpu(config)
    if tokens:
        changed = replace(changed, tokens=tokens)
    if changed != config:
        log.info("attn translate: %s.", gpu_remark(changed))
    return changed


def _scores(scores):
    return f"BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}"


@command
@click.argument("run", required=False)
@click.option("--source", metavar="FILE", help="German, a sentence a line.")
@click.option("--reference", metavar="FILE", help="English, a sentence a line.")
@click.option(
    "--test",
    type=click.Choice(list(TEST_SETS)),
    help="Multi30k's test set of that year, in place of two files.",
)
@click.option("--data", metavar="FOLDER", help="The folder of the test set, if not ATTN_DATA.")
@beam_option
def score(
    run: str | None,
    source: str | None,
    reference: str | None,
    test: str | None,
    data: str | None,
    beam: int,
    device: str | None,
) -> None:
    """Score a model on two files of sentences, or on a test set of Multi30k.

    Files that end in .gz are unpacked; - is what is piped in.
    """
    if test and not source and not reference:
        sources, references = test_set(test, data)
    elif source and reference and not test and not data:
        sources, references = read_parallel(source, reference)
    else:
        raise UserError("name two files with --source and --reference, or a test set with --test.")
    _say(f"translating {len(sources):,} lines ...")
    from attn_course.translation import scoring
    from attn_course.translation.bundled import open_run

    model = open_run(run, device=device)
    scores = scoring.score(model.translate(sources, beam_size=beam), references)
    print(_scores(scores))
    print(scores["signature"])


@command
@click.argument("sentence", metavar="SENTENCE")
@click.argument("run", required=False)
@beam_option
@click.option("--show", is_flag=True, help="Draw where each English word looked, in the terminal.")
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a page with that map and the list of hypotheses.",
)
def sentence(
    sentence: str, run: str | None, beam: int, show: bool, html: Path | None, device: str | None
) -> None:
    """Translate a sentence, or with - what is piped in, a line each."""
    if sentence == "-":
        if show or html:
            raise UserError("--show and --html are for one sentence.")
        _lines(run, beam, device)
        return
    if not sentence.strip():
        raise UserError("the sentence is empty.")
    _say("loading torch ...")
    from attn_course.translation.bundled import folder_of, open_run
    from attn_course.translation.sentence import draw, explain, write_page

    explanation = explain(open_run(run, device=device), sentence, folder_of(run), beam_size=beam)
    print(explanation.translation)
    if show:
        print(draw(explanation, shutil.get_terminal_size().columns))
    if html:
        write_page(explanation, html)
    _remark(explanation.remark)


def _remark(text):
    """Print a remark, if there is one, on the error output after the result."""
    if text:
        sys.stdout.flush()
        print(f"attn translate: {text}", file=sys.stderr)


def _lines(run, beam, device):
    """Translate what is piped in, a line each."""
    lines = read_lines("-")
    _say(f"translating {len(lines):,} lines ...")
    from attn_course.translation.bundled import folder_of, open_run
    from attn_course.translation.known_words import KnownWords

    model = open_run(run, device=device)
    for line in model.translate(lines, beam_size=beam):
        print(line)
    known_words = KnownWords.load(folder_of(run))
    if known_words:
        _remark(known_words.remark_on_lines(lines))
