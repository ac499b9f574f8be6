"""Questions 8.1-8.5, what pretraining knows; judges count over many draws, they hold no answer."""

from math import comb

import numpy as np

from attn_course.drivers import call_each, call_with_seeds
from attn_course.register import Part, Question
from attn_course.values import matrix
from attn_course.verdict import NotYet

MASK, PAD = "▒", "·"  # as in attn_course.knowledge
_LETTERS = [chr(code) for code in (*range(0x21, 0x7F), *range(0xC0, 0x100))]  # all different
OTHER = {"Wynd": "Orvane", "Orvane": "Tessel", "Tessel": "Wynd"}  # wrong, but a city of the list


def corrupts_spans(rng, corrupt_span):
    """8.1: every character accounted for, and the laws of cut, length and place, over many draws."""
    _judge_chance(rng, corrupt_span)
    blocks = {64: (100, 150), 32: (30, 40), 16: (1, 2, 3, 4, 5, 6, 12)}
    for block, sizes in blocks.items():
        for size in sizes:
            _judge_lengths(_draw(rng, corrupt_span, size, block, 60), size, block)
    long = _draw(rng, corrupt_span, 150, 128, 800)
    _judge_lengths(long, 150, 128)
    _judge_cut(long, 128)
    _judge_span(long)
    _judge_place(long, _draw(rng, corrupt_span, 5, 16, 400))
    return "every character is accounted for, and cut, span and place vary as they should."


def _judge_chance(rng, corrupt_span):
    document, seeds = _document(rng, 60), list(range(40))
    rows = [(document,)] * 40
    strings, again = (corrupt_span.via(call_with_seeds, rows, seeds, 64) for _ in range(2))
    _parts(strings[0], document, 64)
    if strings != again:
        raise NotYet(
            "the same generator in the same state gave two different strings:"
            " chance must come from `rng` alone."
        )
    if len(set(map(str, strings))) == 1:
        raise NotYet("40 generators with different seeds gave one and the same string.")


def _draw(rng, corrupt_span, size, block, count):
    """`count` times (prefix, span, suffix) of documents of `size` different characters."""
    documents = [_document(rng, size) for _ in range(count)]
    seeds = [int(seed) for seed in rng.integers(2**31, size=count)]
    strings = corrupt_span.via(call_with_seeds, [(text,) for text in documents], seeds, block)
    return [_parts(*pair, block) for pair in zip(strings, documents, strict=True)]


def _document(rng, size):
    return "".join(rng.permutation(_LETTERS)[:size])


def _parts(found, document, block):
    """prefix, span and suffix of one string, or a sentence on what is wrong with it."""
    shown = f"a document of {len(document)} characters, block_size {block}"
    if found is None:
        raise NotYet("None came back: is a `return` missing?")
    if not isinstance(found, str):
        raise NotYet(
            f"a {type(found).__name__} came back; return the one string, x and y are cut later."
        )
    if len(found) != block:
        raise NotYet(f"the string has {len(found)} characters ({shown}); pad or cut to block_size.")
    body = found.rstrip(PAD)
    if PAD in body:
        raise NotYet(f"PAD stands in front of text ({shown}); it belongs at the very end.")
    if body.count(MASK) != 2:
        raise NotYet(
            f"there are {body.count(MASK)} MASKs ({shown}); one marks the gap, one opens the span."
        )
    prefix, suffix, span = body.split(MASK)
    if not document.startswith(prefix + span + suffix):
        raise NotYet(_what_is_lost(prefix, suffix, span, document, shown))
    return prefix, span, suffix


def _what_is_lost(prefix, suffix, span, document, shown):
    if span and suffix and document.startswith(prefix + suffix + span):
        return f"the span stands in its old place and the suffix after the second MASK ({shown})."
    if span and suffix.startswith(span):
        return (
            f"the span can still be read in the suffix ({shown}): there is nothing left to predict."
        )
    kept = prefix + span + suffix
    if kept in document:
        return (
            f"the cut keeps characters from place {document.index(kept[0])} on, not the first ones."
        )
    places = list(map(document.find, kept))
    lost = max(places) + 1 - len(places)
    if places == sorted(places) and places[0] == 0:
        return f"{lost} of the characters in between are lost where the pieces meet ({shown})."
    return f"prefix + span + suffix is not the beginning of the document ({shown})."


