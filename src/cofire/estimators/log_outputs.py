"""Logarithms of probabilities, also of those that float32 cannot hold."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from cofire import engine
from cofire.core.network import SparseNetwork
from cofire.estimators.holdout import outputs_of

EXACT_BELOW = 1e-30
"""Smaller probabilities are rounded (none is below about 1e-38): their logarithms come
from the outputs before softmax or sigmoid."""


def log_outputs_of(
    networks: Sequence[SparseNetwork], rows: engine.Rows, n_threads: int, name: str
) -> np.ndarray:
    """Logarithms of the mean probabilities of networks: float32."""
    probability = outputs_of(networks, rows, n_threads, name)
    small = probability < EXACT_BELOW
    with np.errstate(divide="ignore"):
        logs = np.log(probability)
    if small.any():
        each = [_logs(network, rows, n_threads, name) for network in networks]
        exact = logsumexp(each, axis=0) - np.log(len(networks))
        logs[small] = exact[small]
    return logs


def _logs(
    network: SparseNetwork, rows: engine.Rows, n_threads: int, name: str
) -> np.ndarray:
    """Logarithms of the probabilities of one network: float64."""
    plain = replace(network, output="identity")
    scores = outputs_of([plain], rows, n_threads, name).astype(np.float64)
    if network.output == "sigmoid":
        return -np.logaddexp(0.0, -scores)
    return scores - logsumexp(scores, axis=1, keepdims=True)
