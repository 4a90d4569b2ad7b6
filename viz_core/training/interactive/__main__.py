"""Measure the predefined experiments: python -m viz_core.training.interactive [NAME ...] [--help].

Writes measurements/NAME.json for each experiment; the Training page shows these results first. All runs take place in this process
with one thread: the same recipe gives bit-identical curves on the same kind of processor.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from viz_core.training.interactive.cost import estimate_seconds, measure_speed
from viz_core.training.interactive.measurement import MEASUREMENTS_FOLDER, measure
from viz_core.training.interactive.predefined_experiments import EXPERIMENTS


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m viz_core.training.interactive",
                                     description="Measure the experiments of the Training page.")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"experiments to measure: {', '.join(EXPERIMENTS)}; default: all")
    parser.add_argument(
        "--folder", type=Path, default=MEASUREMENTS_FOLDER, help="output folder; default: the folder that the app reads"
    )
    parser.add_argument("--estimate", action="store_true", help="only print the estimated duration")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(EXPERIMENTS)):
        parser.error(f"there is no experiment named {', '.join(unknown)}; choose from {', '.join(EXPERIMENTS)}")
    names, speed = options.names or list(EXPERIMENTS), measure_speed()
    durations = {
        name: sum(estimate_seconds(recipe, speed) for __, __, recipe in EXPERIMENTS[name].experiment.runs()) for name in names
    }
    print(*(f"{name}: about {durations[name] / 60:.1f} minutes" for name in names), sep="\n", flush=True)
    if options.estimate:
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        measured = measure(EXPERIMENTS[name], lambda done, of, name=name: print(f"{name}: {done} of {of} runs", flush=True))  # type: ignore[misc]
        path = options.folder / f"{name}.json"
        path.write_text(measured.to_json(), encoding="utf-8")
        print(f"{name}: {measured.seconds / 60:.1f} minutes, written to {path}", flush=True)


if __name__ == "__main__":
    main()
