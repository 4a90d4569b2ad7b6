"""A request that arrives while callbacks run waits until they have ended.

Streamlit interrupts a run when its script next uses `st` or the session while a newer request waits, even in a callback.
The rest of the callback is then lost: the next run finds the widget's value unchanged and does not call it again. And the
request that interrupted a callback is put back after all callbacks, replacing any later one, so that an older value wins.
"""

from functools import cache

from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequest, ScriptRequests


@cache
def let_callbacks_end() -> None:
    """From now on a run is interrupted only in its script, not while its callbacks run; called once per process."""
    interruption = ScriptRequests.on_scriptrunner_yield

    def in_the_script(self: ScriptRequests) -> ScriptRequest | None:
        run = get_script_run_ctx(suppress_warning=True)
        return interruption(self) if run is None or run.has_script_started else None

    ScriptRequests.on_scriptrunner_yield = in_the_script  # type: ignore[method-assign]
