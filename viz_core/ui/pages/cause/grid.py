"""The section Patching: each activation of one run is patched into the other, and its effect on the answer is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from viz_core.config import side_of
from viz_core.experiments.effect_maps import DIGITS, EffectMap, EffectMaps, effect_maps, n_runs
from viz_core.experiments.patching import Direction
from viz_core.experiments.question import Question, first_difference, likeliest_words
from viz_core.figures.cause import effect_panels, maps_of
from viz_core.formats import rounded
from viz_core.language import plural
from viz_core.language import translate as _
from viz_core.ui.components.canvas import Pick, matrices
from viz_core.ui.escape import token_code
from viz_core.ui.pages.cause import snippets
from viz_core.ui.pages.cause.asked import answer, controls
from viz_core.ui.pages.cause.measuring import contrast_of, key_of, measured, seconds_of
from viz_core.ui.pages.cause.pair import Pair, Place, adopt, turn
from viz_core.ui.shell import PAGES, below, look, picture, set_view, touch, view, view_widget, widget
from viz_core.ui.shell.setup import Setup
from viz_core.ui.shell.two_runs import patch_words

PARTS = {"residual": _("Residual stream"), "sublayers": _("Sub-layers"), "heads": _("Heads")}
DIRECTIONS = {"denoise": _("What is sufficient"), "noise": _("What is necessary")}
FEW = 0.1  # 0: no effect, 1: full effect; a smaller maximum is reported as no decisive value
OVERSHOOTS = 1.05  # effects above this exceed the difference between the two runs
SHOWS_B = ("attention", "step_by_step")  # pages that show the patched run B


def patching(pair: Pair, question: Question) -> None:
    """Draw the effect maps, the hint, the controls, and the picked patched run."""
    direction: Direction = view("cause_direction")
    written, alike = _written(pair, question)
    if alike:  # known before the measurement
        st.markdown(written)
        written = ""
    found = _effects(pair, question, direction)
    if found is None:
        st.markdown(written)
    else:
        shown = found.of(view("cause_part"))
        look(f"{written} {_what_to_look_at(pair, found, shown, alike)}".strip())
        with picture():
            _maps(pair, question, found, shown)
    with below():
        view_widget(st.segmented_control, "cause_part", _("Values"), required=True, format_func=PARTS.get,
                    label_visibility="collapsed")
        _direction(pair, found)
        controls(pair, question)
    if found is not None:
        _picked(pair, found)
        st.caption(_counted(found))


def _effects(pair: Pair, question: Question, direction: Direction) -> EffectMaps | None:
    """Return all effect maps of a direction; None if they are not measured."""
    assert pair.clean.capture is not None
    config = pair.clean.config
    runs = n_runs(config, {side: len(pair.clean.capture.ids(side, pair.item)) for side in config.sides})
    return measured("effects", (key_of(pair, question), direction), runs, seconds_of(pair, runs),
                    lambda report: effect_maps(contrast_of(pair, question), direction, report))


# ---------------------------------------------------------------- the figure


def _maps(pair: Pair, question: Question, found: EffectMaps, shown: Sequence[EffectMap]) -> None:
    """Draw the maps of the selected values. The picked cell is the one whose value B takes from A."""
    clean, corrupted, part = pair.clean.capture, pair.changed.capture, view("cause_part")
    assert clean is not None and corrupted is not None
    drawn = maps_of(shown, found.pairs, (clean, corrupted), partial(answer, pair.clean, item=pair.item), pair.item)
    cells = [each.cell(view("patch")) if view("patch") and view("kept") else None for each in shown]
    pick = next((Pick(i, *cell) for i, cell in enumerate(cells) if cell is not None), None)
    choose = _Choice(pair.clean.setup, pair.changed.setup, tuple(
        tuple(tuple(each.place(row, col) for col in range(each.effects.shape[1])) for row in range(len(each.effects)))
        for each in shown))
    matrices(effect_panels(drawn), key="cause_maps", pick=pick, on_pick=choose, fill=True,
             code=lambda: snippets.maps(pair, question, found.direction, part))


@dataclass(frozen=True, slots=True)
class _Choice:
    """Callback of a click on a cell: the donor becomes A and the other run B, with A's value patched in.

    The session state keeps it, so it holds setups and patch targets, but no run. places: by panel, row and column.
    """

    clean: Setup
    changed: Setup
    places: tuple[tuple[tuple[Place | None, ...], ...], ...]

    def __call__(self, pick: Pick | None) -> None:
        place = None if pick is None else self.places[pick.panel][pick.row][pick.col]
        if pick is None:
            set_view(patch=())
        elif place is None:
            touch()
        else:
            adopt(self.clean, self.changed, place)


# ---------------------------------------------------------------- text


def _what_to_look_at(pair: Pair, found: EffectMaps, shown: Sequence[EffectMap], alike: bool) -> str:
    """Return the hint: the shown value with the largest effect; "" for none. is_same_word: whether both runs predict one word."""
    best = found.strongest(shown)
    if best is None:
        return ""
    place = best.map.place(best.row, best.col)
    assert place is not None
    effect = float(best.map.effects[best.row, best.col])
    where, size = patch_words(pair.donor(), place, pair.item), rounded(effect, DIGITS)
    scale = _("0: no effect, 1: full effect")
    if best.map.part == "residual":
        scale = _("0: no effect, 1: full effect; embedding and last layer not counted")
    if effect < FEW:
        return _too_small(found, where, size, scale)
    if found.direction == "denoise" and alike:
        text = _("**What best restores the clean logits is the clean value of {place}: {effect}** ({scale}).",
                 place=where, effect=size, scale=scale)
    elif found.direction == "denoise":
        text = _("**What best restores the clean answer is the clean value of {place}: {effect}** ({scale}).",
                 place=where, effect=size, scale=scale)
    elif alike:
        text = _("**What changes the logits most is the changed value of {place}: {effect}** ({scale}).",
                 place=where, effect=size, scale=scale)
    else:
        text = _("**What changes the answer most is the changed value of {place}: {effect}** ({scale}).",
                 place=where, effect=size, scale=scale)
    if best.n_others:
        text += " " + plural("{n} value computed later has the same effect to {digits} digits.",
                             "{n} values computed later have the same effect to {digits} digits.",
                             best.n_others, digits=DIGITS)
    if max(float(np.nanmax(each.effects, initial=0.0)) for each in shown) > OVERSHOOTS:
        text += " " + _("An effect above 1 overshoots: the patched run prefers the answer even more than the run that the value "
                        "comes from.")
    return text


def _written(pair: Pair, question: Question) -> tuple[str, bool]:
    """Return what both runs predict at the position of the question, and whether it is the same word.

    If it is, the text also says where the runs first differ.
    """
    clean, corrupted, item = pair.clean.capture, pair.changed.capture, pair.item
    assert clean is not None and corrupted is not None
    if pair.partner(question.at) is None:
        return "", False  # the measurement reports it
    before, after = likeliest_words(clean, corrupted, question.at, item, item)
    word = token_code(answer(pair.clean, before, item))
    if before != after:
        return _("The clean run writes {clean}, the changed one {changed}.", clean=word,
                 changed=token_code(answer(pair.clean, after, item))), False
    differ = first_difference(clean, corrupted, item, item)
    if differ is None:
        return _("**Both runs write {word} here, and they write the same words everywhere else: this change does not change the "
                 "text.** Only the logits differ a little.", word=word), True
    token = token_code(clean.tokens(pair.clean.config.output_side)[item][differ[0]])
    words = [token_code(answer(pair.clean, id, item)) for id in differ[1:]]
    return _("**Both runs write {word} here.** They first differ after {token}, where the clean run writes {clean} and the changed "
             "one {changed}: choose that position below the figure.", word=word, token=token, clean=words[0],
             changed=words[1]), True


def _too_small(found: EffectMaps, where: str, size: str, scale: str) -> str:
    """Return that no single value decides the answer, and how many tokens could not be patched."""
    if found.direction == "denoise":
        text = _("**No single value that can be patched determines the answer:** the largest effect is {effect}, of {place} "
                 "({scale}).", effect=size, place=where, scale=scale)
    else:
        text = _("**The answer depends on no single value that can be patched:** the largest effect is {effect}, of {place} "
                 "({scale}).", effect=size, place=where, scale=scale)
    return f"{text} {_without_partner(found)}".rstrip()


def _without_partner(found: EffectMaps) -> str:
    """Return how many tokens could not be patched; "" for none."""
    return "" if not found.gaps else plural("{n} token has no partner in the other sentence and cannot be patched.",
                                            "{n} tokens have no partner in the other sentence and cannot be patched.", found.gaps)


def _counted(found: EffectMaps) -> str:
    """Return how many runs were measured, what the scale means, and how many tokens could not be patched."""
    text = plural("Each cell is a separate patched run: {n:,} run.", "Each cell is a separate patched run: {n:,} runs.",
                  found.n_runs)
    if found.direction == "denoise":
        text += " " + _("A clean value is patched into the changed run. 0: it answers as before; 1: it gives the clean answer.")
    else:
        text += " " + _("A changed value is patched into the clean run. 0: it answers as before; 1: it gives the changed answer.")
    return f"{text} {_without_partner(found)}".rstrip()


def _direction(pair: Pair, found: EffectMaps | None) -> None:
    """Draw the control of the direction: which run is the donor."""
    clean, corrupted = pair.clean.setup, pair.changed.setup
    patch = () if found is None else _other_way(found)

    def change(name: str) -> None:
        turn(clean, corrupted, patch)

    widget(st.segmented_control, "cause_direction", _("Direction"), view("cause_direction"), change, options=tuple(DIRECTIONS),
           required=True, format_func=DIRECTIONS.get, label_visibility="collapsed", help=_(
               "Sufficient: a clean value is patched into the changed run (denoising); an effect of 1 says that it alone restores "
               "the clean answer. Necessary: a changed value is patched into the clean run (noising); an effect of 1 says that "
               "without its clean value the answer is lost. The two need not agree (Zhang & Nanda 2023)."))


def _other_way(found: EffectMaps) -> tuple[object, ...]:
    """Return the patch with its token index in the other run; () if nothing is patched or the token has no counterpart."""
    if not view("patch"):
        return ()
    stack, part, layer, head, token = view("patch")
    if token is None:
        return stack, part, layer, head, token
    gives = 0 if found.direction == "denoise" else 1
    other = next((pair[1 - gives] for pair in found.pairs[side_of(stack)] if pair[gives] == token), None)
    return () if other is None else (stack, part, layer, head, other)


def _picked(pair: Pair, found: EffectMaps) -> None:
    """Write the effect of the picked patch, with links to the pages that show the patched run."""
    if not (view("patch") and view("kept")):
        st.caption(_("Click a cell: the run with that patch becomes B on every page, and the run that the value comes from "
                     "becomes A."))
        return
    cells = ((each, each.cell(view("patch"))) for each in found.maps)
    cell = next(((each, at) for each, at in cells if at is not None), None)
    if cell is None:
        return
    each, at = cell
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(_("**{place}**: effect {effect}; this run writes {word}. B is this run on:",
                      place=patch_words(pair.donor(), view("patch"), pair.item), effect=rounded(float(each.effects[at]), 3),
                      word=token_code(answer(pair.clean, int(each.words[at]), pair.item))), width="content")
        for name in SHOWS_B:
            st.page_link(PAGES[name].path, label=PAGES[name].title, icon=PAGES[name].icon)

