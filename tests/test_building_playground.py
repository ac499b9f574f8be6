"""The playground: JavaScript finds what Python finds; the page works by keyboard, by link and on a phone."""

import hashlib
import json
import re
from pathlib import Path

import pytest
import torch
from chromium import Browser, needs_browser

from attn_course import register
from attn_course.building.playground import PAGE, write_playground
from attn_course.cli import main
from attn_course.translation.ablation import PLACES, AblatedTranslator
from attn_course.translation.batches import pad_source
from attn_course.translation.bundled import FOLDER, open_run
from attn_course.translation.corpora import load
from attn_course.translation.known_words import KnownWords
from attn_course.translation.trained_translator import Run
from attn_course.translation.vocabulary import BOS

SENTENCES = [
    "Eine Katze jagt einen Hund.",
    "Ein Mann mit einem roten Hut und eine Frau mit einem blauen Hut.",
    "Die Köchin, die gestern Äpfel schälte, lacht!",
]
SETTINGS = [
    "cross*0",
    "cross-heads",
    "encoder*0.25 decoder*4",
    "decoder-heads",
    "encoder-scale decoder-scale cross-scale",
    "encoder-positions",
    "decoder-positions",
    "-causal",
    "pads=5 -padding",
    "pads=20",
    "decoder-2.1 cross-1.3 encoder-3.4",
]
NASTY = [
    "",
    " ",
    "  zwei  Blanks ",
    "Straße, Äpfel & Öl: 3,50 € (50 %)!?",
    "日本語 und 🐕‍🦺 Hund",
    "<s>Hund</s> <pad>",
    "e\u0301 ist nicht \u00e9",
    "a\tb\nc\u00a0d",
    "x" * 60,
    "▁Hund▁▁",
    "„Guten Tag“, sagte er – und ging…",
]
REMARKED = [
    *SENTENCES,
    "Hello world",
    "A man in a red hat.",
    "Ein Hund jagt ein Einhorn.",
    "Der Bundestag beschließt heute ein Gesetz.",
    "Un chien court dans la neige.",
    "... !",
    "Hund " * 40,
]
READY = "document.getElementById('output').getAttribute('aria-busy') === 'false'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("playground")
    write_playground(folder)
    return folder


