"""The memory that an answer held while it was watched: for 13.2, 13.4 and 15.5.

What a watch says can be forged in the student's process, so a judge compares the outputs of that run too.
"""

from attn_course.answers import NotYet, number
from attn_course.drivers import READY_MADE

NOT_SEEN = "right, but not computed with torch, so the check cannot see what is held: use no NumPy or lists."


def largest_tensor(seen: dict) -> int:
    """Return the size of the largest tensor that `run_watched` saw; raise NotYet if the answer left torch."""
    largest = int(number(seen["largest"]))
    if largest == 0 or seen["left_torch"]:
        raise NotYet(NOT_SEEN)
    return largest


def judge_streamed(seen: dict, T: int, S: int, block: int) -> str:
    """Return a clause on the largest tensor; raise NotYet if it holds a quarter of all T times S scores."""
    if READY_MADE in seen["used"]:
        mistake = f"torch's {READY_MADE} did the work"
        raise NotYet(f"right, but {mistake}: write the stream yourself.", mistake=mistake)

    where = f"at T = {T}, S = {S}, block {block}"
    together = f"and there are {T * S:,} scores in all"
    largest = largest_tensor(seen)
    fact = f"{where} its largest tensor holds {largest:,} numbers"
    if not largest <= T * S / 4:
        raise NotYet(f"right, but {fact}, {together}.", mistake="a tensor holds all scores")

    held = int(number(seen["most_held"]))
    if not held <= T * S / 4:
        raise NotYet(
            f"right, but {where} its tensors hold {held:,} numbers at a time, {together}; let go of a "
            "block before the next."
        )
    return f"{fact} instead of {T * S:,}"
