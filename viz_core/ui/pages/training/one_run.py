"""The section One run: its loss and the attention on the visitor's sentence, at the newest snapshot or any stored one."""

from functools import partial

import streamlit as st

from viz_core.figures.learning import (
    Points,
    accuracy_curves,
    answers_panel,
    attention_panels,
    gradient_panel,
    induction_panel,
    loss_curves,
)
from viz_core.formats import percent, rounded
from viz_core.jobs.job import Look
from viz_core.language import translate as _
from viz_core.learning.answers import Answers, Shown, on_words
from viz_core.learning.induction import of_run
from viz_core.learning.moments import Moments, initial
from viz_core.learning.recipe import Recipe
from viz_core.learning.setups import of_document, task_of_document
from viz_core.learning.tasks import TASKS, Sentence
from viz_core.learning.tasks.symbols import MOST_WORDS
from viz_core.problems import Problem
from viz_core.text import visible
from viz_core.ui.components.curves import curves
from viz_core.ui.components.scrubber import At, scrubber
from viz_core.ui.controls import picking
from viz_core.ui.escape import code, escaped
from viz_core.ui.pages.training import snippets
from viz_core.ui.pages.training.asked import (
    AS_LONG,
    DOCUMENT_MODELS,
    asked,
    controls,
    model_title,
    more_controls,
    n_own_symbols,
    own_words,
    what_was_reduced,
)
from viz_core.ui.pages.training.job import begin, buttons, jobs, look_at, progress, say_what_is_wrong, started_from
from viz_core.ui.pages.training.kept import keep_it
from viz_core.ui.pages.training.snippets import Taken
from viz_core.ui.shell import Lab, below, beside, look, set_view, view, view_widget
from viz_core.ui.shell.setup import problem_words
from viz_core.weights.card import NEXT_WORD

RAIL = 196
DOCUMENTS = "train_documents"  # key of the menu of the documents' models, and whether it is open
LOOKS = {"attention": _("Attention"), "answers": _("Answers"), "gradients": _("Gradients"), "induction": _("Induction")}
NUMBERS = {"loss": _("Loss"), "accuracy": _("Accuracy")}


def one_run(lab: Lab) -> None:
    """Draw curves and attention, a slider over the snapshots below them, and the recipe beside them."""
    form, job = asked(lab), look_at("train_job")
    history = None if job is None else jobs().moments(job.number)
    recipe = form.recipe if history is None else history.recipe
    step = _step(history)
    shown = None if recipe is None else _shown(lab, recipe, history, step)
    if job is not None and recipe is not None and isinstance(shown, Shown):
        look(answer_words(shown.said, step, recipe.config.is_causal))
    else:
        look(_("**Press Train and watch the attention of your own sentence:** its weights are spread out at first. As the loss "
               "falls, they gather on the tokens that hold the answer."))
    main, rail = beside(RAIL, horizontal=True)
    with rail:
        buttons("train_job", job, None if form.recipe is None else form.recipe.to_json(), lab.setup.device)
        progress(job, [] if form.recipe is None else [form.recipe], lab.setup.device)
        controls(lab)
        view_widget(st.selectbox, "train_look", _("Picture"), format_func=LOOKS.get)
    with main:
        if recipe is None:
            st.warning(escaped(form.problem))
        else:
            run = Taken.of(recipe, job, history)
            _curves(run, history, step)
            _picture(lab, run, history, step, shown)
    if isinstance(shown, Shown) and recipe is not None:
        with rail:
            _notes(lab, recipe, shown.read)
    with below():
        documents_models(lab.setup.device)
        _scrubber(history, step)
    _below(lab, job, form.problem, history, step)


def documents_models(device: str) -> None:
    """Draw a menu with a button for the model of each document; document 004 has three, each with its own task."""
    with st.popover(_("A document's model"), icon=":material/menu_book:", key=DOCUMENTS, on_change="rerun"):
        st.caption(_("One click trains the document's own model, made small enough to train in a minute or two. Its switches stay "
                     "as in the document."))
        for name, of in DOCUMENT_MODELS.items():
            task = TASKS[task_of_document(*of)].title
            st.button(_("{title}: {task}", title=model_title(name), task=task), key=f"train_of_{name}", on_click=_begin_document,
                      args=(name, device), width="stretch")


def _begin_document(name: str, device: str) -> None:
    """Train a document's model, and set the controls and the link to its recipe."""
    recipe = of_document(*DOCUMENT_MODELS[name]).recipe
    set_view(train_model=name, train_task=recipe.task, train_steps=recipe.steps, train_rate=recipe.learning_rate,
             train_warmup=recipe.warmup, train_batch=recipe.batch, train_recipe="", train_clip=0.0, train_decay=False,
             train_target=0.0, train_patience=0, **{f"train_{name}": -1 for name in recipe.parameters})
    begin("train_job", recipe.to_json(), device)
    st.session_state[DOCUMENTS] = False  # close the menu, so that it does not cover the figure


def _below(lab: Lab, job: Look | None, problem: str, moments: Moments | None, at: int) -> None:
    """Draw what is below the figure: numbers, notes, the choice of the curve, and further controls."""
    say_what_is_wrong(job, "train_job", problem)
    if moments is not None:
        st.markdown(_numbers(moments, at))
        if job is not None and (hashed := started_from(job)):
            st.caption(hashed)
        if reduced := what_was_reduced(moments.recipe):
            st.caption(reduced)
        if moments.recipe.task in NEXT_WORD and not moments.recipe.config.is_causal:
            st.caption(_("This model has no causal mask, so it reads the very word that it is to predict: a low loss does not mean "
                         "that it can write."))
    with st.container(horizontal=True, key="train_of"):
        view_widget(st.segmented_control, "train_number", _("Curve"), required=True, format_func=NUMBERS.get)
    more_controls(lab)
    keep_it(lab, job, moments, at)