@pytest.fixture(scope="module")
def page(folder, tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    browser.ask("Runtime.enable")
    browser.open(folder / "index.html")
    browser.wait(READY)
    browser.run("globalThis.service = attentionService(); service.load(ATTENTION_MODEL); 1")
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def run():
    torch.set_num_threads(1)
    return open_run(device="cpu")


def opened(page, folder, link=""):
    """A fresh load of the page; a change behind # alone would load nothing."""
    page.visit("about:blank")
    page.visit(folder.joinpath("index.html").as_uri() + link)
    page.wait(READY)


def call(page, expression, *values):
    """The value of a JavaScript function of some plain values, typed arrays as lists."""
    given = ", ".join(json.dumps(value) for value in values)
    plain = "(key, value) => ArrayBuffer.isView(value) ? Array.from(value) : value"
    return json.loads(page.run(f"JSON.stringify(({expression})({given}), {plain})"))


def translated(page, text, change="", beam=5):
    request = "(text, change, beam) => service.translate({ text, change, beam }).changed"
    # A fresh model, or an intact translation with another beam is remembered.
    page.run("service.load(ATTENTION_MODEL); 1")
    return call(page, request, text, change, beam)


class Watched(AblatedTranslator):
    """Keeps the weights of every head, {place: [(H, T, S), ...]}, in the order in which they are found."""

    def __init__(self, model, setting):
        super().__init__(model, setting)
        self.maps = {place: [] for place in PLACES}

    def _attend(self, place, *rest):
        context = super()._attend(place, *rest)
        self.maps[place].append(self._weights[0])
        return context


def maps_of(run, sentence, tokens, setting):
    """The weights of each head for a sentence whose translation is known, in the shape of the engine's."""
    watched = Watched(run.model, setting)
    state, steps = None, []
    with torch.no_grad():
        memory = watched.encode(*pad_source([run.vocabulary.encode(sentence)]))
        for token in (BOS, *tokens[:-1]):
            _, _, state = watched.decode(torch.tensor([[token]]), memory, state)
    for place in ("decoder", "cross"):
        last = [found[:, -1] for found in watched.maps[place]]  # (H, keys) of each step and layer
        num_layers = len(last) // len(tokens)
        steps.append([last[i : i + num_layers] for i in range(0, len(last), num_layers)])
    rows = [layer.transpose(0, 1) for layer in watched.maps["encoder"]]  # (S, H, S)
    return {"encoder": rows, "decoder": steps[0], "cross": steps[1]}


@needs_browser
def test_subwords_are_those_of_python(page, run):
    corpus = load("embedded")
    texts = [*NASTY, *(text for pair in corpus.test for text in pair)]
    encode = "(texts) => { const v = new (attentionTokenizer().Vocabulary)(ATTENTION_MODEL); "
    encode += "return texts.map((text) => { const ids = v.encode(text); "
    encode += "return [ids, v.decode(ids), v.words(ids).map((word) => word.text)]; }); }"
    for text, (ids, decoded, words) in zip(texts, call(page, encode, texts), strict=True):
        assert ids == run.vocabulary.encode(text), repr(text)
        assert decoded == run.vocabulary.decode(ids), repr(text)
        if text in SENTENCES or text not in NASTY:
            assert words == run.vocabulary.words(text)


@needs_browser
def test_remarks_are_those_of_python(page):
    known = KnownWords.load(FOLDER)
    remark = "(texts) => { const k = new (attentionTokenizer().KnownWords)(ATTENTION_MODEL); "
    remark += "return texts.map((text) => k.remark(text)); }"
    assert call(page, remark, REMARKED) == [known.remark(text) for text in REMARKED]


@needs_browser
@pytest.mark.parametrize("sentence", SENTENCES)
def test_greedy_and_n_best_translations_are_those_of_python(sentence, page, run):
    assert translated(page, sentence, beam=1)["tokens"] == run.search([sentence])[0]
    found = translated(page, sentence)["hypotheses"]
    expected = run.n_best(sentence)
    assert [one["tokens"] for one in found] == [one.tokens for one in expected]
    scores = [one.score for one in expected]
    assert [one["score"] for one in found] == pytest.approx(scores, abs=1e-4)
    assert [one["text"] for one in found] == [run.vocabulary.decode(one.tokens) for one in expected]


@needs_browser
@pytest.mark.parametrize("setting", SETTINGS)
def test_changed_translations_are_those_of_python(setting, page, run):
    changed = Run(AblatedTranslator(run.model, setting), run.vocabulary)
    expected = changed.search(SENTENCES, beam_size=5)
    assert [translated(page, text, setting)["tokens"] for text in SENTENCES] == expected


@needs_browser
@pytest.mark.parametrize("setting", ["", "cross*0.25", "-causal", "pads=5 -padding", "decoder-2.1"])
def test_the_weights_of_every_head_are_those_of_python(setting, page, run):
    sentence = SENTENCES[1]
    found = translated(page, sentence, setting)
    expected = maps_of(run, sentence, found["tokens"], setting)
    for place in PLACES:
        assert len(found["weights"][place]) == len(expected[place])
        for ours, theirs in zip(found["weights"][place], expected[place], strict=True):
            for row, weights in zip(ours, theirs, strict=True):  # (H x keys) head by head
                row = torch.tensor(row, dtype=torch.float32)
                torch.testing.assert_close(row, weights.flatten(), rtol=0, atol=2e-5)


@needs_browser
def test_the_plain_and_the_fast_product_find_the_same(page):
    fast = translated(page, SENTENCES[0])["hypotheses"]
    page.run("service.load(ATTENTION_MODEL, false); 1")
    request = "(text) => service.translate({ text, change: '' }).changed.hypotheses"
    plain = call(page, request, SENTENCES[0])
    assert [one["tokens"] for one in plain] == [one["tokens"] for one in fast]


def test_the_fast_product_was_made_from_its_source():
    digest = hashlib.sha256((PAGE / "linear.wat").read_bytes()).hexdigest()
    assert f"sha256 of linear.wat: {digest}" in (PAGE / "fast.js").read_text("utf-8")


def test_every_recipe_is_explained_by_a_question_and_its_bleu_was_recorded(folder):
    script = (folder / "measured.js").read_text("utf-8")
    measured = json.loads(script.removeprefix("globalThis.ATTENTION_MEASURED = ").rstrip(";\n"))
    recipes = (PAGE / "play.js").read_text("utf-8").split("RECIPES = [")[1].split("\n  ];")[0]
    numbers = re.findall(r'"(\d+\.\d)"\],', recipes)
    known = {q.id for name in register.NOTEBOOKS for q in register.questions_of(name)}
    assert len(numbers) == 7 and set(numbers) <= known
    for change in re.findall(r'", "((?:cross|decoder|encoder|pads|-causal)[^"]*)",', recipes):
        assert change in measured["settings"], change


@needs_browser
def test_a_link_stores_the_sentence_and_the_changes(page, folder):
    link = "#text=Ein+Hund+schl%C3%A4ft.&change=cross-heads+-causal&show=decoder"
    opened(page, folder, link)
    assert page.run("document.getElementById('german').value") == "Ein Hund schläft."
    assert not page.run("document.getElementById('causal').checked")
    assert not page.run("document.getElementById('cross-heads').checked")
    assert page.run("document.querySelector('[name=place]:checked').value") == "decoder"
    page.run("document.getElementById('reset').click()")
    page.wait(READY)
    assert page.run("new URLSearchParams(location.hash.slice(1)).has('change')") is False
    assert "Ein+Hund" in page.run("location.hash")


@needs_browser
def test_a_recipe_shows_both_translations_the_recorded_bleu_and_what_explains_it(page, folder):
    opened(page, folder)
    assert page.run("document.getElementById('changed').textContent") == "Nothing is changed yet."
    page.run("document.querySelector('#recipes button').click()")
    page.wait("document.querySelector('#changed mark') !== null && " + READY)
    intact = page.run("document.getElementById('intact').textContent")
    assert intact == "A cat chases a dog."
    measured = page.run("document.getElementById('measured').textContent")
    assert "BLEU with this change: 7." in measured
    assert page.run("document.querySelector('#notice a').textContent").startswith("9.3")
    assert intact in page.run("document.getElementById('announcement').textContent")
    assert page.run("document.querySelectorAll('#changed mark').length") > 2


@needs_browser
@pytest.mark.parametrize("change", ["encoder-1.1", "cross*0+decoder-2.1"])
def test_a_change_that_was_never_measured_has_no_number_beside_it(change, page, folder):
    opened(page, folder, f"#text=Ein+Hund+rennt.&change={change}")
    told = page.run("document.getElementById('measured').textContent")
    assert told == "No BLEU was recorded for these changes."


@needs_browser
def test_typing_is_answered_by_a_worker_and_unknown_words_are_named(page, folder):
    opened(page, folder)
    page.run("globalThis.attentionService = null; document.getElementById('german').select(); 1")
    page.run("document.getElementById('german').focus()")
    page.type("Ein Hund jagt ein Einhorn.")
    page.wait("!document.getElementById('remark').hidden")
    assert "Einhorn" in page.run("document.getElementById('remark').textContent")
    assert page.run("document.getElementById('intact').textContent").startswith("A dog")


@needs_browser
def test_words_are_chosen_with_the_arrow_keys(page, folder):
    opened(page, folder)
    page.run("document.querySelector('#from button').focus()")
    before = page.run("document.getElementById('looked').textContent")
    page.press("ArrowRight")
    chosen = page.run("document.activeElement.textContent")
    after = page.run("document.getElementById('looked').textContent")
    assert after.startswith(f"“{chosen}” looked at") and after != before


@needs_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_narrow_phone_shows_everything_in_both_themes(theme, page, folder):
    page.look(theme, 360)
    opened(page, folder, "#text=Ein+Hund+rennt.&change=decoder-heads")
    assert page.run("document.documentElement.dataset.theme") == theme
    assert page.run("document.documentElement.scrollWidth") <= 360
    targets = "[...document.querySelectorAll('button, input, summary, textarea')]"
    small = f"{targets}.map((node) => [node.id || node.textContent, node.getBoundingClientRect()])"
    small += ".filter(([, box]) => box.width && (box.width < 24 || box.height < 24)).map(([name]) => name)"
    assert page.run(small) == []
    page.ask("Emulation.clearDeviceMetricsOverride")


def test_the_page_loads_nothing_from_elsewhere(folder):
    for path in Path(folder).iterdir():
        if path.name != "model.js":
            assert "http" not in path.read_text("utf-8"), path.name


def test_the_command_writes_the_page_and_says_where(tmp_path, capsys):
    assert main(["playground", "--no-open", "--out", str(tmp_path / "page")]) == 0
    assert str(tmp_path / "page" / "index.html") in capsys.readouterr().out
    assert (tmp_path / "page" / "model.js").stat().st_size > 1_000_000
    (tmp_path / "file").write_text("")
    assert main(["playground", "--no-open", "--out", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err
