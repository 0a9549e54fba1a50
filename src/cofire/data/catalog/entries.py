"""The table of named data sets: all that the project knows of each, one row each.

All of them are the CTRE paper's, in the order of its tables. A new data set is a row
here and, if its original files have a format of their own, a function in `originals`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cofire.data.catalog import originals


@dataclass(frozen=True)
class Entry:
    """The facts about a data set that are known before it is read."""

    title: str
    """What it is, in a few words."""
    print_name: str
    """Its name in tables and figures, as the paper prints it."""
    sha256: str
    """Of the file that was first made from the source."""
    features: str
    """What the features are, and their range."""
    source: str
    """Who made it, and which rows are the test rows."""
    licence: str
    convert: Callable[[Sequence[Path]], dict[str, np.ndarray]]
    """Turns the original files, in the order of `urls`, into the arrays of our file."""
    content: str = ""
    """`Dataset.digest` of its values: a file that is made again holds the same values
    in other bytes."""
    n_train: int = 0
    n_test: int = 0
    n_features: int = 0
    n_classes: int = 0
    chance: float = 0.0
    """Accuracy, in per cent, of always predicting the largest class."""
    urls: Sequence[str] = ()
    """Where the original files are."""
    any_order: bool = False
    """Whether copies differ in the order of their rows: then `load` sorts them."""
    paper_scale: str = "minmax"
    """How the CTRE paper scales its features: "minmax" or "standard"."""
    paper_test_fraction: float | None = None
    """The fraction of all rows that the CTRE paper tests with; None: the test rows of
    the file."""
    image_shape: tuple[int, int, int] | None = None
    """Height, width and channels of an image; the channel runs fastest."""
    relevant_features: tuple[int, ...] = ()
    """Indices of the features that carry the class, if they are known."""


_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_ISOLET = (
    "https://raw.githubusercontent.com/ma-xu/L21FS/"
    "b9d4e8eb7f6d7b5ccc62f9e638bdaef798b62e5e/data"
)
_COUNTS = (
    "https://raw.githubusercontent.com/jundongl/scikit-feature/master/skfeature/data"
)
_CIFAR = "https://www.cs.toronto.edu/~kriz"
_UCI_LICENCE = "UCI states CC BY 4.0 for its data sets"


def _idx(site: str) -> tuple[str, ...]:
    kinds = ("images-idx3", "labels-idx1")
    return tuple(f"{site}/{p}-{k}-ubyte.gz" for p in ("train", "t10k") for k in kinds)


CATALOG = {
    "madelon": Entry(
        title="Madelon: artificial, two classes, 20 useful features among 500",
        print_name="Madelon",
        sha256="71e59ca4353110189e51df3c6ca8ba821aeb977181f8c452bc783ea0730c7784",
        content="46eb8fc73cd22b14fe92cbee36ac8ac19c9d310fed6b77be1dd33afebb472e48",
        n_train=2000,
        n_test=600,
        n_features=500,
        n_classes=2,
        chance=50.0,
        paper_scale="standard",
        # The challenge never said which they are, the training rows do: these 20 are
        # linear combinations of each other (largest correlation with another feature
        # 0.69 or more), a probe correlates with nothing (0.10 or less).
        relevant_features=(
            *(28, 48, 64, 105, 128, 153, 241, 281, 318, 336),
            *(338, 378, 433, 442, 451, 453, 455, 472, 475, 493),
        ),
        features="500 whole numbers in 0..999; 5 informative, 15 linear combinations "
        "of these, 480 probes that carry no information",
        source="NIPS 2003 feature selection challenge (Guyon et al.), from UCI; the "
        "600 official validation rows are the test set",
        licence=f"{_UCI_LICENCE}; the repository of the copy states none",
        convert=originals.from_text,
        urls=(
            f"{_UCI}/madelon/MADELON/madelon_train.data",
            f"{_UCI}/madelon/MADELON/madelon_train.labels",
            f"{_UCI}/madelon/MADELON/madelon_valid.data",
            f"{_UCI}/madelon/madelon_valid.labels",
        ),
    ),
    "isolet": Entry(
        title="Isolet: spoken letters, 26 classes",
        print_name="Isolet",
        sha256="948bc4b9790fed2fa82876a23c694a3af80987c90a77e09e287badd49baebc78",
        content="3a807205c7773706e489de076349319bf8bdc08f802aad94058b20d4f5245ad7",
        n_train=6238,
        n_test=1559,
        n_features=617,
        n_classes=26,
        chance=4.0,
        paper_test_fraction=0.2,
        features="617 numbers in -1..1 with four decimals: spectral and contour "
        "features of a spoken letter",
        source="UCI ISOLET (Cole and Fanty), the official parts isolet1-4 and isolet5",
        licence=_UCI_LICENCE,
        convert=originals.from_letters,
        urls=(
            *(f"{_ISOLET}/Isolet{part}.mat" for part in (1, 2, 3, 4)),
            f"{_ISOLET}/isolet5.mat",
        ),
    ),
    "mnist": Entry(
        title="MNIST: handwritten digits, 10 classes",
        print_name="MNIST",
        sha256="f9602bf7f0c715401353b3d77e29a1590f7131c624feb72eb84cecb317da8424",
        content="b9f950d800c28d3dc3100a63b214e9a410947ee0f1618d7371764cc22cfc95b2",
        n_train=60000,
        n_test=10000,
        n_features=784,
        n_classes=10,
        chance=11.4,
        image_shape=(28, 28, 1),
        features="28 x 28 grey pixels, row after row, bytes",
        source="LeCun, Cortes, Burges; the official training and test images",
        licence="not stated by the source",
        convert=originals.from_idx,
        urls=_idx("https://ossci-datasets.s3.amazonaws.com/mnist"),
    ),
    "fashion_mnist": Entry(
        title="Fashion-MNIST: pictures of clothes, 10 classes",
        print_name="Fashion-MNIST",
        sha256="bef4b23df451f272d80231f58418e021b11d68e99b1032c7228f63e8d781d9f4",
        content="c86e615d8f0aa1d120dbdcca957e44a25342249a4dbbbb7fde7ed3ce1c060f29",
        n_train=60000,
        n_test=10000,
        n_features=784,
        n_classes=10,
        chance=10.0,
        image_shape=(28, 28, 1),
        features="28 x 28 grey pixels, row after row, bytes",
        source="Zalando Research (Xiao, Rasul, Vollgraf), official split",
        licence="MIT, Zalando SE",
        convert=originals.from_idx,
        urls=_idx("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"),
    ),
    "cifar10": Entry(
        title="CIFAR-10: small colour pictures, 10 classes",
        print_name="CIFAR10",
        sha256="4887ae1507949356f5a84b4dcf2e5c358caac4ae7a5e78c28d38443b569714b1",
        content="8edca682049f0ac45ddf49cb163c52c3c81261ac4c511a7a8ad578526181f533",
        n_train=50000,
        n_test=10000,
        n_features=3072,
        n_classes=10,
        chance=10.0,
        image_shape=(32, 32, 3),
        features="32 x 32 pixels, row after row, each red, green, blue, bytes",
        source="Krizhevsky (2009); batches 1 to 5 and the test batch, in that order",
        licence="not stated by the source",
        convert=originals.from_cifar10,
        urls=(f"{_CIFAR}/cifar-10-binary.tar.gz",),
    ),
    "cifar100": Entry(
        title="CIFAR-100: small colour pictures, 100 classes",
        print_name="CIFAR100",
        sha256="36da1ad7016bbee1e83e3644b08c0bca72411b8db1cc964b2e96176c133adeb7",
        content="0eaaa37ddfc994b3cb9f4df13a8bb1d37057d71dff9fd2dbd1a711542f7df315",
        n_train=50000,
        n_test=10000,
        n_features=3072,
        n_classes=100,
        chance=1.0,
        image_shape=(32, 32, 3),
        features="32 x 32 pixels, row after row, each red, green, blue, bytes",
        source="Krizhevsky (2009), official split, the 100 fine classes; rows in the "
        "order of their sha256, since copies differ in theirs",
        licence="not stated by the source",
        convert=originals.from_cifar100,
        urls=(f"{_CIFAR}/cifar-100-binary.tar.gz",),
        any_order=True,
    ),
    "pcmac": Entry(
        title="PCMAC: newsgroups on PCs and on Macs, 2 classes",
        print_name="PCMAC",
        sha256="d21ab4559b812603112acc030e0631ef52775531318061d13c6290f3c4361169",
        content="6403b2608455851b8748854a30af4870eebe18cee256c7420ba6af90528908d4",
        n_train=1554,
        n_test=389,
        n_features=3289,
        n_classes=2,
        chance=50.9,
        features="how often each of 3289 words occurs: sparse, bytes",
        source="20 Newsgroups, from scikit-feature; no official split: the paper's",
        licence="not stated by the source",
        convert=originals.from_counts,
        urls=(f"{_COUNTS}/PCMAC.mat",),
    ),
    "basehock": Entry(
        title="BASEHOCK: newsgroups on baseball and on hockey, 2 classes",
        print_name="BASEHOCK",
        sha256="f3de120ec262129bec277204a783378f66440e558626c80e9dd44d7e3ad6a91f",
        content="11af4411681d9efdd61f21e9989cc40469a51e1fcf578b8bc65fca60c49d7d8f",
        n_train=1594,
        n_test=399,
        n_features=4862,
        n_classes=2,
        chance=51.6,
        features="how often each of 4862 words occurs: sparse, bytes",
        source="20 Newsgroups, from scikit-feature; no official split: the paper's",
        licence="not stated by the source",
        convert=originals.from_counts,
        urls=(f"{_COUNTS}/BASEHOCK.mat",),
    ),
}
