"""FitEnergy: what a fit has used so far, with what it continues."""

from cofire.energy import Energy, Meter


class FitEnergy:
    """The energy of a fit that runs, and of all that it continues.

    The counters are those of whole processors, so one meter counts for all networks of
    a fit. A checkpoint says what the fit, with all its networks, had used when it was
    written: of the checkpoints that a fit resumes from, the largest figure counts. What
    came after the last of them is lost, energy and epochs alike.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._before: Energy | None = None
        self._complete = True

    def continues(self, before: Energy | None) -> None:
        """Take in what an earlier part used; None: it does not say, and is missing."""
        if before is None:
            self._complete = False
        elif self._before is None or before.joules > self._before.joules:
            self._before = before

    @property
    def total(self) -> Energy:
        """What was used so far."""
        now = self._meter.energy
        total = now if self._before is None else self._before + now
        return total if self._complete else total.with_a_part_missing()
