"""The section with every position scheme on the typed sentence, side by side, and one of them in detail."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from viz_core.analysis.positions import (
    T5_MAX_DISTANCE,
    alibi_decay,
    alibi_slopes,
    color_range,
    cosine_similarities,
    max_range_along_diagonals,
    rope_angles,
    rope_score_by_distance,
    rope_scores,
    row_norms,
    t5_bias_by_distance,
)
from viz_core.config.position_schemes import POSITION_SCHEMES, Position
from viz_core.figures.clock import rope_clocks, rope_hand_names
from viz_core.figures.panels import Panel
from viz_core.figures.position_schemes import (
    MAX_COMPARED_ROWS,
    TableName,
    added_rows_panel,
    bias_panel,
    decay_figure,
    distance_bias_figure,
    learned_table_panels,
    rope_score_panel,
    rotation_panel,
    scheme_attention_panels,
    sentence_panels,
    slopes_figure,
)
from viz_core.messages import translate as _
from viz_core.messages.number_format import rounded, with_minus_sign
from viz_core.ui.components.clock import clock
from viz_core.ui.pages.positions import snippets
from viz_core.ui.pages.positions.typed_sentence import (
    TITLES,
    as_markdown,
    choose_word,
    experiment_key,
    note_clipped_colours,
    note_truncation,
    note_untrained_schemes,
    selected_sentence,
    shared_model,
    show_nothing_typed,
)
from viz_core.ui.shared.elements import chart, is_dark, linked_heatmaps, sentence_picker
from viz_core.ui.shell import (
    PageContext,
    controls_row,
    linked_widget,
    main_figure,
    set_from_widget,
    set_url_params,
    show_hint,
    url_param,
    widget,
)
from viz_core.ui.shell.setup import error_message
from viz_core.weights.catalogue import find_card

if TYPE_CHECKING:
    from viz_core.experiments.position_experiments import SchemeOnSentence, SentenceTokens

MAX_WORDS_IN_THREE_COLUMNS = 16  # up to this many, three figures fit side by side
ROPE_POSITIONS = 100  # on the slider of RoPE's planes
ROPE_TABLE = 8  # positions in the table of scores
MIN_DECAY_DISTANCE = 20  # ALiBi's weights are drawn at least up to this distance
MIN_BIAS_DISTANCES = 24  # T5's bias is drawn at least up to this distance; the axis can be dragged further


# ---------------------------------------------------------------- all schemes


def _head_control(context: PageContext) -> None:
    """Draw the control of the selected head if there are several."""
    if context.config.n_heads > 1:
        widget(
            st.segmented_control,
            "attn_head",
            _("Head"),
            context.setup.attn_head,
            set_from_widget,
            options=range(context.config.n_heads),
            required=True,
            label_visibility="collapsed",
            format_func=lambda h: str(h) if h else _("Head 0"),
        )


def all_schemes_section(context: PageContext) -> None:
    """Draw one head's attention under every scheme with the same weights, and then one scheme in detail."""
    from viz_core.experiments.position_experiments import causal_blocked, run_schemes
    from viz_core.ui.shell.caching.server_cache import cached_result

    if context.capture is None:
        show_nothing_typed()
        return
    words = selected_sentence(context)
    if not words.ids:
        show_nothing_typed()
        return
    head = context.setup.attn_head
    show_hint(_("**Compare the attention weights of layer 0, head {head}:** the sentence and the weights are the same, only the "
                "position scheme differs.", head=head))
    main = main_figure()
    with controls_row():
        sentence_picker(context, context.capture)
        _head_control(context)
    found = cached_result(
        "schemes", experiment_key(context, words.ids), lambda: run_schemes(context.model(), words.ids, context.setup.seed)
    )
    masked = causal_blocked(context.config, len(words.ids))
    weights_by_title = [(TITLES[s.position], s.weights[head]) for s in found if s.weights is not None]
    with main:
        linked_heatmaps(scheme_attention_panels(weights_by_title, words.tokens, masked), "pos_schemes", fill=True,
                        code=lambda: snippets.attention(context, head))
    st.header(_("What each scheme adds"), anchor=False)
    _draw_side_by_side(context, found, words, head, masked)
    note_truncation(words)
    note_untrained_schemes(context)
    scheme = linked_widget(st.segmented_control, "pos_scheme", _("One scheme in detail"), required=True, format_func=TITLES.get)
    chosen = next(s for s in found if s.position == scheme)
    if chosen.problem:
        st.info(as_markdown(error_message(chosen.problem)))
    else:
        if explanation := POSITION_SCHEMES[chosen.position].explanation:
            st.markdown(explanation)
        DETAILS.get(chosen.position, _draw_added_numbers)(context, chosen, words, head)


