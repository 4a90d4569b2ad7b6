"""The recipe form: the task and its numbers come from the page, the switches from the model in the sidebar."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from viz_core.config import Architecture, TransformerConfig
from viz_core.language import translate as _
from viz_core.learning.recipe import Recipe
from viz_core.learning.setups import FAMILIES, of_document, task_of_document
from viz_core.learning.tasks import TASKS, Task
from viz_core.learning.tasks.symbols import ARROW, MOST_WORDS, symbols_of
from viz_core.presets import PRESETS
from viz_core.problems import Problem
from viz_core.text import split_words
from viz_core.ui.controls import keep
from viz_core.ui.escape import escaped
from viz_core.ui.shell import Lab, set_view, view, view_widget, widget
from viz_core.ui.shell.setup import BY_FIELD, problem_words
from viz_core.ui.shell.views import TASK_PARAMETERS

SMALL = {"d_model": 64, "n_heads": 4, "d_ff": 128, "n_encoder_layers": 2, "n_decoder_layers": 2, "max_len": 128}
"""Sizes for which the default run takes well under a minute on two cores."""
OF_TASK = "train_"
AS_LONG = ("copy", "reverse", "sort")  # tasks whose rows are by default as long as the visitor's sentence
SELDOM = ("shortest", "symbols", "repeat", "source", "sentences", "damage")  # task parameters that are rarely changed
DOCUMENT_MODELS: Mapping[str, tuple[str, Architecture | None]] = {
    **{number: (number, None) for number in PRESETS}, **{f"004-{family}": ("004", family) for family in FAMILIES},
}
"""The document and the model family of each choice."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The recipe that the form describes. recipe: None if it cannot be trained; problem says why, in one sentence."""

    recipe: Recipe | None
    problem: str = ""


