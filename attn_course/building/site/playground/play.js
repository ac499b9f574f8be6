// The page: reads the controls, has a worker translate, and draws what came back.

// What runs in the worker, or in the page itself where a browser allows no worker.
function attentionService() {
  "use strict";
  const tokenizer = attentionTokenizer();
  const engine = attentionEngine(tokenizer);
  let vocabulary, known, translator;
  let last = { text: null }; // the sentence before, whose intact translation need not be searched again

  function load(model, isFast = true) {
    vocabulary = new tokenizer.Vocabulary(model);
    known = new tokenizer.KnownWords(model);
    translator = new engine.Translator(model);
    if (isFast) translator.linear = attentionFast().fastLinear(translator.weights) ?? translator.linear;
    last = { text: null };
    return { numHeads: translator.H, numLayers: translator.numLayers };
  }

  function search(text, setting, beam) {
    const ids = [...vocabulary.encode(text), tokenizer.EOS];
    const found = translator.search(ids, { beam, setting });
    const source = [...ids, ...Array(setting.numPads).fill(tokenizer.PAD)];
    const { tokens, self, cross } = found.hypotheses[0];
    return {
      ids,
      tokens,
      hypotheses: found.hypotheses.map((one) => ({ tokens: one.tokens, score: one.score, text: vocabulary.decode(one.tokens) })),
      weights: { encoder: found.encoder, decoder: self, cross },
      words: {
        source: vocabulary.words(source),
        target: vocabulary.words(tokens),
        written: vocabulary.words([tokenizer.BOS, ...tokens.slice(0, -1)]),
      },
    };
  }

  // The intact and the changed translation of a sentence.
  function translate({ text, change, beam = 5 }) {
    const began = performance.now();
    if (last.text !== text) last = { text, found: search(text, engine.parseSetting(""), beam) };
    const changed = change ? search(text, engine.parseSetting(change), beam) : last.found;
    return { text, change, remark: known.remark(text), intact: last.found.hypotheses[0].text, changed, ms: performance.now() - began };
  }

  return { load, translate };
}

