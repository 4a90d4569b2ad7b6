"""One head: its matrix at each step from q·k to the weights, and its weights as lines."""

from viz_core.analysis.attention import Step
from viz_core.analysis.labelled_weights import WordPair, kept_weights, layer_weights
from viz_core.capture import Capture
from viz_core.figures.attention import KIND_TITLES, head_panel
from viz_core.language import translate as _
from viz_core.position_schemes import Position
from viz_core.ui.components.lines import Lock, lines
from viz_core.ui.pages.attention import snippets
from viz_core.ui.pages.attention.focus import InFocus, kept_shown, words_shown
from viz_core.ui.pages.attention.matrix import pickable
from viz_core.ui.shell import Lab, set_view, view

BIAS_WORDS: dict[Position, str] = {
    "alibi": _("ALiBi subtracts a penalty from each score that grows with the distance between query and key."),
    "t5": _("T5 adds a number to each score that this head learned for the distance between query and key."),
}
STEP_WORDS: dict[Step, str] = {
    "raw": _("Each cell is the dot product of a query and a key: it is larger when the two match better."),
    "scaled": _("The dot products divided by √d_k, so that wide heads do not saturate the softmax."),
    "masked": _("The mask overwrites the scores of blocked keys before the softmax."),
    "weights": _("The softmax of each row of scores: its weights sum to 1 if the query may attend to any key."),
}


def step_words(capture: Capture, focus: InFocus) -> str:
    """Return a sentence on what the numbers of the step in focus are."""
    return BIAS_WORDS[capture.config.position] if focus.step == "biased" else STEP_WORDS[focus.step]


def drawn_matrix(lab: Lab, capture: Capture, focus: InFocus, words: WordPair | None) -> None:
    """Draw the head in focus as a matrix at the step in focus."""
    kept = kept_shown(lab, capture, focus.kind, focus) if focus.step == "weights" else None
    shown = head_panel(capture, focus.kind, focus.layer, focus.head, focus.item, focus.step, focus.colour, words, kept)
    pickable([shown], focus, words, kept=kept, code=lambda: snippets.matrix(lab, focus))


def drawn_lines(lab: Lab, capture: Capture, focus: InFocus, title: str = _("Lines"), fill: bool = False) -> None:
    """Draw the weights of the layer in focus as lines; by default only those of the head in focus."""
    words = words_shown(lab, capture, focus.kind, focus)
    found = layer_weights(capture, focus.kind, focus.layer, focus.item, words)
    row_of, col_of = (w.of for w in words) if words else (range(len(found.queries)), range(len(found.keys)))
    kept, share = kept_shown(lab, capture, focus.kind, focus), None
    rows, cols = kept or (range(len(found.queries)), range(len(found.keys)))
    if kept is not None:
        found, share = kept_weights(found, kept)
    side = view("att_lock")
    place, among = (row_of[focus.query], rows) if side == "query" else (col_of[focus.key], cols)
    locked: Lock = (side, among.index(place)) if side and place in among else None

    def lock(chosen: Lock) -> None:
        """Bring the locked token into focus; with a query, also the key to which it gives the largest weight."""
        if chosen is None:
            set_view(att_lock="")
        elif chosen[0] == "query":
            set_view(att_lock="query", att_query=row_of.index(rows[chosen[1]]), att_key=-1)
        else:
            set_view(att_lock="key", att_key=col_of.index(cols[chosen[1]]))

    named = _("{title} · {kind_titles}, layer {layer}", title=title, kind_titles=KIND_TITLES[focus.kind].lower(), layer=focus.layer)
    named += "" if kept is None else " " + _("without special tokens")
    lines(*found, focus.overlaid, locked, named, key="att_lines", share=share, places=kept,
          identity=f"{focus.kind}.{focus.layer}.{focus.head}", on_lock=lock,
          on_heads=lambda heads: set_view(att_heads=() if heads == (focus.head,) else heads or ("none",)), fill=fill,
          code=lambda: snippets.lines(lab, focus))
