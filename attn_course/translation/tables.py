"""What notebooks 10 and 11 print of runs and before them, as lines and numbers."""

from collections.abc import Mapping, Sequence

import numpy as np

from attn_course.training.devices import DeviceLike, best_device
from attn_course.translation import scoring
from attn_course.translation.config import PRESETS, Config, gpu_remark
from attn_course.translation.corpora import Corpus, TextPair
from attn_course.translation.recorder import Record
from attn_course.translation.trained_translator import Run
from attn_course.translation.training import Trainer
from attn_course.translation.vocabulary import Vocabulary

# CPU seconds for each target subword, from recorded runs on one core: 14.9 s for 120,000 subwords of the
# embedded corpus, 107 s for 401,000 of Multi30k with the ladder's sizes, 1,558 s for 4,000,000 with the full.
CPU_SECONDS = {
    "tiny": 0.0002,
    "default": 0.000124,
    "ladder": 0.000268,
    "full": 0.00039,
    "large": 0.00039,
}
GPU_SECONDS = 0.035  # for each update: an estimate, no GPU was there to measure it on
LONG = 10 * 60  # seconds


def of_trainers(
    trainers: Mapping[str, Trainer], runs: Mapping[str, Run], pairs: Sequence[TextPair]
) -> str:
    """Return a line for each trainer: loss and validation of its last epoch, precisions on the test pairs."""
    sources, references = zip(*pairs, strict=True)
    lines = [
        "      train validation                         test",
        "      loss  perplexity  cross-entropy   BLEU   n-grams right, n = 1 to 4",
    ]
    for name, trainer in trainers.items():
        last = trainer.metrics[-1]
        cross_entropy = np.log(last["perplexity"])
        hypotheses = runs[name].translate(sources)
        sums = scoring.counts(hypotheses, references).sum(0)
        matches = sums[:4]
        totals = sums[4:8].clip(1)
        precisions = (matches / totals).round(2)
        line = f"{name:5} {last['loss']:4.2f}"
        line += f" {last['perplexity']:11.2f}"
        line += f" {cross_entropy:14.2f}"
        line += f" {last['bleu']:6.1f}   {precisions}"
        lines.append(line)
    return "\n".join(lines)


def smallest_loss(num_subwords: int, smoothing: float) -> float:
    """Return the loss of a model that gives each subword exactly what its smoothed label asks for."""
    share = smoothing / num_subwords
    label = np.full(num_subwords, share)
    label[0] += 1 - smoothing  # whichever is the true one
    entropies = -label * np.log(label)
    return float(entropies.sum())


def links_of(corpus: Corpus) -> tuple[list[frozenset], str]:
    """Return the links (English word, German word) of each test pair, and their name.

    Gold links where the corpus has them. Real captions have none: there each English word is linked to the
    word on which the bundled model puts most weight.
    """
    if corpus.links:
        return corpus.links, "gold links"

    from attn_course.translation import bundled

    weights = bundled.open_run().word_weights(corpus.test)
    heaviest = [frozenset(enumerate(of_pair.argmax(1).tolist())) for of_pair in weights]
    return heaviest, "links of the bundled model"


def smallest_error_rate(corpus: Corpus, vocabulary: Vocabulary) -> float:
    """Return the alignment error rate of the best choice of one link for each English word of the test pairs.

    A word may have two gold links or none, so that even this choice misses some.
    """
    num_found = sum(len(vocabulary.words(english)) for _, english in corpus.test)
    num_gold = sum(len(links) for links in corpus.links)
    num_right = sum(len({t for t, _ in links}) for links in corpus.links)
    return 1 - 2 * num_right / (num_found + num_gold)


def running_mean(numbers: Sequence[float], window: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of the last `window` numbers, from the first place that has so many.

    Returns the places, counted from 1, and the means.
    """
    places = np.arange(window, len(numbers) + 1)
    evenly = np.full(window, 1 / window)
    means = np.convolve(numbers, evenly, "valid")
    return places, means


def of_architectures(compared: Mapping[str, Sequence[Record]]) -> str:
    """Return a line for each record of each architecture: budget, size, time, test BLEU of both searches.

    The command above them is that of the last record.
    """
    *_, last_records = compared.values()
    lines = [last_records[-1]["command"]]
    lines += ["test 2016         subwords  parameters  CPU seconds   BLEU greedy  beam 5"]
    for name, records in compared.items():
        for record in records:
            subwords = record["metrics"][-1]["tokens"]
            test = record["test"]
            greedy = test["greedy"]["bleu"]
            beam = test["beam 5"]["bleu"]
            line = f"{name:12} {subwords:13,}"
            line += f" {record['num_parameters']:11,}"
            line += f" {record['cpu_seconds']:12,.0f}"
            line += f" {greedy:13.1f} {beam:7.1f}"
            lines.append(line)
    return "\n".join(lines)


def width_apart(one: np.ndarray, other: np.ndarray, num_samples: int = 2000) -> float:
    """Return the width of the 95% interval of a BLEU gain if each system gets resampled test sets of its own.

    one, other: counts (N, 10) of two systems on the same N sentences, added over seeds.
    """
    rng = np.random.default_rng(0)
    num_sentences = len(one)
    evenly = np.full(num_sentences, 1 / num_sentences)
    scores = []
    for counts in (one, other):
        picks = rng.multinomial(num_sentences, evenly, num_samples)  # (samples, N)
        scores.append(scoring.bleu_of_counts(picks @ counts))
    low, high = np.quantile(scores[1] - scores[0], [0.025, 0.975])
    return float(high - low)


def expected_time(
    preset: str, configs: Mapping[str, Config], num_runs: int, device: DeviceLike = None
) -> str:
    """Say which device and preset, how many minutes so many runs may take, and whether a CPU takes long."""
    chosen = best_device(device)
    config = next(iter(configs.values()))
    if chosen.type == "cpu":
        seconds = num_runs * config.tokens * CPU_SECONDS[preset]
        source = "measured on one core of another machine"
    else:
        seconds = num_runs * config.tokens / config.batch_tokens * GPU_SECONDS
        source = "an estimate, not measured"

    lines = [
        f"device: {chosen.type}",
        f"preset: {preset}, {config.tokens:,} subwords for each of {num_runs} runs",
        f"training: {_in_words(seconds)} ({source})",
    ]
    if config.batch_tokens > PRESETS[preset].batch_tokens:
        lines.append(f"{gpu_remark(config)}.")
    if chosen.type == "cpu" and seconds > LONG:
        lines.append(
            "WARNING: this is long for a CPU. Stop here, and choose a GPU (on Colab: Runtime, Change runtime "
            'type) or PRESET = "default".'
        )
    return "\n".join(lines)


def _in_words(seconds):
    minutes = round(seconds / 60)
    if minutes == 0:
        return "less than a minute"
    return "a minute" if minutes == 1 else f"{minutes} minutes"