const playground = (() => {
  "use strict";
  const { parseSetting, settingText, PLACES } = attentionEngine({});
  const element = (id) => document.getElementById(id);
  const PLACE_NAMES = { encoder: "German to German (encoder)", decoder: "English to English (decoder)", cross: "English to German (cross-attention)" };
  const STOPS = [ // of the sharpness: what is added to the name of a place, and what it means
    ["*0", "× 0: every subword alike"], ["*0.25", "× 0.25"], ["*0.5", "× 0.5"], ["", "× 1: as trained"], ["*2", "× 2"],
    ["*4", "× 4"], ["-scale", "× 6.93: without 1/√d"], ["*16", "× 16: nearly one subword"],
  ];
  const NUM_PADS = [0, 1, 5, 20];
  const EXAMPLES = [
    "Ein Hund rennt über eine Wiese.", "Zwei Kinder spielen mit einem roten Ball im Schnee.",
    "Eine Frau in einem blauen Kleid liest ein Buch.", "Der Mann, der einen Hut trägt, spielt Gitarre.",
  ];
  const everywhere = (change) => PLACES.map((place) => place + change).join(" ");
  const RECIPES = [ // name, sentence, change, what to notice, and the question that explains it
    ["Every subword alike", "Eine Katze jagt einen Hund.", "cross*0",
      "A mean forgets the order: “Ein Hund jagt eine Katze.” becomes almost the same sentence.", "9.3"],
    ["No look at the German", "Zwei Kinder spielen mit einem roten Ball im Schnee.", "cross-heads",
      "Whatever you type, the model writes the same caption, because nothing of the German reaches it.", "9.3"],
    ["No look at its own words", "Ein Hund jagt eine Katze.", "decoder-heads",
      "The model cannot see what it has already written, and it writes the same word again and again.", "6.6"],
    ["No positions", "Eine Katze jagt einen Hund.", "encoder-positions",
      "Who chases whom? Without positions “Ein Hund jagt eine Katze.” gets the same translation.", "12.1"],
    ["Visible padding", "Eine Katze jagt einen Hund.", "pads=5 -padding",
      "Five empty places behind the sentence now receive weight, and words appear that the German does not have.", "6.3"],
    ["No 1/√d", "Menschen gehen im Regen mit Schirmen über die Straße.", everywhere("-scale"),
      "The sentence stays readable, and the model loses only a few points of BLEU: the scale matters while a model learns, where large scores stop the gradients.", "6.7"],
    ["No causal mask", "Ein Musiker spielt Trompete, während die Leute tanzen.", "-causal",
      "BLEU hardly falls: the newest word may look at everything written so far either way. The mask matters in training, where the next words are already there.", "6.4"],
  ];
  const state = { text: EXAMPLES[0], change: parseSetting(""), place: "cross", head: null, word: 0 };
  let size = null; // of the model
  let shown = null; // what the worker found last
  let service = null;
  let isBusy = false;
  let isAsked = false; // something changed while the worker was busy

  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name in node && typeof value !== "string") node[name] = value;
      else node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  }

  // A function that gives a promise of the worker's answer. Its code is that of this page: a page that was opened from a
  // disk may not load a worker from a file.
  function startService() {
    const answer = () => {
      const local = attentionService();
      onmessage = ({ data: { name, value } }) => postMessage(local[name](value));
    };
    const code = [attentionTokenizer, attentionEngine, attentionFast, attentionService].join("\n") + `\n(${answer})();`;
    try {
      const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
      return (name, value) => new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = reject;
        worker.postMessage({ name, value });
      });
    } catch {
      const local = attentionService();
      return async (name, value) => local[name](value);
    }
  }

  async function start(model) {
    makeControls();
    readLink();
    service = startService();
    size = await service("load", model);
    update();
  }

  // Translate what is there now; while the worker is busy only the newest wish is kept.
  async function update() {
    writeLink();
    showMeasured();
    if (!size) return;
    isAsked = true;
    if (isBusy) return;
    isBusy = true;
    element("output").setAttribute("aria-busy", "true");
    while (isAsked) {
      isAsked = false;
      if (!state.text.trim()) {
        shown = null;
        for (const id of ["intact", "changed", "hypotheses", "from", "to", "heads", "map", "looked"]) element(id).replaceChildren();
        element("remark").hidden = true;
      } else {
        const request = { text: state.text.trim(), change: settingText(state.change) };
        shown = await service("translate", request).catch(() => null);
        if (!shown) element("intact").textContent = "This sentence could not be translated; a shorter one may help.";
        else if (!isAsked) showTranslations();
      }
    }
    isBusy = false;
    element("output").setAttribute("aria-busy", "false");
  }

  function showTranslations() {
    const { intact, changed, change, remark, ms } = shown;
    element("intact").textContent = intact;
    const text = changed.hypotheses[0].text;
    element("changed").replaceChildren(...(change ? compared(text, intact) : ["Nothing is changed yet."]));
    element("hypotheses").replaceChildren(...changed.hypotheses.map((one) =>
      make("li", {}, `${one.text} (${(100 * Math.exp(one.score)).toFixed(0)}% per subword)`)));
    element("remark").hidden = !remark;
    element("remark").textContent = remark ? remark[0].toUpperCase() + remark.slice(1) : "";
    element("announcement").textContent = change
      ? `Intact: ${intact} Changed: ${text} ${element("measured").textContent}` : `Translation: ${intact}`;
    element("timing").textContent =
      `This sentence: ${changed.ids.length} subwords in, ${changed.tokens.length} out, ${ms.toFixed(0)} ms of search in your browser.`;
    showLooks();
  }

  // The words of a text; those that are not in the other one, in the same order, are marked.
  function compared(text, other) {
    const [ours, theirs] = [text.split(" "), other.split(" ")];
    const common = Array.from({ length: ours.length + 1 }, () => new Uint16Array(theirs.length + 1));
    for (let i = ours.length - 1; i >= 0; i--) {
      for (let j = theirs.length - 1; j >= 0; j--) {
        common[i][j] = ours[i] === theirs[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
      }
    }
    const nodes = [];
    let [i, j] = [0, 0];
    while (i < ours.length) {
      const isCommon = j < theirs.length && ours[i] === theirs[j];
      if (!isCommon && j < theirs.length && common[i][j + 1] >= common[i + 1][j]) { j++; continue; }
      nodes.push(isCommon ? ours[i] : make("mark", {}, ours[i]), " ");
      i++;
      if (isCommon) j++;
    }
    return nodes;
  }

  function showMeasured() {
    const { settings, test, beam } = ATTENTION_MEASURED;
    const change = settingText(state.change);
    const [row, whole] = [settings[change], settings[""]];
    const range = ([low, high]) => `95% interval ${low.toFixed(1)} to ${high.toFixed(1)}`;
    let text = "No BLEU was recorded for these changes.";
    if (row) text = `BLEU of the intact model: ${row.bleu.toFixed(1)} (${range(row.interval)}) on ${test}.`;
    if (row && change) {
      text = `BLEU with this change: ${row.bleu.toFixed(1)} (${range(row.interval)}); intact: ${whole.bleu.toFixed(1)}. ` +
        `Lost: ${row.lost.toFixed(1)} (${range(row["lost interval"])}).`;
    }
    element("measured").textContent = text;
    element("recorded").replaceChildren(
      `On ${test}, with a beam of ${beam}. ${Object.keys(settings).length} settings were recorded on ${ATTENTION_MEASURED.date} by `,
      make("code", {}, ATTENTION_MEASURED.command),
      `; the intervals are those of a bootstrap over sentences (${ATTENTION_MEASURED.bootstrap.samples} samples, seed ${ATTENTION_MEASURED.bootstrap.seed}), for what is lost a paired one.`);
  }

  // The words that look and are looked at, and the weight between them: rows of pieces are averaged, columns added up.
  function wordWeights(layer, head) {
    const { weights, words } = shown.changed;
    const looking = state.place === "encoder" ? words.source : words.target;
    const looked = state.place === "decoder" ? words.written : words.source;
    const rowOf = (i) => (state.place === "encoder" ? weights.encoder[layer][i] : weights[state.place][i][layer]);
    const values = looking.map(({ members }) => looked.map((word) => {
      let sum = 0;
      for (const i of members) {
        const row = rowOf(i);
        const num = row.length / size.numHeads;
        for (const j of word.members) if (j < num) sum += row[head * num + j];
      }
      return sum / members.length;
    }));
    return { layer, head, name: `${layer + 1}.${head + 1}`, looking, looked, values };
  }

  function showLooks() {
    if (!shown) return;
    const maps = [];
    for (let layer = 0; layer < size.numLayers[state.place]; layer++) {
      for (let head = 0; head < size.numHeads; head++) maps.push(wordWeights(layer, head));
    }
    const last = maps.slice(-size.numHeads);
    const average = last[0].values.map((row, i) => row.map((_, j) => last.reduce((sum, map) => sum + map.values[i][j], 0) / last.length));
    const map = maps.find(({ name }) => name === state.head) ?? { ...last[0], values: average };
    element("shown").textContent = state.head ? `Shown now: head ${state.head}.` : "Shown now: the mean of the last layer's heads.";
    showWords(map);
    showHeads(maps);
    showMap(map);
  }

  function showWords({ looking, looked, values }) {
    state.word = Math.min(state.word, looking.length - 1);
    const buttons = looking.map(({ text }, i) => {
      const button = make("button", { type: "button" }, text);
      button.onmouseenter = button.onfocus = button.onclick = () => choose(i);
      button.onkeydown = ({ key }) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
        if (step) buttons[(i + step + buttons.length) % buttons.length].focus();
      };
      return button;
    });
    const targets = looked.map(({ text }) => make("span", {}, text));
    const choose = (i) => {
      state.word = i;
      buttons.forEach((button, j) => { button.setAttribute("aria-pressed", String(i === j)); button.tabIndex = i === j ? 0 : -1; });
      targets.forEach((node, j) => node.style.setProperty("--weight", values[i][j].toFixed(3)));
      const order = values[i].map((weight, j) => ({ weight, text: looked[j].text })).sort((one, other) => other.weight - one.weight);
      const most = order.slice(0, 3).filter(({ weight }) => weight > 0.02).map(({ text, weight }) => `“${text}” ${(100 * weight).toFixed(0)}%`);
      element("looked").textContent = `“${looking[i].text}” looked at ${most.join(", ") || "nothing"}.`;
    };
    element("from").replaceChildren(...buttons);
    element("to").replaceChildren(...targets);
    choose(state.word);
  }

  function showHeads(maps) {
    const focused = document.activeElement?.id;
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
    element("heads").replaceChildren(...maps.map(({ name, values }) => {
      const { off } = state.change[state.place];
      const isOff = off.has("heads") || off.has(name);
      const canvas = make("canvas", { width: values[0].length, height: values.length });
      const brush = canvas.getContext("2d");
      values.forEach((row, i) => row.forEach((weight, j) => {
        brush.fillStyle = `rgb(${ink} / ${weight})`;
        brush.fillRect(j, i, 1, 1);
      }));
      const show = make("button", { type: "button", id: `show-${name}`, "aria-pressed": String(state.head === name), "aria-label": `Show head ${name} alone` }, canvas);
      show.onclick = () => { state.head = state.head === name ? null : name; writeLink(); showLooks(); };
      const tick = make("input", { type: "checkbox", id: `on-${name}`, checked: !isOff });
      tick.onchange = () => switchHead(maps.map((map) => map.name), name, tick.checked);
      return make("div", { class: isOff ? "head off" : "head" }, show, make("label", {}, tick, name));
    }));
    if (focused) element(focused)?.focus();
  }

  function switchHead(names, name, isOn) {
    const { off } = state.change[state.place];
    if (off.delete("heads")) names.forEach((other) => off.add(other));
    off[isOn ? "delete" : "add"](name);
    if (names.every((other) => off.has(other))) state.change[state.place].off = new Set(["heads"]);
    showControls();
    update();
  }

  function showMap({ looking, looked, values }) {
    const heads = looked.map(({ text }) => make("th", { scope: "col" }, text));
    const rows = values.map((row, i) => {
      const cells = row.map((weight) => make("td", { style: `--weight: ${weight.toFixed(3)}` }, weight < 0.005 ? "" : (100 * weight).toFixed(0)));
      return make("tr", {}, make("th", { scope: "row" }, looking[i].text), ...cells);
    });
    element("map").replaceChildren(make("caption", {}, "Per cent of the weight of each row"),
      make("thead", {}, make("tr", {}, make("td"), ...heads)), make("tbody", {}, ...rows));
  }

  function makeControls() {
    const wait = (call) => { let timer; return () => { clearTimeout(timer); timer = setTimeout(call, 150); }; };
    element("german").oninput = wait(() => { state.text = element("german").value; update(); });
    const button = (text, act, attributes = {}) => {
      const node = make("button", { type: "button", ...attributes }, text);
      node.onclick = act;
      return node;
    };
    element("examples").append(...EXAMPLES.map((text) => button(text, () => go(text, settingText(state.change)), { lang: "de" })));
    element("recipes").append(...RECIPES.map(([name, text, change]) => button(name, () => go(text, change), { "data-change": change })));
    element("places").append(...["cross", "encoder", "decoder"].map(placeControls));
    const changed = (act) => ({ target }) => { act(target); showControls(); update(); };
    element("causal").onchange = changed(({ checked }) => { state.change.causal = checked; });
    element("padding-mask").onchange = changed(({ checked }) => { state.change.paddingMask = checked; });
    element("pads").oninput = changed(({ value }) => { state.change.numPads = NUM_PADS[value]; });
    element("reset").onclick = () => go(state.text, "");
    element("share").onclick = async () => {
      await navigator.clipboard?.writeText(location.href).catch(() => {});
      element("copied").textContent = "The address of this page now holds them.";
    };
    document.querySelectorAll("[name=place]").forEach((radio) => {
      radio.onchange = () => { Object.assign(state, { place: radio.value, head: null, word: 0 }); writeLink(); showLooks(); };
    });
    const root = document.documentElement;
    const setTheme = (isDark) => {
      root.dataset.theme = isDark ? "dark" : "light";
      element("theme").setAttribute("aria-pressed", String(isDark));
      showLooks();
    };
    element("theme").onclick = () => setTheme(root.dataset.theme !== "dark");
    setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
    window.onhashchange = () => { readLink(); update(); };
  }

  function placeControls(place) {
    const range = make("input", { type: "range", id: `${place}-sharpness`, min: "0", max: String(STOPS.length - 1), step: "1" });
    range.oninput = () => {
      const [stop] = STOPS[range.value];
      Object.assign(state.change[place], { scale: stop !== "-scale", factor: stop.startsWith("*") ? Number(stop.slice(1)) : 1 });
      showControls();
      update();
    };
    const tick = (id, text, act) => {
      const box = make("input", { type: "checkbox", id: `${place}-${id}` });
      box.onchange = () => { act(box.checked); showControls(); update(); };
      return make("label", {}, box, text);
    };
    const switches = [tick("heads", "Heads are on", (isOn) => { state.change[place].off = new Set(isOn ? [] : ["heads"]); })];
    if (place !== "cross") switches.push(tick("positions", "Positions are seen", (isOn) => { state.change[place].positions = isOn; }));
    return make("fieldset", {}, make("legend", {}, PLACE_NAMES[place]),
      make("label", { class: "range" }, make("span", {}, "Sharpness"), range, make("output", { for: range.id })),
      make("div", { class: "switches" }, ...switches));
  }

  // Bring every control in line with the state.
  function showControls() {
    if (element("german").value.trim() !== state.text.trim()) element("german").value = state.text;
    for (const place of PLACES) {
      const { factor, scale, positions, off } = state.change[place];
      const stop = STOPS.findIndex(([name]) => name === (scale ? (factor === 1 ? "" : `*${factor}`) : "-scale"));
      showRange(element(`${place}-sharpness`), stop, STOPS[stop]?.[1] ?? "not measured");
      element(`${place}-heads`).checked = off.size === 0;
      element(`${place}-heads`).indeterminate = off.size > 0 && !off.has("heads");
      if (place !== "cross") element(`${place}-positions`).checked = positions;
    }
    const { causal, paddingMask, numPads } = state.change;
    element("causal").checked = causal;
    element("padding-mask").checked = paddingMask;
    showRange(element("pads"), NUM_PADS.indexOf(numPads), `${numPads} empty places`);
    const change = settingText(state.change);
    for (const button of element("recipes").children) {
      button.setAttribute("aria-pressed", String(button.dataset.change === change));
    }
    const recipe = RECIPES.find(([, , own]) => own === change);
    element("notice").replaceChildren();
    if (recipe) {
      const [, , , notice, number] = recipe;
      const { title, page } = ATTENTION_MEASURED.questions[number];
      element("notice").append(`${notice} Explained by question `, make("a", { href: page }, `${number}, ${title}`), ".");
    }
  }

  function showRange(range, value, text) {
    range.value = value;
    range.setAttribute("aria-valuetext", text);
    range.parentElement.querySelector("output").textContent = text;
  }

  function go(text, change) {
    Object.assign(state, { text, change: parseSetting(change) });
    showControls();
    update();
  }

  // The part of the address behind # stores the sentence, the changes and what is shown.
  function writeLink() {
    const values = { text: state.text, change: settingText(state.change), show: state.place, head: state.head ?? "" };
    const kept = Object.entries(values).filter(([, value]) => value);
    history.replaceState(null, "", `#${new URLSearchParams(kept)}`);
    element("copied").textContent = "";
  }

  function readLink() {
    const values = new URLSearchParams(location.hash.slice(1));
    const place = PLACES.includes(values.get("show")) ? values.get("show") : "cross";
    Object.assign(state, { text: (values.get("text") ?? EXAMPLES[0]).slice(0, 400), change: parseSetting(values.get("change") ?? ""), place, head: values.get("head") });
    document.querySelector(`[name=place][value=${place}]`).checked = true;
    showControls();
  }

  return { start };
})();
