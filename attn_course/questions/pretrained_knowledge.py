"""Questions 8.1-8.5, what pretraining knows."""

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, as_pair, judge_separately, matrix, shuffled
from attn_course.answers.mistakes import Trials
from attn_course.answers.wording import counted
from attn_course.drivers import call_each, call_with_seeds
from attn_course.register import Part, Question

MASK = "▒"  # as in attn_course.knowledge
PAD = "·"
LETTERS = [chr(code) for code in (*range(0x21, 0x7F), *range(0xC0, 0x100))]  # all different
NUM_DRAWS = 800  # for each law that is judged
NUM_CELLS = 11
UNEVEN = 75.0
NUM_PEOPLE = 150  # who are asked about in the notebook
ROWS_AT_ONCE = 15  # of names: more are larger than a message to a sandbox may be
SIZES_IN_BLOCK = {64: (100, 150), 32: (30, 40), 16: (1, 2, 3, 5, 6, 12)}  # of documents


@dataclass(frozen=True)
class Draw:
    """The three pieces of one corrupted document."""

    prefix: str
    span: str
    suffix: str

    @property
    def kept(self) -> int:
        """Return the number of characters of the document that are left."""
        return len(self.prefix + self.span + self.suffix)


def corrupts_spans(rng: Generator, corrupt_span: Caller) -> str:
    """8.1: every character accounted for, and the laws of cut, length and place, over many draws.

    Cuts and places are counted in at most 11 cells and compared with even ones by Pearson's statistic,
    800 draws at a time. Even ones exceed 75 in one of 1e11 checks; laws with sum (p - q)^2 / q >= 0.25,
    such as a U shape or three cells left out, stayed above 100 in all of 1e5 simulated ones.
    """
    _judge_chance(rng, corrupt_span)
    for block, sizes in SIZES_IN_BLOCK.items():
        for size in sizes:
            draws = _draws(rng, corrupt_span, size, block, 60)
            _judge_lengths(draws, size, block)

    short = _draws(rng, corrupt_span, 4, 16)
    middle = _draws(rng, corrupt_span, 40, 16)
    long = _draws(rng, corrupt_span, 150, 128)
    _judge_lengths(short, 4, 16)
    for draws, size, block in ((long, 150, 128), (middle, 40, 16)):
        _judge_lengths(draws, size, block)
        _judge_cut(draws, block)
    _judge_short(_draws(rng, corrupt_span, 30, 64), 30, 64)

    _judge_span(long)
    _judge_place(long, rng)
    _judge_ends(short)
    _judge_place(middle, rng)
    _judge_place(short, rng)
    return (
        "no character is lost, and cut, length and place of the span are drawn as they should be."
    )


def _judge_chance(rng, corrupt_span):
    """Raise NotYet if one seed gives two strings, or 40 seeds give one."""
    document = _document(rng, 60)
    rows = [(document,)] * 40
    seeds = rng.integers(2**31, size=40).tolist()
    strings = corrupt_span.run_driver(call_with_seeds, rows, seeds, 64)
    again = corrupt_span.run_driver(call_with_seeds, rows, seeds, 64)
    _pieces(strings[0], document, 64)
    if strings != again:
        raise NotYet(
            "the same generator in the same state gave two different strings:"
            " chance must come from `rng` alone."
        )
    if len(set(map(str, strings))) == 1:
        raise NotYet("40 generators with different seeds gave one and the same string.")


def _draws(rng, corrupt_span, size, block, count=NUM_DRAWS):
    """Return `count` draws from documents of `size` different characters."""
    few = [_document(rng, size) for _ in range(20)]
    if size > 1:  # a space is a character too, at either end
        few[:2] = f" {few[0][1:]}", f"{few[1][:-1]} "
    rows = [(few[k],) for k in rng.integers(len(few), size=count)]
    seeds = rng.integers(2**31, size=count).tolist()
    try:
        strings = corrupt_span.run_driver(call_with_seeds, rows, seeds, block)
    except NotYet as error:
        setting = f"with documents of {counted(size, 'character')} and block_size {block}"
        raise NotYet(f"{setting}, {error}", mistake=error.mistake) from None
    return [_pieces(string, *row, block) for string, row in zip(strings, rows, strict=True)]


def _document(rng, size):
    """Draw a text in which no character comes twice."""
    return "".join(rng.permutation(LETTERS)[:size])


