"""Knows what graders and students read: the class, a question's written answers, one's feedback."""

from collections import Counter
from html import escape

from attn_course import register
from attn_course.grading.page import block, finder, page, table, tiles
from attn_course.grading.record import State
from attn_course.verdict import CORRECT, NOT_ATTEMPTED, NOT_YET

LOOK = {CORRECT: "good", State.READ: "good", NOT_YET: "bad", State.FAILED: "bad"}
LOOK |= {State.WAITING: "wait"}
SHADES = ((CORRECT, "good"), (NOT_YET, "bad"), (State.WAITING, "wait"), (State.READ, "good"))


def student_page(book, sheet, remark):
    """Return the feedback for one student."""
    body = [tiles(**_totals(book, sheet), awaiting_a_person=sheet.num_waiting)]
    body += [f'<p class="warn">{escape(text)}</p>' for text in sheet.problems]
    for name in book.notebooks:
        parts = [part for part in sheet.parts if part["notebook"] == name]
        total, out_of = sheet.points(notebook=name), sum(part["out_of"] for part in parts)
        body.append(f"<h2>{name} · {total:g} of {out_of:g} points</h2>")
        if all(part["status"] == State.ABSENT for part in parts):
            body.append('<p class="soft">not handed in.</p>')
        else:
            body += map(_feedback, parts)
    if sheet.remarks:
        items = "".join(f"<li>{escape(text)}</li>" for text in sheet.remarks)
        body.append(f"<h2>Remarks on your files</h2><ul>{items}</ul>")
    return page(f"Feedback for {sheet.student}", "\n".join(body), remark)


def _totals(book, sheet):
    """The points of a student out of what there is; the bonus apart."""
    extra = [part["out_of"] for part in sheet.parts if part["notebook"] in register.BONUS]
    most = sum(part["out_of"] for part in sheet.parts) - sum(extra)
    found = {"points": f"{sheet.total():g} of {most:g}"}
    if book.has_bonus:
        found["bonus"] = f"{sheet.bonus():g} of {sum(extra):g}"
    return found


def _feedback(part):
    score = f"{part['points']:g} of {part['out_of']:g} points"
    if part["status"] == State.WAITING:
        score = f"up to {part['out_of']:g} points"
    comment = f"<p><b>{escape(part['comment'])}</b></p>" if part["comment"] else ""
    answer = ""
    if part["answer"]:
        opened = " open" if part["kind"] == "written" else ""
        answer = f"<details{opened}><summary>your answer</summary>{block(part['answer'])}</details>"
    return (
        f'<div class="card {LOOK.get(part["status"], "")}"><h3>{escape(part["question"])} '
        f'{escape(part["title"])} <span class="soft">({part["kind"]})</span></h3>'
        f'<span class="verdict">{escape(part["status"])}</span> · {score}'
        f"<p>{escape(part['message'])}</p>{comment}{answer}</div>"
    )


class ClassPage:
    """The class at a glance, gathered one student at a time."""

    def __init__(self, book):
        self.book, self.rows, self.problems = book, [], []
        self.counts = {(q.id, part.kind): Counter() for q in book.questions for part in q.parts}

    def add(self, sheet, link):
        kinds = ["problem"] * bool(sheet.problems) + ["waiting"] * bool(sheet.num_waiting)
        kinds += ["remark"] * bool(sheet.remarks)
        totals = [sheet.total(), sheet.bonus()] if self.book.has_bonus else [sheet.total()]
        cells = "".join(map(_number, [*sheet.by_notebook(), *totals, sheet.num_waiting]))
        name, notes = escape(sheet.student, quote=True), escape(" ".join(sheet.problems))
        self.rows.append(
            f'<tr data-item="{name}" data-kind="{" ".join(kinds)}"><td><a href="{escape(link)}">{name}'
            f'</a></td>{cells}<td data-value="{len(sheet.problems)}">{notes}</td></tr>\n'
        )
        for part in sheet.parts:
            self.counts[part["question"], part["kind"]][part["status"]] += 1

    def html(self, counts, written, remark):
        """counts: figures for the top. written: [(question, link, how many wait)]."""
        short = [(name[:2], "number", name) for name in self.book.notebooks]
        totals = ["total", "bonus"] if self.book.has_bonus else ["total"]
        columns = [("student", "text"), *short]
        columns += [(name, "number") for name in (*totals, "awaiting")]
        columns.append(("problems", "text"))
        links = [
            f'<li><a href="{escape(link)}">{escape(question.id)} {escape(question.title)}</a>: '
            f"{waiting} awaiting</li>"
            for question, link, waiting in written
        ]
        choices = (("problem", "with problems"), ("waiting", "awaiting a person"))
        choices += (("remark", "with remarks"),)
        reading = (
            f'<h2>Written answers</h2><ul class="columns">{"".join(links)}</ul>' if links else ""
        )
        students = f'<h2>Students</h2><div class="bar">{finder(choices)}</div>'
        body = tiles(**counts) + students + table(columns, self.rows) + reading + self._questions()
        return page("Gradebook", body, remark)

    def _questions(self):
        columns = [("question", "text"), ("title", "text"), ("part", "text"), ("correct", "number")]
        columns += [("not yet", "number"), ("not attempted", "number"), ("share", "text")]
        rows = []
        for question in self.book.questions:
            for part in question.parts:
                rows.append(_question_row(question, part, self.counts[question.id, part.kind]))
        return f"<h2>Questions</h2>{table(columns, rows)}"


