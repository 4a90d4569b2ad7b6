"""The training job that the page shows: its buttons, progress and status. Jobs belong to the server and outlive the page."""

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

PROBLEM = "train_problem"  # session state: (link parameter, sentence) of the last click on Train that failed
WORKING = ("waiting", "starting", "running")
STOPPED = {
    "steps": _("It has completed all steps."), "target": _("It has reached the target loss."),
    "patience": _("It stopped because the held-out loss no longer fell."),
    "diverged": _("It diverged: at step {step} the loss or the gradient was no longer a finite number."),
}


def jobs() -> Engine:
    """Return the job engine of this server, set up to ask whether a visitor is still connected."""
    found = engine()
    found.present = _present
    return found


def visitor() -> str:
    """Return the id of this visitor: the session's own id and that of its connection."""
    context = get_script_run_ctx()
    return f"{st.session_state.get(SESSION, '')} {'' if context is None else context.session_id}"


def _present(name: str) -> bool:
    """Return whether the page of a visitor is still open."""
    return not runtime.exists() or bool(runtime.get_instance().is_active_session(name.partition(" ")[2]))


def look_at(name: str) -> Look | None:
    """Return the job that a link parameter names; None if there is none, or this server does not know it."""
    return jobs().look(view(name), visitor()) if view(name) else None


def active(job: Look | None) -> bool:
    """Return whether the job is queued or running, and not only for other visitors."""
    return job is not None and job.state in WORKING and not job.without


def begin(name: str, recipe: str, device: str) -> None:
    """Submit a recipe or an experiment, as JSON, and show its job. If that fails, the page shows why."""
    try:
        number = jobs().submit(recipe, visitor(), pick_device(device))
    except Problem as problem:
        st.session_state[PROBLEM] = name, problem_words(problem)
        return
    st.session_state.pop(PROBLEM, None)
    set_view(**{name: number}, train_moment=-1)


def _pause(name: str, job: Look) -> None:
    """Pause a job. If it continues for other visitors, the figure stays at the snapshot that was shown last."""
    trainings = jobs()
    trainings.pause(job.number, visitor())
    now = trainings.look(job.number, visitor())
    if name == "train_job" and now is not None and now.without and now.runs[0].last is not None:
        set_view(train_moment=now.runs[0].last.step)


def _go_on(name: str, job: Look) -> None:
    """Resume a job. If it has continued for other visitors, show its newest snapshot."""
    jobs().go_on(job.number, visitor())
    if name == "train_job" and job.without:
        set_view(train_moment=-1)


def buttons(name: str, job: Look | None, recipe: str | None, device: str, first: str = "") -> None:
    """Draw the buttons of a job: train, pause or resume, one step, stop or leave.

    param_name: the link parameter that holds the number of the job. start_label: replaces "Train" before there is a job.
    """
    trainings = jobs()

    def button(label: str, icon: str, key: str, act: Callable[..., None], *args: object, main: bool = False) -> None:
        st.button(label, icon=f":material/{icon}:", key=f"train_{key}", on_click=act, args=args, width="stretch",
                  disabled=key == "begin" and recipe is None, type="primary" if main else "secondary")

    if job is not None and active(job):
        button(_("Pause"), "pause", "pause", _pause, name, job, main=True)
    elif job is not None and job.state not in ("done", "stopped"):
        button(_("Resume"), "play_arrow", "go_on", _go_on, name, job, main=True)
        if job.state not in WORKING:
            button(_("One step"), "skip_next", "one", trainings.one_step, job.number, visitor())
    if not active(job):
        button((first or _("Train")) if job is None else _("Train again"), "model_training", "begin", begin, name, recipe, device,
               main=job is None)
    if job is not None and job.state not in ("done", "stopped") and job.wish != "stop":
        shared = job.others > 0
        button(_("Leave") if shared else _("Stop"), "logout" if shared else "stop", "stop", trainings.stop, job.number, visitor())


