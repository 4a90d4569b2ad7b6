"""A request that arrives while callbacks run waits until they have ended.

Streamlit breaks a run off where its script next uses `st` or the session and a newer request waits, and it does so in a
callback, too. What the callback had not done yet is then lost: the next run finds the widget's value unchanged and does
not call it again. And a request that one callback was broken off for is put back when all of them are over, in the place
of any that came still later, so that an older value wins.
"""

from functools import cache

from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequest, ScriptRequests


@cache
def let_callbacks_end() -> None:
    """From now on a run is broken off in its script only, not while it takes over what the browser sent; once a process."""
    interruption = ScriptRequests.on_scriptrunner_yield

    def in_the_script(self: ScriptRequests) -> ScriptRequest | None:
        run = get_script_run_ctx(suppress_warning=True)
        return interruption(self) if run is None or run.has_script_started else None

    ScriptRequests.on_scriptrunner_yield = in_the_script  # type: ignore[method-assign]
