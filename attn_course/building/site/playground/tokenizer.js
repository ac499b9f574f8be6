// Text to subwords and back, and which words the training text held: as Vocabulary and KnownWords do it in Python.
function attentionTokenizer() {
  "use strict";
  const [PAD, BOS, EOS, UNK] = [0, 1, 2, 3];
  const SPACE = "\u2581"; // stands for the blank before a word
  const SPECIAL = /(<pad>|<s>|<\/s>|<unk>)/;
  const PUNCTUATION = /([!-/:-@[-`{-~]|\p{P})/u; // ASCII's symbols count as punctuation, too

  function bytesOf(base64) {
    const letters = atob(base64);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    return bytes;
  }

  class Vocabulary {
    // pieces: the written form of each id. merges: pairs of ids in the order in which they were learnt.
    constructor({ pieces, merges }) {
      this.pieces = pieces;
      this.ids = new Map(pieces.map((piece, id) => [piece, id]));
      this.merges = new Map();
      for (let i = 0; i < merges.length; i += 2) {
        const [left, right] = [merges[i], merges[i + 1]];
        const id = this.ids.get(pieces[left] + pieces[right]);
        this.merges.set(left * 65536 + right, { rank: i, id });
      }
    }

    encode(text) {
      const parts = text.split(SPECIAL).filter(Boolean);
      return parts.flatMap((part, i) => {
        if (SPECIAL.test(part)) return [this.ids.get(part)];
        const spaced = part.replaceAll(" ", SPACE);
        const opened = i === 0 && !spaced.startsWith(SPACE) ? SPACE + spaced : spaced;
        const words = opened.split(/(?=\u2581)/).flatMap((word) => word.split(PUNCTUATION).filter(Boolean));
        return words.flatMap((word) => this.#merged(word));
      });
    }

    // The ids of a word's letters, neighbours joined as long as a merge of them was learnt, the earliest first.
    #merged(word) {
      const ids = Array.from(word, (letter) => this.ids.get(letter) ?? UNK);
      for (;;) {
        let best = null;
        for (let i = 0; i + 1 < ids.length; i++) {
          const merge = this.merges.get(ids[i] * 65536 + ids[i + 1]);
          if (merge && (!best || merge.rank < best.rank)) best = { ...merge, i };
        }
        if (!best) return ids;
        ids.splice(best.i, 2, best.id);
      }
    }

    decode(ids) {
      const end = ids.indexOf(EOS);
      const kept = end < 0 ? ids : ids.slice(0, end);
      const text = kept.filter((id) => id > UNK).map((id) => this.pieces[id]).join("");
      return text.replaceAll(SPACE, " ").replace(/^ /, "");
    }

    // The words of some ids as [{ text, members }]; every punctuation mark, end mark and padding is a word.
    words(ids) {
      const words = [];
      ids.forEach((id, i) => {
        const piece = this.pieces[id];
        const opens = id <= UNK || piece.startsWith(SPACE) || !/[\p{L}\p{N}]/u.test(piece);
        if (opens || !words.length) words.push({ text: "", members: [] });
        const word = words.at(-1);
        word.text += { [PAD]: "pad", [BOS]: "start", [EOS]: "end", [UNK]: "?" }[id] ?? piece.replaceAll(SPACE, "");
        word.members.push(i);
      });
      return words;
    }
  }

  const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
    for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
    return n;
  });

  // CRC-32 of a word in UTF-8, the number under which the word is listed.
  function numberOf(word) {
    let crc = ~0;
    for (const byte of new TextEncoder().encode(word)) crc = (crc >>> 8) ^ TABLE[(crc ^ byte) & 255];
    return ~crc >>> 0;
  }

  const listed = (words) => words.slice(0, 5).join(", ") + (words.length > 5 ? ", ..." : "");

  class KnownWords {
    constructor({ known, common, longest, far, german }) {
      const numbers = (text) => new Set(new Uint32Array(bytesOf(text).buffer));
      Object.assign(this, { known: numbers(known), common: numbers(common), longest, far, german });
    }

    // One honest sentence about a text that is far from the training text or has words it has not, or null.
    remark(sentence) {
      const words = sentence.match(/[\p{L}\p{N}_]+/gu) ?? [];
      const total = words.length;
      const holds = (numbers, word, place) =>
        numbers.has(numberOf(word)) || (place === 0 && numbers.has(numberOf(word.toLowerCase())));
      const warned = (reason) => `${reason}: do not trust the translation.`;
      if (!total) return warned("there is no word in the sentence");
      if (total > this.longest) {
        return warned(`${total} words are more than this model ever met at a time (its longest text has ${this.longest})`);
      }
      const unknown = words.filter((word, place) => !holds(this.known, word, place));
      const isFar = unknown.length > this.far * total;
      const never =
        `${unknown.length} of ${total} words never occur in the German text this model learnt from (${listed(unknown)})`;
      const numCommon = words.filter((word, place) => holds(this.common, word, place)).length;
      if (numCommon < this.german * total) {
        const reason = isFar ? never : `${numCommon} of ${total} words are common in the text it learnt from`;
        return warned(`this does not look like the German this model knows, since ${reason}`);
      }
      if (isFar) return warned(never);
      if (!unknown.length) return null;
      const these = unknown.length === 1 ? "this word" : "these words";
      return `the German text this model learnt from does not contain ${listed(unknown)}: what became of ${these} is a guess.`;
    }
  }

  return { Vocabulary, KnownWords, bytesOf, PAD, BOS, EOS };
}
