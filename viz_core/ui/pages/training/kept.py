"""What a training made, on every page of this visitor: used as weights, downloaded, and opened again from a file."""

from collections.abc import Mapping, Sequence

import streamlit as st

from viz_core.config import Side
from viz_core.formats import percent, rounded
from viz_core.jobs.job import Look
from viz_core.language import translate as _
from viz_core.learning.brought import MAX_WORD, Trained, opened
from viz_core.learning.moments import Moments
from viz_core.learning.recipe import Recipe
from viz_core.learning.tasks.language import MASK
from viz_core.learning.tasks.symbols import FIRST, symbols_of
from viz_core.limits import MAX_GUEST_FILE, megabytes
from viz_core.problems import Problem
from viz_core.text import SPECIALS, split_words
from viz_core.ui.components.saving import file_button
from viz_core.ui.escape import escaped
from viz_core.ui.pages.training.asked import own_text, own_words
from viz_core.ui.shell import Lab, use_weights
from viz_core.ui.shell.setup import problem_words
from viz_core.weights.guests import guests


def keep_it(lab: Lab, job: Look | None, moments: Moments | None, at: int) -> None:
    """Buttons for the model of the moment that is shown, whether every page uses it, and the place for a file."""
    made = None if job is None or moments is None or not moments.steps else made_at(moments, at, own_words(lab))
    name = made.name if made else ""
    used = bool(made) and lab.setup.weights == name
    with st.container(horizontal=True, vertical_alignment="bottom", key="train_keep"):
        st.button(_("Use these weights on every page"), icon=":material/hub:", key="train_use", on_click=_use,
                  args=(made, own_text(lab)), disabled=made is None or used)
        file_button(_("Download them with their recipe"), "train_download", f"{name}.safetensors" if made else "",
                    "application/octet-stream", lambda progress: made.to_bytes() if made else b"",
                    icon=":material/download:", disabled=made is None)
    if made and used:
        st.success(_("Every page now uses these weights: the sidebar names them under Model, as “{title}”.",
                     title=escaped(title(made))))
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
    """The visitor's words by the ids of the symbols that they are in a task of symbols; a task of sentences has its own words.

    A word that the task has for itself, such as the arrow that ends a question, stays the task's.
    """
    symbols = recipe.entry.kind.symbols(recipe.parameters)
    taken = {*SPECIALS, *(word for words in recipe.vocabulary.values() for word in words.words)} - {*symbols}
    own = symbols_of(typed, symbols)[1]
    return {FIRST + i: word for i, word in own.items() if len(word) <= MAX_WORD and word not in taken}


def _open(data: bytes) -> None:
    try:
        found = opened(data)
    except Problem as problem:
        st.warning(escaped(problem_words(problem)))
        return
    st.markdown(_("**{title}**", title=escaped(title(found))))
    st.button(_("Use these weights on every page"), key="train_use_file", on_click=_use, args=(found, ""))


def _use(made: Trained, typed: str) -> None:
    guests().keep(made.card(title(made), facts(made)), made.nbytes)
    use_weights(made.name, texts(made.recipe, typed))


def texts(recipe: Recipe, typed: str) -> Mapping[Side, str]:
    """What the text boxes of all pages say about the sentence that was watched here, as the task reads it: the question with its
    answer where one row has both, or the sentence with its masks. Empty where the task has words of its own and hides none."""
    side, (first, *more) = recipe.config.input_side, typed.split("\n")
    try:
        read = recipe.entry.sentence(recipe.parameters, recipe.config, split_words(first))
    except Problem:
        return {}
    words = [token for token in read.tokens[side] if token not in SPECIALS]
    if recipe.entry.kind.symbols(recipe.parameters) and side == "source":
        return {side: typed}
    if recipe.entry.kind.symbols(recipe.parameters) or MASK in words:
        return {side: "\n".join([" ".join(words), *more])}
    return {}


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
