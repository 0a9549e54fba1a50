"""Pictures of fitted models, in the manner of scikit-learn's displays.

`SomeDisplay.from_estimator(model)` draws on new axes, or on `ax=`; the display that it
returns has `ax_`, `figure_`, the numbers that were drawn, and `plot` to draw again.
matplotlib is imported when something is drawn: pip install 'cofire[plot]'.
"""

from cofire.plot.connectivity import ConnectivityDisplay
from cofire.plot.degrees import DegreeDisplay
from cofire.plot.front import FrontDisplay
from cofire.plot.gate import GateDisplay
from cofire.plot.importances import ImportancesDisplay
from cofire.plot.learning import LearningCurveDisplay
from cofire.plot.rewiring import RewiringDisplay
from cofire.plot.timelapse import InputTimelapse
from cofire.plot.tradeoff import AccuracyConnectionsDisplay

__all__ = [
    "AccuracyConnectionsDisplay",
    "ConnectivityDisplay",
    "DegreeDisplay",
    "FrontDisplay",
    "GateDisplay",
    "ImportancesDisplay",
    "InputTimelapse",
    "LearningCurveDisplay",
    "RewiringDisplay",
]
