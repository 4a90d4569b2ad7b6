"""Branches: any candidate can be gone on from, and all continuations stand beside each other as one tree."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from viz_core.figures.tree import Node, Path, parting, tree
from viz_core.figures.writing import Choice, candidate_ids, drawn, likeliest, searched
from viz_core.formats import rounded
from viz_core.generation.draw import draw
from viz_core.generation.strategy import Beam, Sampling
from viz_core.language import translate as _
from viz_core.text import visible
from viz_core.ui.components.choice import Text, choice
from viz_core.ui.components.glosses import shown_glosses
from viz_core.ui.components.tree import tree_of
from viz_core.ui.controls import sentence_picker
from viz_core.ui.escape import token_code
from viz_core.ui.pages.writing import snippets
from viz_core.ui.pages.writing.beginning import Beginning
from viz_core.ui.pages.writing.choose import lengths
from viz_core.ui.pages.writing.paths import GREEDY, Told, paths_of, score_words, title
from viz_core.ui.pages.writing.steps import step_of
from viz_core.ui.shell import Lab, beside, look, set_view, view, view_widget
from viz_core.ui.shell.views import MAX_BRANCHES

if TYPE_CHECKING:
    import pandas as pd

RAIL = 200
OVERLAYS = {"beam": _("Beam"), "sampling": _("Two samples")}


def branch(lab: Lab, begun: Beginning) -> None:
    """The tree, the candidates of the marked token below it, and where the paths part."""
    look(_("**Click a candidate to go on from there.** Below each token of the tree stands the log-probability of everything up to "
           "it."))
    place, rail = beside(RAIL)
    with rail:
        _controls(lab)
    with place:
        found = paths_of(lab, begun)
    if found is None:
        return
    name = partial(lab.word, "target", item=begun.item)
    paths = {key: Path(title(key), told.trail.ids, tuple(map(name, told.trail.ids)), told.trail.logprobs, score_words(told))
             for key, told in found.items()}
    chosen = view("write_path") if view("write_path") in paths else GREEDY
    at = step_of(len(paths[chosen].ids))
    with place:
        _draw_tree(lab, begun, found, paths, chosen, at)
        _draw_candidates(lab, begun, found, chosen, at)
    st.markdown(_parting_words(paths))
    lengths(begun)
    if len(view("write_branches")) == MAX_BRANCHES:
        st.caption(_("There are {most} branches, which is the limit: remove one to go on from another candidate.",
                     most=MAX_BRANCHES))


def _controls(lab: Lab) -> None:
    view_widget(st.pills, "write_overlay", _("Compare greedy with"), selection_mode="multi", format_func=OVERLAYS.get)
    if "beam" in view("write_overlay"):
        view_widget(st.slider, "write_beams", _("num_beams"))
        view_widget(st.select_slider, "write_penalty", _("Length penalty"))
    if "sampling" in view("write_overlay"):
        view_widget(st.select_slider, "write_temperature", _("Temperature"))
        view_widget(st.number_input, "write_seed", _("Seed"))
        if view("write_top_k") or view("write_top_p") < 1:
            st.caption(_("Drawn with the top-k and top-p of the section Choose."))
    st.button(_("Remove the last branch"), icon=":material/undo:", key="write_undo", on_click=_undo, width="stretch",
              disabled=not view("write_branches"))
    assert lab.capture is not None
    sentence_picker(lab, lab.capture)


# ---------------------------------------------------------------- the tree


def _draw_tree(
    lab: Lab, begun: Beginning, found: Mapping[str, Told], paths: Mapping[str, Path], chosen: str, at: int
) -> None:
    nodes, keys = tree(list(paths.values()), shown_glosses()), list(paths)
    places = [(keys[node.path], node.depth) for node in nodes]
    tree_of(nodes, _marked(nodes, list(paths.values()), paths[chosen].ids[: at + 1]), key="write_tree",
            on_open=partial(_open, places), numbers=lambda: _table(lab, begun, found),
            code=lambda: snippets.paths(lab, begun, found))


def _table(lab: Lab, begun: Beginning, found: Mapping[str, Told]) -> "pd.DataFrame":
    from viz_core import tables

    return tables.paths({title(key): told.trail for key, told in found.items()}, partial(lab.word, "target", item=begun.item))


def _marked(nodes: Sequence[Node], paths: Sequence[Path], ids: tuple[int, ...]) -> int:
    """The number of the node to which these ids lead."""
    return next(i for i, node in enumerate(nodes) if paths[node.path].ids[: node.depth + 1] == ids)


def _parting_words(paths: Mapping[str, Path]) -> str:
    """Where each path leaves the greedy one, and the sums of both, a line each."""
    greedy, said = paths[GREEDY], []
    for key, path in paths.items():
        at = parting(greedy, path)
        total = rounded(float(path.logprobs.sum()), 4)
        if key == GREEDY:
            said.append(_("**{name}** has the log-probability {total}.", name=path.name, total=total))
        elif at is None:
            said.append(_("**{name}** writes the same text.", name=path.name))
        elif at >= len(path.words):
            said.append(_("**{name}** ends before token {at} of it: {total}.", name=path.name, at=at + 1, total=total))
        else:
            said.append(_("**{name}** parts from it at token {at} with {word}: {total}.", name=path.name, at=at + 1,
                          word=token_code(path.words[at]), total=total))
    return "\n".join(f"- {line}" for line in said)


# ---------------------------------------------------------------- the candidates of one token


def _draw_candidates(lab: Lab, begun: Beginning, found: Mapping[str, Told], chosen: str, at: int) -> None:
    told, name = found[chosen], partial(lab.word, "target", item=begun.item)
    shown, texts = _candidates(told, at, name, lab.tokenizers["target"].eos_id)
    text = Text(tuple(visible(name(i)) for i in begun.start()), tuple(visible(name(i)) for i in told.trail.ids), at)
    offered = tuple((_behind(told.trail.ids, ids), _there(found, ids)) for ids in texts)
    picks = [row for row, ids in enumerate(texts) if ids != told.trail.ids[: at + 1]]
    choice(text, shown, _("Candidates for token {at} of the path “{path}”", at=at + 1, path=title(chosen)), key="write_branching",
           on_step=partial(_step, chosen), on_pick=partial(_go_on, chosen, offered), picks=picks,
           code=lambda: snippets.branching(lab, begun, found, chosen, at))


def _candidates(told: Told, at: int, name: Callable[[int], str], eos_id: int) -> tuple[Choice, list[tuple[int, ...]]]:
    """The candidates of one token of a path, which is marked, and the text that each row would write up to this token."""
    trail, how = told.trail, told.how
    if isinstance(how, Beam) and told.search is not None:
        step = told.search.steps[at]
        shown = searched(told.search.steps, at, how, trail.ids, name, eos_id)
        return shown, [(*step.beams[c.parent], c.token) for c in step.candidates]
    if isinstance(how, Sampling):
        found = draw(trail.logits[at], how, float(trail.numbers[at]))
        shown = drawn(found, how, name, shown_glosses())
    else:
        found = draw(trail.logits[at], Sampling(), 0.0)
        shown = likeliest(found, name, trail.ids[at], shown_glosses())
    return shown, [(*trail.ids[:at], i) for i in candidate_ids(found, trail.ids[at])]


def _behind(ids: tuple[int, ...], text: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Where a text leaves the ids of a path, and its own ids from there on."""
    step = next((i for i, (a, b) in enumerate(zip(ids, text, strict=False)) if a != b), len(text) - 1)
    return step, text[step:]


