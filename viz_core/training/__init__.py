"""Training: the training step and its optimizers.

    corpus        the generator of the training sentences
    shipped       how the shipped checkpoints are trained and evaluated
    interactive   a training while a visitor watches
    jobs          trainings as jobs of the server
"""
