"""An example with padding, for pages that need padding when a single sentence is typed."""

from typing import TYPE_CHECKING

from viz_core.capture import Capture
from viz_core.ui.components.calls import Call
from viz_core.ui.shell import PageContext
from viz_core.ui.shell.export.run_inputs import RunInputs

if TYPE_CHECKING:  # torch is imported where it is used: see `viz_core.ui.shell.runs.page_context`
    from viz_core.run import Batch


def padded_example(context: PageContext) -> "tuple[Call[Capture], Call[Batch]]":
    """Return the run and the batch of the first sentence and its own first half, padded to the same length."""
    from viz_core.experiments.torch_norms import padded_pair
    from viz_core.run import trace
    from viz_core.ui.shell.caching.server_cache import cached_run

    run, setup = RunInputs(context), context.setup
    pair = Call(padded_pair, run.config, run.batch, 0)
    capture = Call(trace, run.model, pair, seed=setup.seed).named("capture")
    return capture.with_source(
        lambda: cached_run(setup.weights, context.config, pair.value(), setup.seed, setup.device)
    ), pair


def can_pad(capture: Capture, batch: "Batch") -> bool:
    """Return whether there is one sentence and it has more than one token."""
    return capture.n_sentences == 1 and max(ids.shape[1] for ids in batch.ids.values()) > 1