def _number(value):
    """A cell with a number, or a dash, sorted below zero, where a notebook was not handed in."""
    if value is None:
        return '<td class="number" data-value="-1">–</td>'
    return f'<td class="number">{value:g}</td>'


def _question_row(question, part, counts):
    total = max(sum(counts.values()), 1)
    bars = "".join(
        f'<i style="width:{100 * counts[status] / total:.1f}%;background:var(--{shade})"></i>'
        for status, shade in SHADES
    )
    done, number = counts[CORRECT] + counts[State.READ], int(question.id.replace(".", "0"))
    return (
        f'<tr><td data-value="{number:06}">{escape(question.id)}</td><td>{escape(question.title)}</td>'
        f'<td>{part.kind}</td><td class="number">{done}</td>'
        f'<td class="number">{counts[NOT_YET]}</td><td class="number">{counts[NOT_ATTEMPTED]}</td>'
        f'<td data-value="{done / total:.4f}"><div class="meter">{bars}</div></td></tr>\n'
    )


class WrittenPage:
    """All answers to one written question, beside reference and rubric, with room for points."""

    def __init__(self, question, reference, rubric):
        self.question, self.reference, self.rubric = question, reference, rubric
        self.most, self.cards, self.num_waiting = question.part("written").points, [], 0

    def add(self, sheet):
        part = next(
            part
            for part in sheet.parts
            if (part["question"], part["kind"]) == (self.question.id, "written")
        )
        if part["answer"]:
            self.num_waiting += part["status"] == State.WAITING
            self.cards.append(self._card(escape(sheet.student, quote=True), part))

    def _card(self, name, part):
        read = part["status"] == State.READ
        value = f"{part['points']:g}" if read else ""
        comment = escape(part["comment"], quote=True)
        return (
            f'<div class="card" data-item="{name}" data-kind="{"done" if read else "waiting"}" '
            f'data-student="{name}" data-question="{self.question.id}"><h3>{name}</h3>'
            f'{block(part["answer"], "prose")}<div class="row"><input type="number" min="0" '
            f'max="{self.most:g}" step="any" value="{value}" placeholder="0-{self.most:g}" '
            f'aria-label="points"><input type="text" value="{comment}" '
            'placeholder="a remark for the student" aria-label="remark"></div></div>\n'
        )

    def html(self, remark):
        aside = f"<h2>Reference</h2>{block(self.reference, 'prose')}"
        aside += f"<h2>Rubric</h2>{block(self.rubric, 'prose')}"
        choices = (("waiting", "without points"), ("done", "with points"))
        bar = f'<div class="bar">{finder(choices)}<button id="save">Download written.csv</button>'
        bar += '<span id="left" class="soft"></span></div>'
        points = f"{self.most:g} point{'s' * (self.most != 1)}"
        how = "Type points, download, then run attn grade again with --written written.csv."
        body = (
            f'<p class="soft">{points}. {how} <a href="../index.html">The class</a></p>'
            f'<div class="two"><div class="aside">{aside}</div><div><h2>Answers</h2>{bar}'
            f"{''.join(self.cards) or '<p>nobody has answered.</p>'}</div></div>"
        )
        return page(f"{self.question.id} {self.question.title}", body, remark)
