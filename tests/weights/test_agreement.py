"""A tokenizer and a config.json that know special tokens by different ids."""

from typing import Any

import pytest

from tests.weights.tiny_checkpoints import byte_level, unigram, wordpiece
from viz_core.config import TransformerConfig
from viz_core.weights.agreement import disagreements, with_padding
from viz_core.weights.special_tokens import parsed_tokenizer, special_tokens

ENCODER = TransformerConfig(architecture="encoder-only", source_vocab_size=60)


def told(tokenizer: Any, *named: dict[str, Any], **raw: Any) -> dict[str, str]:
    parsed = parsed_tokenizer(tokenizer.to_str())
    return disagreements(raw, parsed, special_tokens(parsed, *named))


def padding(tokenizer: Any, *ends: int, config: TransformerConfig = ENCODER) -> tuple[int, str]:
    fitted = with_padding(config, "source", special_tokens(parsed_tokenizer(tokenizer.to_str())), ends)
    return fitted.source_pad_id, fitted.padding_from


def test_the_padding_is_the_tokenizers() -> None:
    odd = wordpiece("[UNK] [CLS] [SEP] [PAD]").tokenizer
    assert padding(odd) == (3, "ids")
    assert padding(odd, 2, 3) == (3, "lengths")  # <eos> too
    assert padding(wordpiece("[UNK] [CLS] [SEP]").tokenizer) == (0, "lengths") == padding(byte_level("").tokenizer)
    assert padding(odd, config=TransformerConfig(source_vocab_size=3)) == (0, "lengths")  # the model has no such row


@pytest.mark.parametrize(("tokenizer", "raw", "said"), [
    (wordpiece("[UNK] [CLS] [SEP] [PAD]").tokenizer, {"pad_token_id": 0},
     {"padding": "config.json says pad_token_id=0 ('[UNK]'), but the tokenizer's padding token is 3 ('[PAD]'), which is used here"}),
    (wordpiece("[UNK] [CLS] [SEP] [PAD]").tokenizer, {"pad_token_id": 999},
     {"padding": "config.json says pad_token_id=999 (no token), but the tokenizer's padding token is 3 ('[PAD]'), which is used here"}),
    (byte_level("").tokenizer, {"pad_token_id": 0},
     {"padding": "config.json says pad_token_id=0 ('!'), but the tokenizer reads it in texts; here the length of each sentence "
                 "tells what is padding"}),
    (unigram("<unk>").tokenizer, {"pad_token_id": 0},
     {"padding": "config.json says pad_token_id=0 ('<unk>'), but the tokenizer reads it in texts; here the length of each sentence "
                 "tells what is padding"}),
    (wordpiece().tokenizer, {"bos_token_id": 50256, "eos_token_id": 0},
     {"beginning of text": "config.json says bos_token_id=50256 (no token), but the tokenizer adds 2 ('[CLS]') to every text, "
                           "which is used here",
      "end of text": "config.json says eos_token_id=0 ('[PAD]'), but the tokenizer adds 3 ('[SEP]') to every text, which is used here"}),
], ids=str)
def test_one_sentence_each(tokenizer: Any, raw: dict[str, Any], said: dict[str, str]) -> None:
    assert told(tokenizer, **raw) == said


@pytest.mark.parametrize(("tokenizer", "raw"), [
    (wordpiece().tokenizer, {"pad_token_id": 0, "bos_token_id": None}),
    (wordpiece().tokenizer, {}),
    (wordpiece().tokenizer, {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}),
    (wordpiece().tokenizer, {"pad_token_id": True, "bos_token_id": "2", "eos_token_id": [3]}),
    (wordpiece("[UNK] [CLS] [SEP]").tokenizer, {"pad_token_id": 2}),  # no text has it within
    (byte_level().tokenizer, {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}),
], ids=str)
def test_where_they_agree_nothing_is_said(tokenizer: Any, raw: dict[str, Any]) -> None:
    assert told(tokenizer, **raw) == {}
