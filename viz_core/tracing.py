"""How the model is watched: `tap(name, x)` returns x, and what is recorded is the tensor that flows on.

A forward pass takes a tap with a null default. `tap.scope("self_attn")` lengthens the path, so that modules know
only their local names. Nothing is stored on modules: one cached model serves many visitors at once.
"""

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from functools import lru_cache
from typing import Protocol, Self

import numpy as np
import torch
from torch import Tensor

Edit = Callable[[str, Tensor], Tensor]


class Tap(Protocol):
    def __call__(self, name: str, x: Tensor) -> Tensor: ...
    def scope(self, name: str) -> "Tap": ...


class _NoTap:
    """Records nothing."""

    def __call__(self, name: str, x: Tensor) -> Tensor:
        return x

    def scope(self, name: str) -> Self:
        return self


NO_TAP: Tap = _NoTap()


class _Scope:
    """A tracer seen from inside one module: it puts the module's path before each local name."""

    __slots__ = ("_prefix", "_tracer")

    def __init__(self, tracer: "Tracer", prefix: str) -> None:
        self._tracer, self._prefix = tracer, prefix

    def __call__(self, name: str, x: Tensor) -> Tensor:
        return self._tracer(self._prefix + name, x)

    def scope(self, name: str) -> "_Scope":
        return _Scope(self._tracer, f"{self._prefix}{name}.")


class Tracer:
    """Records stages in execution order, after an editing tap where there is one.

    keep: shell patterns of the names to record (None: all). edit: `edit(name, x)` returns what flows on instead of x.
    grads: keep the live tensors, so that `gradients(loss)` can be taken.
    Records are detached without a copy: the model has no in-place arithmetic.
    """

    def __init__(self, *, keep: Iterable[str] | None = None, edit: Edit | None = None, grads: bool = False) -> None:
        self._keep = None if keep is None else _pattern((keep,) if isinstance(keep, str) else tuple(keep))
        self._edit, self._grads = edit, grads
        self._plain = self._keep is None and edit is None and not grads
        self._records: dict[str, Tensor] = {}
        self._live: dict[str, Tensor] = {}

    def __call__(self, name: str, x: Tensor) -> Tensor:
        if self._plain and name not in self._records:  # the usual case, hundreds of times a run
            self._records[name] = x
            return x
        if self._edit is not None:
            x = _edited(self._edit, name, x)
        if self._keep is not None and not self._keep.match(name):
            return x
        if name in self._records:
            raise RuntimeError(f"stage {name!r} was recorded twice; names must be unique in one run.")
        if self._grads and x.is_floating_point():
            if not x.requires_grad:  # a fixed table, such as sinusoidal positions: make it a leaf of its own
                x = x.detach().requires_grad_()
            self._live[name] = x
        self._records[name] = x
        return x

    def scope(self, name: str) -> _Scope:
        return _Scope(self, f"{name}.")

    def arrays(self) -> dict[str, np.ndarray]:
        """The records as numpy arrays; from a GPU they are copied here, once."""
        return {name: (x.detach() if x.requires_grad else x).cpu().numpy() for name, x in self._records.items()}

    def tensors(self) -> list[Tensor]:
        """The records as they flow on, for a loss of their own."""
        return list(self._records.values())

    def gradients(self, loss: Tensor) -> dict[str, np.ndarray]:
        """∂loss/∂stage for every recorded stage on the loss's path. Touches no parameter's `.grad`."""
        if not self._live:
            return {}
        found = torch.autograd.grad(loss, list(self._live.values()), allow_unused=True)
        return {name: g.cpu().numpy() for name, g in zip(self._live, found, strict=True) if g is not None}


@lru_cache(maxsize=64)
def _pattern(keep: tuple[str, ...]) -> re.Pattern[str]:
    """Shell patterns as one regular expression, which a run asks for every stage; none of them matches nothing."""
    return re.compile("|".join(map(translate, keep)) or r"(?!)")


def _edited(edit: Edit, name: str, x: Tensor) -> Tensor:
    y = edit(name, x)
    if not isinstance(y, Tensor):
        raise TypeError(f"the editing tap returned {type(y).__name__} at {name!r}; return a tensor (x itself for no change).")
    if y.shape != x.shape or y.dtype != x.dtype:
        raise ValueError(
            f"the editing tap turned {name!r} from {list(x.shape)} {x.dtype} into {list(y.shape)} {y.dtype}; keep both."
        )
    return y
