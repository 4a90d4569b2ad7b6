"""Branches: any candidate can be gone on from, and all continuations stand beside each other as one tree."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from viz_core.figures.tree import Node, Path, parting, tree
from viz_core.figures.writing import Choice, candidate_ids, drawn, likeliest
from viz_core.formats import rounded
from viz_core.generation.draw import draw
from viz_core.generation.strategy import Beam, Greedy, Sampling, Strategy
from viz_core.generation.trail import Trail
from viz_core.language import translate as _
from viz_core.text import visible
from viz_core.ui.components.choice import Text, choice
from viz_core.ui.components.tree import tree_of
from viz_core.ui.controls import sentence_picker
from viz_core.ui.escape import code
from viz_core.ui.pages.writing.beginning import Beginning, trail_of
from viz_core.ui.pages.writing.steps import step_of
from viz_core.ui.shell import Lab, beside, look, set_view, view, view_widget
from viz_core.ui.shell.views import MAX_BRANCHES

RAIL = 240
OVERLAYS = {"beam": _("Beam"), "sampling": _("Two samples")}
GREEDY, BEAM, SAMPLES = "g", "b", ("s1", "s2")


def branch(lab: Lab, begun: Beginning) -> None:
    """The tree, the candidates of the marked token below it, and where the paths part."""
    look(_("**Click a candidate to go on from there.** Below each token of the tree stands the log-probability of everything up to "
           "it."))
    place, rail = beside(RAIL)
    with rail:
        _controls(lab)
    name = partial(lab.word, "target", item=begun.item)
    with place:
        found = _trails(lab, begun)
    if found is None:
        return
    paths = {key: Path(_title(key), t.ids, tuple(map(name, t.ids)), t.logprobs) for key, t in found.items()}
    nodes, keys = tree(list(paths.values())), list(paths)
    chosen = view("write_path") if view("write_path") in paths else GREEDY
    at = step_of(len(found[chosen].ids))
    shown, ids = _candidates(found[chosen], at, _how(chosen), name)
    text = Text(tuple(visible(name(i)) for i in begun.start()), tuple(map(visible, paths[chosen].words)), at)
    with place:
        places = [(keys[node.path], node.depth) for node in nodes]
        tree_of(nodes, _marked(nodes, paths, chosen, at), key="write_tree", on_open=partial(_open, places))
        title = _("Candidates for token {at} of the path “{path}”", at=at + 1, path=paths[chosen].name)
        choice(text, shown, title, key="write_branching", on_step=partial(_step, chosen), on_pick=partial(_go_on, chosen, at, ids))
    st.markdown(_parting_words(paths))
    if len(view("write_branches")) == MAX_BRANCHES:
        st.caption(_("There are {most} branches, which is the limit: remove one to go on from another candidate.",
                     most=MAX_BRANCHES))


def _controls(lab: Lab) -> None:
    view_widget(st.pills, "write_overlay", _("Beside greedy"), selection_mode="multi", format_func=OVERLAYS.get)
    if "beam" in view("write_overlay"):
        view_widget(st.slider, "write_beams", _("num_beams"))
    if "sampling" in view("write_overlay"):
        view_widget(st.select_slider, "write_temperature", _("Temperature"))
        view_widget(st.number_input, "write_seed", _("Seed"))
    st.button(_("Remove the last branch"), icon=":material/undo:", key="write_undo", on_click=_undo, width="stretch",
              disabled=not view("write_branches"))
    assert lab.capture is not None
    sentence_picker(lab, lab.capture)


# ---------------------------------------------------------------- the paths


def _how(key: str) -> Strategy:
    """How a path is written; behind its given words a branch is greedy."""
    if key == BEAM:
        return Beam(num_beams=view("write_beams"), length_penalty=view("write_penalty"))
    if key in SAMPLES:
        return Sampling(temperature=view("write_temperature"), top_k=view("write_top_k") or None, top_p=view("write_top_p"),
                        seed=view("write_seed") + SAMPLES.index(key))
    return Greedy()


def _title(key: str) -> str:
    if key in SAMPLES:
        return _("sample {n}", n=SAMPLES.index(key) + 1)
    return {GREEDY: _("greedy"), BEAM: _("beam")}.get(key) or _("branch {n}", n=key)


def _trails(lab: Lab, begun: Beginning) -> dict[str, Trail] | None:
    """The paths that are shown, by their keys: greedy, those chosen beside it, and the reader's branches. None where one cannot
    be written; the page then says why. A branch with an id or a step that its path lacks is named and left out."""
    shown = [GREEDY, *([BEAM] if "beam" in view("write_overlay") else []),
             *(SAMPLES if "sampling" in view("write_overlay") else ())]
    found: dict[str, Trail] = {}

    def get(key: str, given: tuple[int, ...] = ()) -> Trail | None:
        if key not in found and (trail := trail_of(lab, begun, _how(key), given)) is not None:
            found[key] = trail
        return found.get(key)

    if any(get(key) is None for key in shown):
        return None
    for number, (parent, step, token) in enumerate(view("write_branches"), 1):
        from_path = found.get(parent) if parent.isdigit() else get(parent)
        if from_path is None or step >= len(from_path.ids) or token >= lab.config.output_vocab_size:
            st.caption(_("Branch {n} begins at a place that is not here, so it is left out.", n=number))
        elif get(str(number), (*from_path.ids[:step], token)) is None:
            return None
        else:
            shown.append(str(number))
    return {key: found[key] for key in shown}


def _candidates(trail: Trail, at: int, how: Strategy, name: Callable[[int], str]) -> tuple[Choice, tuple[int, ...]]:
    """The candidates of one token of a path, and the id of each row; the token that the path has is marked."""
    if isinstance(how, Sampling):
        found = draw(trail.logits[at], how, float(trail.numbers[at]))
        shown = drawn(found, how, name)
    else:
        found = draw(trail.logits[at], Sampling(), 0.0)
        shown = likeliest(found, name, trail.ids[at])
    return shown, candidate_ids(found, found.token if isinstance(how, Sampling) else trail.ids[at])


def _marked(nodes: Sequence[Node], paths: dict[str, Path], chosen: str, at: int) -> int:
    """The number of the node at a step of a path."""
    ids = paths[chosen].ids[: at + 1]
    order = list(paths.values())
    return next(i for i, node in enumerate(nodes) if node.depth == at and order[node.path].ids[: at + 1] == ids)


def _parting_words(paths: dict[str, Path]) -> str:
    """Where each path leaves the greedy one, and the sums of both."""
    greedy, said = paths[GREEDY], []
    for key, path in paths.items():
        at = parting(greedy, path)
        total = rounded(float(path.logprobs.sum()), 4)
        if key == GREEDY:
            said.append(_("**greedy** has the log-probability {total}.", total=total))
        elif at is None:
            said.append(_("**{name}** writes the same text.", name=path.name))
        else:
            word = path.words[at] if at < len(path.words) else "<eos>"
            said.append(_("**{name}** parts from it at token {at} with {word}: {total}.", name=path.name, at=at + 1,
                          word=code(word), total=total))
    return " ".join(said)


# ---------------------------------------------------------------- what a click does


def _open(places: Sequence[tuple[str, int]], node: int) -> None:
    if node < len(places):
        set_view(write_path=places[node][0], write_step=places[node][1])


def _step(chosen: str, step: int) -> None:
    set_view(write_path=chosen, write_step=step)


def _go_on(chosen: str, at: int, ids: Sequence[int], row: int) -> None:
    """A new branch at the marked token, with the clicked candidate; it is then the marked path."""
    branches = view("write_branches")
    if row < len(ids) and len(branches) < MAX_BRANCHES:
        set_view(write_branches=(*branches, (chosen, at, ids[row])), write_path=str(len(branches) + 1))


def _undo() -> None:
    left = view("write_branches")[:-1]
    path = view("write_path")
    set_view(write_branches=left, write_path=GREEDY if path.isdigit() and int(path) > len(left) else path)
