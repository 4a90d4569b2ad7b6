"""Every row of the concepts: its link is one, and what it promises to show is what the model computes there."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.helpers import canvas_headers, components, go, start, widget
from viz_core.analysis.size_estimates import estimate_size
from viz_core.capture import Capture
from viz_core.messages.errors import UserError
from viz_core.presets import PRESETS
from viz_core.presets.concepts import CONCEPTS, DOCUMENT_ERRORS, PageLink, page_links
from viz_core.run import prepare, run, trace
from viz_core.stages import stage_of, stages
from viz_core.training.shipped.evaluate import best_head
from viz_core.ui.pages.documents.page import VERDICT_STYLES, link_params, page_url
from viz_core.ui.shell import PAGES
from viz_core.ui.shell.session.generated_target import generated_text
from viz_core.ui.shell.setup import Setup, error_message, from_link, parse_ids, to_link, typed_sentences
from viz_core.weights.catalogue import catalogue

ROOT = Path(__file__).parents[2]
OPEN = [(document, place) for document, place in page_links()]
each_open = pytest.mark.parametrize(
    ("document", "place"), OPEN, ids=[f"{d}-{p.page}-{p.parameters.get('stage', '')}" for d, p in OPEN]
)


def capture_of(setup: Setup, keep: list[str] | None = None) -> Capture:
    source, target, _ = typed_sentences(setup)
    if setup.writer == "model":
        target = generated_text(setup).split("\n")
    given = (parse_ids("source", source), parse_ids("target", target)) if setup.tokenizer == "ids" else (source, target)
    if setup.card:
        return trace(setup.card.load(), prepare(setup.config, *given, setup.card.tokenizers()), keep=keep)
    return run(setup.config, *given, seed=setup.seed, device="cpu", keep=keep)


# ---------------------------------------------------------------- the table


def test_how_many_rows_there_are() -> None:
    """Counted in the documents; a row that is lost, or comes to be, is noticed."""
    assert Counter(c.document for c in CONCEPTS) == {"000": 13, "001": 7, "002": 11, "003": 6, "004": 18}
    assert Counter(f.document for f in DOCUMENT_ERRORS) == {"001": 3, "002": 12, "003": 1, "004": 4}


def test_every_row_says_something_of_its_own() -> None:
    assert {c.document for c in CONCEPTS} == set(PRESETS) and {f.document for f in DOCUMENT_ERRORS} <= set(PRESETS)
    assert {f.kind for f in DOCUMENT_ERRORS} == set(VERDICT_STYLES)
    texts = [(c.document, c.text) for c in CONCEPTS] + [(f.document, f.printed_text) for f in DOCUMENT_ERRORS]
    assert len(set(texts)) == len(texts)
    for document, place in page_links():
        assert str(place.takeaway).endswith((".", "?", ")")), (document, place.takeaway)
        assert place.page in PAGES


# ---------------------------------------------------------------- links


@each_open
def test_its_page_is_in_the_navigation(document: str, place: PageLink) -> None:
    assert (ROOT / "pages" / f"{place.page}.py").is_file()


@each_open
def test_its_link_is_understood_and_comes_back(document: str, place: PageLink) -> None:
    setup, faults = from_link(link_params(document, place))
    assert faults == []
    assert setup.weights == place.parameters.get("weights", "untrained")
    assert setup.preset == document or setup.card
    for name in ("stage", "source", "target", "tokenizer"):
        assert getattr(setup, name) == place.parameters.get(name, getattr(setup, name))
    params, left_out = to_link(setup)
    assert not left_out.name
    assert from_link(params) == (setup, [])


@each_open
def test_its_address_is_relative(document: str, place: PageLink) -> None:
    assert re.fullmatch(r"(\./|[a-z_]+)(\?[^#\s<>\"]*)?", page_url(document, place))


# ---------------------------------------------------------------- what a link promises


def refusal(setup: Setup) -> UserError:
    """Why a setup is not run."""
    with pytest.raises(UserError) as raised:
        capture_of(setup)
    return raised.value


@each_open
def test_what_it_opens_runs_or_says_why_not(document: str, place: PageLink) -> None:
    setup, _ = from_link(link_params(document, place))
    stage = place.parameters.get("stage")
    assert stage is None or stage in {s.name for s in stages(setup.config)}
    if place.error_code:
        assert refusal(setup).code == place.error_code
    else:
        assert not typed_sentences(setup)[2]  # no line without its other half
        assert stage is None or stage in capture_of(setup, [stage])


@pytest.mark.parametrize("page", sorted({place.page for _, place in OPEN}))
def test_its_page_shows_the_state(page: str) -> None:
    """Every link of a page, one after the other in one session; what a browser makes of a few, tests/browser looks at."""
    at = start()
    for document, place in [x for x in OPEN if x[1].page == page]:
        setup, _ = from_link(link_params(document, place))
        at.query_params.clear()
        at.query_params.update(to_link(setup)[0])
        at.run()
        if page != "home" and (at.title[0].value == str(PAGES["home"].question)):
            go(at, page)
        promised(at, setup, place)


def promised(at: AppTest, setup: Setup, place: PageLink) -> None:
    """Sentences, model, stage or refusal, and no complaint."""
    where = page_url(setup.preset, place)[:150]
    assert not at.exception and not at.error, where
    assert (at.title[0].value == str(PAGES["home"].question)) == (place.page == "home"), where
    there = {k: v if isinstance(v, str) else v[-1] for k, v in at.query_params.items()}
    assert there | {"note": ""} == to_link(setup)[0] | {"note": ""}, where  # not mended; going to the page closes a note
    assert not [w for w in at.warning if "The link says" in w.value], where
    for side, own in (("source", setup.config.has_encoder), ("target", setup.config.has_decoder)):
        by_model = side == "target" and setup.writer == "model"
        assert not own or widget(at, side).value == (generated_text(setup) if by_model else getattr(setup, side)), where
    status = [c.value for c in at.caption if " parameters" in c.value and " ms on " in c.value]
    if place.error_code:
        said = error_message(refusal(setup))
        assert any(said in e.value.replace("\\", "") for e in (*at.warning, *at.info)) and not status, where
        return
    (said,) = status
    assert said.startswith(setup.config.architecture), where
    assert f" {estimate_size(setup.config, 1, 1, 1).parameters:,} parameters" in said, where
    sent = [json.loads(c.proto.json or "null") for c in components(at)]
    if place.page == "step_by_step":
        meaning = stage_of(setup.config, place.parameters["stage"]).meaning
        (told,) = [x["title"] for x in sent if x and "n_steps" in x]  # the scrubber's
        assert told.startswith(str(meaning)), where
        assert canvas_headers(at), where
    if place.page == "attention":
        kind = place.parameters.get("att_kind", "")
        focus = [kind, int(place.parameters["att_layer"]), setup.attn_head]
        (header,) = [x for x in canvas_headers(at) if "grids" in x]
        assert header["focus"][-len(focus[not kind:]):] == focus[not kind:], where
    if place.page == "positions":
        assert widget(at, "pos_section").value == setup.url_param("pos_section"), where
    if "shapes_filter" in place.parameters:
        assert [x["text"] for x in canvas_headers(at) if "marked" in x] == [place.parameters["shapes_filter"]], where


def seen(document: str, beginning: str, *stages: str) -> list[np.ndarray]:
    """The stages of the run that the row beginning so opens: its own one, and others."""
    rows = [(c.document, c.text, c.link) for c in CONCEPTS] + [
        (f.document, f.printed_text, f.link) for f in DOCUMENT_ERRORS if f.link
    ]
    (place,) = [place for d, text, place in rows if d == document and str(text).startswith(beginning)]
    names = [place.parameters["stage"], *stages] if "stage" in place.parameters else list(stages)
    capture = capture_of(from_link(link_params(document, place))[0], names)
    return [capture[name] for name in names]


def length(x: np.ndarray) -> np.ndarray:
    return np.linalg.norm(x, axis=-1)


@pytest.mark.parametrize(
    ("document", "beginning", "shape"),
    [
        ("000", "Embedding lookup", (2, 3, 256)),
        ("000", "tgt_mask for four tokens", (1, 1, 4, 4)),
        ("000", "src_mask for five tokens", (2, 1, 1, 5)),
        ("000", "Splitting into heads", (1, 6, 32)),
        ("002", "The feed-forward network", (1, 6, 2048)),
        ("004", "Cross-attention with 10 queries", (1, 8, 10, 12)),
        ("004", "A (T, T) look-ahead mask", (1, 1, 5, 5)),
    ],
)
def test_a_promised_shape(document: str, beginning: str, shape: tuple[int, ...]) -> None:
    assert seen(document, beginning)[0].shape == shape


def test_qk_dim_narrows_queries_and_keys_only() -> None:
    prefix = "encoder.layers.0.self_attn"
    q, k, v, out = seen("000", "qk_dim may be smaller", *(f"{prefix}.{leaf}" for leaf in ("q", "k", "v", "out")))
    assert q.shape == k.shape == (1, 8, 6, 8) and v.shape == (1, 8, 6, 32) and out.shape == (1, 6, 256)


def test_the_masks_are_as_printed() -> None:
    (triangle,), (padding,) = seen("000", "tgt_mask"), seen("000", "src_mask")
    assert triangle[0, 0].astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    assert padding[0, 0, 0].astype(int).tolist() == [1, 1, 1, 0, 0]
    (lower,) = seen("002", "The causal mask is called")
    assert (lower == np.tril(np.ones(lower.shape))).all()
    words, source = seen("002", "ne:", "ids.source")
    assert (words[:, 0, 0] == (source != 1)).all() and not words.all()
    both, keys, causal = seen("002", "The product of two masks", "masks.target_padding", "masks.causal")
    queries = keys.transpose(0, 1, 3, 2)  # this document masks padded queries too
    assert (both == keys * causal * queries).all() and not keys.all() and not causal.all()


def test_the_typed_ids_are_the_models() -> None:
    target, source = seen("000", "Sentences as ids", "ids.source")
    assert source.tolist() == [[101, 205, 330, 102]]
    assert target[0, 1:].tolist() == [101, 400, 500]
    (ids_,) = seen("000", "vocab_size against max_length", "ids.source")
    assert ids_.max() < 100 and ids_.shape[1] <= 10
    answers, shifted = seen("000", "What the encoder reads", "ids.labels", "ids.target")
    assert (shifted[:, 1:] == answers[:, :-1]).all()


def test_padding_rows_are_zero_where_the_document_says_so() -> None:
    (one_hot,), (padded, source) = seen("002", "A one-hot row"), seen("003", "padding_idx", "ids.source")
    assert not one_hot[0, 2].any() and one_hot[0, :2].any(axis=-1).all()
    assert (padded.any(axis=-1) == (source != 0)).all() and (source == 0).any()


def test_the_trained_weights_align() -> None:
    """The best head of the layer that the link opens attends to the words that it translates."""
    (place,) = [c.link for c in CONCEPTS if str(c.text).startswith("Alignment")]
    errors = catalogue()[place.parameters["weights"]].measures["aer"]["predicts"]
    layer, head = best_head(errors, largest=False)
    assert place.parameters["att_layer"] == str(layer)
    weights, labels = seen("004", "Alignment", f"decoder.layers.{layer}.cross_attn.weights", "ids.labels")
    source = ["The", "cat", "sat", "on", "the", "mat"]
    assert weights.shape == (1, len(errors[0]), 6, 6) and labels.shape == (1, 6)
    found = [source[s] for s in weights[0, head, [0, 1, 3]].argmax(axis=-1)]  # the rows that write 猫, 坐, 垫子
    assert found == ["cat", "sat", "mat"]
    assert weights[0, head, [0, 1, 3]].max(axis=-1).min() > 0.4


def test_four_heads_have_a_row_for_it() -> None:
    (place,) = [c.link for c in CONCEPTS if str(c.text).startswith("Four heads look at “it”")]
    capture = capture_of(from_link(link_params("004", place))[0], ["encoder.layers.1.self_attn.weights"])
    assert capture.tokens("source")[0][int(place.parameters["att_query"])] == "it"
    assert capture["encoder.layers.1.self_attn.weights"].shape == (1, 4, 12, 12)


def test_learned_rows_know_their_neighbours() -> None:
    (place,) = [c.link for c in CONCEPTS if str(c.text) == "Positions as a learned table"]
    setup, _ = from_link(link_params("004", place))
    rows = setup.card.load().get_parameter("encoder.pos_embedding.weight").detach().numpy()[:12]
    alike = rows @ rows.T / np.outer(length(rows), length(rows))
    near, far = np.diagonal(alike, 1).mean(), np.diagonal(alike, 6).mean()
    assert near > far + 0.1


def test_whether_the_scale_balances() -> None:
    both = "encoder.tok_embed_scaled", "encoder.pos_embed"
    normal, position = seen("001", "× √d_model “balances” tokens and positions: with rows drawn", *both)
    xavier, _ = seen("001", "× √d_model “balances” tokens and positions: with Xavier", *both)
    assert length(position) == pytest.approx(16)
    assert length(normal).mean() == pytest.approx(512, rel=0.05)
    assert length(xavier).mean() == pytest.approx(7, rel=0.05)


def test_positions_are_shared_by_the_batch() -> None:
    words, positions = seen("001", "Positions shaped (S, 1, D)", "encoder.tok_embed", "encoder.pos_embed")
    assert words.shape == (2, 5, 512) and positions.shape == (1, 5, 512)


def test_an_untrained_model_knows_nothing() -> None:
    loss, logits = seen("003", "The loss", "logits")
    assert logits.shape[-1] == 1000 and np.log(1000) == pytest.approx(6.9, abs=0.01)
    assert loss > 6


def test_without_a_causal_mask_the_answer_is_seen() -> None:
    (weights,) = seen("003", "Without a causal mask")
    assert np.triu(weights, 1).sum() > 0.1 * weights.sum()


def test_nothing_is_normalised_twice() -> None:
    out, normalized = seen("002", "γ and β", "encoder.layers.0.norm_self_attn.normalized")
    assert out == pytest.approx(normalized, abs=1e-6)


def test_rows_of_infinities_spread() -> None:
    layer = "encoder.layers.0"
    after, weights, first, source = seen("002", "Padded queries", f"{layer}.self_attn.weights", f"{layer}.resid_post", "ids.source")
    pad = source == 1
    assert (np.isnan(weights).all(axis=(1, 3)) == pad).all() and (np.isnan(first).all(axis=-1) == pad).all()
    assert np.isnan(after[0]).all() and not np.isnan(after[1]).any()


def test_eight_tokens_meet_eight_heads() -> None:
    """Where document 004's mask runs and leaks: the promised state, and the last head under the mask as printed."""
    attention = "decoder.layers.0.self_attn"
    weights, scores, source = seen("004", "If T equals", f"{attention}.weights", f"{attention}.scores", "ids.source")
    assert weights.shape == (1, 8, 8, 8) and source.shape == (1, 7)
    blocked = np.triu(np.ones((8, 8), bool), 1)[:, None]  # (T, 1, T), as unsqueeze(1) leaves it
    masked = np.where(blocked, -np.inf, scores.astype(float))
    powers = np.exp(masked - masked.max(axis=-1, keepdims=True))
    printed = powers / powers.sum(axis=-1, keepdims=True)
    assert np.triu(printed[0, 7], 1).sum() > 0.5 and not np.triu(weights[0, 7], 1).any()


def test_the_stream_is_a_sum() -> None:
    layer = "decoder.layers.0"
    after, before, found = seen("002", "The result of cross-attention", f"{layer}.norm_self_attn.out", f"{layer}.cross_attn.out")
    assert after == pytest.approx(before + found, abs=1e-5)
    layer = "encoder.layers.0"
    after, before, found = seen("002", "Residual connections", f"{layer}.resid_pre", f"{layer}.self_attn.out")
    assert after == pytest.approx(before + found, abs=1e-5)


def test_the_norm_comes_after_the_sum() -> None:
    out, x = seen("003", "Post-LN code", "encoder.layers.0.resid_mid")
    by_hand = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    assert out == pytest.approx(by_hand, abs=1e-5)
