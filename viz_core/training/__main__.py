"""Train the shipped checkpoints from scratch: python -m viz_core.training [NAME ...] [--help]; see `shipped.command`."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec

GENERATOR = "viz_core.training.corpus"


def main(arguments: Sequence[str] | None = None) -> None:
    if find_spec(GENERATOR) is None:
        sys.exit(f"This command needs the sentence generator {GENERATOR}, which the installed package does not contain: "
                 "run it in a copy of the repository.")
    from viz_core.training.shipped.command import main as train

    train(arguments)


if __name__ == "__main__":
    main()
