"""Builds the translator that a configuration describes."""

from torch import nn

from attn_course.errors import UserError
from attn_course.translation.config import ARCHITECTURES, Config
from attn_course.translation.recurrent import RecurrentTranslator
from attn_course.translation.transformer import TransformerTranslator
from attn_utils.layers import SLOTS

Translator = RecurrentTranslator | TransformerTranslator


def build(config: Config, num_tokens: int, *, slot: nn.Module | None = None) -> Translator:
    """The translator that a configuration describes, with fresh weights.

    num_tokens: size of the vocabulary. slot: a module in the place of the configured attention.
    """
    if config.architecture not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise UserError(f"the architecture must be one of {known}, not {config.architecture!r}.")
    if config.attention not in SLOTS:
        known = ", ".join(SLOTS)
        raise UserError(f"attention must be one of {known}, not {config.attention!r}.")
    if config.architecture == "gru":
        slot = slot or SLOTS[config.attention](config.width)
        return RecurrentTranslator(config, num_tokens, slot)
    if slot is not None or config.attention != "multihead":
        raise UserError("a Transformer has multi-head cross-attention of its own and no slot.")
    return TransformerTranslator(config, num_tokens)
