"""Training jobs on the server: they continue when a page is left, are queued, can be paused, and resume from saved state.

    engine           the interface for pages: submit, pause, resume, single step, stop, view
    job              one job and its runs, as the server keeps them
    job_queue        all jobs of a server: the queue, and a bound on the memory they take
    capacity         how many runs train at once, and estimated start times of queued jobs
    dispatcher       assigns runs to workers, in its own thread
    run_attempt      one run on one worker, from its start to its end
    worker_pool      the workers: local processes of this server, or those of a cluster
    worker_plugin    on a worker: the assigned tasks
    mailbox          on a worker: updates of a task that wait to be fetched
    train_loop       on a worker: the training loop
    protocol         the messages between server and workers
    timeouts         all time limits

Built on Dask distributed, either embedded in the server or on a cluster whose scheduler address is in the variable
ATTENTION_LAB_SCHEDULER.
"""
