"""The candidates of one decoding step: the text as a row of tokens, and a table of candidates with bars.

    candidate_table(TextTokens(("<bos>",), ("a", "b"), 1), candidates, "Step 2 of 2", key="write_choice", on_step=go_to)

A click on a generated token goes to its step; candidates in `pickable_rows` can be clicked as well. Each bar has its number next to
it, and its arithmetic as tooltip.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from viz_core.figures.assets import component_script, stylesheet
from viz_core.figures.decoding import CandidateTable, to_dict
from viz_core.figures.glosses import gloss
from viz_core.ui.components.calls import Call, Recorded, as_expression, evaluated
from viz_core.ui.components.export import register_picture
from viz_core.ui.components.glosses import current_glosses
from viz_core.ui.streamlit_internals import Component

_COMPONENT = Component(
    "choice", html='<div class="choice lab-drawn">\n</div>', css=stylesheet("choice"), js=component_script("choice"),
)


@dataclass(frozen=True, slots=True)
class TextTokens:
    """The prompt tokens, the generated tokens, and the step (from 0) whose candidates are shown."""

    prompt: tuple[str, ...]
    generated: tuple[str, ...]
    step: int


def candidate_table(
    text: TextTokens, candidates: Recorded[CandidateTable], title: str, *, key: str, on_step: Callable[[int], None],
    on_pick: Callable[[int], None] | None = None, pickable_rows: Sequence[int] = (),
) -> None:
    """Draw the tokens and the candidates.

    `on_step(step)` is called before the rerun after a click on a token, `on_pick(row)` after a click on a candidate in one of
    `pickable_rows`.
    """
    record, candidates = as_expression(candidates), evaluated(candidates)
    steps, rows = len(text.generated), len(candidates.rows)  # the session keeps the callbacks, so they must not reference the table

    def stepped() -> None:
        if (step := _sent_index(key, "step", steps)) is not None:
            on_step(step)

    def picked() -> None:
        if on_pick is not None and (row := _sent_index(key, "pick", rows)) is not None:
            on_pick(row)

    data = {"title": title, "text": asdict(text), "picks": list(pickable_rows)} | to_dict(candidates)
    data["glosses"] = _glosses((*text.prompt, *text.generated, *(row.label for row in candidates.rows)))
    # Sent as text, because Streamlit imports pandas to check whether a list is a table.
    _COMPONENT(key=key, data={"choice": json.dumps(data, ensure_ascii=False)}, on_step_change=stepped, on_pick_change=picked)
    frame = Call[Any]("viz_core.figures.plot_data.choice", record)
    register_picture(key, {"candidates": record, "frame": frame, "picture": frame})


def _glosses(labels: Iterable[str]) -> dict[str, str]:
    """Return label → gloss; a label of several words, as in beam search, is glossed word by word."""
    known, found = current_glosses(), dict[str, str]()
    for label in labels:
        if meaning := gloss(label, known):
            found[label] = meaning
        elif any(word in known for word in label.split(" ")):
            found[label] = " ".join(known.get(word, word).split(", ")[0] for word in label.split(" "))
    return found


def _sent_index(key: str, what: str, n: int) -> int | None:
    """Return the index that the browser sent, if it is in range(n)."""
    state: Any = st.session_state.get(key)
    number = state.get(what) if isinstance(state, Mapping) else None
    return number if type(number) is int and 0 <= number < n else None
