"""Knows how text becomes numbers of subwords and back, for both languages at once; knows no model."""

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

PAD, BOS, EOS, UNK = range(4)
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
SPACE = "\u2581"  # stands for the blank before a word


class Vocabulary:
    """Byte-pair encoding; a piece that opens a word carries the blank before it.

    >>> vocabulary = Vocabulary.learn(["a dog runs.", "ein Hund rennt."], size=60)
    >>> vocabulary.decode(vocabulary.encode("ein dog rennt."))
    'ein dog rennt.'
    """

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    @classmethod
    def learn(cls, texts, *, size):
        """The `size` pieces (fewer if the texts hold fewer) that shorten these texts the most."""
        tokenizer = Tokenizer(models.BPE(unk_token=SPECIAL[UNK]))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Metaspace(prepend_scheme="first"),
                pre_tokenizers.Punctuation("isolated"),
            ]
        )
        tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
        trainer = trainers.BpeTrainer(
            vocab_size=size, special_tokens=SPECIAL, show_progress=False, min_frequency=2
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer)

    @classmethod
    def load(cls, path):
        return cls(Tokenizer.from_file(str(path)))

    def save(self, path):
        self.tokenizer.save(str(path))

    def __len__(self):
        return self.tokenizer.get_vocab_size()

    def encode(self, text):
        """The ids of a text's pieces, without any mark of start or end."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids):
        """The text of the ids before the first end mark; other marks are left out."""
        ids = list(ids)
        ids = ids[: ids.index(EOS)] if EOS in ids else ids
        return self.tokenizer.decode(ids, skip_special_tokens=True)

    def pieces(self, ids):
        """The written form of each id."""
        return [self.tokenizer.id_to_token(i) for i in ids]

    def words(self, text):
        """The words of a text, as `word_numbers` counts them."""
        ids, words = self.encode(text), {}
        for number, piece in zip(self.word_numbers(ids), self.pieces(ids), strict=True):
            words[number] = words.get(number, "") + piece.removeprefix(SPACE)
        return list(words.values())

    def word_numbers(self, ids):
        """For each id the number of its word, counted from 0; each punctuation mark is a word."""
        numbers, word = [], -1
        for piece in self.pieces(ids):
            word += piece.startswith(SPACE) or not any(map(str.isalnum, piece))
            numbers.append(word)
        return numbers
