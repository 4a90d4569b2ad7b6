"""Controls of a trained model: use it on every page of this visitor, download it, or open one from a file."""

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
    """Draw the buttons for the model of the snapshot that is shown, and the upload of a file."""
    trained = None if job is None or moments is None or not moments.steps else made_at(moments, at, own_words(lab))
    name = trained.name if trained else ""
    is_used = bool(trained) and lab.setup.weights == name
    with st.container(horizontal=True, vertical_alignment="bottom", key="train_keep"):
        st.button(_("Use these weights on every page"), icon=":material/hub:", key="train_use", on_click=_use,
                  args=(trained, own_text(lab)), disabled=trained is None or is_used)
        file_button(_("Download them with their recipe"), "train_download", f"{name}.safetensors" if trained else "",
                    "application/octet-stream", lambda progress: trained.to_bytes() if trained else b"",
                    icon=":material/download:", disabled=trained is None)
    if trained and is_used:
        st.success(_("Every page now uses these weights: the sidebar names them under Model, as “{title}”.",
                     title=escaped(title(trained))))
    with st.popover(_("Open a file of weights"), icon=":material/upload:"):
        file = st.file_uploader(_("A file that was downloaded here, at most {size}", size=megabytes(MAX_GUEST_FILE, 0)),
                                type=["safetensors"], key="train_file")
        if file is not None:
            _open(file.getvalue())


def made_at(moments: Moments, at: int, typed: Sequence[str]) -> Trained:
    """Return the model of the snapshot at a step, with the last measurement up to that step.

    typed: the visitor's words, which become the names of the task's symbols.
    """
    snapshot = moments.at(at)
    measurements = [i for i, measured_step in enumerate(moments.held_out.steps) if measured_step <= at]
    loss, accuracy = (float(moments.held_out.values(name)[measurements[-1]]) if measurements else None
                      for name in ("loss", "accuracy"))
    return Trained(moments.recipe, snapshot.step, snapshot.weights, loss, accuracy, symbol_words(moments.recipe, typed))


def symbol_words(recipe: Recipe, typed: Sequence[str]) -> Mapping[int, str]:
    """Return the visitor's words by the ids of the symbols that they stand for; empty for tasks on sentences.

    Words that the task itself uses, such as the arrow that ends a question, are left out.
    """
    symbols = recipe.entry.kind.symbols(recipe.parameters)
    task_words = {*SPECIALS, *(word for words in recipe.vocabulary.values() for word in words.words)} - {*symbols}
    user_symbols = symbols_of(typed, symbols)[1]
    return {FIRST + i: word for i, word in user_symbols.items() if len(word) <= MAX_WORD and word not in task_words}


def _open(data: bytes) -> None:
    """Show the weights of an uploaded file and a button to use them, or why they cannot be read."""
    try:
        found = opened(data)
    except Problem as problem:
        st.warning(escaped(problem_words(problem)))
        return
    st.markdown(_("**{title}**", title=escaped(title(found))))
    st.button(_("Use these weights on every page"), key="train_use_file", on_click=_use, args=(found, ""))


def _use(made: Trained, typed: str) -> None:
    """Register trained weights and use them on every page; for callbacks."""
    guests().keep(made.card(title(made), facts(made)), made.nbytes)
    use_weights(made.name, texts(made.recipe, typed))


def texts(recipe: Recipe, typed: str) -> Mapping[Side, str]:
    """Return the text for the text boxes of all pages: the visitor's sentence as the task reads it.

    That is the question with its answer if one row has both, or the sentence with its masks. Empty for tasks that have words of
    their own and mask none.
    """
    side, (first, *more) = recipe.config.input_side, typed.split("\n")
    try:
        row = recipe.entry.sentence(recipe.parameters, recipe.config, split_words(first))
    except Problem:
        return {}
    words = [token for token in row.tokens[side] if token not in SPECIALS]
    if recipe.entry.kind.symbols(recipe.parameters) and side == "source":
        return {side: typed}
    if recipe.entry.kind.symbols(recipe.parameters) or MASK in words:
        return {side: "\n".join([" ".join(words), *more])}
    return {}


def title(made: Trained) -> str:
    """Return the title of trained weights in the list of models."""
    return _("{task}, trained for {step:,} steps", task=made.recipe.entry.title, step=made.step)


def facts(made: Trained) -> Mapping[str, str]:
    """Return the facts about trained weights that the sidebar shows."""
    recipe = made.recipe
    card = {
        "task": str(recipe.entry.question),
        "training": _("{step:,} steps of {batch} rows with Adam, learning rate {rate:g}, seed {seed}", step=made.step,
                      batch=recipe.batch, rate=recipe.learning_rate, seed=recipe.seed),
    }
    if made.loss is not None and made.accuracy is not None:
        card["held-out"] = _("loss {loss}, {accuracy} of the answers are right", loss=rounded(made.loss),
                             accuracy=percent(made.accuracy))
    return card
