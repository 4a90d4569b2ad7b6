"""Training in front of a person: small tasks, one run step by step, and experiments in which one factor changes.

    tasks           what there is to learn: batches, held-out rows, and a person's own sentence as a task's symbols
    recipe          everything that a run depends on, checked at the door
    cost            how long a run takes and how much memory, before it starts
    training_run    one run: a step, its numbers, its state as bytes, and the run that goes on from there
    moments         what is kept of a run, so that one can go back in its time
    arms            runs that differ in one factor, over several seeds, and the weights that they share
    curves          their mean and band, and whether they differ by more than the seeds do
    setups          the experiments that the app offers
    measurement     what is stored of them, which the page opens with
    induction       the score of each head as an induction head
    length_grid     accuracy at other lengths than those of the training
"""
