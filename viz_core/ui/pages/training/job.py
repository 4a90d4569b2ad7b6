"""The training that the page shows: a job of the server, which outlives the page; its buttons, and what is said of it."""

from collections.abc import Callable, Sequence

import streamlit as st

from viz_core.jobs.engine import Engine, engine
from viz_core.jobs.job import Look
from viz_core.language import plural
from viz_core.language import translate as _
from viz_core.learning.cost import calibrated, seconds
from viz_core.learning.recipe import Recipe
from viz_core.learning.training_run import SHORT_HASH
from viz_core.problems import Problem
from viz_core.run import pick_device
from viz_core.ui.escape import escaped
from viz_core.ui.shell import set_view, view
from viz_core.ui.shell.setup import problem_words
from viz_core.ui.shell.tab import SESSION

PROBLEM = "train_problem"  # why the last click on Train came to nothing: (view, sentence)
WORKING = ("waiting", "starting", "running")
STOPPED = {
    "steps": _("It has done all its steps."), "target": _("It has reached the loss at which it was to stop."),
    "patience": _("It stopped because the held-out loss no longer fell."),
    "diverged": _("It diverged: at step {step} the loss or the gradient was no longer a finite number."),
}


def jobs() -> Engine:
    """The trainings of this server."""
    return engine()


def look_at(name: str) -> Look | None:
    """The training that the link names under a view, as it is now; None where there is none, or this server does not know it."""
    return jobs().look(view(name)) if view(name) else None


def active(job: Look | None) -> bool:
    """Whether there is something to wait for."""
    return job is not None and job.state in WORKING


def begin(name: str, recipe: str, device: str) -> None:
    """Begin with a recipe or an experiment, as JSON, and show it. Why it cannot be begun stays on the page."""
    try:
        number = jobs().submit(recipe, st.session_state.get(SESSION, ""), pick_device(device))
    except Problem as problem:
        st.session_state[PROBLEM] = name, problem_words(problem)
        return
    st.session_state.pop(PROBLEM, None)
    set_view(**{name: number}, train_moment=-1)


def buttons(name: str, job: Look | None, recipe: str | None, device: str) -> None:
    """Train, pause or go on; one step; stop. name: the view that holds the number of the training."""
    trainings = jobs()

    def button(label: str, icon: str, key: str, act: Callable[..., None], *args: object, main: bool = False) -> None:
        st.button(label, icon=f":material/{icon}:", key=f"train_{key}", on_click=act, args=args, width="stretch",
                  disabled=key == "begin" and recipe is None, type="primary" if main else "secondary")

    if job is not None and active(job):
        button(_("Pause"), "pause", "pause", trainings.pause, job.number, main=True)
    elif job is not None and job.state in ("paused", "lost", "failed"):
        button(_("Go on"), "play_arrow", "go_on", trainings.go_on, job.number, main=True)
        button(_("One step"), "skip_next", "one", trainings.one_step, job.number)
    if not active(job):
        button(_("Train") if job is None else _("Train again"), "model_training", "begin", begin, name, recipe, device,
               main=job is None)
    if job is not None and job.state not in ("done", "stopped"):
        button(_("Stop"), "stop", "stop", trainings.stop, job.number)


def progress(job: Look | None, recipes: Sequence[Recipe], device: str) -> None:
    """How far the training is; or how long one would take."""
    if job is not None:
        st.progress(job.share)
        st.caption(status(job) if len(job.runs) == 1 else runs_ended(job))
    elif recipes:
        speed = calibrated(pick_device(device))
        took = sum(seconds(recipe, speed) for recipe in recipes)
        st.caption(_("It takes about {took} on this machine.", took=duration(took)) if len(recipes) == 1 else _(
            "It takes about {took}, or half of that while nobody uses another page, because two of its {n} runs then train at "
            "once.",
            took=duration(took), n=len(recipes)))


def runs_ended(job: Look) -> str:
    over = sum(run.stopped is not None for run in job.runs)
    return plural("{over} of {n} run has ended", "{over} of {n} runs have ended", len(job.runs), over=over)


def duration(took: float) -> str:
    """Seconds as a person says them: two digits up to two minutes, then minutes."""
    return _("{n} s", n=max(1, round(took))) if took < 100 else plural("{n} minute", "{n} minutes", round(took / 60))


def say_what_is_wrong(job: Look | None, name: str, problem: str) -> None:
    """Why nothing can be trained, or that the training of the link is not here."""
    of, refused = st.session_state.get(PROBLEM, ("", ""))
    if said := problem or (refused if of == name else ""):
        st.warning(escaped(said))
    if job is None and view(name):
        st.info(_("This server does not know the training of this link, or has forgotten it. **Train** runs it again, with the "
                  "same recipe and the same initial weights."))


def status(job: Look) -> str:
    """What the training does, in a line: its state, its step and the time that is left."""
    run = job.runs[0]
    said = [_state(job)]
    if run.last is not None:
        said.append(_("Step {done:,} of {steps:,}.", done=run.done, steps=run.steps))
    if job.state == "running" and run.done:
        left = run.seconds / run.done * (run.steps - run.done)
        said.append(_("About {left} left.", left=duration(left)))
    if run.stopped is not None:
        said.append(STOPPED[run.stopped].format(step=run.done))
    return " ".join(said)


def started_from(job: Look) -> str:
    """The hash of the initial weights; "" before they are known."""
    found = job.runs[0].initial_hash
    return "" if found is None else _("Initial weights: `{short}`, the same at every start.", short=found[:SHORT_HASH])


def _state(job: Look) -> str:
    if job.state == "waiting" and job.place is not None and job.place > 1:
        return plural("**In the queue:** {n} training is before it.", "**In the queue:** {n} trainings are before it.",
                      job.place - 1)
    if job.problem is not None:
        return f"**{escaped(problem_words(job.problem))}**"
    if job.state == "paused" and job.unwatched:
        return _("**Paused**, since nobody has looked at it for some time.")
    return {
        "waiting": _("**In the queue:** it is next."), "starting": _("**It is about to start.**"), "running": _("**It trains.**"),
        "paused": _("**Paused.**"), "done": _("**Done.**"), "stopped": _("**Stopped.** What it learned stays."),
        "lost": _("**Its process has died.**"), "failed": _("**It cannot go on.**"),
    }[job.state]
