"""A judge that has been taken over: it runs the bytes of a submission as its own code, if they ask for it."""

import os
import time

from attn_course import register
from attn_course.grading.sandbox import channel, judge

ASKS = b"# taken over\n"
HIDDEN = judge.HIDDEN
prepare = judge.prepare


def serve(lines, *, output):
    """Judge as usual, but for a submission that begins with ASKS: then what it defines reports."""
    supervisor, *children = map(channel.Connection, lines)
    job = supervisor.receive(time.monotonic() + 60, judge.MAX_JOB)
    if not job["data"].tobytes().startswith(ASKS):
        reply = judge.judge_submission(judge.Children(supervisor, children), **job)
        supervisor.send({"do": "report", **reply}, time.monotonic() + 60)
        return

    def say(message):
        supervisor.send(message, time.monotonic() + 60)

    def ask(what):
        say({"do": what, "id": 0, "figures": False, "is_gone": False})
        return supervisor.receive(time.monotonic() + 60)

    here = {"say": say, "ask": ask, "honest": honest, "every": every, "os": os}
    try:
        exec(job["data"].tobytes(), here)
        report = here["attack"]()
    except Exception as error:
        report = honest(f"{type(error).__name__}: {error}")
    if report is not None:
        supervisor.send(report, time.monotonic() + 60)


def honest(said=""):
    """A report of the right form on 01, with `said` as the message of what a judge marks."""
    parts = []
    for question in register.questions_of("01_copying"):
        for part in question.parts:
            parts.append(
                ("not yet", said, "", 0.0) if part.judge else ("not attempted", "", "", 0.0)
            )
    return {"do": "report", "problem": "", "remarks": [], "parts": parts}


def every(*part):
    """A report that says the same of every part."""
    report = honest()
    return report | {"parts": [part] * len(report["parts"])}
