"""Memory of one run serves the next: counted in page faults by the operating system, each way in a process of its own."""

import os
import platform
import subprocess
import sys

import pytest

COUNT = """
import resource
from viz_core import run as runs
from viz_core.config import TransformerConfig
if {off}:
    runs.keep_freed_pages = lambda: False
config = TransformerConfig(architecture="encoder-only", d_model=256, source_vocab_size=500)
model, batch = runs.build(config), runs.prepare(config, [list(range(1, 65))] * 4, None)
for _ in range(3):
    capture = runs.trace(model, batch)
    del capture
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    capture = runs.trace(model, batch)
    nbytes = capture.nbytes
    del capture
print(nbytes // resource.getpagesize(), (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 3)
"""


def faults(off: bool) -> tuple[int, int]:
    """Pages of a capture, and page faults of a run that comes after others, where the system's policy is to give back."""
    gives_back = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", COUNT.format(off=off)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=gives_back)
    pages, count = map(int, done.stdout.split())
    return pages, count


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has a policy of its own")
def test_a_run_reuses_the_pages_of_the_last() -> None:
    pages, kept = faults(off=False)
    _, returned = faults(off=True)
    assert returned > 0.5 * pages  # what there is to save
    assert kept < 0.1 * returned
