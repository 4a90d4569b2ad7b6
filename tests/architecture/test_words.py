"""What no file says: where it was written, or where packages are fetched from."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORBIDDEN = {
    "a path of one machine": r"(?<![\w.:~/-])/(?:work|farm|tmp|root)/\w|(?<![\w./-])/(?:home|Users)/\w|[A-Z]:\\Users\\",
    "the address of a registry": r"\b(?:pypi|pythonhosted|npmjs|anaconda)\.(?:org|com)\b|(?:extra.)?index[-_]url"
    r"|download\.pytorch\.org|find[-_]links",
}


def forbidden(text: str) -> list[str]:
    """Every forbidden thing in the text, with the number of its line."""
    lines = text.splitlines()
    return [
        f"{number}: {what}: {line.strip()[:80]}"
        for what, pattern in FORBIDDEN.items()
        for number, line in enumerate(lines, start=1)
        if re.search(pattern, line)
    ]


def test_no_file_names_a_machine_or_a_registry() -> None:
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]
    texts = {path: data.decode("utf-8") for path in paths if b"\0" not in (data := path.read_bytes())}
    assert texts
    assert not [f"{path.relative_to(ROOT)}:{wrong}" for path, text in texts.items() for wrong in forbidden(text)]


@pytest.mark.parametrize(
    "text", ["open('|tmp|x.npz')", "cd |work|main", "see |home|ada|lab", "https:||py^pi.org|simple", "--index^-url x"]
)
def test_a_forbidden_word_is_found(text: str) -> None:
    assert forbidden(text.replace("|", "/").replace("^", ""))  # so that this file holds none


@pytest.mark.parametrize("text", ["tests/work/shop.py", "https://a.org/home/page", "/usr/bin/chromium", "/tmpl/y"])
def test_an_innocent_word_is_not(text: str) -> None:
    assert not forbidden(text)
