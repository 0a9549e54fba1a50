import base64
import dataclasses
import html
import json
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from cofire.cli import app
from cofire.lab.experiments import Run, Store
from cofire.lab.experiments.compare import comparison_table, standings, verdict
from cofire.lab.report.results_cells import by_cell
from cofire.lab.report.results_curves import cell_curves, input_connections
from cofire.lab.report.results_page import results_page
from cofire.lab.report.results_summary import lead
from helpers.results_cases import (
    beside_baselines,
    campaign,
    of_score,
    own_run,
    result,
    tables,
)

NASTY = "</script><script>alert(1)</script>"


class Reader(HTMLParser):
    """Collects attributes, rows of cells, items of lists, and the text of the page.

    In the text, words of different elements never touch. All tags must be closed.
    """

    VOID = {"meta", "br", "input"}

    def __init__(self, page):
        super().__init__()
        self.open, self.attributes, self.rows, self.items = [], [], [], []
        self.words = []
        self.feed(page)
        assert self.open == []
        self.text = " ".join(self.words)

    def handle_starttag(self, tag, attributes):
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "li":
            self.items.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["script"], ["style"]):
            self.words += data.split()
            if {"td", "th"} & set(self.open):
                self.rows[-1][-1] += data
            if "li" in self.open:
                self.items[-1] += data


def script_data(page):
    found = re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def small(**changes):
    choice = {"methods": ("set", "dense"), "hidden": (100,), "seeds": 3, "epochs": 20}
    return campaign(**(choice | changes))


def test_the_page_says_what_was_run():
    results = small()
    reader = Reader(results_page(results, tables(), missing=["table 8", "a < b"]))
    text = reader.text
    assert "12 runs of 2 methods on 2 data sets" in text
    assert "Not run yet: 2 entries" in text
    assert ["table 8", "a < b"] == reader.items
    assert "x86_64_v4, 2 cores" in text and "somewhere" not in text
    assert "{{" not in text
    scores = [r.score for r in results if r.run.data == "mnist" and r.run.epsilon]
    shown = f"{100 * np.mean(scores):.1f} ± {100 * np.std(scores):.1f}"
    assert "All: 100 neurons per layer, profile masked, 20 epochs, 3 seeds." in text
    (cell,) = [r for r in reader.rows if r[:3] == ["SET", shown, "MNIST"]]
    assert cell[3] == "1"
    (best,) = [r for r in reader.rows if r[:1] == ["MNIST"] and len(r) == 9]
    assert best[1:4] == ["SET", shown, "20 epochs, masked, paper's split"]


def test_given_tables_are_there_with_what_they_are_sorted_by():
    page = results_page(small(), tables())
    reader = Reader(page)
    assert [
        "CTRE_sim",
        "100",
        "78.8 ± 1.2",
        "82.4 ± 0.9",
        "3.6",
        "0.012",
    ] in reader.rows
    assert ["CTRE_seq", "1000", "61.1 ± 1.9", "–", "–", "–"] in reader.rows
    assert '<td class="n" data-v="82.4"><b>82.4 ± 0.9</b></td>' in page
    assert '<td class="n" data-v="20000.0">20,000</td>' in page
    assert '<td class="n" data-missing="">–</td>' in page


def test_the_page_asks_the_network_for_nothing():
    page = results_page(small(), tables())
    links = {
        v for name, v in Reader(page).attributes if name in ("src", "href", "srcset")
    }
    assert all(link.startswith("#") for link in links)
    assert set(re.findall(r"https?://[^\s\"'<]*", page)) == {
        "http://www.w3.org/2000/svg"  # a name, not an address
    }
    assert "default-src 'none'" in page


def test_no_text_breaks_out():
    runs = [Run(NASTY, "set", 100, 1.0, seed, epochs=5) for seed in range(2)]
    runs += [
        Run.of(
            data="own",
            method="set",
            hidden=9,
            epsilon=1,
            seed=0,
            epochs=5,
            options={"a": NASTY},
        )
    ]
    bad = [
        dataclasses.replace(result(run), cofire=NASTY, notes={"x": NASTY})
        for run in runs
    ]
    table = dataclasses.replace(
        tables()[0], title=NASTY, caption=NASTY, rows=[[NASTY] * 6]
    )
    page = results_page(bad, [table], title=NASTY, missing=[NASTY])
    assert "<script>alert" not in page
    assert script_data(page)["cells"][1]["data"] in (NASTY, "own")
    Reader(page)


