"""The parameters that both estimators have, group by group, each written once."""

from collections.abc import Mapping
from numbers import Integral, Real
from os import PathLike
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from cofire.core.network import ACTIVATIONS
from cofire.core.optimizers import OPTIMIZERS
from cofire.engine import Augmentation
from cofire.estimators.declaration import Group, choice, with_parameters
from cofire.methods import Method
from cofire.search import SIMILARITIES, Similarity
from cofire.topology.create import INITS
from cofire.training.schedules import DROP_SCHEDULES, RATE_SCHEDULES

# Parameters that name one of several things: a wrong one gets a suggestion.
CHOICES: dict[str, Any] = {
    "activation": ACTIVATIONS,
    "init": INITS,
    "drop_schedule": DROP_SCHEDULES,
    "similarity": SIMILARITIES,
    "solver": OPTIMIZERS,
    "learning_rate": RATE_SCHEDULES,
    "last_batch": ("train", "drop"),
}

_POSITIVE = Interval(Real, 0, None, closed="neither")
_NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
_FRACTION = Interval(Real, 0, 1, closed="left")  # but not all
_COUNT = Interval(Integral, 1, None, closed="left")

INPUTS = Group("Inputs")
NETWORK = Group("Network")
SPARSITY = Group("Sparsity")
REWIRING = Group("Rewiring")
OPTIMISER = Group("Optimiser")
BATCHES = Group("Batches")
REGULARISATION = Group("Regularisation")
STOPPING = Group("Validation and stopping")
RUNNING = Group("Running")