def _draw_side_by_side(
    context: PageContext, found: Sequence["SchemeOnSentence"], words: "SentenceTokens", head: int, masked: np.ndarray | None
) -> None:
    """Draw for each scheme where it enters, its effect on one head, and what it adds."""
    n_columns = 3 if len(words.ids) <= MAX_WORDS_IN_THREE_COLUMNS else 2
    for i in range(0, len(found), n_columns):
        for column, s in zip(st.columns(n_columns, gap="medium"), found[i : i + n_columns], strict=False):
            with column:
                st.markdown(
                    f"**{TITLES[s.position]}:** {POSITION_SCHEMES[s.position].summary}. {_describe_effect(s, found[-1], head)}"
                )
                if panels := _scheme_panels(context, s, words, head, masked):
                    linked_heatmaps(panels, f"pos_added_{s.position}",
                                    code=partial(snippets.added, context, s.position, head, _panel_title(s.position)))


def _describe_effect(s: "SchemeOnSentence", none: "SchemeOnSentence", head: int) -> str:
    """Return a sentence on what the scheme changes in this head, or why it cannot run."""
    if s.weights is None or none.weights is None:
        return as_markdown(error_message(s.problem)) if s.problem else ""
    if s is none:
        return _("The changes of the other schemes are measured against this one.")
    return _("Largest change of an attention weight, compared with {none}: **{value}**.", none=TITLES["none"],
             value=rounded(float(np.abs(s.weights[head] - none.weights[head]).max()), 2))


def _scheme_panels(
    context: PageContext, s: "SchemeOnSentence", words: "SentenceTokens", head: int, masked: np.ndarray | None
) -> list[Panel]:
    """Return the heatmap of what a scheme adds for these words: embedding rows, angles or score biases; [] for no positions."""
    title = _panel_title(s.position)
    if s.pos_embed is not None:
        return [added_rows_panel(title, s.pos_embed, words.tokens, color_range(s.pos_embed).limit)]
    if s.q_rot is not None:
        return [rotation_panel(title, rope_angles(len(words.ids), s.q_rot.shape[-1], context.config.position_base), words.tokens)]
    if s.bias is not None:
        return [bias_panel(s.bias[head], words.tokens, title, masked)]
    return []


def _panel_title(position: Position) -> str:
    """Return the title of the heatmap of a scheme. The figures of rows and angles append what they show."""
    title = TITLES[position]
    return _("{title}: added to the scores", title=title) if POSITION_SCHEMES[position].applied_to == "scores" else title


def _explain_sinusoidal(context: PageContext, s: "SchemeOnSentence", words: "SentenceTokens", head: int) -> None:
    """Show the sinusoidal rows that are added to the tokens."""
    assert s.pos_embed is not None
    title = _("The rows added to your tokens")
    linked_heatmaps(sentence_panels([(title, s.pos_embed)], words.tokens, color_range(s.pos_embed).limit), "pos_detail",
                    code=lambda: snippets.added_rows(context, title))


def _explain_learned(context: PageContext, s: "SchemeOnSentence", words: "SentenceTokens", head: int) -> None:
    """Show the learned table of the model and, if that is untrained, one of trained weights."""
    assert s.pos_embed is not None
    from viz_core.experiments.position_experiments import learned_table

    rows = learned_table(context.model(), s.position, context.setup.seed)
    if _is_trained_with(context, s):
        st.markdown(_("**A trained vector for each position is added to the word's vector.** The similarity of its rows shows "
                      "what was learned: {describe_similarity} Rows that training never used stay random.",
                      describe_similarity=describe_similarity(rows)))
        _draw_learned_table(rows, "own", lambda: snippets.learned(context, "own"))
        return
    st.markdown(_("**A vector for each position is added to the word's vector, and training has to find it.** This table is "
                  "untrained: it is random, and the similarity of its rows does not depend on their distance yet."))
    _draw_learned_table(rows, "untrained", lambda: snippets.learned(context, "untrained"))
    if (card := find_card(position="learned")) is not None:
        trained = learned_table(shared_model(card), s.position)
        st.markdown(_("**The same after training,** in the weights *{title}*: {describe_similarity} The rows that no training "
                      "sentence used have stayed random.", title=card.title, describe_similarity=describe_similarity(trained)))
        _draw_learned_table(trained, "trained", snippets.trained)


