"use strict";
// Sorts tables, filters rows and cards, and on a page of written answers keeps and hands out what is typed.
const all = (query, node = document) => [...node.querySelectorAll(query)];

// What is wider than the page is scrolled by keys, too.
for (const part of all(".prose, .wide")) if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;

// Tables: a click on a head sorts by its column, another one backwards.
function sortBy(head) {
  const body = head.closest("table").tBodies[0];
  const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  all("th", head.parentNode).forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
  const key = (row) => {
    const cell = row.cells[head.cellIndex];
    return cell.dataset.value ?? cell.textContent;
  };
  const order = (a, b) =>
    head.dataset.sort === "number" ? key(a) - key(b) : key(a).localeCompare(key(b));
  [...body.rows].sort((a, b) => direction * order(a, b)).forEach((row) => body.append(row));
}
all("th[data-sort]").forEach((head) => head.addEventListener("click", () => sortBy(head)));

// Rows and cards are filtered by a name and by a kind.
const find = document.getElementById("find");
const show = document.getElementById("show");
function filter() {
  const text = find.value.toLowerCase();
  const kind = show.value ? ` ${show.value} ` : " ";
  for (const item of all("[data-item]")) {
    const isNamed = item.dataset.item.toLowerCase().includes(text);
    const isOfKind = ` ${item.dataset.kind} `.includes(kind);
    item.hidden = !(isNamed && isOfKind);
  }
}
if (find) [find, show].forEach((control) => control.addEventListener("input", filter));

// Written answers.
const cards = all("[data-students]");
const members = (card) => JSON.parse(card.dataset.students);
const numAnswers = (list) => list.reduce((sum, card) => sum + members(card).length, 0);
const grader = document.getElementById("grader");
const fields = (card) => [card.querySelector(".points"), card.querySelector(".remark")];
const items = (card) => all(".item", card);
const typed = (card) => fields(card).map((field) => field.value);
const initial = new Map(cards.map((card) => [card, typed(card).join("\n")]));
const isChanged = (card) => typed(card).join("\n") !== initial.get(card);
let unsaved = false;

// The number in "0.5" or "2/3", or NaN.
function amount(text) {
  const match = /^\s*(\d+(?:[.,]\d+)?)\s*(?:\/\s*(\d+))?\s*$/.exec(text);
  return match ? Number(match[1].replace(",", ".")) / Number(match[2] ?? 1) : NaN;
}

// A number of twelfths as people write it: 1/3, 1/2, 2.
function fraction(twelfths) {
  if (twelfths % 12 === 0) return String(twelfths / 12);
  const common = [6, 4, 3, 2, 1].find((k) => twelfths % k === 0 && 12 % k === 0);
  return `${twelfths / common}/${12 / common}`;
}

function validate(card) {
  const [points] = fields(card);
  const value = amount(points.value);
  const isGood = points.value === "" || (value >= 0 && value <= Number(card.dataset.most));
  points.setCustomValidity(isGood ? "" : points.title);
}

function count() {
  const left = numAnswers(cards.filter((card) => typed(card)[0] === ""));
  const note = document.getElementById("left");
  if (note) note.textContent = `${left} of ${numAnswers(cards)} without points`;
}

// What is typed stays in this browser until it is downloaded and merged: a closed tab loses nothing.
const storageKey = (card) => `attn ${card.dataset.question} ${card.dataset.part} ${members(card)[0]} ${card.dataset.digest} ${initial.get(card)}`;
function remember(card) {
  const pressed = items(card).map((item) => item.getAttribute("aria-pressed"));
  const text = JSON.stringify({ typed: typed(card), pressed, before: initial.get(card) });
  try { localStorage.setItem(storageKey(card), text) } catch { unsaved = true }
}
function recall(card) {
  let saved = null;
  try { saved = JSON.parse(localStorage.getItem(storageKey(card))) } catch { return }
  if (!saved || saved.before !== initial.get(card)) return;
  fields(card).forEach((field, number) => { field.value = saved.typed[number] });
  items(card).forEach((item, number) => item.setAttribute("aria-pressed", saved.pressed[number]));
  refresh(card);
}
function refresh(card) {
  card.dataset.kind = typed(card)[0] === "" ? "waiting" : "done";
  validate(card);
  count();
}
function changed(card) {
  unsaved = true;
  refresh(card);
  remember(card);
}

