import dataclasses
import json
import re
import sys
import time
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from cofire.cli import app
from cofire.lab.experiments import Run, Store
from cofire.lab.report.results_cells import by_cell
from cofire.lab.report.results_curves import cell_curves, input_connections
from cofire.lab.report.results_page import results_page, write_results_page
from cofire.lab.report.results_summary import lead
from helpers.chromium import Chromium, find_chromium
from helpers.results_cases import campaign, result, tables

PLOTLY = "/* a script that is long */"
NASTY = "</script><script>alert(1)</script>"


@pytest.fixture
def no_plotly(monkeypatch):
    """Plotly's script, millions of characters, is not what these tests look at."""
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: PLOTLY)


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


def test_the_page_says_what_was_run(no_plotly):
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
    (cell,) = [r for r in reader.rows if r[:4] == ["MNIST", "SET", "100", "1"]]
    assert cell[5:7] == [shown, "3"]
    (best,) = [r for r in reader.rows if r[:1] == ["MNIST"] and len(r) == 9]
    assert best[1:4] == ["SET", shown, "20 epochs, masked, paper's split"]


def test_given_tables_are_there_with_what_they_are_sorted_by(no_plotly):
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


def test_the_page_asks_the_network_for_nothing(no_plotly):
    page = results_page(small(), tables())
    links = {
        v for name, v in Reader(page).attributes if name in ("src", "href", "srcset")
    }
    assert all(link.startswith("#") for link in links)
    assert set(re.findall(r"https?://[^\s\"'<]*", page)) == {
        "http://www.w3.org/2000/svg"  # a name, not an address
    }
    assert "default-src 'none'" in page


def test_no_text_breaks_out(no_plotly):
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


def test_a_seed_that_ended_early_keeps_its_last_value():
    long, short = small(seeds=2)[:2]
    short = dataclasses.replace(
        short, curves={name: curve[:5] for name, curve in short.curves.items()}
    )
    curves = cell_curves([long, short])
    last = (long.curves["test_score"][-1] + short.curves["test_score"][4]) / 2
    assert curves["y"]["test"][0][-1] == pytest.approx(last, abs=1e-4)


def own_run(folder="/a", method="set", seed=0, epochs=5, sha256="351ba6" * 10, **file):
    return Run.of(
        data=f"{folder}/my.csv",
        method=method,
        hidden=9,
        epsilon=1,
        seed=seed,
        profile="default",
        epochs=epochs,
        split=seed,
        options={"file": {"header": True, "sha256": sha256, **file}},
    )


def of_score(run, score, **notes):
    return dataclasses.replace(result(run), score=score, notes=notes)


def test_the_splits_of_an_own_file_are_the_seeds_of_one_cell(no_plotly):
    runs = [own_run(folder, seed=i) for i, folder in enumerate(("/a", "/a", "/b"))]
    found = by_cell([result(run) for run in runs])
    (cell,) = found
    assert (cell.data, cell.split, cell.options) == ("my.csv", None, "{}")
    assert [r.run for r in found[cell]] == runs
    splits = [Run("madelon", "set", 9, 1.0, 0, split=k) for k in range(2)]
    assert len(by_cell([result(run) for run in splits])) == 2


def test_files_are_named_by_what_tells_them_apart(no_plotly):
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


def test_only_what_can_be_compared_is_compared(no_plotly):
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
    seeds = "5 epochs, default, a split a seed"
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


def beside_baselines(seeds=2):
    """Two networks of the default recipe, and two models of scikit-learn."""
    found = []
    for seed in range(seeds):
        for method, score in (("cofire", 0.8), ("dense", 0.7)):
            drawn = result(own_run(method=method, seed=seed))
            own = {
                "run": dataclasses.replace(drawn.run, epsilon=None, epochs=0),
                "score": score,
                "notes": drawn.notes | {"networks": 4},
            }
            found.append(dataclasses.replace(drawn, **own))
        for method, score in (("random_forest", 0.9), ("gradient_boosting", 0.6)):
            run = own_run(method=method, seed=seed)
            own = {"connections": 0, "density": 0.0, "best_epoch": 0, "curves": {}}
            own |= {"receipt": {}, "notes": {"task": "classification"}}
            found.append(dataclasses.replace(found[0], run=run, score=score, **own))
    return found


def test_baselines_stand_beside_and_are_no_networks(no_plotly):
    page = results_page(beside_baselines())
    reader = Reader(page)
    assert "8 runs of 2 methods and 2 models of scikit-learn on 1 data set" in (
        reader.text
    )
    assert "each with two hidden layers" in reader.text
    seeds = "epochs by recipe, default, a split a seed"
    (best,) = [row for row in reader.rows if row[3:4] == [seeds]]
    assert best[1:3] == ["cofire", "80.0 ± 0.0"]
    assert best[7:] == [
        *("70.0 ± 0.0", "+10.0 points"),
        *("90.0 ± 0.0 Random forest", "-10.0 points"),
    ]
    (cell,) = [row for row in reader.rows if row[1:2] == ["Random forest"]]
    assert cell[2:4] == ["–", "–"] and cell.count("–") == 5
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


