"""Interactive training: small tasks, single runs taken step by step, and experiments that vary one factor.

    tasks                    the tasks: batches, held-out rows, and a visitor's sentence as task input
    recipe                   all settings of a training run, validated
    cost                     estimated duration and memory of a run
    training_run             one resumable training run
    run_history              the snapshots and metrics kept of a run
    experiment               runs that differ in one factor, over several seeds
    results                  mean curves over the seeds, and comparisons of the conditions
    predefined_experiments   the experiments that the app offers
    measurement              their stored results, which the page shows first
    answers                  the model's predictions on a visitor's sentence
    trained_weights          trained weights as a `Card` and as a file
    induction_scores         the induction score of each attention head
    length_grid              accuracy at sequence lengths other than the training length
"""
