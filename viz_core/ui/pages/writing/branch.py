"""The section Branch: the visitor can continue from any candidate, and all continuations form one tree."""

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
    """Draw the tree, the candidates of the marked token below it, and where the paths diverge."""
    look(_("**Click a candidate to continue from there.** Below each token of the tree is the log-probability of everything up to "
           "it."))
    main, rail = beside(RAIL)
    with rail:
        _controls(lab)
    with main:
        found = paths_of(lab, begun)
    if found is None:
        return
    name = partial(lab.word, "target", item=begun.item)
    paths = {key: Path(title(key), path.trail.ids, tuple(map(name, path.trail.ids)), path.trail.logprobs, score_words(path))
             for key, path in found.items()}
    chosen = view("write_path") if view("write_path") in paths else GREEDY
    step = step_of(len(paths[chosen].ids))
    with main:
        _draw_tree(lab, begun, found, paths, chosen, step)
        _draw_candidates(lab, begun, found, chosen, step)
    st.markdown(_parting_words(paths))
    lengths(begun)
    if len(view("write_branches")) == MAX_BRANCHES:
        st.caption(_("There are {most} branches, which is the limit: remove one to continue from another candidate.",
                     most=MAX_BRANCHES))


def _controls(lab: Lab) -> None:
    """Draw the controls of the overlays and the branches."""
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
    """Draw the tree, with the token at `step` of the chosen path marked."""
    nodes, keys = tree(list(paths.values()), shown_glosses()), list(paths)
    places = [(keys[node.path], node.depth) for node in nodes]
    tree_of(nodes, _marked(nodes, list(paths.values()), paths[chosen].ids[: at + 1]), key="write_tree",
            on_open=partial(_open, places), numbers=lambda: _table(lab, begun, found),
            code=lambda: snippets.paths(lab, begun, found))


def _table(lab: Lab, begun: Beginning, found: Mapping[str, Told]) -> "pd.DataFrame":
    """Return the table of all paths, for export."""
    from viz_core import tables

    return tables.paths({title(key): path.trail for key, path in found.items()}, partial(lab.word, "target", item=begun.item))


def _marked(nodes: Sequence[Node], paths: Sequence[Path], ids: tuple[int, ...]) -> int:
    """Return the index of the node that these ids lead to."""
    return next(i for i, node in enumerate(nodes) if paths[node.path].ids[: node.depth + 1] == ids)


def _parting_words(paths: Mapping[str, Path]) -> str:
    """Return a list of where each path diverges from the greedy one, with their log-probabilities, as Markdown."""
    greedy, lines = paths[GREEDY], []
    for key, path in paths.items():
        step = parting(greedy, path)
        total = rounded(float(path.logprobs.sum()), 4)
        if key == GREEDY:
            lines.append(_("**{name}** has the log-probability {total}.", name=path.name, total=total))
        elif step is None:
            lines.append(_("**{name}** writes the same text.", name=path.name))
        elif step >= len(path.words):
            lines.append(_("**{name}** ends before token {at} of it: {total}.", name=path.name, at=step + 1, total=total))
        else:
            lines.append(_("**{name}** diverges from it at token {at} with {word}: {total}.", name=path.name, at=step + 1,
                           word=token_code(path.words[step]), total=total))
    return "\n".join(f"- {line}" for line in lines)


# ---------------------------------------------------------------- the candidates of one token


def _draw_candidates(lab: Lab, begun: Beginning, found: Mapping[str, Told], chosen: str, at: int) -> None:
    """Draw the candidates for one token of the chosen path; a click continues from one."""
    path, name = found[chosen], partial(lab.word, "target", item=begun.item)
    shown, texts = _candidates(path, at, name, lab.tokenizers["target"].eos_id)
    text = Text(tuple(visible(name(i)) for i in begun.start()), tuple(visible(name(i)) for i in path.trail.ids), at)
    continuations = tuple((_behind(path.trail.ids, ids), _there(found, ids)) for ids in texts)
    picks = [row for row, ids in enumerate(texts) if ids != path.trail.ids[: at + 1]]
    choice(text, shown, _("Candidates for token {at} of the path “{path}”", at=at + 1, path=title(chosen)), key="write_branching",
           on_step=partial(_step, chosen), on_pick=partial(_go_on, chosen, continuations), picks=picks,
           code=lambda: snippets.branching(lab, begun, found, chosen, at))


def _candidates(told: Told, at: int, name: Callable[[int], str], eos_id: int) -> tuple[Choice, list[tuple[int, ...]]]:
    """Return the candidates for one token of a path, and for each the ids of the text up to and including it."""
    trace, strategy = told.trail, told.how
    if isinstance(strategy, Beam) and told.search is not None:
        search_step = told.search.steps[at]
        shown = searched(told.search.steps, at, strategy, trace.ids, name, eos_id)
        return shown, [(*search_step.beams[c.parent], c.token) for c in search_step.candidates]
    if isinstance(strategy, Sampling):
        found = draw(trace.logits[at], strategy, float(trace.numbers[at]))
        shown = drawn(found, strategy, name, shown_glosses())
    else:
        found = draw(trace.logits[at], Sampling(), 0.0)
        shown = likeliest(found, name, trace.ids[at], shown_glosses())
    return shown, [(*trace.ids[:at], i) for i in candidate_ids(found, trace.ids[at])]


def _behind(ids: tuple[int, ...], text: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Return the step where `text` diverges from the ids of a path, and its ids from there on."""
    step = next((i for i, (a, b) in enumerate(zip(ids, text, strict=False)) if a != b), len(text) - 1)
    return step, text[step:]


def _there(found: Mapping[str, Told], ids: tuple[int, ...]) -> str:
    """Return the key of the greedy path or branch that already starts with these ids; "" if there is none."""
    return next((key for key, path in found.items() if (key == GREEDY or key.isdigit()) and path.trail.ids[: len(ids)] == ids), "")


# ---------------------------------------------------------------- callbacks


def _open(places: Sequence[tuple[str, int]], node: int) -> None:
    """Mark the clicked node; for callbacks."""
    if node < len(places):
        set_view(write_path=places[node][0], write_step=places[node][1])


def _step(chosen: str, step: int) -> None:
    """Mark another token of the chosen path; for callbacks."""
    set_view(write_path=chosen, write_step=step)


def _go_on(chosen: str, offered: Sequence[tuple[tuple[int, tuple[int, ...]], str]], row: int) -> None:
    """Add a branch with the clicked candidate and mark it, or mark the path that already continues with it.

    continuations: for each row, the step and ids where its candidate diverges from the chosen path, and the key of the existing
    path ("" if there is none).
    """
    branches = view("write_branches")
    if row >= len(offered):
        return
    (step, ids), existing = offered[row]
    if existing:
        set_view(write_path=existing)
    elif len(branches) < MAX_BRANCHES:
        set_view(write_branches=(*branches, (chosen, step, ids)), write_path=str(len(branches) + 1))


def _undo() -> None:
    """Remove the last branch; for callbacks."""
    branches = view("write_branches")[:-1]
    path = view("write_path")
    set_view(write_branches=branches, write_path=GREEDY if path.isdigit() and int(path) > len(branches) else path)
