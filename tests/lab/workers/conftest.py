"""One cluster for all tests of this folder that do it no harm."""

import pytest

from helpers.clusters import Cluster


@pytest.fixture(scope="package")
def cluster(tmp_path_factory):
    """Two workers of one thread each."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster.start("ann", "bob")
