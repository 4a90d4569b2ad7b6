"""Trainings as jobs of the server: they outlive a page, wait their turn, can be paused, and go on from what was stored.

    engine        for pages: submit, pause, go on, one step, stop, look
    job           one job and its runs, as the server remembers them
    board         all jobs of a server: the queue, and a bound on what they keep
    waiting       how many runs go on at once, and when one that waits will begin
    dispatcher    which run goes to which worker, and when; in a thread of its own
    attempt       one run at one worker, from its start to whatever ends it
    hub           the workers: processes of this server, or those of a cluster
    desk, box     at a worker: the orders that lie there, and what waits to be fetched
    labour        at a worker: the steps themselves
    messages      what travels between them
    times         how long things may take

Dask distributed carries it, embedded in the server or on a cluster whose scheduler the variable ATTENTION_LAB_SCHEDULER names.
"""
