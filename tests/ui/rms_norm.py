"""RMSNorm in the app, added as CONTRIBUTING says, but only in the process that loads this module before the app.

As a plugin of pytest it comes first: `python -m pytest -p tests.ui.rms_norm tests/ui/test_norm_words.py`.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import MappingProxyType, ModuleType


def add_entry(norms: ModuleType) -> None:
    """A norm without mean and without β: γ · x / √(mean of x² + ε) (Zhang and Sennrich 2019)."""
    _ = norms.lazy
    entry = norms.Norm(
        title="RMSNorm", with_article=_("an RMSNorm"), plural=_("RMSNorms"), steps=_("mean square and normalised value"),
        module="RMSNorm", torch_function="rms_norm", in_torch_layers=False, subtracts_mean=False, mean_square_stage="mean_square",
        mean_square=_("mean square"), mean_square_symbol=_("mean of x²"), mean_square_latex=r"\overline{x^2}", squares=_("squares"),
        feature_sentence=_("{value} is {standard} times the root mean square of its token"),
        parameters=MappingProxyType({"weight": "γ"}),
    )
    norms.NORMS = MappingProxyType(norms.NORMS | {"rms": entry})


def add_module(layers: ModuleType) -> None:
    import torch
    from torch import Tensor, nn

    from viz_core.model.init import empty_parameter
    from viz_core.tracing import NO_TAP, Tap

    class RMSNorm(nn.Module):
        def __init__(self, d_model: int, eps: float) -> None:
            super().__init__()
            self.weight, self.eps = empty_parameter(d_model), eps

        def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
            mean_square = tap("mean_square", x.square().mean(dim=-1, keepdim=True))  # [B, T, 1]
            normalized = tap("normalized", x / torch.sqrt(mean_square + self.eps))  # [B, T, D]
            return tap("out", self.weight * normalized)  # [B, T, D]

    layers.NORM_MODULES["rms"] = RMSNorm


def add_stages(specs: ModuleType) -> None:
    _, elsewhere = specs.lazy, ("–", "–", "–", "–")
    specs.NORM_STAGES["rms"] = (
        specs.StageSpec("mean_square", "B T 1", r"\overline{x^2}",
                        r"\overline{x^2}_{bt} = \tfrac{1}{d_\text{model}} \sum_d @x_{btd}^2", "x",
                        _("The mean of the squares of one token's features."), elsewhere, operation=_("square, mean →")),
        specs.StageSpec("normalized", "B T D", r"\hat x",
                        r"\hat x_{btd} = @x_{btd} \,/\, \sqrt{\overline{x^2}_{bt} + \varepsilon}, \quad \varepsilon = @eps",
                        "x mean_square", _("The features of each token, with a mean square of 1, apart from ε."), elsewhere,
                        operators="÷ √(", operation=_("+ ε ) =")),
        specs.StageSpec("out", "B T D", "N", r"N_{btd} = \gamma_d\,\hat x_{btd}", "normalized",
                        _("Each feature is scaled by γ, which is learned."), elsewhere, operation=_("× γ ="),
                        parameters=specs.norm_parameters),
    )


def add_source(sources: ModuleType) -> None:
    """The class is not in the file that is searched for the code of a stage."""
    search = sources._find_tap

    def find_tap(defined_in: str, local_name: str) -> object:
        if defined_in == "layers.RMSNorm":
            return sources.SourceLine("viz_core/model/layers.py", 1, f'tap("{local_name}", …)')
        return search(defined_in, local_name)

    sources._find_tap = find_tap


ADDITIONS = {
    "viz_core.config.norms": add_entry, "viz_core.model.layers": add_module, "viz_core.stages.specs": add_stages,
    "viz_core.stages.sources": add_source,
}


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        ADDITIONS[module.__name__](module)


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in ADDITIONS else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin)
        return spec


assert not ADDITIONS.keys() & sys.modules.keys(), "the app was imported before"
sys.meta_path.insert(0, _Finder)
