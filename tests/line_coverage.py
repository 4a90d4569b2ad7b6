"""Print which share of the lines of viz_core the tests ran, package by package: python tests/line_coverage.py DATA."""

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from coverage import Coverage

PACKAGE = Path(__file__).parents[1] / "viz_core"
LOW = 60  # percent below which a module is named


def by_module(data: str) -> dict[tuple[str, ...], tuple[int, int]]:
    """The parts of a module's path below viz_core → how many of its lines were run, and how many it has."""
    coverage = Coverage(data_file=data)
    coverage.load()
    with tempfile.TemporaryDirectory() as folder:
        coverage.json_report(outfile=str(Path(folder, "report.json")))
        files = json.loads(Path(folder, "report.json").read_text("utf-8"))["files"]
    return {
        Path(name).resolve().relative_to(PACKAGE).parts: (file["summary"]["covered_lines"], file["summary"]["num_statements"])
        for name, file in files.items()
    }


def main(data: str) -> None:
    modules = by_module(data)
    ran, lines = Counter[str](), Counter[str]()
    for parts, (covered, of) in modules.items():
        package = "/".join(parts[: 2 if parts[0] in ("ui", "training") and len(parts) > 2 else 1])
        for name in (package, "all of viz_core"):
            ran[name] += covered
            lines[name] += of
    for name in sorted(lines, key=lambda name: (name == "all of viz_core", name)):
        print(f"  {name:28} {100 * ran[name] / max(1, lines[name]):5.1f} % of {lines[name]:6,} lines")
    for parts, (covered, of) in sorted(modules.items()):
        if 100 * covered < LOW * of:
            print(f"  under {LOW} %: {'/'.join(parts)}, {100 * covered / of:.0f} %")


if __name__ == "__main__":
    main(sys.argv[1])
