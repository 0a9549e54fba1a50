import pickle

from cofire.errors import DivergenceError, ModelFormatError, unknown_name


def test_unknown_name_says_what_came_what_was_meant_and_what_exists():
    error = unknown_name("method", "rigL", ["set", "rigl"])
    assert isinstance(error, ValueError)
    assert str(error) == (
        "unknown method 'rigL'. Did you mean 'rigl'? Known: rigl, set."
    )


def test_unknown_name_does_not_guess_wildly():
    assert str(unknown_name("init", 7, ["zero"])) == "unknown init 7. Known: zero."


def test_our_errors_are_value_errors():
    assert issubclass(DivergenceError, ValueError)
    assert issubclass(ModelFormatError, ValueError)


def test_a_divergence_arrives_whole_from_another_process():
    error = pickle.loads(pickle.dumps(DivergenceError(layer=1, epoch=7)))
    assert (error.layer, error.epoch) == (1, 7)
    assert "in epoch 7: layer 2 has values that are not finite" in str(error)
