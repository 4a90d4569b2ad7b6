"""Print generated sentences, or write the data files: python -m viz_core.training.corpus [sample | write | check] [--help]."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random

from viz_core.training.corpus.data_files import DATA_FILES
from viz_core.training.corpus.dataset import examples
from viz_core.training.corpus.phrases import Sampler
from viz_core.training.corpus.sentences import SENTENCE_KINDS, to_example
from viz_core.training.corpus.simple_sentences import simple_sentences
from viz_core.training.examples import Example

KINDS = {draw.__name__: draw for draw in SENTENCE_KINDS}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m viz_core.training.corpus",
                                     description="Print generated sentences, or write the data files that the app reads.")
    commands = parser.add_subparsers(required=True, dest="command")
    sample = commands.add_parser("sample", help="print sentence pairs with their word alignment")
    sample.add_argument("n", nargs="?", type=int, default=10, metavar="N", help="number of sentences; default: 10")
    sample.add_argument("--seed", type=int, default=0)
    sample.add_argument("--word", default="", help="only sentences with this English or Chinese word")
    which = sample.add_mutually_exclusive_group()
    which.add_argument("--held-out", action="store_true", help="held-out sentences instead of training sentences")
    which.add_argument("--simple", action="store_true", help="sentences of the first lesson")
    which.add_argument("--kind", choices=KINDS, metavar="KIND", help=f"sentences of one kind: {', '.join(KINDS)}")
    commands.add_parser("write", help="write the data files that the app reads")
    commands.add_parser("check", help="name the data files that differ from what the generator makes")
    options = parser.parse_args(arguments)
    if options.command == "sample":
        found = (e for e in _examples(options) if not options.word or options.word in (*e.source, *e.target))
        print(*(example.to_line() for example in islice(found, options.n)), sep="\n")
    elif options.command == "write":
        for path, make in DATA_FILES.items():
            path.write_text(make(), encoding="utf-8")
            print(path)
    elif stale := [path for path, make in DATA_FILES.items() if not path.exists() or path.read_text("utf-8") != make()]:
        print(*stale, sep="\n")
        sys.exit("These files differ from what the generator makes: python -m viz_core.training.corpus write")


def _examples(options: argparse.Namespace) -> Iterator[Example]:
    """Iterate over the sentences that the options name, without end."""
    if options.kind:
        rng = Random(options.seed)
        while True:
            sampler = Sampler(rng)
            yield to_example(KINDS[options.kind](sampler), sampler.referent)
    yield from simple_sentences(options.seed) if options.simple else examples(options.seed, held_out=options.held_out)


if __name__ == "__main__":
    main()
