// The plane of queries: drag the query or a key, or move it with the arrow keys; all else follows.
const SIDE = 400;
const LEFT = 46;
const TOP = 22;
const SPAN = 336;
const CELLS = 96;

function softmax(scores) {
  const top = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - top));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
const fixed = (number) => number.toFixed(2).replace(/^-(0\.00)$/, "$1");
// Where the two best keys tie: rays from the origin.
function ties(keys) {
  const rays = [];
  keys.forEach((a, i) => keys.slice(i + 1).forEach((b) => {
    const across = [a[0] - b[0], a[1] - b[1]];
    const length = Math.hypot(...across);
    if (length < 1e-9) return;
    for (const sign of [1, -1]) {
      const ray = [(-sign * across[1]) / length, (sign * across[0]) / length];
      if (dot(a, ray) >= Math.max(...keys.map((key) => dot(key, ray))) - 1e-9) rays.push(ray);
    }
  }));
  return rays;
}

function hullOf(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  const half = (list) => list.reduce((chain, point) => {
    while (chain.length > 1 && turn(chain.at(-2), chain.at(-1), point) <= 0) chain.pop();
    return [...chain, point];
  }, []);
  return [...half(sorted).slice(0, -1), ...half(sorted.reverse()).slice(0, -1)];
}

// The share of all directions in which each key has the greatest score.
function landOf(keys) {
  const won = keys.map(() => 0);
  for (let k = 0; k < 720; k++) {
    const angle = (k + 0.5) * Math.PI / 360;
    const scores = keys.map((key) => dot(key, [Math.cos(angle), Math.sin(angle)]));
    won[scores.indexOf(Math.max(...scores))] += 1 / 720;
  }
  return won;
}

// Words beside their places, none on another: of eight sides the first free one, those away from `centre` first.
const SIDES = [[1, 0], [0.7, -0.7], [0, -1], [-0.7, -0.7], [-1, 0], [-0.7, 0.7], [0, 1], [0.7, 0.7]];

function placeWords(words, taken, centre, right, bottom) {
  for (const word of words) {
    const width = 7.9 * word.text.length + 4;
    const away = [word.x - centre[0], word.y - centre[1]];
    const order = [...SIDES].sort((a, b) => dot(b, away) - dot(a, away));
    const sides = [];
    for (const far of [12, 24, 38]) {
      for (const [x, y] of order) {
        const left = word.x + x * far + (x - 1) * width / 2;
        sides.push({ left, top: word.y + y * far - 8, width, height: 16 });
      }
    }
    const cost = (box) => {
      const outside = box.left < 2 || box.top < 2 || box.left + width > right || box.top + 16 > bottom;
      const hit = (other) => box.left < other.left + other.width && other.left < box.left + width
        && box.top < other.top + other.height && other.top < box.top + 16;
      return (outside ? 5 : 0) + taken.filter(hit).length;
    };
    const best = sides.reduce((a, b) => (cost(b) < cost(a) ? b : a));
    taken.push(best);
    word.label.setAttribute("x", best.left + 2);
    word.label.setAttribute("y", best.top + 12.5);
  }
}

function arrowPath(start, end) {
  const length = Math.hypot(end[0] - start[0], end[1] - start[1]);
  if (length < 0.5) return "";
  const [x, y] = [(end[0] - start[0]) / length, (end[1] - start[1]) / length];
  const neck = [end[0] - 11 * x, end[1] - 11 * y];
  return `M${start}L${neck}M${end}L${neck[0] - 4.5 * y},${neck[1] + 4.5 * x}`
    + `L${neck[0] + 4.5 * y},${neck[1] - 4.5 * x}Z`;
}

class Plane {
  constructor(root) {
    this.root = root;
    this.setting = JSON.parse(root.dataset.setting);
    this.means = this.setting.keys.map((key) => [...key]);
    this.queries = this.setting.queries.map((query) => [...query]);
    this.noise = this.setting.noise;
    this.draw = 0;
    this.colours = this.means.map((_, i) => `var(--c${i})`);
    this.build();
    this.update();
  }

  keys() {
    const noise = this.setting.draws[this.draw] ?? [];
    return this.means.map((mean, i) => mean.map((m, k) => m + this.noise * (noise[i]?.[k] ?? 0)));
  }

  toPixels([x, y]) {
    const { limit } = this.setting;
    return [LEFT + SPAN * (x + limit) / (2 * limit), TOP + SPAN * (limit - y) / (2 * limit)];
  }

