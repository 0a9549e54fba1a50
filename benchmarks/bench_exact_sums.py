"""What double sums cost: one batch of 4,096 rows beside two of 2,048, one thread.

One batch that holds all rows is summed in double (docs/decisions/0003), two are not;
everything else is the same work. Best of 15, interleaved.
"""

import time

import numpy as np

from cofire import engine
from cofire.core.optimizers import SGD
from cofire.topology.create import create_network
from cofire.topology.density import connections_per_layer

N_ROWS, SIZES = 4096, [784, 1000, 1000, 1000, 10]


def main():
    rng = np.random.default_rng(0)
    rows = engine.Rows(rng.standard_normal((N_ROWS, SIZES[0]), dtype=np.float32))
    labels = rng.integers(0, SIZES[-1], N_ROWS).astype(np.int32)
    for epsilon in (1, 13):
        network = create_network(
            SIZES,
            connections_per_layer(SIZES, epsilon),
            init="normal",
            activation="relu",
            output="softmax",
            seed=0,
        )
        optimizer = SGD()
        optimizer.start(network)
        seconds = {N_ROWS: [], N_ROWS // 2: []}
        for _ in range(15):
            for batch_size, times in seconds.items():
                start = time.perf_counter()
                engine.train_epoch(
                    network,
                    optimizer,
                    rows,
                    labels,
                    order=np.arange(N_ROWS),
                    batch_size=batch_size,
                )
                times.append(time.perf_counter() - start)
        in_double, in_float = (min(times) for times in seconds.values())
        print(f"epsilon {epsilon}: {in_double / in_float:.2f} times as long")


if __name__ == "__main__":
    main()
