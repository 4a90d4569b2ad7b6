"""Where A and B diverge: their distance at every stage and token, with a link from each cell to its stage."""

from collections.abc import Sequence

import streamlit as st

from viz_core.analysis.two_runs import (
    LEAVES_AT,
    Parting,
    Spread,
    Together,
    amounts,
    in_stream,
    is_amount,
    parting,
    spread,
    stream,
)
from viz_core.figures.compared_steps import PLACES, SUMS, difference_panels, parting_panels, place_names
from viz_core.figures.glosses import gloss
from viz_core.figures.steps import strongest
from viz_core.formats import rounded
from viz_core.language import plural
from viz_core.language import translate as _
from viz_core.stages import SIDE_NAMES, STACK_NAMES
from viz_core.ui.components.canvas import Pick, matrices
from viz_core.ui.components.glosses import shown_glosses
from viz_core.ui.controls import with_cell
from viz_core.ui.escape import code, escaped, few
from viz_core.ui.pages.steps import snippets
from viz_core.ui.pages.steps.moves import CANVAS, WHOLE, go, norms_open
from viz_core.ui.shell import TwoRuns, below, current, lab_of, look, picture, set_view, view, view_widget
from viz_core.ui.shell.setup import unpacked
from viz_core.ui.shell.two_runs import lined_up

NAMED = 3  # tokens that are named one by one
ROWS = {"stream": _("residual stream"), "all": _("all stages")}


def parting_section(two: TwoRuns) -> None:
    """Draw a sentence, the heatmap of stages × tokens, and the choice of stages."""
    from viz_core.ui.shell.cache import cached_result

    aligned = two.both
    key = (two.a.key(), two.b.key(), aligned.item_a, aligned.item_b)
    all_stages, with_norm_steps = view("walk_rows") == "all", norms_open()
    rows = amounts(aligned, cached_result("parting", key, lambda: parting(aligned)), with_norm_steps)
    shown = rows if all_stages else stream(rows)
    if not shown:
        st.info(_("A and B have no stage in common that could be compared: their widths or their kinds of model differ."))
        return
    look(parting_words(two, shown, [name for name in left_out(aligned) if all_stages or in_stream(name)]))
    panels, names = parting_panels(aligned, shown)

    def opened(pick: Pick | None) -> None:  # the session keeps this callback, so it must not hold a panel or a run
        if pick is not None:
            open_compared(names[pick.panel][pick.row], pick.col)

    with picture():
        matrices(panels, key="walk_parting", on_pick=opened, fill=True, opens=True,
                 code=lambda: snippets.parting(two, all_stages, with_norm_steps))
    with below():
        view_widget(st.segmented_control, "walk_rows", _("Stages"), required=True, format_func=ROWS.get,
                    label_visibility="collapsed")
        st.caption(_("Where a cell has no colour, A and B agree. Click a cell, or reach it with the arrow keys and press Enter, "
                     "to see its stage as A, B and A − B."))


def open_compared(name: str, place: int) -> None:
    """Show A − B at this stage, with the largest difference of the token at this position picked; for callbacks."""
    a, b = lab_of(unpacked(view("kept"))[0]), lab_of(current())
    if a.capture is None or b.capture is None:
        return
    aligned, head = lined_up(a, b), b.setup.attn_head
    difference_panel = difference_panels(aligned, name, head, (a.named(aligned.item_a), b.named(aligned.item_b)))[-1]
    set_view(walk_look="stage", shown="difference", walk_mode=WHOLE, walk_drawing=False)
    go(name)
    set_view(cells=with_cell(view("cells"), CANVAS, (2, *strongest(difference_panel, place))))


def left_out(both: Together) -> list[str]:
    """Return the stages per token that have different shapes in A and B and so cannot be compared, in A's order."""
    stages = [both.b.stage(name) for name in both.reshaped]
    return [s.name for s in stages
            if any(is_amount(s, s.sides[letter], norms_open()) for letter in ("T", "S") if letter in s.sides)]