def test_r2_is_a_number_with_its_name(no_plotly):
    runs = [own_run(seed=k) for k in (1, 3)]
    quantities = [of_score(run, -0.1 * run.seed, task="regression") for run in runs]
    page = results_page(quantities)
    reader = Reader(page)
    assert "A score is R² of the test rows" in reader.text
    assert [row[2] for row in reader.rows if len(row) == 9] == ["R²", "-0.200 ± 0.100"]
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


def test_runs_without_curves_have_a_page_too(no_plotly):
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


def test_a_large_campaign_is_a_small_page(no_plotly):
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
    assert len(results_page(many).encode()) < 6e6


def test_without_plotly_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r"pip install cofire\[plot\]"):
        results_page([])


# ---- the command ---------------------------------------------------------------------


def report(*arguments):
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def test_the_command_writes_the_page_of_a_store(no_plotly, tmp_path):
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


def test_the_page_has_the_tables_of_reduced_runs(no_plotly, tmp_path):
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


# ---- in a browser --------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(find_chromium(), tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_results_page(
        path, campaign(seeds=3, epochs=150), tables(), missing=["table 8"]
    )
    return path.as_uri()


HEADINGS = "#table-main thead th:nth-child({})"
COLUMN = (
    "[...document.querySelectorAll('#table-main tbody tr')]"
    ".map(row => row.cells[{}].textContent)"
)
CHART = "document.querySelector('#curve-chart {}')"
HOVERED = (
    "[...document.querySelectorAll('#curve-chart .hoverlayer text')]"
    ".map(line => line.textContent).filter(text => text)"
)


def open_page(browser, address, **window):
    browser.events.clear()
    browser.open(address, **window)
    browser.wait_for(CHART.format(".legend"))


def pick(browser, name, number):
    browser.evaluate(
        f"(() => {{ const s = document.getElementById('pick-{name}');"
        f"s.selectedIndex = {number}; s.dispatchEvent(new Event('change')); }})()"
    )


def hover_lines(browser):
    """What the box at the pointer says, line by line."""
    browser.evaluate(CHART.format("").replace(" ')", "')") + ".scrollIntoView()")
    x, y, width, height = browser.evaluate(
        f"(r => [r.x, r.y, r.width, r.height])"
        f"({CHART.format('.nsewdrag')}.getBoundingClientRect())"
    )
    # Plotly looks at the pointer now and then: it may miss a single move.
    for step in range(100):
        browser.move(x + width / 2 + step % 2, y + height / 2)
        time.sleep(0.05)
        if lines := browser.evaluate(HOVERED):
            return lines
    raise AssertionError("no text appeared")


def complaints(browser):
    """What went to the console, and every address but the page's own."""
    said = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
    return [event for event in browser.events if event[0] in said] + [
        parameters["request"]["url"]
        for name, parameters in browser.events
        if name == "Network.requestWillBeSent"
        and parameters["type"] != "Document"
        and not parameters["request"]["url"].startswith(("data:", "blob:"))
    ]


def test_a_click_or_a_key_sorts_a_table_by_its_numbers(browser, address):
    open_page(browser, address)
    browser.click(HEADINGS.format(4) + " button")
    ours = ["100.0 ± 0.0", "82.4 ± 0.9", "55.0 ± 2.6", "–"]
    assert browser.evaluate(COLUMN.format(3)) == ours
    heading = f"document.querySelector('{HEADINGS.format(4)}')"
    assert browser.evaluate(f"{heading}.getAttribute('aria-sort')") == "descending"
    browser.evaluate(f"{heading}.querySelector('button').focus()")
    browser.press("Enter", 13)
    assert browser.evaluate(COLUMN.format(3)) == [*ours[2::-1], "–"]
    assert browser.evaluate(f"{heading}.getAttribute('aria-sort')") == "ascending"
    browser.click(HEADINGS.format(2) + " button")
    assert browser.evaluate(COLUMN.format(1)) == ["20,000", "1000", "1000", "100"]
    assert browser.evaluate("document.querySelectorAll('[aria-sort]').length") == 1
    browser.click(HEADINGS.format(1) + " button")
    names = ["CTRE_seq", "CTRE_sim", "RigL", "SET"]
    assert browser.evaluate(COLUMN.format(0)) == names
    assert complaints(browser) == []


