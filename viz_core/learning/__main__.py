"""Measure the offered experiments: python -m viz_core.learning [NAME ...] [--help].

Each experiment becomes measurements/NAME.json, which the page Training opens with. Every run takes place in this process, with one
thread, as everywhere: the same recipe gives the same curve, bit for bit, on the same kind of processor.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from viz_core.learning.cost import calibrated, seconds
from viz_core.learning.measurement import FOLDER, measure
from viz_core.learning.setups import SETUPS


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m viz_core.learning",
                                     description="Measure the experiments of the page Training.")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"experiments to measure, out of {', '.join(SETUPS)}; default: all")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder for the files; default: that of the app")
    parser.add_argument("--estimate", action="store_true", help="measure nothing: say about how long it would take")
    chosen = parser.parse_args(arguments)
    if unknown := sorted(set(chosen.names) - set(SETUPS)):
        parser.error(f"there is no experiment named {', '.join(unknown)}; choose from {', '.join(SETUPS)}")
    names, speed = chosen.names or list(SETUPS), calibrated()
    took = {name: sum(seconds(recipe, speed) for __, __, recipe in SETUPS[name].experiment.runs()) for name in names}
    print(*(f"{name}: about {took[name] / 60:.1f} minutes" for name in names), sep="\n", flush=True)
    if chosen.estimate:
        return
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        made = measure(SETUPS[name], lambda done, of, name=name: print(f"{name}: {done} of {of} runs", flush=True))  # type: ignore[misc]
        path = chosen.folder / f"{name}.json"
        path.write_text(made.to_json(), encoding="utf-8")
        print(f"{name}: {made.seconds / 60:.1f} minutes, written to {path}", flush=True)


if __name__ == "__main__":
    main()