@with_parameters
class Parameters(BaseEstimator):
    """What a user may set; `plan` checks it and says what follows from it."""

    # ---- network --------------------------------------------------------------------

    hidden_layer_sizes: Any = NETWORK(
        "int or sequence of int",
        ["array-like", _COUNT],
        "Neurons in each hidden layer.",
        default=(200, 200),
        by_name=False,
    )
    activation: str = NETWORK(
        choice(ACTIVATIONS),
        [str],
        "Of the hidden layers; leaky ReLU has slope 0.01 below zero.",
        default="relu",
    )
    init: str = NETWORK(
        choice(INITS),
        [str],
        """First weights: "normal" N(0, 0.1^2), "small_normal" N(0, 0.05^2), "glorot"
        uniform with the fans of the full layer, "sparse_aware" normal by the number of
        connections that each neuron really has.""",
        default="small_normal",
    )

    n_networks: int = NETWORK(
        "int",
        [_COUNT],
        """Networks that are trained side by side, each from a seed of its own; their
        outputs are averaged. Callbacks watch the first of them.""",
        default=4,
    )

    # ---- inputs ---------------------------------------------------------------------

    standardize: bool = INPUTS(
        "bool",
        ["boolean"],
        """Take X as it is: each feature is centred and scaled by what fit learns of it,
        robustly; values far out are bent towards the others. Missing values (NaN) and
        DataFrames with columns of categories are allowed. A sparse X is only scaled,
        bytes (uint8) stay bytes. Without it, the network gets the values as they
        are.""",
        default=True,
    )

    n_pieces: int | None = INPUTS(
        "int or None",
        [Interval(Integral, 0, None, closed="left"), None],
        """With standardize, a column of numbers of a dense X also enters in pieces:
        inputs that each rise within a part of its range and are flat elsewhere, so that
        the network can bend its function there as trees cut it. At most this many per
        column; None: 4 to 32, more for more rows, and none where there are many
        columns, for bytes and with augmentation; 0: none.""",
        default=None,
    )

    # ---- sparsity -------------------------------------------------------------------

    epsilon: float | None = SPARSITY(
        "float or None",
        [_POSITIVE, None],
        """A layer gets epsilon * (n_in + n_out) connections, at most all of them; None:
        a number from 1 to 25, larger for more rows, smaller for very wide tables.
        (scikit-learn's `epsilon`, the constant of Adam, is `adam_epsilon` here.)""",
        default=None,
    )
    density: float | None = SPARSITY(
        "float or None",
        [Interval(Real, 0, 1, closed="right"), None],
        """Fraction of all possible connections that shall exist, in (0, 1]; takes
        precedence over epsilon.""",
        default=None,
    )

    # ---- rewiring -------------------------------------------------------------------

    method: str | Method = REWIRING(
        "str or Method",
        [str, Method],
        """How connections change: a name in `cofire.METHODS` ("cofire", "ctre_sim",
        "ctre_seq", "set", "rigl", "snip", "static", "dense", an ablation of CTRE, or
        one that another package adds), or a method object with its own settings.""",
        default="cofire",
    )
    method_options: dict[str, Any] | None = REWIRING(
        "dict or None",
        [dict, None],
        """Settings for the method of that name, such as {"returning": "kept"}; those
        that it does not have but another method has are ignored.""",
        default=None,
    )
    drop_fraction: float = REWIRING(
        "float",
        [_FRACTION],
        "Fraction of each layer's connections that is replaced at an update.",
        default=0.2,
    )
    drop_schedule: str | None = REWIRING(
        f"{choice(DROP_SCHEDULES)} or None",
        [str, None],
        """Whether that fraction stays, or falls to 0 until update_stop; None: "cosine",
        in partial_fit "constant".""",
        default=None,
    )
    update_interval: int | str | None = REWIRING(
        'int, "epoch" or None',
        [_COUNT, StrOptions({"epoch"}), None],
        """Optimiser steps from one update of the topology to the next (RigL's delta T);
        "epoch": one update before every epoch but the first; None: 100 steps, more
        where there are many rows.""",
        default=None,
    )
    update_stop: float = REWIRING(
        "float",
        [Interval(Real, 0, 1, closed="both")],
        """The fraction of the fit after which the topology stays as it is (RigL's
        T_end). drop_schedule="cosine" reaches 0 there.""",
        default=0.75,
    )
    similarity: str | Similarity = REWIRING(
        f"{choice(SIMILARITIES)} or cofire.similarity.Similarity",
        [str, Similarity],
        """How pairs of neurons that fire alike are searched: "screened" finds nearly
        the best at a small part of the cost, "exact" the very best, "linear" good ones
        in layers of any width.""",
        default="screened",
    )

    # ---- optimiser ------------------------------------------------------------------

    solver: str = OPTIMISER(
        choice(OPTIMIZERS),
        [str],
        "Stochastic gradient descent with momentum, or Adam.",
        default="sgd",
    )
    learning_rate: str | Mapping[int, float] | None = OPTIMISER(
        f"{choice(RATE_SCHEDULES)}, dict or None",
        [str, dict, None],
        """How the rate changes from epoch to epoch: "cosine" falls to 0 over the fit,
        "adaptive" is divided by 5 when the training loss has not fallen for two epochs.
        A dict gives factors by the number of the epoch from which they apply:
        {60: 1 / 3, 80: 1 / 3}. None: "cosine", in partial_fit "constant".""",
        default=None,
    )
    learning_rate_init: float | None = OPTIMISER(
        "float or None",
        [_POSITIVE, None],
        """The learning rate at the beginning; None: 0.15 for SGD and 0.003 for Adam, a
        third of it if it stays constant.""",
        default=None,
    )
    momentum: float = OPTIMISER(
        "float",
        [Interval(Real, 0, 1, closed="both")],
        "Momentum of SGD.",
        default=0.9,
    )
    nesterovs_momentum: bool = OPTIMISER(
        "bool", ["boolean"], "Whether SGD uses Nesterov's momentum.", default=False
    )
    beta_1: float = OPTIMISER(
        "float", [_FRACTION], "Adam's decay of the first moment.", default=0.9
    )
    beta_2: float = OPTIMISER(
        "float", [_FRACTION], "Adam's decay of the second moment.", default=0.999
    )
    adam_epsilon: float = OPTIMISER(
        "float",
        [_POSITIVE],
        "Adam's constant against division by 0 (scikit-learn's `epsilon`).",
        default=1e-8,
    )

    # ---- batches --------------------------------------------------------------------

    batch_size: int | None = BATCHES(
        "int or None", [_COUNT, None], "Rows per step; None: 64.", default=None
    )
    last_batch: str = BATCHES(
        choice(CHOICES["last_batch"]),
        [str],
        "What to do with a last batch that is not full.",
        default="train",
    )
    shuffle: bool = BATCHES(
        "bool",
        ["boolean"],
        "Whether rows come in a new order in each epoch.",
        default=True,
    )

    # ---- regularisation -------------------------------------------------------------

    alpha: float | None = REGULARISATION(
        "float or None",
        [_NOT_NEGATIVE, None],
        """Strength of the L2 penalty alpha / 2 * ||W||^2 on weights (not biases).
        Unlike scikit-learn's it is not divided by the batch size. None: 0.0005; for a
        regressor 5 / number of rows, from 0.0002 to 0.01.""",
        default=None,
    )
    input_dropout: float | None = REGULARISATION(
        "float or None",
        [_FRACTION, None],
        """In training each value of a row is set to 0 with this probability, drawn
        again in every pass, and otherwise multiplied by 1 / (1 - input_dropout). None:
        0.1, for a regressor 0.05.""",
        default=None,
    )
    augmentation: Augmentation | None = REGULARISATION(
        "cofire.Augmentation or None",
        [Augmentation, None],
        """For rows that are images: training flips and shifts them at random,
        differently in every epoch. X must not be sparse.""",
        default=None,
    )

    # ---- validation and stopping ----------------------------------------------------

    max_iter: int | None = STOPPING(
        "int or None",
        [_COUNT, None],
        """Number of epochs, each one pass over the rows. Exactly this many run, unless
        early_stopping or a callback ends the fit. None: 2,000 steps, or as many as 15
        passes have; an epoch then has 100 steps or a fiftieth of all, whatever is more
        (docs/schedule.md).""",
        default=None,
    )
    early_stopping: bool = STOPPING(
        "bool",
        ["boolean"],
        """Hold out validation_fraction of the rows (stratified) and stop when their
        score has not improved for n_iter_no_change epochs.""",
        default=False,
    )
    validation_fraction: float = STOPPING(
        "float",
        [Interval(Real, 0, 1, closed="neither")],
        """Fraction of the rows that is held out where validation data are needed and
        none are given to fit.""",
        default=0.1,
    )
    n_iter_no_change: int | None = STOPPING(
        "int or None",
        [_COUNT, None],
        """Epochs without a better validation score before early_stopping ends the fit;
        None: 40, or 10 where max_iter is None.""",
        default=None,
    )
    restore_best: bool = STOPPING(
        "bool",
        ["boolean"],
        """With validation data, end with the network (weights and topology) of the
        epoch with the best score.""",
        default=True,
    )

    # ---- running --------------------------------------------------------------------

    warm_start: bool = RUNNING(
        "bool",
        ["boolean"],
        """Let fit continue with the network of the fit before, for max_iter more
        epochs.""",
        default=False,
    )
    random_state: Any = RUNNING(
        "int, RandomState or None",
        ["random_state"],
        "The same seed gives the same bits for any number of threads.",
        default=None,
    )
    n_jobs: int | None = RUNNING(
        "int or None",
        [Integral, None],
        "Threads; None means all cores, and 1 inside a joblib worker.",
        default=None,
    )
    checkpoint: str | PathLike[str] | None = RUNNING(
        "path of a folder, or None",
        [str, PathLike, None],
        """Where fit writes its state every 10 epochs and at the end. The same fit again
        (data, parameters, random_state) continues where it was interrupted, to the bit;
        another fit gets a sub-folder of its own. Without a random_state, a fit that had
        finished starts from scratch. `cofire.callbacks.Checkpoint` sets how often.""",
        default=None,
    )
    callbacks: Any = RUNNING(
        "sequence of cofire.callbacks.Callback",
        ["array-like"],
        "What watches the training: monitors, early stopping, checkpoints.",
        default=(),
    )
    verbose: int = RUNNING(
        "int",
        ["verbose"],
        "1 shows a progress bar or, where the output is no terminal, a line per epoch.",
        default=0,
    )

    # Parameters of the classifier; a regressor has their neutral values.
    class_weight = None
    label_smoothing = 0.0
