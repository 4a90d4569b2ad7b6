"""What a training made, on every page of this visitor: used as weights, downloaded, and opened again from a file."""

from collections.abc import Mapping, Sequence

import streamlit as st

from viz_core.formats import percent, rounded
from viz_core.jobs.job import Look
from viz_core.language import translate as _
from viz_core.learning.brought import MAX_WORD, Trained, opened
from viz_core.learning.moments import Moments
from viz_core.learning.recipe import Recipe
from viz_core.learning.tasks.symbols import FIRST, symbols_of
from viz_core.limits import MAX_GUEST_FILE, megabytes
from viz_core.problems import Problem
from viz_core.ui.components.saving import file_button
from viz_core.ui.escape import escaped
from viz_core.ui.pages.training.asked import own_words
from viz_core.ui.shell import Lab, use_weights
from viz_core.ui.shell.setup import problem_words
from viz_core.weights.guests import guests


def keep_it(lab: Lab, job: Look | None, moments: Moments | None, at: int) -> None:
    """Buttons for the model of the moment that is shown, and the place for a file."""
    made = None if job is None or moments is None or not moments.steps else made_at(moments, at, own_words(lab))
    with st.container(horizontal=True, vertical_alignment="bottom", key="train_keep"):
        st.button(_("Use these weights on every page"), icon=":material/hub:", key="train_use", on_click=_use, args=(made,),
                  disabled=made is None)
        file_button(_("Download them with their recipe"), "train_download", f"{made.name}.safetensors" if made else "",
                    "application/octet-stream", lambda progress: made.to_bytes() if made else b"",
                    icon=":material/download:", disabled=made is None)
    with st.popover(_("Open a file of weights"), icon=":material/upload:"):
        file = st.file_uploader(_("A file that was downloaded here, at most {size}", size=megabytes(MAX_GUEST_FILE, 0)),
                                type=["safetensors"], key="train_file")
        if file is not None:
            _open(file.getvalue())


def made_at(moments: Moments, at: int, typed: Sequence[str]) -> Trained:
    """The model of a stored moment with the last measurement that is not behind it. typed: the visitor's words, which become those
    of its symbols."""
    moment, measured = moments.at(at), [i for i, step in enumerate(moments.held_out.steps) if step <= at]
    loss, accuracy = (float(moments.held_out.values(name)[measured[-1]]) if measured else None for name in ("loss", "accuracy"))
    return Trained(moments.recipe, moment.step, moment.weights, loss, accuracy, symbol_words(moments.recipe, typed))


def symbol_words(recipe: Recipe, typed: Sequence[str]) -> Mapping[int, str]:
    """The visitor's words by the ids of the symbols that they are in a task of symbols; a task of sentences has its own words."""
    own = symbols_of(typed, recipe.entry.kind.symbols(recipe.parameters))[1]
    return {FIRST + i: word for i, word in own.items() if len(word) <= MAX_WORD}


def _open(data: bytes) -> None:
    try:
        found = opened(data)
    except Problem as problem:
        st.warning(escaped(problem_words(problem)))
        return
    st.markdown(_("**{title}**", title=escaped(title(found))))
    st.button(_("Use these weights on every page"), key="train_use_file", on_click=_use, args=(found,))


def _use(made: Trained) -> None:
    guests().keep(made.card(title(made), facts(made)), made.nbytes)
    use_weights(made.name)


def title(made: Trained) -> str:
    """As the list of models shows it."""
    return _("{task}, trained for {step:,} steps", task=made.recipe.entry.title, step=made.step)


def facts(made: Trained) -> Mapping[str, str]:
    """What the sidebar tells of it."""
    r = made.recipe
    said = {
        "task": str(r.entry.question),
        "training": _("{step:,} steps of {batch} rows with Adam, learning rate {rate:g}, seed {seed}", step=made.step,
                      batch=r.batch, rate=r.learning_rate, seed=r.seed),
    }
    if made.loss is not None and made.accuracy is not None:
        said["held-out"] = _("loss {loss}, {accuracy} of the answers are right", loss=rounded(made.loss),
                             accuracy=percent(made.accuracy))
    return said
