"""A saved pipeline comes back: the same bits, the same names, the same parameters."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import cofire
from cofire.persistence import model_file
from cofire.pipelines.classes import CLASSES
from helpers.pipeline_cases import CASES, FRAME, TEXTS, X, Y, fitted


def saved_and_loaded(pipeline, folder):
    cofire.save(pipeline, folder / "p.cofire")
    return cofire.load(folder / "p.cofire")


def plain(value):
    """A value that can be compared: arrays with dtype and bits, objects by parts."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return value.shape, [plain(one) for one in value.tolist()]
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return type(value).__name__, [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in sorted(value.items())}
    if hasattr(value, "get_params"):
        return type(value).__name__, attributes(value)
    return repr(value.item() if isinstance(value, np.integer) else value)


def attributes(step):
    left_out = {"_stop_words_id", "random_state"}
    return {k: plain(v) for k, v in vars(step).items() if k not in left_out}


@pytest.mark.parametrize("name", CASES)
def test_it_predicts_the_same_bits(name, tmp_path):
    pipeline, rows = fitted(name), CASES[name].rows
    loaded = saved_and_loaded(pipeline, tmp_path)
    assert type(loaded) is Pipeline
    assert [n for n, _ in loaded.steps] == [n for n, _ in pipeline.steps]
    methods = [m for m in ("predict", "predict_proba") if hasattr(pipeline, m)]
    for some in (rows, rows[:1], rows[3:5]):
        for method in methods:
            ours, theirs = (getattr(p, method)(some) for p in (loaded, pipeline))
            assert ours.dtype == theirs.dtype and ours.tobytes() == theirs.tobytes()


SIMPLIFIED = {  # what is stored instead of the object itself
    *("SelectFromModel", "columns by a function", "remainder", "columns by number"),
    *("OneHotEncoder given", "OneHotEncoder chosen"),
}


@pytest.mark.parametrize("name", sorted(CASES.keys() - SIMPLIFIED))
def test_all_that_it_is_made_of_comes_back(name, tmp_path):
    pipeline = fitted(name)
    loaded = saved_and_loaded(pipeline, tmp_path)
    for (_, ours), (_, theirs) in zip(
        loaded.steps[:-1], pipeline.steps[:-1], strict=True
    ):
        assert type(ours) is type(theirs)
        if hasattr(theirs, "get_params"):
            assert attributes(ours) == attributes(theirs)


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_pipeline_is_saved_as_the_same_bytes(name, tmp_path):
    loaded = saved_and_loaded(fitted(name), tmp_path)
    cofire.save(loaded, tmp_path / "again")
    first = model_file.read(tmp_path / "p.cofire")[0]
    again = model_file.read(tmp_path / "again")[0]
    for document in (first, again):
        document.pop("notes")  # what was left out before is not there any more
    assert first == again


def test_every_known_class_is_tried():
    found = set()

    def look(value):
        if isinstance(value, dict):
            found.update([value["class"]] if "parameters" in value else [])
            value = list(value.values())
        for one in value if isinstance(value, list) else ():
            look(one)

    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        for name in CASES:
            cofire.save(fitted(name), Path(folder, "p"))
            look(model_file.read(Path(folder, "p"))[0]["pipeline"]["steps"])
    assert found == CLASSES.keys()


@pytest.mark.parametrize(
    "name", ["ColumnTransformer", "pandas", "names", "PCA", "TfidfVectorizer", "nested"]
)
def test_names_of_features_come_back(name, tmp_path):
    pipeline, rows = fitted(name), CASES[name].rows
    loaded = saved_and_loaded(pipeline, tmp_path)
    first, before = loaded[:-1], pipeline[:-1]
    names = before.get_feature_names_out().tolist()
    assert first.get_feature_names_out().tolist() == names
    if hasattr(rows, "columns"):
        assert loaded.feature_names_in_.tolist() == list(rows.columns)
    out, expected = first.transform(rows), before.transform(rows)
    assert type(out) is type(expected)
    if hasattr(expected, "columns"):
        assert list(out.columns) == list(expected.columns)


