"""A patch of Streamlit: requests that arrive during callbacks wait until the callbacks have returned.

Streamlit interrupts a script run at the next use of `st` or of the session state while a newer request waits, even inside a
callback. The rest of that callback is then lost, because the next run finds the widget's value unchanged and does not call it
again. Also, Streamlit puts the interrupting request back after all callbacks, where it replaces any later one, so that an
older value wins.
"""

from functools import cache

from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequest, ScriptRequests


@cache
def defer_interruptions() -> None:
    """Let a run be interrupted only in its script, not in its callbacks. Takes effect once per process."""
    on_yield = ScriptRequests.on_scriptrunner_yield

    def yield_in_script(self: ScriptRequests) -> ScriptRequest | None:
        run = get_script_run_ctx(suppress_warning=True)
        return on_yield(self) if run is None or run.has_script_started else None

    ScriptRequests.on_scriptrunner_yield = yield_in_script  # type: ignore[method-assign]
