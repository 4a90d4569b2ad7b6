"""The training that the page shows: a job of the server, which outlives the page; its buttons, and what is said of it."""

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

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
    """The trainings of this server, which ask this page whether a visitor is still there."""
    found = engine()
    found.present = _present
    return found


def visitor() -> str:
    """Who watches a training: this session, by its own name and by that of its connection."""
    context = get_script_run_ctx()
    return f"{st.session_state.get(SESSION, '')} {'' if context is None else context.session_id}"


def _present(name: str) -> bool:
    """Whether the page of a visitor is still open."""
    return not runtime.exists() or bool(runtime.get_instance().is_active_session(name.partition(" ")[2]))


def look_at(name: str) -> Look | None:
    """The training that the link names under a view, as it is now; None where there is none, or this server does not know it."""
    return jobs().look(view(name), visitor()) if view(name) else None


def active(job: Look | None) -> bool:
    """Whether there is something to wait for: it runs or waits for its turn, and not for others alone."""
    return job is not None and job.state in WORKING and not job.without


def begin(name: str, recipe: str, device: str) -> None:
    """Begin with a recipe or an experiment, as JSON, and show it. Why it cannot be begun stays on the page."""
    try:
        number = jobs().submit(recipe, visitor(), pick_device(device))
    except Problem as problem:
        st.session_state[PROBLEM] = name, problem_words(problem)
        return
    st.session_state.pop(PROBLEM, None)
    set_view(**{name: number}, train_moment=-1)


def _pause(name: str, job: Look) -> None:
    """Where it goes on for others, the picture of a run stays at the moment that was seen last."""
    trainings = jobs()
    trainings.pause(job.number, visitor())
    now = trainings.look(job.number, visitor())
    if name == "train_job" and now is not None and now.without and now.runs[0].last is not None:
        set_view(train_moment=now.runs[0].last.step)


def _go_on(name: str, job: Look) -> None:
    """With the others, if it has gone on for them."""
    jobs().go_on(job.number, visitor())
    if name == "train_job" and job.without:
        set_view(train_moment=-1)


def buttons(name: str, job: Look | None, recipe: str | None, device: str, first: str = "") -> None:
    """Train, pause or go on; one step; stop, or leave what others watch. name: the view that holds the number of the training;
    first: another label of Train before there is any."""
    trainings = jobs()

    def button(label: str, icon: str, key: str, act: Callable[..., None], *args: object, main: bool = False) -> None:
        st.button(label, icon=f":material/{icon}:", key=f"train_{key}", on_click=act, args=args, width="stretch",
                  disabled=key == "begin" and recipe is None, type="primary" if main else "secondary")

    if job is not None and active(job):
        button(_("Pause"), "pause", "pause", _pause, name, job, main=True)
    elif job is not None and job.state not in ("done", "stopped"):
        button(_("Go on"), "play_arrow", "go_on", _go_on, name, job, main=True)
        if job.state not in WORKING:
            button(_("One step"), "skip_next", "one", trainings.one_step, job.number, visitor())
    if not active(job):
        button((first or _("Train")) if job is None else _("Train again"), "model_training", "begin", begin, name, recipe, device,
               main=job is None)
    if job is not None and job.state not in ("done", "stopped") and job.wish != "stop":
        shared = job.others > 0
        button(_("Leave") if shared else _("Stop"), "logout" if shared else "stop", "stop", trainings.stop, job.number, visitor())


def progress(job: Look | None, recipes: Sequence[Recipe], device: str) -> None:
    """How far the training is; or how long one would take."""
    if job is not None:
        st.progress(job.share)
        st.caption(" ".join(filter(None, [status(job), watched_by(job)])))
    elif recipes:
        speed = calibrated(pick_device(device))
        took, at_once = sum(seconds(recipe, speed) for recipe in recipes), min(jobs().places, len(recipes))
        if len(recipes) == 1:
            st.caption(_("It takes about {took} on this machine.", took=duration(took)))
        elif at_once == 1:
            st.caption(_("It takes about {took}, or half of that while nobody uses another page, because two of its {n} runs then "
                         "train at once.", took=duration(took), n=len(recipes)))
        else:
            st.caption(_("It takes about {took} if nothing else is trained meanwhile, because {at_once} of its {n} runs train at "
                         "once.", took=duration(took / at_once), at_once=at_once, n=len(recipes)))