  toPlane(event) {
    const box = this.map.getBoundingClientRect();
    const { limit } = this.setting;
    const across = ((event.clientX - box.left) * SIDE / box.width - LEFT) / SPAN;
    const down = ((event.clientY - box.top) * SIDE / box.height - TOP) / SPAN;
    return [limit * (2 * across - 1), limit * (1 - 2 * down)];
  }

  inside(place) {
    const { limit } = this.setting;
    return place.map((number) => Math.max(-limit, Math.min(limit, +number.toFixed(3))));
  }

  build() {
    const row = element("div", this.root, { class: "row" });
    const map = element("div", row, { class: "map" });
    this.canvas = element("canvas", map, { width: CELLS, height: CELLS });
    this.canvas.style.cssText = `left:${LEFT / 4}%;top:${TOP / 4}%;width:${SPAN / 4}%;height:${SPAN / 4}%`;
    const title = this.setting.title || "whom a query attends to";
    this.map = element("svg", map, { viewBox: `0 0 ${SIDE} ${SIDE}`, role: "group", "aria-label": title });
    this.axes(title);
    this.tips = [];
    this.queries.forEach((_, h) => {
      const name = this.queries.length > 1 ? `query ${h + 1}` : "query";
      this.tip(name, "currentColor", () => this.queries[h], (place) => { this.queries[h] = place; });
    });
    this.means.forEach((_, i) => {
      const move = (place) => {
        const now = this.keys()[i];
        this.means[i] = this.means[i].map((m, k) => m + place[k] - now[k]);
        this.stale = true;
      };
      this.tip(this.setting.names[i], this.colours[i], () => this.keys()[i], move);
    });
    this.side = element("svg", row, { class: "side", viewBox: `0 0 ${SIDE} ${SIDE}`, "aria-hidden": "true" });
    this.buildSide();
    this.controls();
    this.map.addEventListener("pointerdown", (event) => this.grab(event, this.tips[0], true));
    this.stale = true;
    const themed = { attributes: true, attributeFilter: ["data-theme", "data-jp-theme-light"] };
    const watcher = new MutationObserver(() => { this.stale = true; this.update(); });
    for (const page of [document.documentElement, document.body]) watcher.observe(page, themed);
  }

  axes(title) {
    const { limit } = this.setting;
    const [left, top] = this.toPixels([-limit, limit]);
    const [right, bottom] = this.toPixels([limit, -limit]);
    const text = (x, y, words, anchor = "middle") =>
      element("text", this.map, { x, y, "text-anchor": anchor }).textContent = words;
    element("path", this.map, { class: "axis", d: `M${left},${top}V${bottom}H${right}` });
    element("path", this.map, { class: "grid", d: `M${this.toPixels([0, limit])}V${bottom}M${this.toPixels([-limit, 0])}H${right}` });
    const step = Number((limit / 2).toPrecision(1));
    for (let k = -Math.floor(limit / step); k * step <= limit; k++) {
      const [x, y] = this.toPixels([k * step, k * step]);
      element("path", this.map, { class: "axis", d: `M${x},${bottom}v4M${left},${y}h-4` });
      text(x, bottom + 17, +(k * step).toFixed(3));
      text(left - 6, y + 4, +(k * step).toFixed(3), "end");
    }
    text((left + right) / 2, bottom + 34, "first coordinate of the query");
    const middle = (top + bottom) / 2;
    const turn = { x: 11, y: middle, "text-anchor": "middle", transform: `rotate(-90 11 ${middle})` };
    element("text", this.map, turn).textContent = "second coordinate";
    text(left, top - 8, title, "start");
    this.outline = element("path", this.map, { class: "hull" });
    this.ghosts = element("path", this.map, { class: "ghost" });
    this.borders = element("path", this.map, { class: "border" });
    this.arrows = element("g", this.map, { "aria-hidden": "true" });
  }

  tip(name, colour, get, set) {
    const arrow = element("path", this.arrows, { stroke: colour, fill: colour, "stroke-width": 2.5 });
    const label = element("text", this.arrows, { fill: colour, "font-weight": "bold" });
    label.textContent = name;
    const { limit } = this.setting;
    const handle = element("g", this.map, {
      class: "tip", tabindex: 0, role: "slider", "aria-label": `${name}, moved by the arrow keys`,
      "aria-valuemin": -limit, "aria-valuemax": limit,
    });
    const circle = element("circle", handle, { r: 14 });
    const tip = { name, arrow, label, handle, circle, get, set };
    handle.addEventListener("pointerdown", (event) => this.grab(event, tip, false));
    handle.addEventListener("keydown", (event) => this.press(event, tip));
    this.tips.push(tip);
  }