def progress(job: Look | None, recipes: Sequence[Recipe], device: str) -> None:
    """Show how far the job is; or, without one, how long it would take."""
    if job is not None:
        st.progress(job.share)
        st.caption(" ".join(filter(None, [status(job), watched_by(job)])))
    elif recipes:
        speed = calibrated(pick_device(device))
        expected, n_parallel = sum(seconds(recipe, speed) for recipe in recipes), min(jobs().places, len(recipes))
        if len(recipes) == 1:
            st.caption(_("It takes about {took} on this machine.", took=duration(expected)))
        elif n_parallel == 1:
            st.caption(_("It takes about {took}, or half of that while nobody uses another page, because two of its {n} runs then "
                         "train at once.", took=duration(expected), n=len(recipes)))
        else:
            st.caption(_("It takes about {took} if nothing else is trained meanwhile, because {at_once} of its {n} runs train at "
                         "once.", took=duration(expected / n_parallel), at_once=n_parallel, n=len(recipes)))


def runs_ended(job: Look) -> str:
    """Return how many runs have ended."""
    n_ended = sum(run.stopped is not None for run in job.runs)
    return plural("{over} of {n} run has ended", "{over} of {n} runs have ended", len(job.runs), over=n_ended)


def duration(took: float) -> str:
    """Format a time in seconds: as seconds below 100, else as minutes."""
    return _("{n} s", n=max(1, round(took))) if took < 100 else plural("{n} minute", "{n} minutes", round(took / 60))


def say_what_is_wrong(job: Look | None, name: str, problem: str, first: str = "") -> None:
    """Show why nothing can be trained, or that the job of the link does not exist. start_label: the label of the start button."""
    refused_param, refusal = st.session_state.get(PROBLEM, ("", ""))
    if message := problem or (refusal if refused_param == name else ""):
        st.warning(escaped(message))
    if job is None and view(name) and look_at(name) is None:
        st.info(_("This server does not know the training of this link, or has removed it. **{begin}** runs it again, with the "
                  "same recipe and the same initial weights.", begin=first or _("Train")))


def status(job: Look) -> str:
    """Return a line with the state of the job, its step or its runs, and the time left."""
    run = job.runs[0]
    sentences = [_state(job)]
    if len(job.runs) > 1:
        return " ".join([*sentences, runs_ended(job)])
    if run.last is not None:
        sentences.append(_("Step {done:,} of {steps:,}.", done=run.done, steps=run.steps))
    if job.state == "running" and run.taken:
        left = run.seconds / run.taken * (run.steps - run.done)
        sentences.append(_("About {left} left.", left=duration(left)))
    if run.stopped is not None:
        sentences.append(STOPPED[run.stopped].format(step=run.done))
    return " ".join(sentences)


def started_from(job: Look) -> str:
    """Return a line with the hash of the initial weights; "" before it is known."""
    found = job.runs[0].initial_hash
    return "" if found is None else _("Initial weights: `{short}`, the same at every start.", short=found[:SHORT_HASH])


def watched_by(job: Look) -> str:
    """Return that others watch the job, and what Pause and Leave then do; "" if nobody else does or it is over."""
    if not job.others or job.state in ("done", "stopped"):
        return ""
    who = plural("{n} other person watches this training.", "{n} other people watch this training.", job.others)
    if not active(job):
        return who
    return who + " " + _("If you pause it or leave it, it continues for the others; the last one who leaves it ends it.")


def _state(job: Look) -> str:
    if job.without:
        return (_("**You have paused it.** It continues for the others.") if job.wish == "pause" else
                _("**You have left it.** It continues for the others."))
    if job.wish == "stop" != job.wished:
        return _("**You have left it.** The others have paused it.")
    if job.state == "waiting":
        return _waiting(job)
    if job.problem is not None:
        return f"**{escaped(problem_words(job.problem))}**"
    if job.state == "paused" and job.unwatched:
        return _("**Paused**, because nobody has watched it for some time.")
    return {
        "starting": _("**It is starting.**"), "running": _("**It is training.**"),
        "paused": _("**Paused.**"), "done": _("**Done.**"), "stopped": _("**Stopped.** The trained weights are kept."),
        "lost": _("**Its process ended unexpectedly.**"), "failed": _("**It cannot continue.**"),
    }[job.state]


def _waiting(job: Look) -> str:
    """Return the position in the queue, and the expected waiting time."""
    sentences = [_("**In the queue:** it is next.") if job.place is None or job.place == 1 else plural(
        "**In the queue:** {n} training is ahead of it.", "**In the queue:** {n} trainings are ahead of it.", job.place - 1)]
    if job.begins is not None and job.begins >= 1:
        sentences.append(_("It starts in about {time}, at the pace of the trainings ahead of it.", time=duration(job.begins)))
    return " ".join(sentences)