def test_curves_are_means_of_what_validation_chose():
    results = small(seeds=2)[:2]
    assert by_cell(results).keys() == {results[0].run.cell}
    curves = cell_curves(results)
    assert curves["x"]["epoch"] == list(range(1, 21))
    mean, low, high = curves["y"]["selected"]
    scores = [r.score for r in results]
    assert mean[-1] == pytest.approx(np.mean(scores), abs=1e-4)
    assert [low[-1], high[-1]] == pytest.approx(sorted(scores), abs=1e-4)
    for at, test in enumerate(curves["y"]["test"][0]):
        own = [r.curves["test_score"][at] for r in results]
        assert test == pytest.approx(np.mean(own), abs=1e-4)
    spent = [r.curves["multiply_adds"].sum() for r in results]
    assert curves["x"]["multiply_adds"][-1] == pytest.approx(np.mean(spent), rel=1e-3)


def test_without_validation_rows_a_curve_is_that_of_the_test_rows():
    (run,) = campaign(("madelon",), ("set",), (100,), seeds=1, epochs=6)
    curves = {k: v for k, v in run.curves.items() if k != "validation_score"}
    none = {**curves, "validation_score": np.full(6, np.nan, np.float32)}
    for own in (curves, none):
        found = cell_curves([dataclasses.replace(run, curves=own)])["y"]
        assert found["selected"] == found["test"]


def test_models_without_epochs_are_given_none():
    cells = results_page(beside_baselines()).split('id="cells"')[1]
    rows = re.findall(r"<tr>.*?</tr>", cells, re.DOTALL)
    forest = next(row for row in rows if "Random forest" in row)
    ours = next(row for row in rows if "cofire" in row)
    assert "epochs" not in forest and "epochs" in ours


def test_a_seed_that_ended_early_keeps_its_last_value():
    long, short = small(seeds=2)[:2]
    short = dataclasses.replace(
        short, curves={name: curve[:5] for name, curve in short.curves.items()}
    )
    curves = cell_curves([long, short])
    last = (long.curves["test_score"][-1] + short.curves["test_score"][4]) / 2
    assert curves["y"]["test"][0][-1] == pytest.approx(last, abs=1e-4)


def test_the_splits_of_an_own_file_are_the_seeds_of_one_cell():
    runs = [own_run(folder, seed=i) for i, folder in enumerate(("/a", "/a", "/b"))]
    found = by_cell([result(run) for run in runs])
    (cell,) = found
    assert (cell.data, cell.split, cell.options) == ("my.csv", None, "{}")
    assert [r.run for r in found[cell]] == runs
    splits = [Run("madelon", "set", 9, 1.0, 0, split=k) for k in range(2)]
    assert len(by_cell([result(run) for run in splits])) == 2


def test_files_are_named_by_what_tells_them_apart():
    runs = [own_run(target="label"), own_run(target="city"), own_run("/b", sha256="f0")]
    titles = [cell.data for cell in by_cell([result(run) for run in runs])]
    assert titles == [
        "my.csv, target label, sha256 351ba6",
        "my.csv, target city, sha256 351ba6",
        "my.csv, sha256 f0",
    ]
    tested = [own_run(test=f"/{x}/rows.csv", test_sha256=x) for x in "ab"]
    titles = [cell.data for cell in by_cell([result(run) for run in tested])]
    assert titles == ["my.csv", "my.csv #2"]
    page = results_page([result(run) for run in runs])
    assert "on 2 data sets" in page
    markup = page.partition('<script id="data"')[0]
    assert "header true" not in markup and "/a/" not in markup
    assert "/a/my.csv" in page  # where a receipt says all


def test_only_what_can_be_compared_is_compared():
    runs = {
        Run("madelon", "set", 9, 1.0, 0): 0.7,
        Run("madelon", "dense", 9, None, 0): 0.6,
        Run("madelon", "rigl", 9, 1.0, 0, epochs=3): 0.9,
        Run("madelon", "rigl", 9, 1.0, 0, split=2): 0.8,
        Run("madelon", "rigl", 9, 1.0, 0, "house"): 0.85,
        own_run(target="label"): 0.5,
        own_run(target="city"): 0.4,
        own_run(method="dense", target="city"): 0.3,
    }
    reader = Reader(results_page([of_score(*item) for item in runs.items()]))
    best = [row for row in reader.rows if len(row) == 9 and row[0] != "data set"]
    seeds = "5 epochs, default, its own split per seed"
    assert [[*row[:4], *row[7:]] for row in best] == [
        ["Madelon", "RigL", "85.0", "500 epochs, house, paper's split", "–", "–"],
        [
            *("Madelon", "SET", "70.0", "500 epochs, masked, paper's split"),
            *("60.0", "+10.0 points"),
        ],
        ["Madelon", "RigL", "90.0", "3 epochs, masked, paper's split", "–", "–"],
        ["Madelon", "RigL", "80.0", "500 epochs, masked, random split 2", "–", "–"],
        ["my.csv, target city", "SET", "40.0", seeds, "30.0", "+10.0 points"],
        ["my.csv, target label", "SET", "50.0", seeds, "–", "–"],
    ]


