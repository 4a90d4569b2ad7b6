"""A recorded run with one activation patched from another run of the same model."""

import torch
from torch import Tensor

from viz_core.capture import Capture
from viz_core.config import side_of
from viz_core.experiments.patching import Site, sites
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, trace
from viz_core.text.token_alignment import align_tokens


def patched_run(
    model: Transformer, batch: Batch, donor: Capture, site: Site, token: int | None, item: int = 0, donor_item: int = 0,
    seed: int = 0,
) -> Capture:
    """Run a batch with one activation of one sentence replaced by that of a donor run of the same model, and record all stages.

    token: a position of the donor; None for all that have a partner. Raises `UserError` if the model does not have the site, or
    the token has no partner.
    """
    side, config = side_of(site.stack), model.config
    if donor.config != config or site not in sites(config):
        raise UserError("patch_no_site")
    donor_ids = donor[f"ids.{side}"][donor_item, : donor.length(side, donor_item)]
    aligned = align_tokens(donor_ids.tolist(), batch.ids[side][item, : batch.length(config, side, item)].tolist())
    partner = {i: j for i, j in aligned if i is not None and j is not None}
    tokens = list(partner) if token is None else [token]
    if not tokens or not partner.keys() >= set(tokens):
        raise UserError("patch_no_partner", token=0 if token is None else token + 1)
    value = torch.from_numpy(donor[site.stage(config)][donor_item].copy())  # [(H,) T, D]
    to, stage = [partner[i] for i in tokens], site.stage(config)

    def tap(name: str, x: Tensor) -> Tensor:
        if name != stage:
            return x
        patched, there = x.clone(), value.to(x)  # [B, (H,) T, D]
        if site.head is None:
            patched[item, to] = there[tokens]
        else:
            patched[item, site.head, to] = there[site.head, tokens]
        return patched

    return trace(model, batch, seed=seed, tap=tap)