def test_curves_tell_their_values_to_the_pointer(browser, address):
    open_page(browser, address)
    lines = hover_lines(browser)
    lines = "\n".join(lines)
    assert re.search(r"^epoch \d+$", lines, re.MULTILINE)
    shown = r"^CTRE_sim ?: \d\d\.\d % \(\d\d\.\d % to \d\d\.\d %\)$"
    assert re.search(shown, lines, re.MULTILINE)
    assert "Dense" in lines
    pick(browser, "data", 1)
    pick(browser, "x", 2)
    pick(browser, "y", 2)
    browser.wait_for(CHART.format(".xtitle") + ".textContent.startsWith('multiply')")
    assert "MNIST" in browser.evaluate("document.getElementById('inputs').innerText")
    assert browser.evaluate("document.querySelectorAll('#panels canvas').length") == 5
    assert complaints(browser) == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1400, 390])
def test_no_window_has_to_be_scrolled_sideways(browser, address, width, dark):
    open_page(browser, address, width=width, dark=dark)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    shade = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(re.search(r"\d+", shade)[0]) < 128) is dark
    assert complaints(browser) == []


def test_receipts_are_filtered_and_open(browser, address):
    open_page(browser, address)
    assert browser.evaluate("document.getElementById('run-count').textContent") == (
        "72 of 72 shown"
    )
    browser.evaluate(
        "(() => { const f = document.getElementById('run-filter');"
        "f.value = 'mnist set seed 1'; f.dispatchEvent(new Event('input')); })()"
    )
    browser.wait_for("document.querySelectorAll('#run-list details').length === 2")
    browser.click("#run-list summary")
    browser.wait_for("document.querySelector('#run-list .receipt')")
    text = browser.evaluate("document.querySelector('#run-list .receipt').innerText")
    assert "dense twin" in text and "x86_64_v4" in text and "masked, 150 epochs" in text
    assert complaints(browser) == []


def test_the_receipt_of_a_baseline_has_no_network(browser, tmp_path):
    path = tmp_path / "baselines.html"
    write_results_page(path, beside_baselines(1))
    open_page(browser, path.as_uri())
    listed = browser.evaluate("document.getElementById('run-list').innerText")
    assert listed.count("connections") == 2 and "n 0" not in listed
    browser.evaluate(
        "(() => { const f = document.getElementById('run-filter');"
        "f.value = 'random forest'; f.dispatchEvent(new Event('input')); })()"
    )
    browser.wait_for("document.querySelectorAll('#run-list details').length === 1")
    browser.click("#run-list summary")
    browser.wait_for("document.querySelector('#run-list .receipt')")
    text = browser.evaluate("document.querySelector('#run-list .receipt').innerText")
    assert "90.0 %" in text and "scikit-learn" in text
    assert "epoch" not in text and "dense twin" not in text
    assert complaints(browser) == []


AXIS = "document.getElementById('curve-chart')._fullLayout.yaxis.range"


@pytest.mark.parametrize("score", [0.5, 1.0])
def test_curves_that_do_not_move_keep_a_narrow_axis(browser, tmp_path, score):
    (run,) = campaign(("madelon",), ("set",), (100,), seeds=1, epochs=4)
    steady = {**run.curves, "test_score": np.full(4, score)}
    path = tmp_path / "steady.html"
    write_results_page(path, [dataclasses.replace(run, curves=steady)])
    open_page_of_one(browser, path.as_uri())
    low, high = browser.evaluate(AXIS)
    assert score - 0.1 < low < score < high < score + 0.1
    assert high < 1.01


def test_quantities_have_no_axis_in_per_cent(browser, tmp_path):
    results = [of_score(own_run(seed=k), -0.1, task="regression") for k in range(2)]
    path = tmp_path / "r2.html"
    write_results_page(path, results)
    open_page_of_one(browser, path.as_uri())
    assert "test R²" in browser.evaluate(CHART.format(".ytitle") + ".textContent")
    ticks = browser.evaluate(CHART.format(".yaxislayer-above") + ".textContent")
    assert "%" not in ticks
    runs = browser.evaluate("document.getElementById('run-list').innerText")
    assert "R² -0.100" in runs and "%" not in runs
    assert complaints(browser) == []


def open_page_of_one(browser, address):
    """A single line has no legend to wait for."""
    browser.events.clear()
    browser.open(address)
    browser.wait_for(CHART.format(".scatterlayer .trace"))


def test_the_page_says_whose_scores_are_those_of_the_last_epoch():
    run = Run("madelon", "cofire", 100, 1.0, 0, profile="house")
    usual = dataclasses.replace(run, method="set", profile="masked")
    both = lead(by_cell([result(run), result(usual)]))
    assert "validation rows chose (profile house: at the last epoch)" in both
    assert "last epoch" not in lead(by_cell([result(usual)]))
    assert "accuracy, at the last epoch; test rows" in lead(by_cell([result(run)]))