def describe_similarity(rows: np.ndarray) -> str:
    """Return whether rows [N, D] of neighbouring positions are more similar than rows half a table apart."""
    n = min(len(rows), MAX_COMPARED_ROWS)
    if n < 3:
        return _("the table is too short to compare neighbours with distant rows.")
    near, far = _near_and_far(cosine_similarities(rows[:n]))
    return _("neighbouring rows are {which} similar than rows {n} apart.",
             which=_("more") if near > far else _("no more"), n=n // 2)


def _near_and_far(similarity: np.ndarray) -> tuple[float, float]:
    """Return the mean cosine of neighbours and of rows half a table apart, from `similarity` [N, N]."""
    return float(np.mean(np.diagonal(similarity, 1))), float(np.mean(np.diagonal(similarity, len(similarity) // 2)))


def _draw_learned_table(rows: np.ndarray, which: TableName, code: Callable[[], str]) -> None:
    """Draw a learned table [N, D] beside the cosines of its rows, with two mean cosines below. code: makes the notebook code."""
    n = min(len(rows), MAX_COMPARED_ROWS)
    similarity, colour_range = cosine_similarities(rows[:n]), color_range(rows)
    linked_heatmaps(learned_table_panels(rows, similarity, colour_range.limit, which), f"pos_detail_{which}", code=code)
    note_clipped_colours(colour_range)
    if n > 2:
        near, far = _near_and_far(similarity)
        st.markdown(
            _(
                "Mean cosine of neighbours: **{near}**; of rows {n} apart: **{far}**. The table has {n_rows:,} rows, so "
                "later words have no row.",
                near=with_minus_sign(f"{near:.3f}"),
                n=n // 2,
                far=with_minus_sign(f"{far:.3f}"),
                n_rows=len(rows),
            )
        )


def _is_trained_with(context: PageContext, s: "SchemeOnSentence") -> bool:
    """Return whether the model's weights were trained with this scheme."""
    return context.config.position == s.position and context.setup.card is not None


def _explain_rope(context: PageContext, s: "SchemeOnSentence", words: "SentenceTokens", head: int) -> None:
    """Show RoPE's rotations of one query and one key, and their scores at all pairs of positions."""
    assert s.q is not None and s.k is not None and s.q_rot is not None and s.k_rot is not None
    last, base = len(words.ids) - 1, context.config.position_base
    with st.container(horizontal=True):
        m = choose_word("pos_query", _("Query of"), words, last)
        n = choose_word("pos_key", _("Key of"), words, 0)
    q, k = s.q[head, m].astype(float), s.k[head, n].astype(float)
    distance = m - n
    planes = rope_clocks(q, k, distance, ROPE_POSITIONS, base, rope_hand_names(words.tokens[m], words.tokens[n]))
    at = max(planes.first, min(url_param("pos_at"), planes.last))
    clock(planes, at, key="pos_planes", on_move=lambda p: set_url_params(pos_at=min(p, 4999)),
          code=lambda: snippets.planes(context, head, m, n, ROPE_POSITIONS, at))
    score = float(rope_score_by_distance(q, k, np.array(distance), base))
    scores = rope_scores(q, k, ROPE_TABLE, base)
    st.markdown(_(r"$q \cdot k$ of these two words, {distance} apart: **{score}** by the closed form, **{model_score}** in the "
                  "model. The matrix below puts the same two vectors at every pair of positions: each diagonal holds one number.",
                  distance=abs(distance), score=rounded(score, 6), model_score=rounded(_model_score(s, head, m, n), 6)))
    linked_heatmaps([rope_score_panel(scores)], "pos_detail", code=lambda: snippets.rope(context, head, m, n, ROPE_TABLE))
    norm_change = max(
        float(np.abs(row_norms(a) - row_norms(b)).max()) for a, b in ((s.q[head], s.q_rot[head]), (s.k[head], s.k_rot[head]))
    )
    st.markdown(_("Largest spread along a diagonal: **{spread_along_diagonals}**. A rotation keeps every length: the norms of "
                  "your tokens' queries and keys change by **{kept}** at most. Both numbers are rounding.",
                  spread_along_diagonals=rounded(max_range_along_diagonals(scores), 2), kept=rounded(norm_change, 2)))


def _model_score(s: "SchemeOnSentence", head: int, m: int, n: int) -> float:
    """Return ⟨q_rot, k_rot⟩ of the model's own rotated vectors."""
    assert s.q_rot is not None and s.k_rot is not None
    return float(s.q_rot[head, m].astype(float) @ s.k_rot[head, n].astype(float))


def _explain_alibi(context: PageContext, s: "SchemeOnSentence", words: "SentenceTokens", head: int) -> None:
    """Show ALiBi's slopes, its weights by distance, and the bias of one head."""
    from viz_core.experiments.position_experiments import causal_blocked

    assert s.bias is not None
    n = len(words.ids)
    slopes = alibi_slopes(context.config.n_heads)
    masked = causal_blocked(context.config, n)
    if masked is None:
        st.info(_("Press et al. (2022), who proposed ALiBi, use it in decoders, which attend only to earlier tokens. This stack "
                  "attends in both directions, so this app extends it: the penalty is −m · |i − j|."))
    left, right = st.columns(2, gap="medium")
    with left:
        chart(slopes_figure(slopes, head, is_dark()), "pos_slopes", code=lambda: snippets.slopes(context.config.n_heads, head))
    with right:
        last = max(n - 1, MIN_DECAY_DISTANCE)
        chart(decay_figure([alibi_decay(float(m), last) for m in slopes], head, is_dark()), "pos_decay",
              code=lambda: snippets.decay(context.config.n_heads, head, last))
    title = _("The bias of head {head}", head=head)
    linked_heatmaps([bias_panel(s.bias[head], words.tokens, title, masked)], "pos_detail",
                    code=lambda: snippets.bias(context, s.position, head, title))
    st.caption(_("Head {head}: m = {slope:.6g}. The curves show the weights of a causal head if all words matched equally "
                 "well: a geometric series. Each head has the same colour in both charts.", head=head, slope=slopes[head]))


def _explain_t5(context: PageContext, s: "SchemeOnSentence", words: "SentenceTokens", head: int) -> None:
    """Show T5's learned bias by distance, and the bias of one head for this sentence."""
    from viz_core.experiments.position_experiments import causal_blocked, learned_table

    assert s.bias is not None
    table, masked = learned_table(context.model(), s.position, context.setup.seed), causal_blocked(context.config, len(words.ids))
    if not _is_trained_with(context, s):
        st.info(_("This table is untrained: its numbers are random. Training would make near keys more or less attractive than "
                  "distant ones, in each head in its own way."))
    causal, shown, title = masked is not None, max(MIN_BIAS_DISTANCES, len(words.ids)), _("The bias of head {head}", head=head)
    distance, numbers = t5_bias_by_distance(table.astype(float), causal)
    left, right = st.columns(2, gap="medium")
    with left:
        chart(distance_bias_figure(distance, numbers, head, shown, is_dark()), "pos_by_distance",
              code=lambda: snippets.by_distance(context, head, shown))
    with right:
        linked_heatmaps([bias_panel(s.bias[head], words.tokens, title, masked)], "pos_detail",
                        code=lambda: snippets.bias(context, s.position, head, title))
    directions = _("all of them for earlier keys, because a causal mask hides the later ones") if causal else (
        _("half of them for the keys up to the query and half for the later ones"))
    st.caption(_("The table has {n_table} rows, one for each range, and a column for each of the {shape} heads. This stack "
                 "uses {directions}. All distances of {t5_farthest} and more share a row.",
                 n_table=len(table), shape=table.shape[1], directions=directions, t5_farthest=T5_MAX_DISTANCE))


def _draw_added_numbers(context: PageContext, s: "SchemeOnSentence", words: "SentenceTokens", head: int) -> None:
    """Draw what the scheme adds for this sentence, if it adds anything."""
    from viz_core.experiments.position_experiments import causal_blocked

    if panels := _scheme_panels(context, s, words, head, causal_blocked(context.config, len(words.ids))):
        linked_heatmaps(panels, "pos_detail", code=partial(snippets.added, context, s.position, head, _panel_title(s.position)))


# The figures of a scheme below its explanation; a scheme without a function here gets those of `_draw_added_numbers`.
DETAILS: dict[Position, Any] = {
    "sinusoidal": _explain_sinusoidal,
    "learned": _explain_learned,
    "rope": _explain_rope,
    "alibi": _explain_alibi,
    "t5": _explain_t5,
}
