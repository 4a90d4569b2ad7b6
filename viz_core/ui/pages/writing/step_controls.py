"""The controls below the figure: previous, next, play, and a scrubber over all steps."""

import time

import streamlit as st

from viz_core.messages import translate as _
from viz_core.text import bidi_isolated
from viz_core.ui.components.scrubber import ScrubberState, handles_clicks, scrubber
from viz_core.ui.shell import controls_row, set_url_params, url_param

PLAY_SECONDS = 1.5
SCRUBBER, PLAYING, TICK = "write_scrubber", "write_playing", "write_tick"


def shown_step(n_steps: int) -> int:
    """Return the step that is shown, from 0; the last one if the link names a later one."""
    return max(0, min(url_param("write_step"), n_steps - 1))


def go_to_step(step: int) -> None:
    """Show another step; for callbacks."""
    set_url_params(write_step=step)


def step_controls(n_steps: int, title: str) -> None:
    """Draw the row of controls. title: the description of the step, shown after its number."""
    at, is_playing = shown_step(n_steps), _is_playing(n_steps)
    with controls_row():
        st.button(_("Previous"), icon=":material/skip_previous:", shortcut="Left", on_click=_on_step_button, args=(max(at - 1, 0),),
                  disabled=at == 0, key="write_previous")
        st.button(
            _("Next"),
            icon=":material/skip_next:",
            shortcut="Right",
            on_click=_on_step_button,
            args=(min(at + 1, n_steps - 1),),
            disabled=at == n_steps - 1,
            key="write_next",
            type="primary",
        )
        st.button(_("Pause") if is_playing else _("Play"), icon=":material/pause:" if is_playing else ":material/play_arrow:",
                  shortcut="P", on_click=_toggle, args=(n_steps,), key="write_play")
        label = _("Step {at} of {n_steps} · {title}", at=at + 1, n_steps=n_steps, title=bidi_isolated(title))
        scrubber(label, "", ScrubberState(at + 1, n_steps, True, "write_previous", "write_next"), key=SCRUBBER,
                 on_move=lambda step: go_to_step(step - 1))


def _on_step_button(step: int) -> None:
    """Handle a click on Previous or Next, unless the scrubber's script does: it counts clicks that Streamlit would merge."""
    if not handles_clicks(SCRUBBER):
        go_to_step(step)


def _toggle(n_steps: int) -> None:
    """Start or stop playing; at the last step, start again from the first. For callbacks."""
    is_playing = not st.session_state.get(PLAYING, False)
    st.session_state[PLAYING], st.session_state[TICK] = is_playing, time.monotonic()
    if is_playing and shown_step(n_steps) == n_steps - 1:
        go_to_step(0)


def _is_playing(n_steps: int) -> bool:
    """Return whether it is playing; stop at the last step."""
    if shown_step(n_steps) == n_steps - 1:
        st.session_state[PLAYING] = False
    return bool(st.session_state.get(PLAYING))


def auto_play(n_steps: int) -> None:
    """While playing, advance one step every `PLAY_SECONDS`."""
    if not _is_playing(n_steps):
        return
    at = shown_step(n_steps)

    @st.fragment(run_every=PLAY_SECONDS)
    def tick() -> None:
        now = time.monotonic()
        if st.session_state.get(PLAYING) and now - st.session_state[TICK] > 0.8 * PLAY_SECONDS:
            st.session_state[TICK] = now
            go_to_step(at + 1)
            st.rerun()

    tick()
