"""What methods and data sets are called where people read: as the paper prints them."""

from cofire.data import CATALOG

METHOD_NAMES = {
    "ctre_sim": "CTRE_sim",
    "ctre_seq": "CTRE_seq",
    "set": "SET",
    "rigl": "RigL",
    "snip": "SNIP",
    "static": "Static",
    "dense": "Dense",
    "ctre_wo_random": "CTRE_w/oRandom",
    "ctre_sim_lth": "CTRE_sim/LTH",
    "ctre_sim_hebb": "CTRE_sim-Hebb",
    "ctre_seq_hebb": "CTRE_seq-Hebb",
    "ctre_sim_euclidean": "CTRE_sim-euclidean",
    "ctre_sample2": "CTRE_sample2",
    "ctre_sample4": "CTRE_sample4",
    "ctre_seq_abl1": "CTRE_abl1:seq",
    "ctre_seq_abl2": "CTRE_abl2:seq",
    "rigl_uniform": "RigL-uniform",
}
"""In the order of tables and legends; the paper has no Static and no RigL-uniform."""

DATA_NAMES = {name: entry.print_name for name, entry in CATALOG.items()}
"""In the order of the paper's tables."""


def method_name(method: str) -> str:
    """The name in print; that of a method of another package is the one it has.

    >>> method_name("ctre_wo_random"), method_name("mine")
    ('CTRE_w/oRandom', 'mine')
    """
    return METHOD_NAMES.get(method, method)


def data_name(data: str) -> str:
    """The name in print; that of somebody's own data is the one it has.

    >>> data_name("fashion_mnist")
    'Fashion-MNIST'
    """
    return DATA_NAMES.get(data, data)
