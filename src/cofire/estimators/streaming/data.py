"""StreamedData: what training learns from, where memory does not hold all rows."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from cofire.estimators.streaming.feed import Feed
from cofire.estimators.streaming.layout import Layout, StreamSteps
from cofire.training.progress import Block, TrainingData
from cofire.training.settings import Settings
from cofire.training.steps import Steps, Stretch


@dataclass(frozen=True, kw_only=True)
class StreamedData(TrainingData):
    """Rows that come in blocks. `rows`, `targets`, `row_ids` are those of the sample.

    Searches, measures and judgements look at the sample; steps take the blocks.
    """

    shares_rows: ClassVar[bool] = True
    feed: Feed
    layout: Layout
    _self: Any = field(default_factory=object)
    """By which the feed knows this network."""

    def steps(self, settings: Settings, seed: int) -> Steps:
        return StreamSteps(self.row_ids, settings, seed, self.layout)

    def blocks(self, steps: Steps, stretch: Stretch) -> Iterator[Block]:
        layout = self.layout
        for part in layout.parts(steps, stretch):
            loaded = self.feed.get(self._self, part.block)
            order = layout.order(part.block, steps.settings, steps.seed)
            yield Block(
                loaded.rows,
                loaded.targets,
                loaded.sample_weight,
                order[part.begin : part.end],
                part.first_step,
                loaded.numbers,
            )

    def join(self) -> None:
        self.feed.join(self._self)

    def leave(self) -> None:
        self.feed.leave(self._self)

    def abandon(self) -> None:
        self.feed.stop()