def _pieces(found, document, block):
    """Return the pieces of one string; raise NotYet with what is wrong with it."""
    if found is None:
        raise NotYet("None came back: is a `return` missing?")
    if not isinstance(found, str):
        kind = type(found).__name__
        raise NotYet(f"a {kind} came back; return the one string, x and y are cut later.")

    setting = f"a document of {len(document)} characters, block_size {block}"
    if len(found) != block:
        raise NotYet(
            f"the string has {len(found)} characters ({setting}); pad or cut to block_size."
        )
    body = found.rstrip(PAD)
    if PAD in body:
        raise NotYet(f"PAD stands in front of text ({setting}); it belongs at the very end.")
    count = body.count(MASK)
    if count != 2:
        masks = counted(count, "MASK")
        raise NotYet(f"{masks} came back ({setting}); one marks the gap, one opens the span.")

    prefix, suffix, span = body.split(MASK)
    if not document.startswith(prefix + span + suffix):
        raise NotYet(f"{_what_is_lost(prefix, suffix, span, document)} ({setting}).")
    return Draw(prefix, span, suffix)


def _what_is_lost(prefix, suffix, span, document):
    """Return a clause on pieces that do not make the beginning of the document."""
    kept = prefix + span + suffix
    if span and suffix and document.startswith(prefix + suffix + span):
        return "the span stands in its old place and the suffix after the second MASK"
    if span and suffix.startswith(span):
        return "the span can still be read in the suffix: there is nothing left to predict"
    if document.lstrip().startswith(kept):
        return "the space at the beginning is lost; it is a character as any other"
    if kept in document:
        start = document.index(kept[0])
        return f"the cut keeps characters from place {start} on, not the first ones"

    places = [document.find(letter) for letter in kept]
    if places == sorted(places) and places[0] == 0:
        lost = max(places) + 1 - len(places)
        return f"{lost} of the characters in between are lost where the pieces meet"
    return "prefix + span + suffix is not the beginning of the document"


def _judge_lengths(draws, size, block):
    """Raise NotYet for an empty span, and for more or fewer characters than may be kept."""
    whole = f"a document of {counted(size, 'character')}"
    empty = sum(not draw.span for draw in draws)
    if empty:
        raise NotYet(
            f"the span was empty in {empty} of {len(draws)} draws from {whole}: there is nothing to fill in."
        )

    kept = [draw.kept for draw in draws]
    longest = 7 * block // 8
    if max(kept) > longest:
        raise NotYet(f"{max(kept)} characters were kept of a block of {block}: at most 7/8 may be.")
    if min(kept) < min(4, size):
        raise NotYet(f"a document of {size} was cut to {min(kept)}: at least 4 characters stay.")
    if size <= 4 < longest and max(kept) < size:
        raise NotYet(f"{whole} was cut to {max(kept)}; one so short stays whole.")


def _judge_cut(draws, block):
    """Raise NotYet unless every length from 4 to 7/8 of the block comes equally often."""
    kept = np.array([draw.kept for draw in draws])
    longest = 7 * block // 8
    if np.ptp(kept) == 0:
        raise NotYet(
            f"every long document was cut to the same {kept[0]} characters; draw the length."
        )

    possible = np.arange(4, longest + 1)
    share = (kept - 3.5) / len(possible)
    every = (possible - 3.5) / len(possible)
    if not _unevenness(share, every) <= UNEVEN:
        never = np.setdiff1d(possible, kept)
        missing = f", never to {never[0]}" if len(never) and longest < 20 else ""
        raise NotYet(
            f"with block_size {block} long documents were cut to {kept.min()} .. {kept.max()} characters,"
            f" {kept.mean():.1f} on average{missing}; every length from 4 to {longest}"
            " should be equally likely."
        )


def _judge_short(draws, size, block):
    """Raise NotYet unless a document shorter than 7/8 of the block is cut where a smaller number is drawn."""
    longest = 7 * block // 8
    right = (longest - size + 1) / (longest - 3)
    whole = sum(draw.kept == size for draw in draws) / len(draws)
    if abs(whole - right) <= 0.12:  # six standard deviations of a share of 800
        return
    told = (
        f"a document of {size} characters (block_size {block}) stayed whole in {whole:.0%} of draws; with n "
        f"drawn from 4 to {longest}, whatever the document, it does in {right:.0%}"
    )
    if whole == 1:
        raise NotYet(f"{told}: cut it where the n that was drawn is smaller.")
    raise NotYet(f"{told}: the length of the document is no limit of the draw.")


