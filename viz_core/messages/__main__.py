"""Write the template of all messages, or create or update the catalogue of a language.

    python -m viz_core.messages > messages.pot    # all messages, for a translation editor
    python -m viz_core.messages de                # viz_core/messages/de.po: adds new messages, keeps translations
"""

import sys
from dataclasses import replace
from pathlib import Path

from viz_core.messages import FOLDER
from viz_core.messages.collect import collect, collection_errors
from viz_core.messages.po import ENGLISH_PLURAL_RULE, HEADER, Entry, build_catalogue, read_po, write_po


def update_catalogue(file: Path) -> str:
    """Write a catalogue with all messages and its existing translations. Return a sentence on the result.

    Translations of messages that are not in the source are kept as comments.
    """
    text = file.read_text("utf-8") if file.exists() else ""
    old = list(read_po(text))
    header = next((e.forms[0] for e in old if not e.message), HEADER % ENGLISH_PLURAL_RULE)
    kept = {e.message: e for e in old if e.message}
    new = []
    for entry in collect():
        known = kept.pop(entry.message, None)
        same = known is not None and known.plural == entry.plural
        new.append(replace(entry, forms=known.forms, is_active=known.is_active) if known and same else entry)
    file.write_text(write_po(new, header, [e for e in kept.values() if any(e.forms)], text), "utf-8")
    translated, problems = build_catalogue(file.stem, [Entry("", forms=(header,)), *new])
    return "\n".join([f"{file}: {len(translated.forms)} of {len(new)} messages are translated.", *problems])


def main(arguments: list[str]) -> int:
    """Run the command. Return exit code 1, and print the reason, if a message cannot be collected."""
    for fault in collection_errors():
        print(fault, file=sys.stderr)
    if arguments:
        print(update_catalogue(FOLDER / f"{arguments[0]}.po"))
    else:
        sys.stdout.write(write_po(collect()))
    return 1 if collection_errors() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