def _judge_lengths(draws, size, block):
    empty = sum(not span for _, span, _ in draws)
    if empty:
        raise NotYet(
            f"the span was empty in {empty} of {len(draws)} draws from a document of {size}"
            f" character{'s' * (size > 1)}: a quarter of little rounds to nothing."
        )
    kept = [sum(map(len, parts)) for parts in draws]
    if max(kept) > 7 * block // 8:
        raise NotYet(f"{max(kept)} characters were kept of a block of {block}: at most 7/8 may be.")
    if min(kept) < min(4, size):
        raise NotYet(f"a document of {size} was cut to {min(kept)}: at least 4 characters stay.")


def _judge_cut(draws, block):
    kept = np.array([sum(map(len, parts)) for parts in draws])
    if np.ptp(kept) == 0:
        raise NotYet(
            f"every long document was cut to the same {kept[0]} characters; draw the length."
        )
    middle = (4 + 7 * block // 8) / 2
    if abs(kept.mean() - middle) > 5 or kept.min() > 10 or kept.max() < 7 * block // 8 - 6:
        raise NotYet(
            f"long documents were cut to {kept.min()} .. {kept.max()} characters, {kept.mean():.1f}"
            f" on average; every length from 4 to {7 * block // 8} should be as likely."
        )


def _judge_span(draws):
    kept = np.array([sum(map(len, parts)) for parts in draws])
    span = np.array([len(parts[1]) for parts in draws])
    share = span / kept
    halves = {"shorter": (kept >= 16) & (kept < 60), "longer": kept >= 60}
    for name, part in halves.items():
        if not 0.19 < share[part].mean() < 0.31:
            raise NotYet(
                f"the span is {share[part].mean():.0%} of the text on average over {name} cuts"
                f" ({share.mean():.0%} over all cuts); a quarter of what was kept is asked for."
            )
    if np.abs(span - kept / 4).max() <= 1:
        raise NotYet("the span is always a quarter, to the character: its length should be drawn.")


def _judge_place(long, short):
    places = [len(prefix) / (len(prefix + suffix)) for prefix, _, suffix in long if prefix + suffix]
    if np.std(places) < 0.05 or abs(np.mean(places) - 0.5) > 0.1:
        raise NotYet(
            f"the span starts {np.mean(places):.0%} of the way on average, give or take"
            f" {np.std(places):.0%}; every place where it fits should be as likely."
        )
    for side, name in ((2, "last"), (0, "first")):
        if not any(len(parts[side]) == 0 for parts in short):
            raise NotYet(
                f"in {len(short)} draws from documents of 5 the {name} character was never masked;"
                " if a city stands there, it is never asked for."
            )


def prepares_and_scores(rng, finetuning_pair, score):
    """8.2: loss on the answer and its end alone; a share with an interval that holds in 95%."""
    for block in (32, 48, 64):
        letters = rng.permutation(_LETTERS)
        question, answer = "".join(letters[:20]), "".join(letters[20 : 20 + block // 8])
        pair = finetuning_pair(question, answer, block)
        _judge_pair(pair, question, answer, block)
    for n in (20, 50):
        rows = _all_counts(rng, score, n)
        _judge_share(rows, n)
        _judge_interval(rows, n)
    return "loss is taken on the answer and its end alone, and the interval holds in about 95%."


def _judge_pair(pair, question, answer, block):
    if (
        not isinstance(pair, list | tuple)
        or len(pair) != 2
        or not all(isinstance(s, str) for s in pair)
    ):
        raise NotYet("finetuning_pair should return two strings, x and y.")
    x, y = pair
    whole = f"{question}{MASK}{answer}{MASK}".ljust(block, PAD)
    if len(x) != len(y) or len(x) != block - 1:
        raise NotYet(f"x has {len(x)} characters and y {len(y)}; both should have {block - 1}.")
    if x.rstrip(PAD) == question + MASK:
        raise NotYet(
            "x ends at the first MASK: while training, the model also reads the answer so far."
        )
    if x.startswith(question + answer):
        raise NotYet(
            "x has no MASK between question and answer, which is what asks for the answer."
        )
    if x.rstrip(PAD) not in (whole.rstrip(PAD), whole[:-1].rstrip(PAD), whole.rstrip(PAD)[:-1]):
        raise NotYet("x should read question, MASK, answer, MASK, and PAD to the end.")
    _judge_targets(x, y, whole, len(question), len(answer))


def _judge_targets(x, y, whole, asked, size):
    taken = [place for place, symbol in enumerate(y) if symbol != PAD]
    first, last = asked, asked + size  # where the answer's first symbol and its end are predicted
    if not taken:
        raise NotYet("y is PAD everywhere: nothing would be learnt.")
    if all(y[t] == x[t] for t in taken):
        raise NotYet("y repeats x at the same places; y[t] is the symbol that comes after x[t].")
    if any(y[t] != whole[t + 1] for t in taken):
        raise NotYet("y[t] is not always the symbol that comes after x[t].")
    if taken[0] < first - 1:
        raise NotYet(
            f"loss is taken on {first - 1 - taken[0]} symbols of the question: names are given, not learnt."
        )
    if taken[0] > first:
        raise NotYet("no loss is taken on the first symbol of the answer.")
    if taken[-1] < last:
        raise NotYet(
            "no loss is taken on the MASK that ends the answer: the model never learns to stop."
        )
    if taken != list(range(taken[0], last + 1)):
        raise NotYet("no loss is taken on a symbol in the middle of the answer.")


def _all_counts(rng, score, n):
    """score(...) for 0, 1 ... n right answers out of n, (n + 1, 3)."""
    truths = [str(city) for city in rng.choice(["Wynd", "Orvane", "Tessel"], n)]
    rows = []
    for count in range(n + 1):
        right = set(rng.permutation(n)[:count].tolist())
        answers = [city if k in right else OTHER[city] for k, city in enumerate(truths)]
        rows.append((answers, truths))
    return matrix(score.via(call_each, rows), (n + 1, 3), "score(...)")


def _judge_share(rows, n):
    share, truth = rows[:, 0], np.arange(n + 1) / n
    if np.allclose(share, truth):
        return
    if np.allclose(share, 100 * truth):
        raise NotYet("the first number is a percentage; return shares between 0 and 1.")
    if np.allclose(share, n * truth):
        raise NotYet("the first number counts the right answers; divide by how many there are.")
    worst = int(np.abs(share - truth).argmax())
    raise NotYet(f"{worst} right answers of {n} got the share {share[worst]:.3g}.")


def _judge_interval(rows, n):
    share, low, high = rows.T
    if (low > share + 1e-9).any() or (high < share - 1e-9).any():
        raise NotYet("low <= share <= high does not hold everywhere.")
    if high[0] - low[0] < 1e-6 or high[n] - low[n] < 1e-6:
        raise NotYet(
            f"{n} right of {n} got an interval of width zero: certainty, from {n} people."
            " Share plus or minus two standard errors fails at both ends."
        )
    if low.min() < -1e-9 or high.max() > 1 + 1e-9:
        raise NotYet(
            f"the interval reaches from {low.min():.3f} to {high.max():.3f}: beyond a share."
        )
    chances = np.linspace(0.01, 0.99, 197)[:, None]
    counts, ways = np.arange(n + 1), np.array([comb(n, k) for k in range(n + 1)], float)
    law = ways * chances**counts * (1 - chances) ** (n - counts)  # (197, n + 1)
    holds = (law * ((low <= chances) & (chances <= high))).sum(1).mean()
    if not 0.93 < holds < 0.985:  # exact intervals hold in 97.7%, those of 99% in 98.9%
        raise NotYet(
            f"for {n} people the interval holds the true chance in {holds:.1%} of samples; 95% is asked."
        )


QUESTIONS = (
    Question(
        id="8.1",
        title="A span to fill in",
        minutes=15,
        parts=(Part("code", 4, ("corrupt_span",), corrupts_spans),),
        covers=("004 3 (setting)",),
        hints=(
            "Three things are drawn: how much of the document stays, how long the span is, where it starts.",
            "If the span has m of n characters, there are n - m + 1 places where it can start.",
            "What is the smallest span you ever want, and what does your formula give for n = 3?",
            "Any law with the right mean will do for the span, for example a uniform one from 0 to n / 2.",
        ),
    ),
    Question(
        id="8.2",
        title="From a question to a score",
        minutes=18,
        parts=(Part("code", 4, ("finetuning_pair", "score"), prepares_and_scores),),
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
        parts=(Part("written", 2),),
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
        parts=(Part("written", 2),),
        covers=("004 3.b",),
        hints=(
            "Put yourself in the place of someone who reads one answer and has nothing to compare it with.",
            "One concern is about that reader, one about whom a wrong answer is about. Find one of each.",
        ),
    ),
    Question(
        id="8.5",
        title="A name it never saw",
        minutes=8,
        parts=(Part("written", 2),),
        covers=("004 3.c",),
        hints=(
            "The model must put some city behind every name. What of the name can it go by?",
            "The figure sets its answers beside the cities of other people. Which people are these?",
        ),
    ),
)
