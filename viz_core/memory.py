"""What the app asks of the C library's allocator, which by itself serves one long program rather than many threads."""

import ctypes
import gc
from contextlib import suppress
from functools import lru_cache

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # mallopt(3)
LARGE = 2**23  # bytes of a block that goes back by itself: asking for it again costs little beside filling it


@lru_cache(maxsize=1)
def keep_freed_pages() -> bool:
    """Let the process keep freed memory for the next run; whether the C library could be asked (glibc can).

    A recorded run allocates every tensor anew. By default large blocks go back to the operating system when a capture
    is dropped, and each page of the next one faults again: up to a fifth of a run's time. Only the largest still do. All
    threads share one heap, or each of them would keep what it has freed to itself.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library: it has a policy of its own
        return False
    return bool(mallopt(M_ARENA_MAX, 1) and mallopt(M_MMAP_THRESHOLD, LARGE) and mallopt(M_TRIM_THRESHOLD, 2**30))


def give_back(look: bool) -> None:
    """Return what nobody refers to any more to the operating system, where the C library can be asked (glibc can).

    look: for objects that refer to each other, too. Python by itself does so only once in thousands of page runs, and no
    page runs meanwhile.
    """
    if look:
        gc.collect()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
