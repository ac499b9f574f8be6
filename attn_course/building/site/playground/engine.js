// The course's Transformer in plain JavaScript, with attention that can be changed. Arrays of rows are flat and row by row.
function attentionEngine(tokenizer) {
  "use strict";
  const { bytesOf, PAD, BOS, EOS } = tokenizer;
  const PLACES = ["encoder", "decoder", "cross"];

  // A setting is a text, the same as in Python: attn_course/translation/ablation.py says what its words mean.
  function parseSetting(text) {
    const place = () => ({ factor: 1, scale: true, positions: true, off: new Set() });
    const setting = { encoder: place(), decoder: place(), cross: place(), causal: true, paddingMask: true, numPads: 0 };
    for (const word of text.split(" ").filter(Boolean)) {
      const [, name, factor, part] = /^(encoder|decoder|cross)(?:\*([\d.]+)|-(scale|positions|heads|\d\.\d))$/.exec(word) ?? [];
      if (word === "-causal") setting.causal = false;
      else if (word === "-padding") setting.paddingMask = false;
      else if (/^pads=\d{1,2}$/.test(word)) setting.numPads = Number(word.slice(5));
      else if (factor !== undefined) setting[name].factor = Number(factor);
      else if (part === "scale" || part === "positions") setting[name][part] = false;
      else if (name) setting[name].off.add(part);
    }
    return setting;
  }

  function settingText(setting) {
    const words = [];
    for (const name of PLACES) {
      const { factor, scale, positions, off } = setting[name];
      if (factor !== 1) words.push(`${name}*${factor}`);
      if (!scale) words.push(`${name}-scale`);
      if (!positions) words.push(`${name}-positions`);
      words.push(...(off.has("heads") ? ["heads"] : [...off].sort()).map((part) => `${name}-${part}`));
    }
    if (!setting.causal) words.push("-causal");
    if (setting.numPads) words.push(`pads=${setting.numPads}`);
    if (setting.numPads && !setting.paddingMask) words.push("-padding");
    return words.join(" ");
  }

  // out (n, rows) = x (n, cols) W^T + b
  function linear(x, n, W, b) {
    const rows = b.length;
    const cols = W.length / rows;
    const out = new Float32Array(n * rows);
    for (let row = 0; row < rows; row++) {
      for (let i = 0; i < n; i++) {
        let sum = 0;
        for (let c = 0, w = row * cols, at = i * cols; c < cols; c++) sum += W[w + c] * x[at + c];
        out[i * rows + row] = sum + b[row];
      }
    }
    return out;
  }

  function floatOfHalf(bits) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
  }

  class Translator {
    constructor({ config, tensors, weights }) {
      this.D = config.width;
      this.H = config.num_heads;
      this.d = this.D / this.H;
      this.numLayers = { encoder: config.encoder_layers, decoder: config.decoder_layers, cross: config.decoder_layers };
      this.linear = linear; // fast.js has a faster one
      const halves = new Uint16Array(bytesOf(weights).buffer);
      const floats = Float32Array.from({ length: 65536 }, (_, bits) => floatOfHalf(bits));
      this.weights = {};
      let at = 0;
      for (const [name, size] of tensors) {
        const values = new Float32Array(size);
        for (let i = 0; i < size; i++) values[i] = floats[halves[at + i]];
        this.weights[name] = values;
        at += size;
      }
    }

    #linear(x, n, name) {
      return this.linear(x, n, this.weights[`${name}.weight`], this.weights[`${name}.bias`]);
    }

    // Layer normalisation of n rows.
    #norm(x, n, name) {
      const { D } = this;
      const gain = this.weights[`${name}.weight`];
      const bias = this.weights[`${name}.bias`];
      const out = new Float32Array(n * D);
      for (let i = 0; i < n; i++) {
        const row = x.subarray(i * D, (i + 1) * D);
        const mean = row.reduce((sum, value) => sum + value, 0) / D;
        const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / D;
        const factor = 1 / Math.sqrt(variance + 1e-5);
        for (let c = 0; c < D; c++) out[i * D + c] = (row[c] - mean) * factor * gain[c] + bias[c];
      }
      return out;
    }

    #embedded(tokens) {
      const { D } = this;
      const x = new Float32Array(tokens.length * D);
      tokens.forEach((token, i) => {
        for (let c = 0; c < D; c++) x[i * D + c] = this.weights["embed.weight"][token * D + c] * Math.sqrt(D);
      });
      return x;
    }

    // Turns each pair of neighbouring features of each row by an angle that grows with the row's position (RoPE).
    #rotate(x, positions) {
      const { D, d } = this;
      positions.forEach((position, i) => {
        for (let c = 0; c < D; c += 2) {
          const angle = position * 10000 ** (-(c % d) / d);
          const [cos, sin, even, odd] = [Math.cos(angle), Math.sin(angle), x[i * D + c], x[i * D + c + 1]];
          x[i * D + c] = even * cos - odd * sin;
          x[i * D + c + 1] = even * sin + odd * cos;
        }
      });
    }

    // Queries, keys and values of a layer's self-attention, each as n rows, rotated if positions are to be seen.
    #projected(x, name, change, positions) {
      const n = positions.length;
      const y = this.#norm(x, n, `${name}.before_attention`);
      const [q, k, v] = ["query", "key", "value"].map((part) => this.#linear(y, n, `${name}.attention.${part}`));
      if (change.positions) [q, k].forEach((projected) => this.#rotate(projected, positions));
      return [q, k, v].map((projected) => this.#rows(projected));
    }

    #rows(x) {
      return Array.from({ length: x.length / this.D }, (_, i) => x.subarray(i * this.D, (i + 1) * this.D));
    }

    // One query (D) over S keys and values, rows of D each: its context (D) and its weights (H x S), head by head.
    #attend(change, layer, query, keys, values, visible = keys.length) {
      const { D, H, d } = this;
      const context = new Float32Array(D);
      const weights = new Float32Array(H * keys.length);
      const scale = change.factor * (change.scale ? 1 / Math.sqrt(d) : 1);
      for (let h = 0; h < H; h++) {
        if (change.off.has("heads") || change.off.has(`${layer + 1}.${h + 1}`)) continue; // weights and context stay zero
        const own = weights.subarray(h * keys.length, h * keys.length + visible);
        const [first, end] = [h * d, (h + 1) * d];
        let largest = -Infinity;
        for (let s = 0; s < visible; s++) {
          let dot = 0;
          for (let c = first; c < end; c++) dot += query[c] * keys[s][c];
          own[s] = dot * scale;
          largest = Math.max(largest, own[s]);
        }
        let total = 0;
        for (let s = 0; s < visible; s++) total += own[s] = Math.exp(own[s] - largest);
        for (let s = 0; s < visible; s++) {
          own[s] /= total;
          for (let c = first; c < end; c++) context[c] += own[s] * values[s][c];
        }
      }
      return { context, weights };
    }

    // x += out(contexts), where each of the n rows has found its context.
    #addAttention(x, found, name) {
      const contexts = new Float32Array(x.length);
      found.forEach(({ context }, i) => contexts.set(context, i * this.D));
      add(x, this.#linear(contexts, found.length, `${name}.out`));
      return found.map(({ weights }) => weights);
    }

    #addFeedForward(x, n, name) {
      const hidden = this.#linear(this.#norm(x, n, `${name}.before_mlp`), n, `${name}.mlp.0`);
      add(x, this.#linear(hidden.map((value) => Math.max(value, 0)), n, `${name}.mlp.2`));
    }

    // The ids of a sentence with their end mark -> keys and values of each layer's cross-attention, and the encoder's
    // weights, maps[layer][row] (H x S). Keys behind `visible` are padding that nobody may look at.
    encode(ids, setting) {
      const tokens = [...ids, ...Array(setting.numPads).fill(PAD)];
      const n = tokens.length;
      const visible = setting.paddingMask ? ids.length : n;
      const positions = tokens.map((_, i) => i);
      const x = this.#embedded(tokens);
      const maps = [];
      for (let layer = 0; layer < this.numLayers.encoder; layer++) {
        const name = `encoder.${layer}`;
        const [q, k, v] = this.#projected(x, name, setting.encoder, positions);
        const found = q.map((query) => this.#attend(setting.encoder, layer, query, k, v, visible));
        maps.push(this.#addAttention(x, found, `${name}.attention`));
        this.#addFeedForward(x, n, name);
      }
      const states = this.#norm(x, n, "memory_norm");
      const cross = Array.from({ length: this.numLayers.decoder }, (_, layer) =>
        ["key", "value"].map((part) => this.#rows(this.#linear(states, n, `decoder.${layer}.cross_attention.${part}`))));
      return { cross, visible, maps };
    }

    // Feeds each of n rows { token, position, past } to the decoder, where past[layer] holds the keys and values of the
    // tokens before it. Returns for each row the decoder's output (D), its own keys and values, and its weights by layer.
    #decode(rows, memory, setting) {
      const n = rows.length;
      const x = this.#embedded(rows.map(({ token }) => token));
      const positions = rows.map(({ position }) => position);
      const results = rows.map(() => ({ own: [], self: [], cross: [] }));
      for (let layer = 0; layer < this.numLayers.decoder; layer++) {
        const name = `decoder.${layer}`;
        const [q, k, v] = this.#projected(x, name, setting.decoder, positions);
        const attended = rows.map(({ past }, i) => {
          if (!setting.causal) return this.#attend(setting.decoder, layer, q[i], k, v); // every row sees every row
          const { keys, values } = past[layer];
          return this.#attend(setting.decoder, layer, q[i], [...keys, k[i]], [...values, v[i]]);
        });
        const self = this.#addAttention(x, attended, `${name}.attention`);
        const asked = this.#linear(this.#norm(x, n, `${name}.before_cross`), n, `${name}.cross_attention.query`);
        const [keys, values] = memory.cross[layer];
        const looked = this.#rows(asked).map((query) =>
          this.#attend(setting.cross, layer, query, keys, values, memory.visible));
        const cross = this.#addAttention(x, looked, `${name}.cross_attention`);
        this.#addFeedForward(x, n, name);
        results.forEach((result, i) => {
          result.own.push({ key: k[i], value: v[i] });
          result.self.push(self[i]);
          result.cross.push(cross[i]);
        });
      }
      this.#rows(x).forEach((row, i) => { results[i].state = row; });
      return results;
    }

    // What may follow each hypothesis: log-probabilities (V), and what #decode found for its last token.
    #follow(hypotheses, memory, setting) {
      const last = hypotheses.flatMap(({ tokens, past }) => {
        const all = [BOS, ...tokens];
        const rows = all.map((token, position) => ({ token, position, past }));
        // without the causal mask a new token changes what all earlier ones see: everything is computed again
        return setting.causal ? [rows.at(-1)] : this.#decode(rows, memory, setting).slice(-1);
      });
      const found = setting.causal ? this.#decode(last, memory, setting) : last;
      const states = new Float32Array(found.length * this.D);
      found.forEach(({ state }, i) => states.set(state, i * this.D));
      const y = this.#norm(states, found.length, "output_norm");
      const logits = this.linear(y, found.length, this.weights["embed.weight"], this.weights.bias);
      const V = this.weights.bias.length;
      return found.map((result, i) => ({ ...result, logProbs: logSoftmax(logits.subarray(i * V, (i + 1) * V)) }));
    }

    // ids with their end mark -> { hypotheses: [{ tokens, score, self, cross }], best first, encoder: maps }.
    // score: log-probability per token. self, cross: [step][layer] (H x keys). A beam of 1 is greedy search.
    search(ids, { beam = 5, setting = parseSetting("") } = {}) {
      const memory = this.encode(ids, setting);
      const past = Array.from({ length: this.numLayers.decoder }, () => ({ keys: [], values: [] }));
      let hypotheses = [{ tokens: [], total: 0, done: false, past, self: [], cross: [] }];
      const longest = 2 * ids.length + 10;
      for (let step = 0; step < longest && hypotheses.some(({ done }) => !done); step++) {
        const open = hypotheses.filter(({ done }) => !done);
        const followed = this.#follow(open, memory, setting);
        const candidates = hypotheses.filter(({ done }) => done).map((kept) => ({ kept, score: scoreOf(kept) }));
        open.forEach((hypothesis, i) => {
          for (const token of largest(followed[i].logProbs, beam)) {
            const total = hypothesis.total + followed[i].logProbs[token];
            candidates.push({ hypothesis, found: followed[i], token, total, score: total / (step + 1) });
          }
        });
        candidates.sort((one, other) => other.score - one.score);
        hypotheses = candidates.slice(0, beam).map((candidate) => candidate.kept ?? extended(candidate));
      }
      hypotheses.sort((one, other) => scoreOf(other) - scoreOf(one));
      return {
        hypotheses: hypotheses.map((found) => ({
          tokens: found.tokens, score: scoreOf(found), self: found.self, cross: found.cross })),
        encoder: memory.maps,
      };
    }
  }

  const scoreOf = ({ total, tokens }) => total / tokens.length;

  function extended({ hypothesis, found, token, total }) {
    return {
      tokens: [...hypothesis.tokens, token],
      total,
      done: token === EOS,
      past: hypothesis.past.map(({ keys, values }, layer) => ({
        keys: [...keys, found.own[layer].key], values: [...values, found.own[layer].value] })),
      self: [...hypothesis.self, found.self],
      cross: [...hypothesis.cross, found.cross],
    };
  }

  function add(x, y) {
    for (let i = 0; i < x.length; i++) x[i] += y[i];
  }

  // PAD and BOS are never written, though label smoothing leaves them a little mass.
  function logSoftmax(logits) {
    const out = Float64Array.from(logits).fill(-Infinity, 0, EOS);
    const largest = out.reduce((one, other) => Math.max(one, other));
    const total = out.reduce((sum, value) => sum + Math.exp(value - largest), 0);
    return out.map((value) => value - largest - Math.log(total));
  }

  // The places of the `count` largest values, in order.
  function largest(values, count) {
    const best = [];
    values.forEach((value, place) => {
      if (best.length === count && value <= values[best[count - 1]]) return;
      let at = best.length;
      while (at > 0 && value > values[best[at - 1]]) at--;
      best.splice(at, 0, place);
      best.length = Math.min(best.length, count);
    });
    return best;
  }

  return { Translator, parseSetting, settingText, PLACES };
}
