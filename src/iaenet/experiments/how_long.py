"""How long the rows of a table were trained, and how many trials went into them, in words."""

from iaenet.experiments.result import Result


def how_long(result: Result) -> list[str]:
    """Two sentences: on seconds, and on trials."""
    seconds = f"{result['budget_seconds']:g} seconds"
    trials = "Trials: trainings that were compared to find a row's settings"
    by_hand = f"{trials}, by hand (to the nearest ten, before a plus sign) "
    if result.get("clock") != "processor":  # measured before trainings had a budget of their own
        return [
            f"Every row gets the epochs that {seconds} of training pay for, at the learning rate that did best on the "
            "validation samples in short trials. Seconds in the table are by the clock, with whatever else the machine "
            "was doing. The best epoch is that of the lowest validation error.",
            f"{by_hand}and of learning rates.",
        ]
    return [
        f"Every row is trained for {seconds} of a processor, or for the part of them that its name says, set-up and "
        "validation included, at the learning rate that did best on the validation samples in short trials. The best "
        "epoch is that of the lowest validation error.",
        f"{by_hand}and by the command: of learning rates, and of networks for IAE-Net (ours), within its seconds.",
    ]