def asked(lab: Lab) -> Asked:
    """Return the recipe of the link, or that of the page's controls and the sidebar's switches."""
    if link := view("train_recipe"):
        try:
            return Asked(Recipe.from_link(link))
        except (Problem, ValueError) as error:
            return Asked(None, problem_words(error))
    task = TASKS[view("train_task")]
    parameters = {name: value for name, value in defaults(lab, task).items() if value != task.bounds[name].default}
    parameters |= {name: view(f"train_{name}") for name in task.bounds if view(f"train_{name}") >= 0}
    try:
        recipe = Recipe(
            task=task.name, parameters=parameters, config=config_of(lab.config, task), learning_rate=view("train_rate"),
            warmup=view("train_warmup"), decay=view("train_decay"), batch=view("train_batch"), steps=view("train_steps"),
            seed=lab.setup.seed, data_seed=view("train_data_seed"), clip=view("train_clip") or None,
            measured_every=max(1, view("train_steps") // 20), target_loss=view("train_target") or None,
            patience=view("train_patience") or None,
        )
    except (Problem, ValueError) as error:
        return Asked(None, problem_words(error))
    return Asked(recipe)


def defaults(lab: Lab, task: Task) -> dict[str, int]:
    """Return the default parameters of a task; in `SENTENCE_LENGTH_TASKS` rows are as long as the visitor's sentence."""
    parameters = {name: bound.default for name, bound in task.bounds.items()}
    if task.name in AS_LONG:
        n_chosen = view("train_symbols")
        if n := n_own_symbols(lab, task, parameters | ({"symbols": n_chosen} if n_chosen >= 0 else {})):
            parameters["length"] = min(max(n, task.bounds["length"].least), MOST_WORDS)
    return parameters


def n_own_symbols(lab: Lab, task: Task, parameters: Mapping[str, int]) -> int:
    """Return how many symbols of the task the visitor's sentence becomes."""
    return len(symbols_of(own_words(lab), task.kind.symbols(parameters))[0])


def config_of(config: TransformerConfig, task: Task) -> TransformerConfig:
    """Return the model to train: that of the sidebar or of a document, in the chosen size, with an architecture for the task."""
    if (chosen := view("train_model")) in DOCUMENT_MODELS:
        config, sizes = of_document(*DOCUMENT_MODELS[chosen]).recipe.config, {}
    else:
        sizes = SMALL if chosen == "small" else {}
    architecture = config.architecture if config.architecture in task.architectures else task.architectures[0]
    own = {"qk_dim": None} if sizes else {}
    return replace(config, **sizes, **own, architecture=architecture, head=True)  # type: ignore[arg-type]


def own_words(lab: Lab) -> list[str]:
    """Return the words of the visitor's first sentence, up to the arrow that ends a question."""
    words = split_words(own_text(lab).split("\n")[0])
    return words[: words.index(ARROW)] if ARROW in words[1:] else words


def own_text(lab: Lab) -> str:
    """Return what the visitor typed: the source, or the target of a model without an encoder."""
    return lab.setup.source if lab.config.has_encoder else lab.setup.target


def controls(lab: Lab) -> None:
    """Draw the main controls of the recipe in the rail."""
    if view("train_recipe"):
        st.caption(_("**Train** uses the recipe of the link."))
        st.button(_("Choose one here instead"), key="train_choose", on_click=partial(set_view, train_recipe=""))
        return
    view_widget(st.selectbox, "train_task", _("Task"), format_func=lambda name: TASKS[name].title)
    _numbers(lab, seldom=False)
    view_widget(st.select_slider, "train_steps", _("Steps"), format_func=lambda n: f"{n:,}")
    view_widget(st.select_slider, "train_rate", _("Learning rate"), format_func=lambda x: f"{x:g}")


def more_controls(lab: Lab) -> None:
    """Draw the controls that are rarely changed, in a row below the figure."""
    if view("train_recipe"):
        return
    with st.container(horizontal=True, key="train_more"):
        view_widget(st.selectbox, "train_model", _("Model"), width=260, format_func=model_title)
        _numbers(lab, seldom=True)
        view_widget(st.select_slider, "train_warmup", _("Warm-up steps"), width=200)
        view_widget(st.select_slider, "train_batch", _("Batch"), width=200)
        view_widget(st.select_slider, "train_clip", _("Maximum gradient norm (0: none)"), width=220, format_func=lambda x: f"{x:g}")
        view_widget(st.toggle, "train_decay", _("The learning rate falls to 0"))
        view_widget(st.number_input, "train_data_seed", _("Seed of the data"), width=160)
        view_widget(st.select_slider, "train_target", _("Stop at held-out loss (0: never)"), width=220,
                    format_func=lambda x: f"{x:g}")
        view_widget(st.select_slider, "train_patience", _("Stop after this many measurements without improvement (0: never)"),
                    width=240)


def _numbers(lab: Lab, seldom: bool) -> None:
    """Draw the parameters of the task. advanced: those of `ADVANCED_PARAMETERS`, or all others."""
    task = TASKS[view("train_task")]
    default_values = defaults(lab, task)
    for name, bound in task.bounds.items():
        if (name in SELDOM) != seldom:
            continue
        requested = view(f"train_{name}")
        assert bound.most <= TASK_PARAMETERS[name]
        value = requested if bound.least <= requested <= bound.most else default_values[name]
        if requested >= 0 and value != requested:
            st.caption(_("{title} cannot be {held}; it is {value}.", title=escaped(bound.title), held=requested, value=value))
        widget(st.number_input, OF_TASK + name, bound.title, value, keep, min_value=bound.least, max_value=bound.most, step=1,
               **({"width": 220} if seldom else {}))


def model_title(name: str) -> str:
    """Return the title of a choice of the model."""
    if name == "small":
        return _("The model on the left, small")
    if name == "model":
        return _("The model on the left")
    number, _dash, family = name.partition("-")
    return PRESETS[number].document.title + (f", {BY_FIELD['architecture'].shown(family)}" if family else "")


def what_was_reduced(recipe: Recipe) -> str:
    """Return the document of a document's model and the sizes that were reduced, as Markdown; "" for any other model."""
    for name, of in DOCUMENT_MODELS.items():
        if task_of_document(*of) == recipe.task and (document_setup := of_document(*of)).recipe.config == recipe.config:
            sizes = ", ".join(f"`{size}` {own:,} → {here:,}" for size, own, here in document_setup.reduced)
            return _("This is the model of {title} with {sizes}; everything else is as in the document.",
                     title=escaped(model_title(name)), sizes=sizes)
    return ""
