"""Knows how a page looks and behaves: one style, one script, offline, nothing of a student's runs."""

import base64
import hashlib
import re
from html import escape

STYLE = """
:root { --ink: #1b1f24; --soft: #5b6570; --line: #d9dee4; --paper: #fff; --wash: #f5f7f9;
  --good: #0072b2; --bad: #b84a00; --wait: #7a5195; --none: #7f7f7f }
* { box-sizing: border-box }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1180px; margin: 0 auto; padding: 24px 28px 80px }
h1 { font-size: 26px; margin: 0 0 2px } h2 { font-size: 19px; margin: 36px 0 8px }
h3 { font-size: 16px; margin: 0 } p { margin: 6px 0 } a { color: var(--good) }
.soft { color: var(--soft) } .warn { background: #fff3e0; padding: 8px 12px; border-radius: 6px }
.tiles { display: flex; gap: 12px; flex-wrap: wrap; margin: 16px 0 }
.tile { background: var(--wash); border-radius: 8px; padding: 8px 16px; min-width: 120px }
.tile b { display: block; font-size: 22px; line-height: 1.2 }
.bar { display: flex; gap: 12px; align-items: center; margin: 10px 0; flex-wrap: wrap }
input, select, button, textarea { font: inherit; padding: 5px 9px; border: 1px solid #b9c1c9;
  border-radius: 6px; background: #fff; color: inherit }
button { background: var(--good); color: #fff; border-color: var(--good); cursor: pointer }
.columns { columns: 2; margin: 0 }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: 14px }
th { text-align: left; background: var(--wash); position: sticky; top: 0; font-weight: 600;
  white-space: nowrap } th[data-sort] { cursor: pointer } th[data-sort]:hover { color: var(--good) }
th[aria-sort=ascending]::after { content: " ▲" } th[aria-sort=descending]::after { content: " ▼" }
td, th { padding: 5px 9px; border-bottom: 1px solid var(--line); vertical-align: top }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
.meter { display: flex; height: 12px; width: 200px; border-radius: 3px; overflow: hidden;
  background: var(--line) } .meter i { display: block }
.card { border: 1px solid var(--line); border-left: 4px solid var(--none); border-radius: 6px;
  padding: 10px 14px; margin: 10px 0 } .verdict { font-weight: 600; color: var(--none) }
.good { border-left-color: var(--good) } .good .verdict { color: var(--good) }
.bad { border-left-color: var(--bad) } .bad .verdict { color: var(--bad) }
.wait { border-left-color: var(--wait) } .wait .verdict { color: var(--wait) }
pre { background: var(--wash); padding: 10px 12px; border-radius: 6px; margin: 8px 0 0;
  overflow-x: auto; font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere } details summary { cursor: pointer; color: var(--soft) }
.two { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 28px }
.aside { position: sticky; top: 12px; align-self: start; max-height: 94vh; overflow-y: auto }
.prose { font: inherit; background: var(--wash) } .row { display: flex; gap: 10px; margin-top: 8px }
.row input[type=text] { flex: 1 } .row input[type=number] { width: 90px }
.diff td { font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap; width: 50%; padding: 0 9px;
  border-bottom: 0; overflow-wrap: anywhere } td.gone { background: #fde8dc } td.new { background: #dcedf8 }
@media print { .bar, button { display: none } } [hidden] { display: none !important }
"""

# Sorts tables, filters rows and cards, and hands out typed points as written.csv.
SCRIPT = r"""
"use strict";
const all = (query, node = document) => [...node.querySelectorAll(query)];
for (const head of all("th[data-sort]")) head.addEventListener("click", () => {
  const body = head.closest("table").tBodies[0], column = head.cellIndex;
  const down = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  all("th", head.parentNode).forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down === 1 ? "ascending" : "descending");
  const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  const order = (a, b) => head.dataset.sort === "number" ? key(a) - key(b) : key(a).localeCompare(key(b));
  [...body.rows].sort((a, b) => down * order(a, b)).forEach((row) => body.append(row));
});
const find = document.getElementById("find"), show = document.getElementById("show");
function filter() {
  const text = find ? find.value.toLowerCase() : "", kind = show ? show.value : "";
  for (const item of all("[data-item]"))
    item.hidden = !(item.dataset.item.toLowerCase().includes(text) &&
      (" " + item.dataset.kind + " ").includes(kind ? " " + kind + " " : " "));
}
for (const control of [find, show]) if (control) control.addEventListener("input", filter);
const cards = all("[data-student]");
let unsaved = false;
const fields = (card) => [card.querySelector("[type=number]"), card.querySelector("[type=text]")];
function csv() {
  const quote = (text) => '"' + String(text).replaceAll('"', '""') + '"';
  const safe = (text) => /^[=+\-@]/.test(text) ? "'" + text : text;
  const rows = cards.filter((card) => fields(card)[0].value !== "").map((card) => {
    const [points, comment] = fields(card).map((field) => field.value);
    return [safe(card.dataset.student), card.dataset.question, "written", points, safe(comment)];
  });
  return [["student", "question", "part", "points", "comment"], ...rows]
    .map((row) => row.map(quote).join(",")).join("\n") + "\n";
}
function count() {
  const left = cards.filter((card) => fields(card)[0].value === "").length;
  const place = document.getElementById("left");
  if (place) place.textContent = left + " of " + cards.length + " without points";
}
for (const card of cards) for (const field of fields(card)) field.addEventListener("input", () => {
  unsaved = true;
  card.dataset.kind = fields(card)[0].value === "" ? "waiting" : "done";
  count();
});
const save = document.getElementById("save");
if (save) save.addEventListener("click", () => {
  const wrong = cards.map((card) => fields(card)[0]).find((field) => !field.checkValidity());
  if (wrong) { wrong.reportValidity(); return }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
  link.download = "written.csv";
  link.click();
  unsaved = false;
});
addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault() });
count();
"""


def page(title, body, remark=""):
    """Return a whole page; `body` is HTML made here, in which everything foreign is escaped.

    The policy in the head lets this script run and no other, and nothing be fetched.
    """
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>\n'
        f"<h1>{escape(title)}</h1>\n{remark}{body}\n<script>{SCRIPT}</script></body></html>\n"
    )


def tiles(**numbers):
    """Return a row of figures with their names."""
    each = (
        f'<div class="tile"><b>{escape(str(value))}</b>{escape(name.replace("_", " "))}</div>'
        for name, value in numbers.items()
    )
    return f'<div class="tiles">{"".join(each)}</div>\n'


def table(columns, rows):
    """Return a sortable table.

    columns: (name, "text" or "number", perhaps a longer name). rows: the HTML of whole rows.
    """
    heads = "".join(
        f'<th data-sort="{kind}" class="{kind}" title="{escape("".join(long))}">{escape(name)}</th>'
        for name, kind, *long in columns
    )
    return (
        f'<div class="wide"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>\n"
    )


def finder(choices=()):
    """Return the box that filters what is on the page, by text and by kind."""
    options = "".join(f'<option value="{value}">{escape(name)}</option>' for value, name in choices)
    select = f'<select id="show"><option value="">all</option>{options}</select>' if choices else ""
    box = '<input id="find" type="search" placeholder="find a student" aria-label="find a student">'
    return f"{box}{select}"


def block(text, name=""):
    """Return foreign text as it was written, inert; prose without the line breaks in paragraphs."""
    if name == "prose":
        text = re.sub(r"(?<=\S)\n(?=[^\s*>#|-])", " ", text)
    return f'<pre class="{name}">{escape(text)}</pre>'
