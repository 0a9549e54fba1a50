"""LightGBM whose settings are chosen by three inner folds."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, ParameterSampler, StratifiedKFold

INNER_FOLDS = 3


class _Log:
    """Numbers whose logarithm is uniform between two ends."""

    def __init__(self, low, high, whole=False):
        self.low, self.high, self.whole = low, high, whole

    def rvs(self, random_state=None):
        exponent = random_state.uniform(np.log(self.low), np.log(self.high))
        return round(np.exp(exponent)) if self.whole else float(np.exp(exponent))


class _Between:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def rvs(self, random_state=None):
        return float(random_state.uniform(self.low, self.high))


SPACE = {
    "n_estimators": _Log(50, 800, whole=True),
    "learning_rate": _Log(0.01, 0.3),
    "num_leaves": _Log(4, 256, whole=True),
    "min_child_samples": _Log(2, 100, whole=True),
    "subsample": _Between(0.5, 1.0),
    "subsample_freq": [1],
    "colsample_bytree": _Between(0.3, 1.0),
    "reg_lambda": _Log(1e-3, 10),
}


class TunedLightGBM(BaseEstimator):
    """The best of `trials` settings, the defaults among them, trained on all rows.

    Best: the highest accuracy (R² for numbers) over all inner held-out rows; of equal
    ones the first.
    """

    def __init__(self, classes, trials=20, random_state=0):
        self.classes, self.trials, self.random_state = classes, trials, random_state

    def fit(self, X, y):
        drawn = ParameterSampler(SPACE, self.trials - 1, random_state=self.random_state)
        trials = [{}, *drawn]
        self.scores_ = [self._inner_score(settings, X, y) for settings in trials]
        self.settings_ = trials[int(np.argmax(self.scores_))]
        self.model_ = self._make(self.settings_).fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def _make(self, settings):
        from lightgbm import LGBMClassifier, LGBMRegressor

        make = LGBMClassifier if self.classes else LGBMRegressor
        return make(n_jobs=1, random_state=self.random_state, verbose=-1, **settings)

    def _inner_score(self, settings, X, y):
        kind = StratifiedKFold if self.classes else KFold
        folds = kind(INNER_FOLDS, shuffle=True, random_state=self.random_state)
        errors = np.empty(len(y))
        for train, test in folds.split(np.zeros(len(y)), y):
            model = self._make(settings).fit(_rows(X, train), y[train])
            predicted = model.predict(_rows(X, test))
            wrong = predicted != y[test]
            errors[test] = wrong if self.classes else (predicted - y[test]) ** 2
        return -errors.mean()


def _rows(X, numbers):
    return X.iloc[numbers] if hasattr(X, "iloc") else X[numbers]
