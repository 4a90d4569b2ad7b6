"""The controls below the figure: previous, next, play, and a scrubber over all steps."""

import time

import streamlit as st

from viz_core.language import translate as _
from viz_core.text import isolated
from viz_core.ui.components.scrubber import At, counts, scrubber
from viz_core.ui.shell import below, set_view, view

PLAY_SECONDS = 1.5
SCRUBBER, PLAYING, TICK = "write_scrubber", "write_playing", "write_tick"


def step_of(n_steps: int) -> int:
    """Return the step that is shown, from 0; the last one if the link names a later one."""
    return max(0, min(view("write_step"), n_steps - 1))


def go(step: int) -> None:
    """Show another step; for callbacks."""
    set_view(write_step=step)


def moves(n_steps: int, title: str) -> None:
    """Draw the row. title: describes the step, after its number."""
    at, is_playing = step_of(n_steps), _plays(n_steps)
    with below():
        st.button(_("Previous"), icon=":material/skip_previous:", shortcut="Left", on_click=_press, args=(max(at - 1, 0),),
                  disabled=at == 0, key="write_previous")
        st.button(_("Next"), icon=":material/skip_next:", shortcut="Right", on_click=_press, args=(min(at + 1, n_steps - 1),),
                  disabled=at == n_steps - 1, key="write_next", type="primary")
        st.button(_("Pause") if is_playing else _("Play"), icon=":material/pause:" if is_playing else ":material/play_arrow:",
                  shortcut="P", on_click=_toggle, args=(n_steps,), key="write_play")
        label = _("Step {at} of {n_steps} · {title}", at=at + 1, n_steps=n_steps, title=isolated(title))
        scrubber(label, "", At(at + 1, n_steps, True, "write_previous", "write_next"), key=SCRUBBER,
                 on_move=lambda step: go(step - 1))


def _press(step: int) -> None:
    """Handle a click on Previous or Next, unless the scrubber's script counts it, which never merges two clicks."""
    if not counts(SCRUBBER):
        go(step)


def _toggle(n_steps: int) -> None:
    """Start or stop playing; at the last step, start again from the first. For callbacks."""
    is_playing = not st.session_state.get(PLAYING, False)
    st.session_state[PLAYING], st.session_state[TICK] = is_playing, time.monotonic()
    if is_playing and step_of(n_steps) == n_steps - 1:
        go(0)


def _plays(n_steps: int) -> bool:
    """Return whether it is playing; stop at the last step."""
    if step_of(n_steps) == n_steps - 1:
        st.session_state[PLAYING] = False
    return bool(st.session_state.get(PLAYING))


def player(n_steps: int) -> None:
    """While playing, advance one step every `PLAY_SECONDS`."""
    if not _plays(n_steps):
        return
    at = step_of(n_steps)

    @st.fragment(run_every=PLAY_SECONDS)
    def tick() -> None:
        now = time.monotonic()
        if st.session_state.get(PLAYING) and now - st.session_state[TICK] > 0.8 * PLAY_SECONDS:
            st.session_state[TICK] = now
            go(at + 1)
            st.rerun()

    tick()
