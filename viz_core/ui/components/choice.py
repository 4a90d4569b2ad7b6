"""How the next word is chosen: the text as a row of tokens, and the candidates of one step as a table of bars.

    choice(Text(("<bos>",), ("a", "b"), 1), candidates, "Step 2 of 2", key="write_choice", on_step=go_to)

A click on a written token goes to the step that wrote it; candidates in the rows `picks` can be clicked as well. Every bar says
its arithmetic on hover, and its number stands beside it, so the table reads as well without the picture.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from viz_core.figures.assets import script, style
from viz_core.figures.glosses import gloss
from viz_core.figures.writing import Choice, as_data
from viz_core.ui.components.glosses import shown_glosses
from viz_core.ui.components.saving import offer

_COMPONENT = st.components.v2.component(
    "attention_lab_choice", html='<div class="choice lab-drawn">\n</div>', css=style("choice"), js=script("choice"),
)


@dataclass(frozen=True, slots=True)
class Text:
    """The tokens that were read before, those that were written, and the step (from 0) whose candidates are shown."""

    start: tuple[str, ...]
    written: tuple[str, ...]
    at: int


def choice(
    text: Text, candidates: Choice, title: str, *, key: str, on_step: Callable[[int], None],
    on_pick: Callable[[int], None] | None = None, picks: Sequence[int] = (), code: Callable[[], str] | None = None,
) -> None:
    """Draw it. `on_step(step)` is called before the run that follows a click on a token, `on_pick(row)` on a candidate
    in one of the rows `picks`. code: the lines that make `candidates` in a notebook."""
    steps, rows = len(text.written), len(candidates.rows)  # sessions keep the callbacks, so they hold no table

    def stepped() -> None:
        if (step := _sent(key, "step", steps)) is not None:
            on_step(step)

    def picked() -> None:
        if on_pick is not None and (row := _sent(key, "pick", rows)) is not None:
            on_pick(row)

    data = {"title": title, "text": asdict(text), "picks": list(picks)} | as_data(candidates)
    data["glosses"] = _glosses((*text.start, *text.written, *(row.label for row in candidates.rows)))
    # As text: Streamlit imports pandas to see whether a list is a table.
    _COMPONENT(key=key, data={"choice": json.dumps(data, ensure_ascii=False)}, on_step_change=stepped, on_pick_change=picked)
    offer(key, "choice", (candidates,), code)


def _glosses(labels: Iterable[str]) -> dict[str, str]:
    """What the labels mean; one of several words, as of a beam search, word by word."""
    known, found = shown_glosses(), dict[str, str]()
    for label in labels:
        if said := gloss(label, known):
            found[label] = said
        elif any(word in known for word in label.split(" ")):
            found[label] = " ".join(known.get(word, word).split(", ")[0] for word in label.split(" "))
    return found


def _sent(key: str, what: str, most: int) -> int | None:
    """The number that the browser sent, if it is one of `most`."""
    state: Any = st.session_state.get(key)
    number = state.get(what) if isinstance(state, Mapping) else None
    return number if type(number) is int and 0 <= number < most else None