function setPoints(card, text) {
  fields(card)[0].value = text;
  changed(card);
}
function toggle(card, item) {
  item.setAttribute("aria-pressed", item.getAttribute("aria-pressed") !== "true");
  const pressed = items(card).filter((other) => other.getAttribute("aria-pressed") === "true");
  const twelfths = pressed.map((other) => Math.round(12 * amount(other.dataset.points)));
  const most = Math.round(12 * Number(card.dataset.most));
  setPoints(card, fraction(Math.min(most, twelfths.reduce((a, b) => a + b, 0))));
}
function setAll(card, isPressed, text) {
  items(card).forEach((item) => item.setAttribute("aria-pressed", isPressed));
  setPoints(card, text);
}
// Remarks that are on the page, to be used again: each has a letter.
const LETTERS = "asdghzxcvbnm";
const list = document.getElementById("remarks");
const remarks = [];
function addRemark(text) {
  if (!list || !text.trim() || remarks.includes(text) || remarks.length === LETTERS.length) return;
  const letter = LETTERS[remarks.push(text) - 1];
  const button = document.createElement("button");
  const key = document.createElement("kbd");
  key.textContent = letter;
  button.type = "button";
  button.className = "item";
  button.append(key, ` ${text}`);
  button.addEventListener("click", () => useRemark(text));
  const line = document.createElement("li");
  line.append(button);
  list.append(line);
  document.getElementById("no-remarks").hidden = true;
}
function useRemark(text) {
  if (!current) return;
  const remark = fields(current)[1];
  if (!remark.value.includes(text)) remark.value = remark.value ? `${remark.value} ${text}` : text;
  changed(current);
}
for (const card of cards) {
  fields(card).forEach((field) => field.addEventListener("input", () => changed(card)));
  items(card).forEach((item) => item.addEventListener("click", () => toggle(card, item)));
  card.addEventListener("focusin", () => choose(card));
  recall(card);
  addRemark(fields(card)[1].value);
  fields(card)[1].addEventListener("change", (event) => addRemark(event.target.value));
}

// The keyboard: one card is the current one.
let current = null;
function choose(card) {
  if (current) current.classList.remove("current");
  current = card;
  card.classList.add("current");
}
function step(by) {
  const visible = cards.filter((card) => !card.hidden);
  const next = visible[visible.indexOf(current) + by] ?? (current && !current.hidden ? current : visible[0]);
  if (!next) return;
  choose(next);
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}
function press(event) {
  const isTyping = event.target.matches("input, select");
  if (event.ctrlKey || event.altKey || event.metaKey || cards.length === 0) return;
  if (isTyping) {
    const isInCard = event.target.closest("[data-students]");
    if (event.key === "Escape") event.target.blur();
    else if (event.key === "Enter" && isInCard) step(1);
    return;
  }
  if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (!current) return;
  else if (event.key === "p") fields(current)[0].focus();
  else if (event.key === "r") fields(current)[1].focus();
  else if (event.key === "0") setAll(current, false, "0");
  else if (event.key === "f") setAll(current, true, current.dataset.most.replace(/\.0$/, ""));
  else if (remarks[LETTERS.indexOf(event.key)]) useRemark(remarks[LETTERS.indexOf(event.key)]);
  else if (/^[1-9]$/.test(event.key) && items(current)[event.key - 1])
    toggle(current, items(current)[event.key - 1]);
  else return;
  event.preventDefault();
}
addEventListener("keydown", press);

// The download: a row for each student whose answer has points. Rows that were not touched keep their grader.
function csv() {
  const quote = (text) => '"' + String(text).replaceAll('"', '""') + '"';
  const safe = (text) => text.replace(/(?:^|(?<=[;\t\r\n]))(?='*[=+\-@\t\r\n＝＋－＠])/g, "'");
  const row = (card) => (student) => {
    const [points, remark] = typed(card);
    const who = isChanged(card) ? grader.value : card.dataset.grader;
    const { question, part, digest } = card.dataset;
    return [safe(student), question, part, points.trim().replace(",", "."), safe(remark), safe(who), digest];
  };
  const head = ["student", "question", "part", "points", "comment", "grader", "digest"];
  const rows = cards.filter((card) => typed(card)[0] !== "").flatMap((card) => members(card).map(row(card)));
  return [head, ...rows].map((cells) => cells.map(quote).join(",")).join("\n") + "\n";
}
function download() {
  const message = document.getElementById("message");
  message.hidden = cards.some((card) => typed(card)[0] !== "");
  if (!message.hidden) {
    message.textContent = "No answer has points yet, so there is nothing to download. A remark alone is not a mark.";
    return;
  }
  const wrong = cards.map((card) => fields(card)[0]).find((field) => !field.checkValidity());
  if (wrong) {
    wrong.reportValidity();
    return;
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
  link.download = save.textContent.replace(/^.* /, "");
  link.click();
  unsaved = false;
}
const save = document.getElementById("save");
if (save) save.addEventListener("click", download);
if (grader) {
  try { grader.value = localStorage.getItem("attn grader") ?? "" } catch { /* it is typed again */ }
  grader.addEventListener("input", () => {
    try { localStorage.setItem("attn grader", grader.value) } catch { /* it is typed again */ }
  });
}
addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault() });
count();
