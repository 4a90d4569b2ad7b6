"""The Masks page without a browser: what it says is what a run gives, and no setup breaks it."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
import torch

from tests.ui.helpers import SIZES, Open, components, open_page, panels, sound, widget, widgets, words
from viz_core.analysis import masks as numbers
from viz_core.config.limits import MAX_SENTENCES
from viz_core.figures.masks import REASON_TITLES
from viz_core.messages.number_format import rounded
from viz_core.presets import PRESETS
from viz_core.presets.concepts import PADDED
from viz_core.run import run
from viz_core.ui.pages.masks import page
from viz_core.ui.pages.masks.focus import with_padded_sentence
from viz_core.ui.shell.setup import URL_PARAM_BY_NAME, Setup, with_added_sentence, with_weights
from viz_core.weights.catalogue import server_models

SMALL = {"preset": "002"} | SIZES
SECTIONS = URL_PARAM_BY_NAME["mask_section"].options or ()


@pytest.fixture
def open_at() -> Open:
    """`open_at(mask_section="leak")` → the page behind that link, run."""
    return lambda params=MappingProxyType({}), **more: open_page("masks", **{**params, **more})


# ---------------------------------------------------------------- every section


def test_a_section_for_every_choice() -> None:
    assert tuple(page.SECTIONS) == SECTIONS


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_section_with_every_preset(open_at: Open, preset: str, section: str) -> None:
    sizes = SMALL | {"preset": preset} | ({"qk_dim": "16"} if PRESETS[preset].config.qk_dim else {})
    at = open_at(sizes, mask_section=section, **PADDED)
    assert not at.warning
    unmasked = preset == "003" and section == "empty"
    assert [i.value for i in at.info if "padding" in i.value] == [] or unmasked
    assert len(components(at)) == (0 if unmasked else 4 if section == "empty" else 1)


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("more", [
    {"architecture": "decoder-only", "position": "alibi", "n_heads": "1", "d_model": "8"},
    {"architecture": "encoder-only", "head": "off", "mask_padded_queries": "off", "mask_kind": "cross", "mask_query": "800"},
    {"position": "rope", "source": "x", "target": "", "mask_layer": "9", "mask_head": "200", "mask_place": "700"},
    {"empty_row": "softmax", "item": "1", "mask_kind": "cross", "mask_switch": "mask_padded_queries"},
    {"mask_source_padding": "off", "mask_target_padding": "off", "mask_padded_queries": "off", "mask_switch": "mask_target_padding",
     "mask_kind": "decoder"},
    {"empty_row": "softmax", "mask_turns": "on", "mask_layer": "1"},
    {"source": "<s> $x$ <b> the the the\n*a*", "target": "`x` :red[y]\n<pad> 猫", "mask_word": "<b> $x$", "mask_turns": "on"},
    {"source": "1 1\n2 3 4", "target": "1\n1 2", "tokenizer": "ids", "mask_kind": "encoder"},
    {"scale_scores": "off", "mask_fill": "-10000", "causal": "off"},
])
def test_no_setup_breaks_it(open_at: Open, more: dict[str, str], section: str) -> None:
    at = open_at({**SMALL, **PADDED, **more}, mask_section=section)
    assert len(components(at)) or at.info
    assert not any("Traceback" in i.value for i in at.info)


def test_without_a_layer_it_says_so(open_at: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "attention_kinds", lambda config: ())
    assert "no layers" in open_at(SMALL).info[0].value


# ---------------------------------------------------------------- what is said


def test_the_picked_cell_is_told_as_typed(open_at: Open) -> None:
    at = open_at({**SMALL, **PADDED}, mask_kind="decoder", mask_query="1", mask_key="3")
    told = next(m.value for m in at.markdown if m.value.startswith("## Why?"))
    assert "` 我 ` (1) may not attend to ` 你 ` (3). The key is 2 positions later" in told
    setup = at.session_state["lab_setup"]
    capture = run(setup.config, PADDED["source"].split("\n"), PADDED["target"].split("\n"), device="cpu")
    counts = numbers.count_reasons(numbers.blocking_reasons(capture, "decoder", 0))
    assert [f"- {name}: **{n}**" in told for name, n in zip(REASON_TITLES.values(), counts, strict=True)] == [
        bool(n) for n in counts
    ]
    at = open_at(SMALL, source="*a* <b> :red[x]", mask_kind="encoder", mask_query="0", mask_key="1")
    assert "` * ` (0) may attend to" in words(at) and "\n<b>" not in words(at)


ONE, TWO, IDS = "the man saw the dog", "the man saw the dog\nthe cat saw the mat", "5 6, 7 8"


@pytest.mark.parametrize(("params", "added"), [
    (SMALL | {"source": ONE, "target": "a b c d"}, {"source": "the man", "target": "a b"}),
    (SMALL | {"source": TWO, "target": "a b c d\ne f g h"}, {"source": "the man", "target": "a b"}),
    (SMALL | {"source": "one", "target": "two"}, {"source": "one one", "target": "two two"}),
    (SMALL | {"source": "我爱你猫", "target": "a b"}, {"source": "我爱", "target": "a"}),
    (SMALL | {"tokenizer": "ids", "source": IDS, "target": "9 10"}, {"source": "5 6,", "target": "9"}),
    (SMALL | {"tokenizer": "character", "source": "abcd", "target": "ef"}, {"source": "ab", "target": "e"}),
    ({"preset": "003", "source": ONE}, {"source": "the man"}),
    ({"preset": "000", "architecture": "decoder-only", "target": ONE}, {"target": "the man"}),
    ({"weights": "translator", "source": "my brother reads a red book"}, {"source": "I love you"}),
    ({"weights": "translator", "source": "I love you"}, {"source": "I"}),
    ({"weights": "translator", "source": "my brother reads a red book", "target": "我 的 弟弟 看 一 本 书"},
     {"source": "I love you", "target": "我 爱 你"}),
    ({"weights": "translator", "tokenizer": "ids", "source": IDS, "target": "9 10"}, {"source": "5 6,", "target": "9"}),
    ({"weights": "english", "target": "my brother reads a red book"}, {"target": "I love you"}),
])
def test_a_padded_sentence_is_added_to_what_was_typed(open_at: Open, params: dict[str, str], added: dict[str, str]) -> None:
    at = open_at(params)
    before = at.session_state["lab_setup"]
    sound(widget(at, "mask_example").click().run())
    after = at.session_state["lab_setup"]
    for side in ("source", "target"):
        assert getattr(after, side) == getattr(before, side) + (f"\n{added[side]}" if side in added else "")
    assert (after.writer, after.tokenizer) == (before.writer, before.tokenizer) and not at.warning
    assert not widgets(at, "mask_example") and "(padded)" in [o.content for o in widget(at, "item").proto.options][after.item]
    assert not sound(widget(at, "mask_section").set_value("who").run()).warning


def test_the_added_sentence_stands_in_one_line_of_all_sides() -> None:
    setup = Setup(source="a\n\nb\n", target="c")
    assert with_added_sentence(setup, {"source": "d", "target": "e"}) == {"source": "a\n\nb\nd", "target": "c\n\n\ne"}


def test_there_is_room_for_one_sentence_more(open_at: Open) -> None:
    most = "\n".join(["a b"] * MAX_SENTENCES)
    assert widget(open_at(SMALL, source=most, target=most), "mask_example").disabled
    at = open_at(SMALL, source=most[4:], target=most[4:])
    sound(widget(at, "mask_example").click().run())
    assert not widgets(at, "mask_example") and at.session_state["lab_setup"].source == f"{most[4:]}\na"


def test_padding_is_named_on_the_sentences_button(open_at: Open) -> None:
    named = widget(open_at({**SMALL, **PADDED}, mask_kind="encoder"), "item").proto.options
    assert [option.content for option in named] == ["Sentence 1 (padded)", "Sentence 2"]
    named = widget(open_at(SMALL, source="a b\nc d", target="e\nf", mask_kind="encoder"), "item").proto.options
    assert [option.content for option in named] == ["Sentence 1", "Sentence 2"]


@pytest.mark.parametrize(("params", "said", "title"), [
    ({"mask_kind": "decoder"}, "A mask is the AND of its parts", "mask: their AND"),
    ({"mask_kind": "encoder", "mask_padded_queries": "off"}, "This mask has one part.", "mask"),
    ({"mask_kind": "encoder", "mask_source_padding": "off"}, "This attention has no mask", "mask: every cell is allowed"),
])
def test_a_mask_is_called_the_and_of_several_parts_only(open_at: Open, params: dict[str, str], said: str, title: str) -> None:
    at = open_at({**SMALL, **PADDED}, mask_section="built", **params)
    assert said in words(at) and title in panels(at)


@pytest.mark.parametrize("name", server_models())
def test_the_added_sentence_is_in_the_weights_words(name: str) -> None:
    setup = with_weights(Setup(), name)
    assert setup.card is not None
    tokenizers = setup.card.tokenizers()
    text, item = with_padded_sentence(setup, tokenizers)
    for side, both in text.items():
        own, added = both.split("\n")
        assert own == getattr(setup, side) and item == 1 and not tokenizers[side].unknown_with_suggestions(added)
        assert len(tokenizers[side].tokens_and_ids(added)[1]) < len(tokenizers[side].tokens_and_ids(own)[1])


def test_the_leak_test_tells_two_runs(open_at: Open) -> None:
    at = open_at(SMALL, mask_section="leak", source="a b c d", target="e f g h", mask_place="3", mask_word="z")
    config = at.session_state["lab_setup"].config
    told = next(m.value for m in at.markdown if "became" in m.value)
    assert told.startswith("` g ` (3) became ` z `. With the causal mask, as in this model, **0 of the 3** outputs before it ")

    free = replace(config, causal=False)
    before, after = (run(free, ["a b c d"], [t], device="cpu")["decoder.layers.1.norm_ffn.out"][0] for t in ("e f g h", "e f z h"))
    most = float(np.abs(after - before)[:3].max())
    assert f"Without the mask, **3 of 3** changed, by at most {rounded(most, 3)}." in told
    at = open_at(SMALL, mask_section="leak", source="a b", target="e f", mask_word="f", mask_place="2")
    assert "is already at this position" in at.info[0].value


def test_turning_a_mask_off_tells_what_it_closed(open_at: Open) -> None:
    params = {**SMALL, "source": "a b c", "target": "e f g", "mask_section": "effect", "mask_kind": "decoder", "mask_head": "1"}
    at = open_at(params)
    config = at.session_state["lab_setup"].config

    off = run(replace(config, causal=False), ["a b c"], ["e f g"], device="cpu")
    on = run(config, ["a b c"], ["e f g"], device="cpu")
    later = [off["decoder.layers.0.self_attn.weights"][0, 1, t, t + 1 :].sum() for t in range(3)]
    assert "In this model the mask is on. Switched on, it blocks 6 of 16 cells." in words(at)
    assert f"6 of 16 cells. Without it, these cells take **{np.mean(later):.1%}**" in words(at)
    assert f"the loss is {rounded(float(on['loss']))} with and {rounded(float(off['loss']))} without" in words(at)
    assert "Cross-attention has no causal mask" in words(open_at(params, mask_kind="cross", mask_switch="causal"))
    assert "no padding" in words(open_at(params, mask_switch="mask_target_padding"))
    assert "In this model the mask is off." in words(open_at(params, causal="off", mask_switch="causal"))


def test_empty_rows_come_out_as_torch_has_them(open_at: Open) -> None:
    at = open_at({**SMALL, **PADDED}, mask_section="empty")
    rows = next(h.proto.body for h in at.get("html") if "need_weights" in h.proto.body)
    assert "NaN" in rows and "0.2 each" in rows and "not returned" in rows
    assert "**2** after layer 0, **5** after layer 1" in words(at) and "0 × NaN" in words(at)
    whole = open_at(SMALL, mask_section="empty", source="a b\nc d", target="c d\ne f")
    assert "no padded source token" in whole.info[0].value and len(components(whole)) == 0


def test_torch_is_quoted_and_the_leak_is_measured(open_at: Open) -> None:
    at = open_at(SMALL, mask_section="unsqueeze", source="a b c", target="e f g")
    with pytest.raises(RuntimeError) as error:
        torch.zeros(1, 2, 4, 4).masked_fill(torch.zeros(4, 1, 4, dtype=torch.bool), 0.0)
    assert at.code[1].value == str(error.value)
    assert "For the first 2 tokens, T = H = 2" in words(at) and "Head 1 puts **" in words(at)
    short = open_at(SMALL, mask_section="unsqueeze", n_heads="8", source="a", target="b")
    assert "at least 8 tokens, but it has 2" in short.info[0].value
    fits = open_at(SMALL, mask_section="unsqueeze", source="a", target="b")
    assert "Your batch has T = H = 2" in words(fits) and len(fits.code) == 1


def test_both_forms_are_told_apart_from_what_cannot_be_asked(open_at: Open) -> None:
    at = open_at(SMALL, mask_section="conventions")
    assert "torch accepts both" in words(at) and "blocked = ~may" in at.code[0].value
    assert "cannot rotate queries" in words(open_at(SMALL, mask_section="conventions", position="rope"))
    assert "ALiBi adds numbers" in words(open_at(SMALL, mask_section="conventions", position="alibi"))
