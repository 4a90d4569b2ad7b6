"""The parts of the home page."""

from collections import Counter

import streamlit as st

from viz_core.analysis.summary import predictions
from viz_core.capture import Capture
from viz_core.figures.architecture import architecture
from viz_core.figures.predictions import next_words
from viz_core.figures.steps import stage_panel
from viz_core.presets import PRESETS
from viz_core.text import visible
from viz_core.ui.canvas import matrices
from viz_core.ui.diagram import diagram
from viz_core.ui.frame import Lab, change, set_choice, touch, widget


def drawing(capture: Capture) -> None:
    """The architecture with the shapes of this run; a click opens the stage."""
    st.subheader("The model, with the shapes of this run", anchor=False)
    st.caption("Read from top to bottom. Click a box to open its numbers in Step by step.")
    if clicked := diagram(architecture([capture.stage(n) for n in capture]), key="home_map"):
        change(stage=clicked)
        st.switch_page("pages/step_by_step.py")


def tokens(lab: Lab, capture: Capture) -> int:
    """The tokens with their ids, padding shown; returns the selected sentence."""
    st.subheader("Your words become numbers", anchor=False)
    sides = [s for s in ("source", "target") if f"ids.{s}" in capture]
    n_items = capture.n_sentences
    item = min(lab.setup.item, n_items - 1)
    if n_items > 1:
        widget(st.segmented_control, "item", "Sentence", item, set_choice, options=range(n_items), required=True,
               format_func=lambda i: str(i + 1))  # fmt: skip
    matrices([stage_panel(capture, f"ids.{side}", item) for side in sides], key="home_ids", on_pick=lambda _: touch())
    st.caption("Each token is looked up by its id. <pad>, <bos> and <eos> are added by the model's input.".replace("<", r"\<"))
    return item


def next_word(lab: Lab, capture: Capture, item: int) -> None:
    """The top predictions after a chosen token, called untrained."""
    st.subheader("What the model would say next", anchor=False)
    if "probs" not in capture:
        st.info("This encoder has no vocabulary logits, so it predicts no word: turn on 'Vocabulary logits' among all switches.")
        return
    side = "target" if lab.config.has_decoder else "source"
    found, row = predictions(capture, item), capture.tokens(side)[item]
    st.caption("The weights are untrained, so this is noise near a blind guess; it is still exactly what the model computes.")
    key = "home_position"
    last = len(found) - 1
    if not 0 <= st.session_state.get(key, last) <= last:
        st.session_state[key] = last
    st.session_state.setdefault(key, last)
    if last:
        st.select_slider("After the token", range(last + 1), key=key, on_change=touch,
                         format_func=lambda i: f"{i} · {visible(row[i])}")  # fmt: skip
    shown = found[st.session_state[key]]
    names = [lab.word(side, i) for i in shown.ids]
    dark = st.context.theme.type == "dark"
    heading = f"Likeliest next words after “{visible(row[shown.position])}”"
    figure = next_words(shown, names, lab.config.output_vocab_size, heading, dark)
    st.plotly_chart(figure, key="home_next", theme=None, config={"displayModeBar": False})


def preset_rows(lab: Lab) -> None:
    """What the preset's document states, and what had to be repaired or assumed."""
    preset = PRESETS[lab.setup.preset]
    st.subheader("Where this model comes from", anchor=False)
    counts = Counter(r.status for r in preset.rows)
    st.markdown(
        f"Preset **{preset.title}**. {preset.summary} Of {len(preset.rows)} choices the text states {counts['stated']}, "
        f"{counts['repaired']} are repaired (the printed code cannot run or contradicts the text) "
        f"and {counts['assumed']} assumed (named but not shown)."
    )
    choices = st.expander("All choices, each with its ground", on_change=touch, key="home_choices")
    if choices.open:
        rows = [{"choice": r.topic, "here": r.value, "ground": r.status, "why": r.why} for r in preset.rows]
        choices.table(rows)
