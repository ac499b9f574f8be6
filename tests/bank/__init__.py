"""Right answers of other forms, and known wrong ones with what must be said about each.

RIGHT[question][name] is a tuple of answers, as `check` takes them. WRONG[question][name] is
(answer, part of the message); where a question takes several answers, `answer` is a tuple of them.
Names end in the mistake's number where it was found in print.
"""
