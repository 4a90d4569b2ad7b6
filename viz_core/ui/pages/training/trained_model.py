"""Controls of a trained model: use it on every page of this visitor, download it, or open one from a file."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import streamlit as st

from viz_core.config import Side
from viz_core.config.limits import MAX_USER_WEIGHTS_FILE_BYTES, megabytes
from viz_core.messages import translate as _
from viz_core.messages.errors import UserError
from viz_core.messages.number_format import percent, rounded
from viz_core.text import SPECIALS, split_words
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.run_history import RunHistory
from viz_core.training.interactive.tasks.language import MASK
from viz_core.training.interactive.tasks.symbols import FIRST_ID, words_to_symbols
from viz_core.training.interactive.trained_weights import MAX_WORD_CHARS, TrainedWeights, read_weights_file
from viz_core.training.jobs.job import JobView
from viz_core.ui.components.export import export_button
from viz_core.ui.escape import escaped
from viz_core.ui.pages.training.job_controls import gone_error, job_engine
from viz_core.ui.pages.training.recipe_form import user_text, user_words
from viz_core.ui.shell import PageContext, use_weights
from viz_core.ui.shell.setup import error_message
from viz_core.weights.user_weights import shared_user_weights


def trained_model_controls(context: PageContext, job: JobView | None, history: RunHistory | None, step: int) -> None:
    """Draw the buttons for the model of the snapshot that is shown, and the upload of a file."""
    trained = (
        None
        if job is None or history is None or not history.snapshot_steps
        else trained_model_at(history, step, user_words(context))
    )
    name = trained.name if trained else ""
    is_used = bool(trained) and context.setup.weights == name
    with st.container(horizontal=True, vertical_alignment="bottom", key="train_keep"):
        st.button(_("Use these weights on every page"), icon=":material/hub:", key="train_use", on_click=_use_on_every_page,
                  args=(trained, user_text(context)), disabled=trained is None or is_used)
        make = partial(weights_file_bytes, job.job_id if job else "", step, user_words(context))
        export_button(_("Download them with their recipe"), "train_download", f"{name}.safetensors" if trained else "",
                      "application/octet-stream", make, icon=":material/download:", disabled=trained is None)
    if trained and is_used:
        st.success(_("Every page now uses these weights: the sidebar names them under Model, as “{title}”.",
                     title=escaped(weights_title(trained))))
    with st.popover(_("Open a file of weights"), icon=":material/upload:"):
        file = st.file_uploader(
            _("A file that was downloaded here, at most {size}", size=megabytes(MAX_USER_WEIGHTS_FILE_BYTES, 0)),
            type=["safetensors"],
            key="train_file",
        )
        if file is not None:
            _show_opened_file(file.getvalue())


def weights_file_bytes(job_id: str, step: int, typed: Sequence[str], progress: Callable[[float], object]) -> bytes:
    """Return `trained_model_at` of a training as a file. Raises ValueError if the training is gone."""
    history = None if job_engine().view(job_id) is None else job_engine().history(job_id)
    if history is None:
        raise gone_error()
    return trained_model_at(history, step, typed).to_bytes()


def trained_model_at(history: RunHistory, step: int, typed: Sequence[str]) -> TrainedWeights:
    """Return the model of the snapshot at a step, with the last measurement up to that step.

    typed: the visitor's words, which become the names of the task's symbols.
    """
    snapshot = history.nearest(step)
    measurements = [i for i, measured_step in enumerate(history.held_out_metrics.steps) if measured_step <= step]
    loss, accuracy = (float(history.held_out_metrics.values(name)[measurements[-1]]) if measurements else None
                      for name in ("loss", "accuracy"))
    return TrainedWeights(history.recipe, snapshot.step, snapshot.weights, loss, accuracy, symbol_words(history.recipe, typed))


def symbol_words(recipe: Recipe, typed: Sequence[str]) -> Mapping[int, str]:
    """Return the visitor's words by the ids of the symbols that they stand for; empty for tasks on sentences.

    Words that the task itself uses, such as the arrow that ends a question, are left out.
    """
    symbols = recipe.task_definition.kind.symbols(recipe.parameters)
    task_words = {*SPECIALS, *(word for words in recipe.vocabulary.values() for word in words.words)} - {*symbols}
    user_symbols = words_to_symbols(typed, symbols)[1]
    return {FIRST_ID + i: word for i, word in user_symbols.items() if len(word) <= MAX_WORD_CHARS and word not in task_words}


def _show_opened_file(data: bytes) -> None:
    """Show the weights of an uploaded file and a button to use them, or why they cannot be read."""
    try:
        found = read_weights_file(data)
    except UserError as problem:
        st.warning(escaped(error_message(problem)))
        return
    st.markdown(_("**{title}**", title=escaped(weights_title(found))))
    st.button(_("Use these weights on every page"), key="train_use_file", on_click=_use_on_every_page, args=(found, ""))


def _use_on_every_page(trained: TrainedWeights, text: str) -> None:
    """Register trained weights and use them on every page; for callbacks."""
    shared_user_weights().add(trained.card(weights_title(trained), card_facts(trained)), trained.nbytes)
    use_weights(trained.name, text_box_contents(trained.recipe, text))


def text_box_contents(recipe: Recipe, text: str) -> Mapping[Side, str]:
    """Return the text for the text boxes of all pages: the visitor's sentence as the task reads it.

    For a task on symbols, that is the typed text if an encoder reads it, and otherwise the whole row, such as a question with its
    answer. For a task on sentences, it is the sentence with its masks; empty if the task masks nothing.
    """
    side, (first, *more) = recipe.config.input_side, text.split("\n")
    try:
        row = recipe.task_definition.read_sentence(recipe.parameters, recipe.config, split_words(first))
    except UserError:
        return {}
    words = [token for token in row.tokens[side] if token not in SPECIALS]
    if recipe.task_definition.kind.symbols(recipe.parameters) and side == "source":
        return {side: text}
    if recipe.task_definition.kind.symbols(recipe.parameters) or MASK in words:
        return {side: "\n".join([" ".join(words), *more])}
    return {}


def weights_title(trained: TrainedWeights) -> str:
    """Return the title of trained weights in the list of models."""
    return _("{task}, trained for {step:,} steps", task=trained.recipe.task_definition.title, step=trained.step)


def card_facts(trained: TrainedWeights) -> Mapping[str, str]:
    """Return the facts about trained weights that the sidebar shows."""
    recipe = trained.recipe
    card = {
        "task": str(recipe.task_definition.question),
        "training": _("{step:,} steps of {batch} rows with Adam, learning rate {rate:g}, seed {seed}", step=trained.step,
                      batch=recipe.batch, rate=recipe.learning_rate, seed=recipe.seed),
    }
    if trained.loss is not None and trained.accuracy is not None:
        card["held-out"] = _("loss {loss}, {accuracy} of the answers are right", loss=rounded(trained.loss),
                             accuracy=percent(trained.accuracy))
    return card
