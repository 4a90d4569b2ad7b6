"""One setting of the C library's allocator, for runs that keep what they compute."""

import ctypes
from functools import lru_cache

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # mallopt(3)
LARGEST_BLOCK = 2**30


@lru_cache(maxsize=1)
def keep_freed_pages() -> bool:
    """Let the process keep freed memory for the next run; whether the C library could be asked (glibc can).

    A recorded run allocates every tensor anew. By default large blocks go back to the operating system when a capture
    is dropped, and each page of the next one faults again: up to a fifth of a run's time.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library: it has a policy of its own
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK) and mallopt(M_TRIM_THRESHOLD, LARGEST_BLOCK))
