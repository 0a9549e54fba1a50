"""The table of named data sets: checksums, sizes, source, licence; one row each.

All of them are the CTRE paper's. `sha256` is that of the file that was first made from
the source, `content` that of the values in it (`Dataset.digest`): a file that is made
anew holds the same values in other bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """What is known of a data set before it is read."""

    title: str
    sha256: str
    features: str
    source: str
    licence: str
    content: str = ""
    n_train: int = 0
    n_test: int = 0
    n_features: int = 0
    n_classes: int = 0
    urls: Sequence[str] = ()
    """Where the original files are, in the order that `originals` reads them."""
    any_order: bool = False
    """Whether copies differ in the order of rows: then `load` gives it its own."""


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
        sha256="71e59ca4353110189e51df3c6ca8ba821aeb977181f8c452bc783ea0730c7784",
        content="46eb8fc73cd22b14fe92cbee36ac8ac19c9d310fed6b77be1dd33afebb472e48",
        n_train=2000,
        n_test=600,
        n_features=500,
        n_classes=2,
        features="500 whole numbers in 0..999; 5 informative, 15 linear combinations "
        "of these, 480 probes that say nothing",
        source="NIPS 2003 feature selection challenge (Guyon et al.), from UCI; the "
        "600 official validation rows are the test set",
        licence=f"{_UCI_LICENCE}; the copied repository none",
        urls=(
            f"{_UCI}/madelon/MADELON/madelon_train.data",
            f"{_UCI}/madelon/MADELON/madelon_train.labels",
            f"{_UCI}/madelon/MADELON/madelon_valid.data",
            f"{_UCI}/madelon/madelon_valid.labels",
        ),
    ),
    "isolet": Entry(
        title="Isolet: spoken letters, 26 classes",
        sha256="948bc4b9790fed2fa82876a23c694a3af80987c90a77e09e287badd49baebc78",
        content="3a807205c7773706e489de076349319bf8bdc08f802aad94058b20d4f5245ad7",
        n_train=6238,
        n_test=1559,
        n_features=617,
        n_classes=26,
        features="617 numbers in -1..1 with four decimals: spectral and contour "
        "features of a spoken letter",
        source="UCI ISOLET (Cole and Fanty), the official parts isolet1-4 and isolet5",
        licence=_UCI_LICENCE,
        urls=(
            *(f"{_ISOLET}/Isolet{part}.mat" for part in (1, 2, 3, 4)),
            f"{_ISOLET}/isolet5.mat",
        ),
    ),
    "mnist": Entry(
        title="MNIST: handwritten digits, 10 classes",
        sha256="f9602bf7f0c715401353b3d77e29a1590f7131c624feb72eb84cecb317da8424",
        content="b9f950d800c28d3dc3100a63b214e9a410947ee0f1618d7371764cc22cfc95b2",
        n_train=60000,
        n_test=10000,
        n_features=784,
        n_classes=10,
        features="28 x 28 grey pixels, row after row, bytes",
        source="LeCun, Cortes, Burges; the official training and test images",
        licence="not stated by the source",
        urls=_idx("https://ossci-datasets.s3.amazonaws.com/mnist"),
    ),
    "fashion_mnist": Entry(
        title="Fashion-MNIST: pictures of clothes, 10 classes",
        sha256="bef4b23df451f272d80231f58418e021b11d68e99b1032c7228f63e8d781d9f4",
        content="c86e615d8f0aa1d120dbdcca957e44a25342249a4dbbbb7fde7ed3ce1c060f29",
        n_train=60000,
        n_test=10000,
        n_features=784,
        n_classes=10,
        features="28 x 28 grey pixels, row after row, bytes",
        source="Zalando Research (Xiao, Rasul, Vollgraf), official split",
        licence="MIT, Zalando SE",
        urls=_idx("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"),
    ),
    "cifar10": Entry(
        title="CIFAR-10: small colour pictures, 10 classes",
        sha256="4887ae1507949356f5a84b4dcf2e5c358caac4ae7a5e78c28d38443b569714b1",
        content="8edca682049f0ac45ddf49cb163c52c3c81261ac4c511a7a8ad578526181f533",
        n_train=50000,
        n_test=10000,
        n_features=3072,
        n_classes=10,
        features="32 x 32 pixels, row after row, each red, green, blue, bytes",
        source="Krizhevsky (2009); batches 1 to 5 and the test batch, in that order",
        licence="not stated by the source",
        urls=(f"{_CIFAR}/cifar-10-binary.tar.gz",),
    ),
    "cifar100": Entry(
        title="CIFAR-100: small colour pictures, 100 classes",
        sha256="36da1ad7016bbee1e83e3644b08c0bca72411b8db1cc964b2e96176c133adeb7",
        content="0eaaa37ddfc994b3cb9f4df13a8bb1d37057d71dff9fd2dbd1a711542f7df315",
        n_train=50000,
        n_test=10000,
        n_features=3072,
        n_classes=100,
        features="32 x 32 pixels, row after row, each red, green, blue, bytes",
        source="Krizhevsky (2009), official split, the 100 fine classes; rows in the "
        "order of their sha256, since copies differ in theirs",
        licence="not stated by the source",
        urls=(f"{_CIFAR}/cifar-100-binary.tar.gz",),
        any_order=True,
    ),
    "pcmac": Entry(
        title="PCMAC: newsgroups on PCs and on Macs, 2 classes",
        sha256="d21ab4559b812603112acc030e0631ef52775531318061d13c6290f3c4361169",
        content="6403b2608455851b8748854a30af4870eebe18cee256c7420ba6af90528908d4",
        n_train=1554,
        n_test=389,
        n_features=3289,
        n_classes=2,
        features="how often each of 3289 words occurs: sparse, bytes",
        source="20 Newsgroups, from scikit-feature; no official split: the paper's",
        licence="not stated by the source",
        urls=(f"{_COUNTS}/PCMAC.mat",),
    ),
    "basehock": Entry(
        title="BASEHOCK: newsgroups on baseball and on hockey, 2 classes",
        sha256="f3de120ec262129bec277204a783378f66440e558626c80e9dd44d7e3ad6a91f",
        content="11af4411681d9efdd61f21e9989cc40469a51e1fcf578b8bc65fca60c49d7d8f",
        n_train=1594,
        n_test=399,
        n_features=4862,
        n_classes=2,
        features="how often each of 4862 words occurs: sparse, bytes",
        source="20 Newsgroups, from scikit-feature; no official split: the paper's",
        licence="not stated by the source",
        urls=(f"{_COUNTS}/BASEHOCK.mat",),
    ),
}
