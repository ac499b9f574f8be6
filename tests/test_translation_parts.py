"""The parts of 09: the course's own pass every check, training can be resumed, and what is recorded."""

import pytest
import torch
from bank import seq2seq as answers
from course import bank

from attn_course import check, recorded_runs, register
from attn_course.errors import UserError
from attn_course.translation import corpora, parts, vocabulary
from attn_course.translation.vocabulary import EOS, PAD
from attn_utils.layers import SLOTS

PAIRS = [([*range(5, 6 + n % 3), 4 + n % 9], [*range(8, 9 + n % 4)]) for n in range(40)]


def translator(slot="dot", width=8):
    torch.manual_seed(0)
    decoder = parts.Decoder(14, width, SLOTS[slot](width))
    return parts.Translator(parts.Encoder(14, width), decoder)


def loss_of(model, batch):
    source, mask, inputs, targets = batch
    return parts.masked_loss(model(source, mask, inputs), targets, PAD)


def fitted(model, folder=None, steps=6, **options):
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    sizes = {"batch_size": 4, "pieces": 3, "steps": steps}
    return parts.fit("dot", model, PAIRS, loss_of, optimiser, folder=folder, **sizes | options)


@pytest.mark.parametrize("question", register.questions_of("09_seq2seq"), ids=lambda one: one.id)
def test_the_courses_own_parts_pass(question):
    names = question.parts[0].answers
    assert check(question.id, *(getattr(parts, name) for name in names))


@pytest.mark.parametrize("question", register.questions_of("09_seq2seq"), ids=lambda one: one.id)
def test_the_bank_has_four_right_and_eight_wrong_answers(question):
    assert len(bank(question, "RIGHT")) >= 4
    assert len(bank(question, "WRONG")) >= 8


def test_training_in_pieces_is_training_at_once_and_says_how_long_it_takes(capsys):
    torch.manual_seed(3)
    in_pieces = fitted(translator())
    assert "6 steps, about" in capsys.readouterr().out
    torch.manual_seed(3)
    at_once = fitted(translator(), pieces=1)
    assert in_pieces == at_once


def test_a_training_that_was_stopped_goes_on_behind_what_is_kept(tmp_path):
    whole = translator()
    expected = fitted(whole)

    def stopped(model, batches, *others):
        if (tmp_path / "dot.pt").exists():
            raise KeyboardInterrupt
        return parts.train(model, batches, *others)

    with pytest.raises(KeyboardInterrupt):
        fitted(translator(), tmp_path, train=stopped)
    again = translator()
    assert fitted(again, tmp_path) == expected
    for one, other in zip(whole.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_what_another_model_left_in_the_folder_is_refused_in_one_sentence(tmp_path):
    folder = tmp_path / "made when needed"
    fitted(translator(), folder)
    with pytest.raises(UserError, match="belongs to another model"):
        fitted(translator(width=10), folder)
    with pytest.raises(UserError, match="or other text"):
        fitted(translator(), folder, batch_size=2)
    (folder / "dot.pt").write_bytes(b"half a file")
    with pytest.raises(UserError, match="is damaged, or belongs"):
        fitted(translator(), folder)


@pytest.mark.parametrize("name", answers.RIGHT["9.7"])
def test_every_right_loop_trains_the_live_translator(name):
    losses = fitted(translator(), train=answers.RIGHT["9.7"][name])
    assert len(losses) == 6
    assert all(type(loss) is float for loss in losses)


@pytest.mark.parametrize("name", answers.RIGHT["9.8"])
def test_every_right_search_translates(name):
    corpus = corpora.embedded(num_train=200, num_val=1, num_test=5)
    subwords, _, _ = vocabulary.encode_corpus(corpus, size=100)
    V = len(subwords)
    torch.manual_seed(0)
    model = parts.Translator(parts.Encoder(V, 8), parts.Decoder(V, 8, SLOTS["dot"](8)))
    german = [pair[0] for pair in corpus.test]
    expected = parts.translate(model, german, subwords)
    assert parts.translate(model, german, subwords, search=answers.RIGHT["9.8"][name]) == expected


def test_batches_hold_every_pair_once_in_a_pass():
    stream = parts.batches_of(PAIRS, 8, torch.Generator().manual_seed(0))
    one_pass = [pair for _ in range(5) for pair in next(stream)]
    assert sorted(map(str, one_pass)) == sorted(map(str, PAIRS))


def test_targets_are_the_inputs_one_step_later():
    _, _, inputs, targets = parts.collate(PAIRS[:5])
    for row, target in zip(inputs, targets, strict=True):
        end = target.tolist().index(EOS)
        assert row[1 : end + 1].tolist() == target[:end].tolist()


class Empty(torch.nn.Module):
    """As the student's edition has it."""

    def __init__(self, *sizes):
        super().__init__()

    def forward(self, *inputs):
        raise NotImplementedError("your answer here")


class Untouched(torch.nn.Module):
    """As the student's edition has a module whose layers are to be chosen too."""

    def __init__(self, *sizes):
        super().__init__()
        raise NotImplementedError("your answer here")


def test_a_half_finished_answer_names_what_is_empty_and_earns_the_rest():
    verdict = check("9.3", answers.NoAttention, Empty, answers.DotAttention)
    assert verdict.status == "not yet"
    assert "MeanAttention is still empty" in verdict.message
    assert verdict.points == pytest.approx(4 / 3)
    verdict = check("9.4", answers.Additive, Untouched)
    assert "BilinearAttention is still empty" in verdict.message
    assert verdict.points == pytest.approx(0.5)
    assert check("9.4", Untouched, Untouched).status == "not attempted"


def test_a_decoder_with_a_step_alone_earns_half():
    class StepAlone(answers.Decoder):
        forward = Empty.forward

    verdict = check("9.5", StepAlone)
    assert "`forward` is still empty" in verdict.message
    assert verdict.points == 2


def test_a_slot_that_keeps_its_first_mask_is_refused():
    class Keeps(answers.DotAttention):
        def forward(self, queries, memory, mask):
            self.mask = getattr(self, "mask", mask)
            if self.mask.shape != mask.shape:
                self.mask = mask
            return super().forward(queries, memory, self.mask)

    message = check("9.3", answers.NoAttention, answers.MeanAttention, Keeps).message
    assert "keep nothing between calls" in message


def test_the_recorded_run_names_its_command_and_its_settings():
    run = recorded_runs.read("seq2seq")
    assert run["command"].startswith("python -m attn_course.runs seq2seq")
    assert run["settings"] == parts.SETTINGS
    assert {name: len(seeds) for name, seeds in run["embedded"].items()} == {
        name: len(seeds) for name, seeds in parts.SEEDS.items()
    }
    for name in ("dot", "additive"):
        worst = min(seed["bleu"] for seed in run["embedded"][name])
        assert worst > 4 * max(seed["bleu"] for seed in run["embedded"]["none"])