def _unevenness(found, every):
    """Return Pearson's statistic of numbers in 0..1 against an even spread over `every`, in 11 cells."""
    counts, sizes = (
        np.bincount((numbers * NUM_CELLS).astype(int), minlength=NUM_CELLS)
        for numbers in (found, every)
    )
    expected = len(found) / len(every) * sizes
    return ((counts - expected) ** 2 / expected).sum()


def _judge_span(draws):
    """Raise NotYet unless the span is a quarter on average, of short and of long cuts, but not always."""
    kept = np.array([draw.kept for draw in draws])
    size = np.array([len(draw.span) for draw in draws])
    share = size / kept
    cuts = {"shorter": (kept >= 16) & (kept < 60), "longer": kept >= 60}
    for name, part in cuts.items():
        mean = share[part].mean()
        if not abs(mean - 0.25) <= 0.06:
            raise NotYet(
                f"the span is {mean:.0%} of the text on average over {name} cuts"
                f" ({share.mean():.0%} over all cuts); a quarter of what was kept is asked for."
            )

    if np.abs(size - kept / 4).max() <= 1:
        raise NotYet(
            "the span is always a quarter, rounded down or up: its length should be drawn from a wider range."
        )


def _judge_ends(draws):
    for end, piece in (("last", "suffix"), ("first", "prefix")):
        if all(getattr(draw, piece) for draw in draws):
            raise NotYet(
                f"in {len(draws)} draws from documents of 4 the {end} character was never masked;"
                " if a city stands there, it is never asked for."
            )


def _judge_place(draws, rng):
    """Raise NotYet unless every place where the span fits comes equally often."""
    start = np.array([len(draw.prefix) for draw in draws])
    room = np.array([len(draw.prefix + draw.suffix) for draw in draws])
    position = (start + rng.random(len(draws))) / (room + 1)
    even = (np.arange(NUM_CELLS) + 0.5) / NUM_CELLS
    if not _unevenness(position, even) <= UNEVEN:
        raise NotYet(
            f"the span starts {position.mean():.0%} of the way on average, give or take {position.std():.0%},"
            f" with up to {max(room)} characters around it; every place where it fits should be"
            " equally likely, the first and the last too."
        )


def prepares_and_scores(rng: Generator, finetuning_pair: Caller, score: Caller) -> str:
    """8.2: loss on the answer and its end alone; a share with an interval that holds in 95%."""

    def judge_pairs() -> str:
        size = int(rng.integers(16, 22))
        # Of the question, of the answer, and the block, into which the last pair just fits.
        sizes = [(size, 4, 32), (size + 1, 6, 48), (size + 2, 8, 64), (size, 1, size + 4)]
        for size, length, block in shuffled(rng, sizes):
            letters = _document(rng, len(LETTERS))
            question = letters[:size]
            answer = letters[size : size + length]
            _judge_pair(finetuning_pair(question, answer, block), question, answer, block)
        return "Loss is taken on the answer and its end alone."

    def judge_score() -> str:
        trials = Trials(_wrong_shares)
        odd = 2 * int(rng.integers(20, 30)) + 1
        for n in shuffled(rng, [20, odd, NUM_PEOPLE]):
            rows = _all_counts(rng, n)
            results: list = []
            for start in range(0, n + 1, ROWS_AT_ONCE):
                results += score.run_driver(call_each, rows[start : start + ROWS_AT_ONCE])
            scores = matrix(results, (n + 1, 3), "score(...)")
            share = scores[:, 0]
            truth = np.arange(n + 1) / n
            worst = int(np.abs(share - truth).argmax())
            answers = counted(worst, "right answer")
            fact = f"with {answers} of {n} the share came out as {share[worst]:.3g}"
            trials.require(share, truth, fact, rows, truth, n)
            _judge_interval(scores, n)
        return "The interval contains the true share in about 95% of samples."

    return judge_separately({"finetuning_pair": judge_pairs, "score": judge_score})


def _named(mistake):
    """Return a refusal that is the sentence of a known mistake."""
    return NotYet(mistake, mistake=mistake.rstrip("."))