def _there(found: Mapping[str, Told], ids: tuple[int, ...]) -> str:
    """The greedy path or the branch that begins with these ids already; "" where there is none."""
    return next((key for key, told in found.items() if (key == GREEDY or key.isdigit()) and told.trail.ids[: len(ids)] == ids), "")


# ---------------------------------------------------------------- what a click does


def _open(places: Sequence[tuple[str, int]], node: int) -> None:
    if node < len(places):
        set_view(write_path=places[node][0], write_step=places[node][1])


def _step(chosen: str, step: int) -> None:
    set_view(write_path=chosen, write_step=step)


def _go_on(chosen: str, offered: Sequence[tuple[tuple[int, tuple[int, ...]], str]], row: int) -> None:
    """A new branch with the clicked candidate, which is then the marked path. offered: where the candidate of each row leaves the
    chosen path, and with which ids; and the path that goes on with it already, which is then marked instead."""
    branches = view("write_branches")
    if row >= len(offered):
        return
    (step, ids), there = offered[row]
    if there:
        set_view(write_path=there)
    elif len(branches) < MAX_BRANCHES:
        set_view(write_branches=(*branches, (chosen, step, ids)), write_path=str(len(branches) + 1))


def _undo() -> None:
    left = view("write_branches")[:-1]
    path = view("write_path")
    set_view(write_branches=left, write_path=GREEDY if path.isdigit() and int(path) > len(left) else path)