def runs_ended(job: Look) -> str:
    over = sum(run.stopped is not None for run in job.runs)
    return plural("{over} of {n} run has ended", "{over} of {n} runs have ended", len(job.runs), over=over)


def duration(took: float) -> str:
    """Seconds as a person says them: two digits up to two minutes, then minutes."""
    return _("{n} s", n=max(1, round(took))) if took < 100 else plural("{n} minute", "{n} minutes", round(took / 60))


def say_what_is_wrong(job: Look | None, name: str, problem: str, first: str = "") -> None:
    """Why nothing can be trained, or that the training of the link is not here. first: the label of the button that begins."""
    of, refused = st.session_state.get(PROBLEM, ("", ""))
    if said := problem or (refused if of == name else ""):
        st.warning(escaped(said))
    if job is None and view(name) and look_at(name) is None:
        st.info(_("This server does not know the training of this link, or has forgotten it. **{begin}** runs it again, with the "
                  "same recipe and the same initial weights.", begin=first or _("Train")))


def status(job: Look) -> str:
    """What the training does, in a line: its state, its step or its runs, and the time that is left."""
    run = job.runs[0]
    said = [_state(job)]
    if len(job.runs) > 1:
        return " ".join([*said, runs_ended(job)])
    if run.last is not None:
        said.append(_("Step {done:,} of {steps:,}.", done=run.done, steps=run.steps))
    if job.state == "running" and run.taken:
        left = run.seconds / run.taken * (run.steps - run.done)
        said.append(_("About {left} left.", left=duration(left)))
    if run.stopped is not None:
        said.append(STOPPED[run.stopped].format(step=run.done))
    return " ".join(said)


def started_from(job: Look) -> str:
    """The hash of the initial weights; "" before they are known."""
    found = job.runs[0].initial_hash
    return "" if found is None else _("Initial weights: `{short}`, the same at every start.", short=found[:SHORT_HASH])


def watched_by(job: Look) -> str:
    """That others watch it, and what a click on Pause or Leave then means; "" where nobody else does or it is over."""
    if not job.others or job.state in ("done", "stopped"):
        return ""
    who = plural("{n} other person watches this training.", "{n} other people watch this training.", job.others)
    if not active(job):
        return who
    return who + " " + _("If you pause it or leave it, it goes on for the others; the last one who leaves it ends it.")


def _state(job: Look) -> str:
    if job.without:
        return (_("**You have paused it.** It goes on for the others.") if job.wish == "pause" else
                _("**You have left it.** It goes on for the others."))
    if job.wish == "stop" != job.wished:
        return _("**You have left it.** The others have paused it.")
    if job.state == "waiting":
        return _waiting(job)
    if job.problem is not None:
        return f"**{escaped(problem_words(job.problem))}**"
    if job.state == "paused" and job.unwatched:
        return _("**Paused**, since nobody has looked at it for some time.")
    return {
        "starting": _("**It is about to start.**"), "running": _("**It trains.**"),
        "paused": _("**Paused.**"), "done": _("**Done.**"), "stopped": _("**Stopped.** What it learned stays."),
        "lost": _("**Its process has died.**"), "failed": _("**It cannot go on.**"),
    }[job.state]


def _waiting(job: Look) -> str:
    """The place in the queue, and when its turn comes."""
    said = [_("**In the queue:** it is next.") if job.place is None or job.place == 1 else plural(
        "**In the queue:** {n} training is before it.", "**In the queue:** {n} trainings are before it.", job.place - 1)]
    if job.begins is not None and job.begins >= 1:
        said.append(_("Its turn comes in about {time}, at the pace of the trainings before it.", time=duration(job.begins)))
    return " ".join(said)