  grab(event, tip, jump) {
    event.preventDefault();
    event.stopPropagation();
    const [x, y] = this.toPlane(event);
    const start = tip.get();
    const offset = jump ? [0, 0] : [start[0] - x, start[1] - y];
    const move = (moved) => {
      const place = this.toPlane(moved);
      this.move(tip, [place[0] + offset[0], place[1] + offset[1]]);
    };
    tip.handle.focus({ preventScroll: true });
    tip.handle.setPointerCapture(event.pointerId);
    tip.handle.onpointermove = move;
    tip.handle.onlostpointercapture = () => { tip.handle.onpointermove = null; };
    if (jump) move(event);
  }

  press(event, tip) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    const step = this.setting.limit * (event.shiftKey ? 0.1 : 0.02);
    const [x, y] = tip.get();
    this.move(tip, [x + step * way[0], y + step * way[1]]);
  }

  move(tip, place) {
    tip.set(this.inside(place));
    this.update();
  }

  controls() {
    const { noise, draws } = this.setting;
    const box = element("div", this.root, { class: "attn-controls" });
    if (noise) {
      const label = element("label", box);
      element("span", label).textContent = "noise of the keys";
      const input = element("input", label, { type: "range", min: 0, max: noise, step: noise / 50, value: noise });
      const shown = element("output", label);
      shown.textContent = fixed(noise);
      const again = element("button", label, { type: "button" });
      again.textContent = "draw again";
      input.addEventListener("input", () => {
        this.noise = Number(input.value);
        shown.textContent = fixed(this.noise);
        this.stale = true;
        this.update();
      });
      again.addEventListener("click", () => {
        this.ghosts.setAttribute("d", this.borders.getAttribute("d"));
        this.draw = (this.draw + 1) % draws.length;
        this.stale = true;
        this.update();
      });
    }
    this.land = element("p", this.root);
    const hint = "Drag a tip, or click the map; with the keyboard: Tab to a tip, arrow keys, Shift for large steps.";
    element("p", this.root).textContent = hint;
  }

  buildSide() {
    const count = this.means.length;
    const heads = this.queries.length;
    const text = (x, y, words, attributes = {}) => {
      const made = element("text", this.side, { x, y, "text-anchor": "middle", ...attributes });
      made.textContent = words;
      return made;
    };
    text(40, 14, heads > 1 ? "weights of each head" : "weights", { "text-anchor": "start" });
    element("path", this.side, { class: "axis", d: "M40,24V194H396" });
    for (const share of [0, 0.5, 1]) {
      text(34, 198 - 160 * share, share, { "text-anchor": "end" });
      element("path", this.side, { class: "grid", d: `M40,${194 - 160 * share}H396` });
    }
    const slot = 356 / count;
    const width = 0.76 * slot / heads;
    this.bars = this.queries.map((_, h) => this.means.map((_, i) => {
      const left = 40 + slot * (i + 0.12) + h * width;
      const faint = h % 2 ? 0.55 : 1;
      const bar = element("rect", this.side, { x: left, width: width - 2, fill: this.colours[i], opacity: faint });
      return { bar, number: text(left + width / 2, 0, "") };
    }));
    this.setting.names.forEach((name, i) => text(40 + slot * (i + 0.5), 211, name, { fill: this.colours[i] }));
    if (!this.setting.values) {
      this.side.setAttribute("viewBox", `0 0 ${SIDE} 220`);
      return;
    }
    this.outputWords = text(40, 243, "", { "text-anchor": "start" });
    this.showOutput = this.buildValueLine(text);
  }

  buildValueLine(text) {
    const { values, names } = this.setting;
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const at = (value) => 60 + 310 * (value - low) / (high - low || 1);
    element("path", this.side, { class: "axis", d: "M50,290H380" });
    values.forEach((value, i) => {
      element("circle", this.side, { cx: at(value), cy: 290, r: 6, fill: this.colours[i] });
      text(at(value), 312 + 15 * (i % 2), `${names[i]}: ${+value.toFixed(2)}`, { fill: this.colours[i] });
    });
    const marker = element("path", this.side, { fill: "currentColor" });
    this.side.setAttribute("viewBox", `0 0 ${SIDE} 340`);
    return (output) => marker.setAttribute("d", `M${at(output)},281l-7,-13h14Z`);
  }

  update() {
    const keys = this.keys();
    if (this.stale) this.redrawMap(keys);
    const weights = this.queries.map((query) => softmax(keys.map((key) => dot(query, key))));
    const origin = this.toPixels([0, 0]);
    const words = [];
    for (const tip of this.tips) {
      const place = this.toPixels(tip.get());
      tip.arrow.setAttribute("d", arrowPath(origin, place));
      tip.circle.setAttribute("cx", place[0]);
      tip.circle.setAttribute("cy", place[1]);
      words.push({ x: place[0], y: place[1], text: tip.name, label: tip.label });
    }
    const taken = words.flatMap(({ x, y }) => [0.4, 0.6, 0.8, 1].map((share) => ({
      left: origin[0] + share * (x - origin[0]) - 4,
      top: origin[1] + share * (y - origin[1]) - 4,
      width: 8,
      height: 8,
    })));
    placeWords(words, taken, origin, LEFT + SPAN, TOP + SPAN);
    this.showWeights(weights);
  }

  showWeights(weights) {
    weights.forEach((row, h) => row.forEach((weight, i) => {
      const { bar, number } = this.bars[h][i];
      bar.setAttribute("y", 194 - 160 * weight);
      bar.setAttribute("height", 160 * weight);
      number.setAttribute("y", 190 - 160 * weight);
      number.textContent = fixed(weight);
    }));
    const { names, values } = this.setting;
    let spoken = weights.map((row) => row.map((weight, i) => `${names[i]} ${fixed(weight)}`).join(", ")).join("; ");
    if (values) {
      const each = weights.map((row) => row.reduce((sum, weight, i) => sum + weight * values[i], 0));
      const output = each.reduce((a, b) => a + b) / each.length;
      const how = each.length > 1 ? " (mean of both heads)" : "";
      this.outputWords.textContent = `output ${fixed(output)}${how}`;
      this.showOutput(output);
      spoken += `; output ${fixed(output)}`;
    }
    for (const tip of this.tips) {
      const [x, y] = tip.get();
      tip.handle.setAttribute("aria-valuenow", fixed(x));
      tip.handle.setAttribute("aria-valuetext", `at ${fixed(x)}, ${fixed(y)}; weights ${spoken}`);
    }
  }

  redrawMap(keys) {
    this.stale = false;
    this.paint(keys);
    const far = 2 * this.setting.limit;
    const box = this.toPixels([0, 0]);
    const ends = ties(keys).map((ray) => this.cut(ray, far));
    this.borders.setAttribute("d", ends.map((end) => `M${box}L${end}`).join(""));
    if (this.setting.hull) this.outline.setAttribute("d", `M${hullOf(keys).map((key) => this.toPixels(key)).join("L")}Z`);
    if (!this.setting.land) return;
    const shares = landOf(keys).map((share, i) => {
      const won = share ? `${Math.round(100 * share)}%` : "no land";
      return `${this.setting.names[i]} ${won}`;
    });
    this.land.textContent = `Land, as a share of all directions: ${shares.join(", ")}.`;
  }

  // Where a ray leaves the map.
  cut(ray) {
    const reach = this.setting.limit / Math.max(Math.abs(ray[0]), Math.abs(ray[1]));
    return this.toPixels([ray[0] * reach, ray[1] * reach]);
  }

  paint(keys) {
    const page = this.canvas.getContext("2d");
    const image = page.createImageData(CELLS, CELLS);
    const style = getComputedStyle(this.root);
    const rgb = keys.map((_, i) => {
      const code = parseInt(style.getPropertyValue(`--c${i}`).trim().slice(1), 16);
      return [code >> 16, (code >> 8) & 255, code & 255];
    });
    const { limit } = this.setting;
    let pixel = 0;
    for (let row = 0; row < CELLS; row++) {
      const y = limit * (1 - (2 * row + 1) / CELLS);
      for (let column = 0; column < CELLS; column++) {
        const x = limit * ((2 * column + 1) / CELLS - 1);
        const weights = softmax(keys.map((key) => key[0] * x + key[1] * y));
        for (let k = 0; k < 3; k++) {
          let sum = 0;
          for (let i = 0; i < weights.length; i++) sum += weights[i] * rgb[i][k];
          image.data[pixel + k] = sum;
        }
        image.data[pixel + 3] = 255;
        pixel += 4;
      }
    }
    page.putImageData(image, 0, 0);
  }
}

startAll(".attn-plane", (root) => new Plane(root));