def _judge_pair(pair, question, answer, block):
    """Raise NotYet unless x reads question, MASK, answer, MASK, and y has the answer and its end alone."""
    expected = "finetuning_pair should return two strings, x and y."
    x, y = as_pair(pair, expected)
    if not isinstance(x, str) or not isinstance(y, str):
        raise NotYet(expected)

    whole = f"{question}{MASK}{answer}{MASK}".ljust(block, PAD)
    read = x.rstrip(PAD)
    if len(x) != len(y) or len(x) != block - 1:
        raise NotYet(f"x has {len(x)} characters and y {len(y)}; both should have {block - 1}.")

    if read == question + MASK:
        raise _named(
            "x ends at the first MASK: while training, the model also reads the answer so far."
        )
    if x.startswith(question + answer):
        raise _named(
            "x has no MASK between question and answer, which is what asks for the answer."
        )
    if read == question + MASK + answer and x != whole[:-1]:
        raise _named("the MASK that closes the answer is missing in x.")
    if x != whole[:-1]:
        raise _named("x should read question, MASK, answer, MASK, and PAD to the end.")

    taken = [place for place, symbol in enumerate(y) if symbol != PAD]
    first = len(question)  # where the answer's first symbol is predicted
    last = first + len(answer)  # where its end is
    if not taken:
        raise _named("y is PAD everywhere: nothing would be learnt.")
    if all(y[t] == x[t] for t in taken):
        raise _named("y repeats x at the same places; y[t] is the symbol that comes after x[t].")
    if any(y[t] != whole[t + 1] for t in taken):
        raise _named("y[t] is not always the symbol that comes after x[t].")

    if taken[0] < first - 1:
        extra = first - 1 - taken[0]
        raise NotYet(
            f"loss is taken on {counted(extra, 'symbol')} of the question: names are given, not learnt."
        )
    if taken[0] > first:
        raise _named("no loss is taken on the first symbol of the answer.")
    if taken[-1] < last:
        raise _named(
            "no loss is taken on the MASK that ends the answer: the model never learns to stop."
        )
    if taken != list(range(taken[0], last + 1)):
        raise _named("no loss is taken on a symbol in the middle of the answer.")


CITIES = ("Wynd", "Orvane", "Tessel")


def _all_counts(rng, n):
    """Return [(answers, truths), ...], with 0, 1 ... n right answers out of n."""
    truths = rng.choice(CITIES, n).tolist()
    rows = []
    for count in range(n + 1):
        answers = list(truths)
        for k in rng.permutation(n)[count:]:
            answers[k] = _wrong_answer(rng, truths[k])
        rows.append((answers, truths))
    return rows


def _wrong_answer(rng, truth):
    """Draw a wrong answer: another city, nothing, a part of the truth, more, small letters, a space."""
    others = [city for city in CITIES if city != truth]
    near = [truth[:2], truth[1:3], truth.lower(), f"{truth} or {others[0]}", f"{truth[0]}olm"]
    wrong = [*others, "", *near, f" {truth}", f"{truth} "]
    return wrong[rng.integers(len(wrong))]


RULES = {
    "an answer that is a part of the truth counts as right, and so does an empty one": (
        lambda answer, truth: answer in truth
    ),
    "an answer with which the truth begins counts as right, and so does an empty one": (
        lambda answer, truth: truth.startswith(answer)
    ),
    "an answer that contains the truth and more counts as right": (
        lambda answer, truth: truth in answer
    ),
    "an answer that begins with the truth and goes on counts as right": (
        lambda answer, truth: answer.startswith(truth)
    ),
    "an empty answer counts as right": lambda answer, truth: answer in ("", truth),
    "capitals are ignored; an answer is right if it equals the truth": (
        lambda answer, truth: answer.lower() == truth.lower()
    ),
    "spaces around an answer are ignored; an answer is right if it equals the truth": (
        lambda answer, truth: answer.strip() == truth.strip()
    ),
    "only the first letters are compared": lambda answer, truth: answer[:1] == truth[:1],
}


def _wrong_shares(rows, truth, n):
    wrong = {
        "the first number is a percentage; return shares between 0 and 1": 100 * truth,
        "the first number counts the right answers; divide by how many there are": n * truth,
    }
    for sentence, rule in RULES.items():
        wrong[sentence] = np.array([sum(map(rule, *row)) / n for row in rows])
    return wrong