def test_unknown_words_and_columns_in_another_order_are_treated_alike(tmp_path):
    pipeline = fitted("ColumnTransformer")
    loaded = saved_and_loaded(pipeline, tmp_path)
    rows = FRAME.assign(colour="violet")[FRAME.columns[::-1]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = loaded.predict_proba(rows), pipeline.predict_proba(rows)
    assert ours.tobytes() == theirs.tobytes()
    with pytest.raises(ValueError, match="missing: {'colour'}"):
        loaded.predict(FRAME.drop(columns="colour"))


def test_a_loaded_pipeline_can_be_cloned_fitted_and_set(tmp_path):
    loaded = saved_and_loaded(fitted("ColumnTransformer"), tmp_path)
    again = clone(loaded).set_params(model__max_iter=1).fit(FRAME, Y)
    assert again.predict(FRAME).shape == Y.shape
    texts = saved_and_loaded(fitted("TfidfVectorizer"), tmp_path)
    assert clone(texts).fit(TEXTS, Y).predict(TEXTS).shape == Y.shape


def test_a_loaded_choice_of_features_says_why_it_cannot_be_fitted(tmp_path):
    loaded = saved_and_loaded(fitted("SelectFromModel"), tmp_path)
    with pytest.raises(RuntimeError, match="not the model by which it chose"):
        loaded.steps[0][1].set_params(prefit=False).fit(X, Y)


def test_a_loaded_choice_of_features_is_kept_in_cross_validation(tmp_path):
    """Also by clones: only the choice is left, and it is not made again."""
    loaded = saved_and_loaded(fitted("SelectFromModel"), tmp_path)
    again = clone(loaded).fit(X, Y)
    chosen = loaded.steps[0][1].get_support()
    assert np.array_equal(again.steps[0][1].get_support(), chosen)


def test_what_was_left_out_is_noted(tmp_path):
    pipeline = fitted("PCA randomized")
    pipeline = Pipeline(pipeline.steps, memory=str(tmp_path / "cache"))
    loaded = saved_and_loaded(pipeline, tmp_path)
    assert loaded.memory is None and loaded.steps[0][1].random_state is None
    notes = model_file.read(tmp_path / "p.cofire")[0]["notes"]
    assert len(notes) == 2
    assert "memory was left out" in notes[1] or "memory was left out" in notes[0]
    assert any("step 'step 0' (PCA): random_state" in note for note in notes)


@pytest.mark.parametrize("version", ["1.5.2", "0.24", "9.0.dev0", "1.90.1"])
def test_another_release_of_scikit_learn_is_named(version, tmp_path, monkeypatch):
    monkeypatch.setattr(sklearn, "__version__", version)
    cofire.save(fitted("StandardScaler"), tmp_path / "p")
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=f"scikit-learn {version}, this is") as caught:
        loaded = cofire.load(tmp_path / "p")
    assert caught[0].filename == __file__
    assert loaded.predict(X).tolist() == fitted("StandardScaler").predict(X).tolist()


def test_a_correction_of_the_same_release_is_not(tmp_path, monkeypatch):
    release = ".".join(sklearn.__version__.split(".")[:2])
    monkeypatch.setattr(sklearn, "__version__", f"{release}.99")
    cofire.save(fitted("StandardScaler"), tmp_path / "p")
    monkeypatch.undo()
    cofire.load(tmp_path / "p")  # warnings are errors


def test_an_older_cofire_calls_it_newer(tmp_path):
    cofire.save(fitted("StandardScaler"), tmp_path / "p")
    document, _ = model_file.read(tmp_path / "p")
    assert document["format"] == 2
    fitted("StandardScaler")[-1].save(tmp_path / "m")
    assert model_file.read(tmp_path / "m")[0]["format"] == 1
