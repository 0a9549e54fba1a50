"""scikit-learn's own checks of an estimator: all of them, no failure expected."""

from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from cofire import SparseMLPClassifier, SparseMLPRegressor
from helpers.estimator_cases import ESTIMATORS

# Epochs in which a small network learns the toys of the checks.
MAX_ITER = {"ctre_sim": 80, "set": 80, "static": 200}
# What a check may say when it has nothing to look at; anything else is a failure.
NOT_APPLICABLE = {
    "check_array_api_input": "SCIPY_ARRAY_API is not set",
    "check_classifiers_multilabel_output_format_decision_function": (
        "does not have a decision_function"
    ),
}


def run(check, estimator):
    try:
        check(estimator)
    except SkipTest as reason:
        assert NOT_APPLICABLE[check.func.__name__] in str(reason)
        pytest.skip(str(reason))


@parametrize_with_checks(
    [
        of((32, 16), epsilon=2, method=method, max_iter=max_iter, n_pieces=0)
        for of in ESTIMATORS
        for method, max_iter in MAX_ITER.items()
    ]
)
def test_small_networks(estimator, check):
    run(check, estimator)


@parametrize_with_checks(
    [of((64, 32), epsilon=4, max_iter=100, standardize=True) for of in ESTIMATORS]
)
def test_raw_features(estimator, check):
    run(check, estimator)


@parametrize_with_checks([SparseMLPClassifier(), SparseMLPRegressor()])
def test_plain_defaults(estimator, check):
    run(check, estimator)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_no_tag_excuses_anything(of):
    tags = of().__sklearn_tags__()
    assert not tags.no_validation
    assert not tags.non_deterministic
    assert not tags._skip_test
    assert tags.requires_fit
    assert tags.array_api_support is False
    assert tags.input_tags.allow_nan
    plain = of(standardize=False).__sklearn_tags__()
    assert not plain.input_tags.allow_nan
    assert tags.input_tags.two_d_array and tags.input_tags.sparse
    assert tags.target_tags.required and not tags.target_tags.positive_only
    for kind in (tags.classifier_tags, tags.regressor_tags):
        assert kind is None or not kind.poor_score
    if of is SparseMLPClassifier:
        assert tags.classifier_tags.multi_class and tags.classifier_tags.multi_label
    else:
        assert tags.target_tags.multi_output