# ---------------------------------------------------------------- the snapshot


def _step(moments: Moments | None) -> int:
    """Return the step of the snapshot that is shown: the newest, or the one nearest to that of the link."""
    if moments is None or not moments.steps:
        return 0
    requested = view("train_moment")
    return moments.steps[-1] if requested < 0 else moments.at(requested).step


def _scrubber(moments: Moments | None, at: int) -> None:
    """Draw the slider over the stored snapshots."""
    steps = (0,) if moments is None else moments.steps or (0,)
    label = _("After {at:,} steps", at=at)
    scrubber(label, "", At(steps.index(at) + 1 if at in steps else len(steps), len(steps)), key="train_scrubber",
             on_move=partial(_go, steps))


def _go(steps: tuple[int, ...], place: int) -> None:
    """Select another snapshot. The newest one follows the run."""
    set_view(train_moment=-1 if place >= len(steps) else steps[place - 1])


# ---------------------------------------------------------------- the curves


def _curves(run: Taken, moments: Moments | None, at: int) -> None:
    """Draw the loss or accuracy on training batches and held-out rows."""
    recipe, number = run.recipe, view("train_number")
    shown = moments or Moments(run.recipe, ())
    training, held_out = (Points(series.steps, series.values(number)) for series in (shown.training, shown.held_out))
    if number == "loss":
        chart_data = loss_curves(training, held_out, recipe.steps, at, recipe.chance, recipe.floor)
    else:
        chart_data = accuracy_curves(training, held_out, recipe.steps, at)
    curves(chart_data, "train_curves", fill=True, of=recipe.to_json(), code=lambda: snippets.curves(run, number, at))


def _numbers(moments: Moments, at: int) -> str:
    """Return the held-out numbers of the last measurement up to a step, as Markdown."""
    loss, accuracy = (Points(moments.held_out.steps, moments.held_out.values(name)) for name in ("loss", "accuracy"))
    if not len(loss.steps):
        return _("No measurement on the held-out rows yet.")
    measured_step, value = loss.at(at)
    return _("**On held-out rows after {step:,} steps:** loss {loss} nats, {accuracy} of the answers are right.",
             step=int(measured_step), loss=rounded(value), accuracy=percent(accuracy.at(at)[1]))


# ---------------------------------------------------------------- the figure beside them


def _shown(lab: Lab, recipe: Recipe, moments: Moments | None, at: int) -> Shown | str:
    """Run the model of a snapshot, or the initial model, on the visitor's words; or return why the task cannot read them."""
    snapshot = initial(recipe) if moments is None or not moments.steps else moments.at(at)
    try:
        return on_words(snapshot.model(recipe.config), recipe, own_words(lab))
    except Problem as problem:
        return problem_words(problem)


def _picture(lab: Lab, run: Taken, moments: Moments | None, at: int, shown: Shown | str | None) -> None:
    """Draw the chosen figure of a snapshot."""
    if view("train_look") == "gradients" and moments is not None and moments.training.seen:
        picking([gradient_panel(moments.training.steps, moments.norms, moments.parts)], "train_gradients", fill=True,
                code=lambda: snippets.gradients(run))
        return
    if not isinstance(shown, Shown):
        st.warning(escaped(shown or ""))
        return
    words, said = own_words(lab), shown.said
    match view("train_look"):
        case "induction":
            scores, of = of_run(shown.seen, run.recipe.config, shown.read.ids), _("your sentence")
            if scores is None:
                st.info(_("No word of your sentence comes back later, so no head can look up what followed it."))
            else:
                picking([induction_panel(scores, of)], "train_induction", fill=True,
                        code=lambda: snippets.induction(run, at, words, of))
        case "answers":
            picking([answers_panel(said.on, said.right, said.words, said.probabilities, at)], "train_answers", fill=True,
                    code=lambda: snippets.answers(run, at, words))
        case _other:
            recorded = [name for name in shown.seen if name.endswith("attn.weights")]
            stage = view("train_map") if view("train_map") in recorded else recorded[-1]
            picking(attention_panels(shown.seen, stage, at, shown.rows), "train_maps", fill=True,
                    code=lambda: snippets.attention(run, at, words, stage))


def answer_words(said: Answers, at: int, causal: bool) -> str:
    """Return what the model answers after `step` steps, and how much of it is right if that is known, as Markdown.

    is_causal: whether each answer reads only earlier positions, which hold the right words instead of the model's own.
    """
    text = _("**After {at:,} steps, on your sentence it answers:** {words}.", at=at,
             words=" ".join(code(visible(word)) for word in said.likeliest))
    if causal:
        text += " " + _("Each answer is given after the right words; a text that the model writes itself continues from its "
                        "own words.")
    if not said.known:
        return text
    return text + " " + _("{hits} of {known} are right.", hits=said.hits, known=said.known)


def _notes(lab: Lab, recipe: Recipe, read: Sentence) -> None:
    """Show whether the task trains on rows of another length, and which words of the sentence it leaves out."""
    if recipe.task in AS_LONG and not recipe.parameters["shortest"]:
        n, length = n_own_symbols(lab, recipe.entry, recipe.parameters), recipe.parameters["length"]
        if n != length:
            st.caption(_("It trains on rows of {length} symbols, and your sentence has {n}: it never sees one of that length.",
                         length=length, n=n))
    if read.left_out:
        st.caption(_("It reads at most {n} different words, and leaves out {words}.", n=MOST_WORDS,
                     words=", ".join(code(visible(word)) for word in read.left_out[:5])))