def test_baselines_stand_beside_and_are_no_networks():
    page = results_page(beside_baselines())
    reader = Reader(page)
    assert "8 runs of 2 methods and 2 models of scikit-learn on 1 data set" in (
        reader.text
    )
    assert "each with two hidden layers" in reader.text
    # One data set: the headline says which is best, and no table repeats it.
    assert "my.csv: Random forest is best: 90.0 % right, not significant" in reader.text
    assert "Best of each data set" not in reader.text
    (cell,) = [row for row in reader.rows if row[:1] == ["Random forest"]]
    assert cell[1] == "90.0 ± 0.0" and cell.count("–") == 5
    two = [
        dataclasses.replace(r, run=dataclasses.replace(r.run, data=f"/a/{name}.csv"))
        for name in ("my", "other")
        for r in beside_baselines()
    ]
    seeds = "epochs by number of rows, default, its own split per seed"
    best = [row for row in Reader(results_page(two)).rows if row[3:4] == [seeds]]
    assert [row[0] for row in best] == ["my.csv", "other.csv"]
    assert best[0][1:3] == ["cofire", "80.0 ± 0.0"]
    assert best[0][7:] == [
        *("70.0 ± 0.0", "+10.0 points"),
        *("90.0 ± 0.0 Random forest", "-10.0 points"),
    ]
    data = script_data(page)
    titles = [data["methods"][cell["method"]]["title"] for cell in data["cells"]]
    assert titles == ["cofire", "Dense"]  # nothing to draw of the others
    assert [cell["dense"] for cell in data["cells"]] == [False, True]
    fields = data["runs"]["fields"]
    rows = [dict(zip(fields, row, strict=True)) for row in data["runs"]["rows"]]
    spent = {row["method"]: row["training_multiply_adds"] for row in rows}
    known = [one.curves["multiply_adds"].sum() for one in beside_baselines()[:2]]
    assert [spent[0], spent[1]] == pytest.approx([4 * n for n in known], rel=1e-3)
    assert [spent[2], spent[3]] == [None, None]


def test_r2_is_a_number_with_its_name():
    runs = [own_run(seed=k) for k in (1, 3)]
    quantities = [of_score(run, -0.1 * run.seed, task="regression") for run in runs]
    page = results_page(quantities)
    reader = Reader(page)
    assert "A score is R² of the test rows" in reader.text
    assert reader.rows[0][1] == "R²" and reader.rows[1][1] == "-0.200 ± 0.100"
    assert "my.csv: SET: R² -0.200" in reader.text
    assert "accuracy" not in reader.text
    data = script_data(page)
    assert data["cells"][0]["task"] == "regression"
    assert "regression" in data["runs"]["texts"]
    both = results_page([*quantities, *small(seeds=2)])
    scores = [row[2] for row in Reader(both).rows if len(row) == 9]
    assert scores[0] == "score" and "R² -0.200 ± 0.100" in scores
    assert all(re.fullmatch(r"R² .*|\d\d\.\d ± \d\.\d %", text) for text in scores[1:])
    old = of_score(own_run(), 0.5, sizes=[4, 9, 9, 9, 1])  # nobody noted the task
    assert ">0.500<" in results_page([old])


def test_runs_without_curves_have_a_page_too():
    bare = [dataclasses.replace(r, curves={}, receipt={}) for r in small(seeds=1)]
    data = script_data(results_page(bare))
    assert "y" not in data["cells"][0] and data["cells"][0]["inputs"] is None
    assert "No run has finished yet" in results_page([])


def test_inputs_of_images_are_summed_over_colours():
    (run,) = campaign(("cifar10",), ("set",), (100,), seeds=1, epochs=2)
    found = input_connections([run])
    assert list(found["shape"]) == [32, 32]
    assert found["counts"] == run.curves["inputs"].reshape(1024, 3).sum(axis=1).tolist()


def test_of_wide_tables_the_inputs_with_most_connections_are_kept():
    (run,) = campaign(("own",), ("set",), (100,), seeds=1, epochs=2)
    counts = np.arange(5000, dtype=np.float32)
    found = input_connections([dataclasses.replace(run, curves={"inputs": counts})])
    assert found["numbers"] == list(range(4000, 5000)) and found["n"] == 5000