def _judge_interval(rows, n):
    """Raise NotYet unless intervals hold their shares, within 0..1, have a width, and are right in 95%."""
    share, low, high = rows.T
    is_ordered = (low <= share + 1e-9) & (share - 1e-9 <= high)
    if not is_ordered.all():
        raise NotYet("low <= share <= high does not hold everywhere.")
    width = high - low
    if not min(width[0], width[n]) >= 1e-6:
        raise NotYet(
            f"{n} right answers of {n} got an interval of width zero, as if the share were known exactly."
            " Share plus or minus two standard errors fails at both ends."
        )

    lowest = low.min()
    highest = high.max()
    if not -1e-9 <= lowest <= highest <= 1 + 1e-9:
        raise NotYet(
            f"the interval reaches from {lowest:.3f} to {highest:.3f}: a share lies between 0 and 1."
        )

    coverage = _coverage(low, high, np.linspace(0.01, 0.99, 197))
    if not 0.93 <= coverage <= 0.985:  # exact intervals hold in 97.7%, those of 99% in 98.9%
        raise NotYet(
            f"for {n} people the interval contains the true share in {coverage:.1%} of samples, not 95%."
        )

    for few, more in ((1, 4), (3, 8)):  # so many right, or wrong, answers are expected
        small = np.linspace(few / n, more / n, 100)
        for chances, answers in ((small, "right"), (1 - small, "wrong")):
            coverage = _coverage(low, high, chances)
            if not coverage >= 0.925:  # usual intervals hold in at least 93.4%
                raise NotYet(
                    f"for {n} people, of whom {few} to {more} are expected to be answered {answers}, the "
                    f"interval contains the true share in only {coverage:.1%} of samples: it is too short "
                    "near the ends."
                )


def _coverage(low, high, chances):
    """Return the probability that a sample's interval contains the true share, the mean over these shares.

    low, high: (n + 1,), the ends for 0, 1 ... n right answers. chances: (any,).
    """
    n = len(low) - 1
    shares = chances[:, None]
    counts = np.arange(n + 1)
    ways = np.array([float(comb(n, k)) for k in counts])
    law = ways * shares**counts * (1 - shares) ** (n - counts)  # binomial, (any, n + 1)
    return (law * ((low <= shares) & (shares <= high))).sum(1).mean()


QUESTIONS = (
    Question(
        id="8.1",
        title="A span to fill in",
        minutes=15,
        parts=(Part("code", ("corrupt_span",), corrupts_spans, points=4),),
        covers=("004 3 (setting)",),
        hints=(
            "Three things are drawn: how much of the document stays, how long the span is, where it starts.",
            "If the span has m of n characters, there are n - m + 1 places where it can start.",
            "What is the smallest span you ever want, and what does your formula give for n = 3?",
            "Any law with the right mean will do. Where must a uniform one that starts at 1 end?",
        ),
    ),
    Question(
        id="8.2",
        title="From a question to a score",
        minutes=18,
        parts=(Part("code", ("finetuning_pair", "score"), prepares_and_scores, points=3.5),),
        covers=("004 3 (setting)",),
        hints=(
            "Write the whole string first, padded to block_size; x is all but its last character.",
            "y is all but the first, with PAD where nothing should be learnt. At which place is the answer's "
            "first symbol predicted?",
            "Try your interval on 20 right answers of 20. Would you bet that the true share is 1?",
            "Wilson's interval asks for which true shares p the observed share is within 1.96 standard "
            "errors *computed with p*; that is a quadratic inequality in p.",
        ),
    ),
    Question(
        id="8.3",
        title="Where the knowledge comes from",
        minutes=6,
        parts=(Part("written", points=2),),
        covers=("004 3.a",),
        hints=(
            "Which of the two texts, of pretraining or of fine-tuning, says where a person of the test "
            "was born?",
            "For the control, look for a row in which one and the same model does well and badly.",
        ),
    ),
    Question(
        id="8.4",
        title="Recall and invention look alike",
        minutes=8,
        parts=(Part("written", points=2),),
        covers=("004 3.b",),
        hints=(
            "Put yourself in the place of someone who reads one answer and has nothing to compare it with.",
            "One concern is for that reader, one for the person whom a wrong answer describes. Find both.",
        ),
    ),
    Question(
        id="8.5",
        title="A name it never saw",
        minutes=8,
        parts=(Part("written", points=1.5),),
        covers=("004 3.c",),
        hints=(
            "The model must put some city behind every name. What of the name can it go by?",
            "The figure sets its answers beside the cities of other people. Which people are these?",
        ),
    ),
)
