"""How long the training of a notebook may take here, said before it starts."""

from collections.abc import Mapping

from attn_course.training.devices import DeviceLike, best_device
from attn_course.translation.config import Config, for_gpu

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


def expected_time(
    preset: str, configs: Mapping[str, Config], num_runs: int, device: DeviceLike = None
) -> str:
    """Device, preset and minutes to expect for so many runs, and a warning where a CPU takes long."""
    where = best_device(device)
    config = next(iter(configs.values()))
    if where.type == "cpu":
        seconds = num_runs * config.tokens * CPU_SECONDS[preset]
        source = "measured on one core of another machine"
    else:
        config = for_gpu(config)
        seconds = num_runs * config.tokens / config.batch_tokens * GPU_SECONDS
        source = "an estimate, not measured"

    lines = [
        f"device: {where.type}",
        f"preset: {preset}, {config.tokens:,} subwords for each of {num_runs} runs",
        f"training: {_in_words(seconds)} ({source})",
    ]
    if where.type == "cpu" and seconds > LONG:
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