def test_seeds_with_different_inputs_have_no_mean_of_them():
    """Of a file, the rows of some seeds may lack a category."""
    runs = campaign(("own",), ("set",), (100,), seeds=2, epochs=2)
    for run, n in zip(runs, (4, 5), strict=True):
        run.curves["inputs"] = np.arange(n, dtype=np.float32)
    assert input_connections(runs) is None
    assert script_data(results_page(runs))["cells"][0]["inputs"] is None


def test_a_large_campaign_is_a_small_page():
    names = "ctre_sim", "ctre_seq", "set", "rigl", "snip"
    few = campaign(
        ("cifar10", "mnist"), names, (100, 1000, 2000), (1, 5, 13, 25, 50), 2
    )
    many = [
        dataclasses.replace(r, run=dataclasses.replace(r.run, seed=seed))
        for r in few
        for seed in range(r.run.seed, 14, 2)
    ]
    assert len(many) == 2100 and len(by_cell(many)) == 150
    assert len(results_page(many).encode()) < 1.5e6


def test_large_data_are_compressed_and_the_same():
    results = campaign(seeds=1, epochs=3)
    plain = script_data(results_page(results))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cofire.lab.report.results_page.MOST_PLAIN", 10)
        page = results_page(results)
    packed = re.search(r'<script id="data" type="[^"]*deflate">(.*?)</script>', page)
    assert json.loads(zlib.decompress(base64.b64decode(packed[1]))) == plain


# ---- the headline, and each thing once -----------------------------------------------


def headline(page):
    return html.unescape(re.search(r"<h1>(.*?)</h1>", page)[1])


def compared(scores, seeds=8, task="classification"):
    """Results of one file: {method: score}, a little higher with each seed."""
    return [
        of_score(own_run(method=method, seed=seed), score + seed / 1e4, task=task)
        for method, score in scores.items()
        for seed in range(seeds)
    ]


@pytest.mark.parametrize(
    "results, said",
    [
        (
            compared({"set": 0.9, "dense": 0.8}),
            "SET is best: 90.0 % right, significantly",
        ),
        (
            compared({"set": 0.9, "dense": 0.8}, seeds=3),
            "SET is best: 90.0 % right, not significant with 3 seeds",
        ),
        (
            compared({"set": 0.7, "dense": 0.7}, seeds=2),
            "SET and Dense are equally good: 70.0 % right",
        ),
        (
            compared({"set": 0.5, "dense": 0.4}, 1, "regression"),
            "SET is best: R² 0.500, not significant with 1 seed",
        ),
    ],
)
def test_the_headline_is_the_verdict(results, said):
    task = results[0].notes["task"]
    found = verdict(standings(results), task)
    assert said in found
    assert headline(results_page(results)) == f"my.csv: {found}"
    assert headline(results_page(results, headline="A < B")) == "A < B"


def test_methods_that_may_be_as_good_are_named():
    rivals = {"rigl": 0.8999, "dense": 0.5, "static": 0.4}
    results = compared({"set": 0.9} | rivals, seeds=10)
    results = [
        dataclasses.replace(r, score=r.score + 0.01 * (r.run.seed % 2 - 0.5))
        if r.run.method == "rigl"
        else r
        for r in results
    ]
    assert (
        verdict(standings(results)) == "SET is best: 90.0 % right; RigL may be as good"
    )


def test_the_headline_of_several_data_sets_counts_them():
    def said(**scores):
        results = [
            dataclasses.replace(r, score=scores[r.run.data])
            if r.run.method == "set"
            else r
            for r in small()
        ]
        return headline(results_page(results))

    better = "Sparse is as good as dense or better on"
    assert said(madelon=0.99, mnist=0.99) == f"{better} both data sets"
    assert said(madelon=0.99, mnist=0.1) == f"{better} 1 of 2 data sets"
    assert said(madelon=0.1, mnist=0.1) == "Dense is ahead of sparse on both data sets"
    assert headline(results_page([])) == "No run has finished yet"


def comparison():
    results = compared({"set": 0.9, "cofire": 0.85, "dense": 0.8}, seeds=3)
    table = comparison_table(results, "my.csv")
    how = {"headline": verdict(standings(results)), "command": "cofire compare my.csv"}
    return results_page(results, [table], title=table.title, **how)


