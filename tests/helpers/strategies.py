"""What hypothesis may draw: any legal layer."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cofire.core.layer import SparseLayer

# Repeated values are common in such arrays: ties are tested without asking for them.
values = st.floats(-2, 2, width=32, allow_subnormal=False)


@st.composite
def layers(draw, min_nnz=0, max_neurons=8):
    """Draw a layer: neurons without connections, full, one neuron, one connection."""
    n_in = draw(st.integers(1, max_neurons))
    n_out = draw(st.integers(1, max_neurons))
    every = range(n_in * n_out)
    some = st.sets(st.sampled_from(every), min_size=min(min_nnz, len(every)))
    indices = sorted(draw(some | st.just(every)))
    weights = draw(arrays(np.float32, len(indices), elements=values))
    bias = draw(arrays(np.float32, n_out, elements=values))
    return SparseLayer.from_flat_indices(indices, weights, bias, n_in, n_out)