def _named(name: str, side: str = "") -> str:
    """Return a stage for a sentence: "layer 0’s self-attention in the encoder"; without the stack if `side` is given."""
    stack, *rest = name.split(".")
    leaf = name.rpartition(".")[2]
    if leaf in SUMS and side:
        return _("layer {layer}’s {part}", layer=rest[1], part=SUMS[leaf])
    if leaf in SUMS:
        return _("layer {layer}’s {part} in the {stack}", layer=rest[1], part=SUMS[leaf], stack=STACK_NAMES[stack])
    if leaf in ("tok_embed", "embed") or name.endswith("final_norm.out"):
        return _("the {stage} of the {stack}", stage=PLACES[leaf], stack=STACK_NAMES[stack])
    return _("the logits") if name == "logits" else code(name)


def parting_words(two: TwoRuns, rows: Sequence[Parting], missing: Sequence[str] = ()) -> str:
    """Return where the runs first diverge, and from which stage on every token differs, as Markdown.

    rows: the stages that are drawn. missing: those that are left out, because their shapes in A and B differ.
    """
    found = spread(rows)
    if found.first is None:
        sentences = [_("A and B agree at every stage shown: no ‖A − B‖ / ‖A‖ is more than {least}, which rounding alone can cause.",
                       least=rounded(LEAVES_AT, 1))]
    else:
        sentences = [_first_words(two, rows, found.first, missing)]
        sentences += [_side_words(two, found, side) for side in dict.fromkeys(row.side for row in rows)]
    if missing:
        sentences.append(plural("{n:,} stage has another shape in A and B and is left out.",
                                "{n:,} stages have another shape in A and B and are left out.", len(missing)))
    return " ".join(filter(None, sentences))


def _first_words(two: TwoRuns, rows: Sequence[Parting], first: Parting, missing: Sequence[str]) -> str:
    """Return the first stage where the runs differ, with a reservation if a stage that is left out comes before it."""
    stage, tokens, order = _named(first.name), _tokens(two, first), list(two.both.a)
    if not any(order.index(name) < order.index(first.name) for name in missing):
        return _("**They diverge at {stage}, at {tokens}.**", stage=stage, tokens=tokens)
    if first is rows[0]:
        return _("**The first stage that can be compared is {stage}: A and B differ there, at {tokens}.**", stage=stage,
                 tokens=tokens)
    return _("**Of the stages that can be compared, {stage} is the first where A and B differ, at {tokens}.**", stage=stage,
             tokens=tokens)


def _side_words(two: TwoRuns, found: Spread, side: str) -> str:
    """Return how far the difference spreads among the tokens of one side."""
    reached, filled = found.reached.get(side), found.filled.get(side)
    assert found.first is not None
    if reached is None:
        return _("No {side} token differs.", side=SIDE_NAMES[side])
    if filled is None:
        first_sentence = "" if reached is found.first else _("The {side} tokens first differ at {stage}, at {tokens}.",
                                                             side=SIDE_NAMES[side], stage=_named(reached.name, side),
                                                             tokens=_tokens(two, reached))
        return " ".join(filter(None, [first_sentence, _("Not every {side} token differs in the end.", side=SIDE_NAMES[side])]))
    if filled is found.first:
        return ""
    if reached in (filled, found.first):
        return _("From {stage} on, every {side} token differs.", stage=_named(filled.name, side), side=SIDE_NAMES[side])
    return _("The {side} tokens first differ at {stage}, at {tokens}; from {later} on, every one does.", side=SIDE_NAMES[side],
             stage=_named(reached.name, side), tokens=_tokens(two, reached), later=_named(filled.name, side))


def _tokens(two: TwoRuns, row: Parting) -> str:
    """Return the tokens that differ at a stage: by name if they are few, else their number."""
    names = place_names(two.both, row.side)
    differing = [name for name, share in zip(names, row.share, strict=True) if not share <= LEAVES_AT]
    if len(differing) == len(names):
        return _("every token")
    if len(differing) > NAMED:
        return _("{n} of {many}", n=len(differing), many=plural("{n} token", "{n} tokens", len(names)))
    return few([_with_gloss(name) for name in differing], NAMED)


def _with_gloss(name: str) -> str:
    """Return a token, or a pair such as "tired | wide", with its gloss: `动物 | 街道` (animal | street)."""
    meaning = gloss(name, shown_glosses())
    return code(name) + (f" ({escaped(meaning)})" if meaning else "")