def test_a_comparison_shows_each_number_once():
    page = comparison()
    reader = Reader(page)
    assert (
        len([row for row in reader.rows if row[0] in ("SET", "cofire", "Dense")]) == 3
    )
    assert reader.text.count("90.0 ± 0.0") == 1
    assert "to write it again: cofire compare my.csv" in reader.text
    assert "cofire report" not in reader.text
    assert 'id="cells"' not in page and 'href="#cells"' not in page


def test_there_is_no_empty_part_and_no_jargon():
    page = results_page(small(seeds=1))
    assert 'id="tables"' not in page and 'href="#tables"' not in page
    for text in (Reader(page).text, Reader(comparison()).text):
        assert not re.search(r"ε|\bcells?\b|\bUp\b|\bAcross\b|hours of runs", text)
        assert "time of all runs" in text
        assert not re.search(r" 0\.0 (h|min|s)\b", text)


def test_counts_have_the_same_commas_everywhere():
    results = [
        dataclasses.replace(r, connections=5665)
        for r in compared({"set": 0.9}, seeds=2)
    ]
    page = results_page(results, [comparison_table(results, "my.csv")])
    assert Reader(page).text.count("5,665") == 2 and ">5665<" not in page


def test_colours_of_dark_pages_can_be_told_apart():
    data = script_data(
        results_page(compared({"cofire": 0.9, "dense": 0.8, "set": 0.7}))
    )
    rgb = [
        np.array([int(m["dark"][i : i + 2], 16) for i in (1, 3, 5)])
        for m in data["methods"]
    ]
    card = np.array([0x1F, 0x1F, 0x1D])
    for i, one in enumerate(rgb):
        assert np.abs(one - card).max() > 100
        for other in rgb[i + 1 :]:
            assert np.linalg.norm(one - other) > 90
    dense = rgb[[m["title"] for m in data["methods"]].index("Dense")]
    assert dense.max() < 200  # far from white


# ---- the command ---------------------------------------------------------------------


def report(*arguments):
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def test_the_command_writes_the_page_of_a_store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        for done in small(seeds=1):
            store.add([done.run, dataclasses.replace(done.run, seed=7)])
            assert store.claim(done.run)
            store.finish(done.run, done, done.machine)
    answer = report("--out", tmp_path)
    assert answer.exit_code == 0, answer.output
    assert str(tmp_path / "report.html") in answer.output
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "4 waiting" in text and len(script_data(text)["runs"]["rows"]) == 4
    assert report("--out", tmp_path, "--page", tmp_path / "p.html").exit_code == 0
    assert (tmp_path / "p.html").exists()


def test_the_page_has_the_tables_of_reduced_runs(tmp_path):
    runs = campaign(("madelon",), ("set", "dense"), (100,), (1,), seeds=2, epochs=60)
    runs += campaign(("madelon",), ("set", "ctre_sim"), (100,), (1,), 1, epochs=7)
    with Store(tmp_path / "runs.sqlite") as store:
        for done in runs:
            store.add([done.run])
            assert store.claim(done.run)
            store.finish(done.run, done, done.machine)
    assert report("--out", tmp_path).exit_code == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    titles = re.findall('<details class="given".*?<summary>(.*?)</summary>', page)
    # Table 3 compares five methods and table 4 has two of its own: neither was run.
    assert titles == [
        f"Table 2: {what} (reduced: {epochs} epochs)"
        for epochs in (60, 7)
        for what in ("Test accuracy", "density")
    ]
    mean = 100 * np.mean([r.score for r in runs[:2]])
    assert f"{mean:.1f} ±" in page and "Not run yet" not in page
    assert len(re.findall(r'id="table-[\w-]+"', page)) == 4
    assert len(set(re.findall(r'id="table-[\w-]+"', page))) == 4


def test_the_command_says_that_there_are_no_runs(tmp_path):
    answer = report("--out", tmp_path / "none")
    assert answer.exit_code == 1 and "there are no runs yet" in answer.output
    with Store(tmp_path / "runs.sqlite") as store:
        store.add([Run("madelon", "set", 100, 1.0, 0)])
    answer = report("--out", tmp_path)
    assert answer.exit_code == 1 and "has finished yet: 1 wait" in answer.output
    assert not (tmp_path / "report.html").exists()


def test_the_page_says_whose_scores_are_those_of_the_last_epoch():
    run = Run("madelon", "cofire", 100, 1.0, 0, profile="house")
    usual = dataclasses.replace(run, method="set", profile="masked")
    both = lead(by_cell([result(run), result(usual)]))
    assert "validation rows chose (profile house: at the last epoch)" in both
    assert "last epoch" not in lead(by_cell([result(usual)]))
    assert "accuracy, at the last epoch; test rows" in lead(by_cell([result(run)]))
