"""The results page in a real browser: it is clicked through, and looked at."""

import dataclasses
import re

import numpy as np
import pytest

from cofire.lab.experiments.compare import comparison_table, standings, verdict
from cofire.lab.report.results_page import write_results_page
from helpers.chromium import Chromium, find_chromium
from helpers.results_cases import (
    beside_baselines,
    campaign,
    of_score,
    own_run,
    tables,
)


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
    "document.getElementById('tip').style.opacity === '1' ? "
    "[...document.getElementById('tip').children].map(line => line.textContent) : []"
)
SHOWN = "document.querySelectorAll('#curve-chart .line').length"


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
    browser.evaluate(CHART.format("svg") + ".scrollIntoView({block: 'center'})")
    x, y, width, height = browser.evaluate(
        f"(r => [r.x, r.y, r.width, r.height])"
        f"({CHART.format('svg')}.getBoundingClientRect())"
    )
    browser.move(x + width / 2, y + height / 2)
    browser.wait_for(f"({HOVERED}).length")
    return browser.evaluate(HOVERED)


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


def test_epochs_are_called_validated_only_if_they_were(browser, address, tmp_path):
    options = "[...document.getElementById('pick-y').options].map(o => o.value)"
    open_page(browser, address)
    assert browser.evaluate(options) == ["selected", "test", "loss"]
    results = [
        dataclasses.replace(
            one,
            curves={k: v for k, v in one.curves.items() if k != "validation_score"},
        )
        for one in campaign(seeds=1, epochs=20)
    ]
    write_results_page(tmp_path / "page.html", results)
    open_page(browser, (tmp_path / "page.html").as_uri())
    assert browser.evaluate(options) == ["test", "loss"]
    assert "validated" not in browser.evaluate(CHART.format("svg") + ".textContent")
    assert complaints(browser) == []


def test_curves_tell_their_values_to_the_pointer(browser, address):
    open_page(browser, address)
    lines = hover_lines(browser)
    lines = "\n".join(lines)
    assert re.search(r"^epoch \d+$", lines, re.MULTILINE)
    shown = r"^CTRE_sim: \d\d\.\d % \(\d\d\.\d % to \d\d\.\d %\)$"
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
    for said in ("dense network", "x86_64_v4", "masked, 150 epochs"):
        assert said in text
    assert complaints(browser) == []


def test_the_receipt_of_a_baseline_has_no_network(browser, tmp_path):
    path = tmp_path / "baselines.html"
    write_results_page(path, beside_baselines(1))
    open_page(browser, path.as_uri())
    listed = browser.evaluate("document.getElementById('run-list').innerText")
    assert listed.count("connections") == 2 and "neurons 0" not in listed
    browser.evaluate(
        "(() => { const f = document.getElementById('run-filter');"
        "f.value = 'random forest'; f.dispatchEvent(new Event('input')); })()"
    )
    browser.wait_for("document.querySelectorAll('#run-list details').length === 1")
    browser.click("#run-list summary")
    browser.wait_for("document.querySelector('#run-list .receipt')")
    text = browser.evaluate("document.querySelector('#run-list .receipt').innerText")
    assert "90.0 %" in text and "scikit-learn" in text
    assert "epoch" not in text and "dense network" not in text
    assert complaints(browser) == []


TICKS = (
    "[...document.querySelectorAll('#curve-chart .yticks text')]"
    ".map(tick => parseFloat(tick.textContent))"
)


@pytest.mark.parametrize("score", [0.5, 1.0])
def test_curves_that_do_not_move_keep_a_narrow_axis(browser, tmp_path, score):
    (run,) = campaign(("madelon",), ("set",), (100,), seeds=1, epochs=4)
    steady = {**run.curves, "test_score": np.full(4, score)}
    path = tmp_path / "steady.html"
    write_results_page(path, [dataclasses.replace(run, curves=steady)])
    open_page_of_one(browser, path.as_uri())
    ticks = browser.evaluate(TICKS)
    assert len(ticks) > 2
    assert 100 * score - 10 < min(ticks) < 100 * score <= max(ticks)
    assert max(ticks) < min(100 * score + 10, 100.1)


def test_quantities_have_no_axis_in_per_cent(browser, tmp_path):
    results = [of_score(own_run(seed=k), -0.1, task="regression") for k in range(2)]
    path = tmp_path / "r2.html"
    write_results_page(path, results)
    open_page_of_one(browser, path.as_uri())
    assert "test R²" in browser.evaluate(CHART.format(".ytitle") + ".textContent")
    ticks = browser.evaluate(CHART.format(".yticks") + ".textContent")
    assert "%" not in ticks
    runs = browser.evaluate("document.getElementById('run-list').innerText")
    assert "R² -0.100" in runs and "%" not in runs
    assert complaints(browser) == []


def open_page_of_one(browser, address):
    """A single line has no legend to wait for."""
    browser.events.clear()
    browser.open(address)
    browser.wait_for(CHART.format(".line"))


# ---- everything that can be clicked --------------------------------------------------


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    """The page of `cofire compare`."""
    results = beside_baselines(3)
    table = comparison_table(results, "my.csv")
    path = tmp_path_factory.mktemp("compare") / "compare.html"
    write_results_page(
        path,
        results,
        [table],
        title=table.title,
        headline=verdict(standings(results)),
        command="cofire compare my.csv",
    )
    return path


def test_a_click_on_a_name_hides_its_line_and_two_clicks_all_others(browser, address):
    open_page(browser, address)
    n = browser.evaluate(SHOWN)
    assert n == 6
    third = "#curve-chart .legend button:nth-child(3)"
    browser.click(third)
    assert browser.evaluate(SHOWN) == n - 1
    pressed = f"document.querySelector('{third}').getAttribute('aria-pressed')"
    assert browser.evaluate(pressed) == "false"
    browser.click(third)
    assert browser.evaluate(SHOWN) == n
    double_click(browser, third)
    assert browser.evaluate(SHOWN) == 1 and browser.evaluate(pressed) == "true"
    double_click(browser, third)
    assert browser.evaluate(SHOWN) == n
    assert complaints(browser) == []


def double_click(browser, selector):
    """Two clicks at one place, as the browser counts them."""
    x, y = browser.evaluate(
        f"(r => [r.x + r.width / 2, r.y + r.height / 2])"
        f"(document.querySelector('{selector}').getBoundingClientRect())"
    )
    for count in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            how = {"x": x, "y": y, "button": "left", "clickCount": count}
            browser.call("Input.dispatchMouseEvent", type=kind, **how)


def test_every_choice_and_every_button_can_be_used(browser, address):
    open_page(browser, address)
    for name in ("data", "hidden", "epsilon", "profile", "rows", "y", "x", "order"):
        n = browser.evaluate(f"document.getElementById('pick-{name}').length")
        for number in range(n):
            pick(browser, name, number)
            assert browser.evaluate(SHOWN) > 0, (name, number)
    for name in ("bands", "log"):
        before = browser.evaluate(CHART.format("svg") + ".innerHTML")
        browser.click(f"#pick-{name}")
        assert browser.evaluate(CHART.format("svg") + ".innerHTML") != before
    for link in browser.evaluate(
        "[...document.querySelectorAll('nav a')].map(link => link.getAttribute('href'))"
    ):
        browser.click(f'nav a[href="{link}"]')
        assert browser.evaluate("location.hash") == link
        assert browser.evaluate(f"document.querySelector('{link}') !== null")
    n = browser.evaluate("document.querySelectorAll('summary').length")
    for i in range(n):
        summary = f"document.querySelectorAll('summary')[{i}]"
        is_open = browser.evaluate(f"{summary}.parentElement.open")
        browser.evaluate(f"{summary}.click()")
        assert browser.evaluate(f"{summary}.parentElement.open") is not is_open
    n = browser.evaluate("document.querySelectorAll('thead button').length")
    assert n > 15
    for i in range(n):
        browser.evaluate(f"document.querySelectorAll('thead button')[{i}].click()")
    assert browser.evaluate("document.querySelectorAll('[aria-sort]').length") >= 3
    assert complaints(browser) == []


def test_the_table_of_settings_is_filtered(browser, address):
    open_page(browser, address)
    browser.evaluate(
        "(() => { const f = document.getElementById('cell-filter');"
        "f.value = 'mnist dense'; f.dispatchEvent(new Event('input')); })()"
    )
    browser.wait_for("document.getElementById('cell-count').textContent")
    assert browser.evaluate("document.getElementById('cell-count').textContent") == (
        "2 of 24"
    )


# ---- small windows -------------------------------------------------------------------

SCROLLERS = (
    "[...document.querySelectorAll('.scroller')].filter(s => s.offsetWidth).map(s => {"
    "const inner = s.firstElementChild;"
    "const after = getComputedStyle(s, '::after');"
    "const before = getComputedStyle(s, '::before');"
    "return [inner.scrollWidth - inner.clientWidth, after.display !== 'none',"
    " before.display !== 'none', inner.getAttribute('aria-label')]; })"
)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("which", ["report", "compare"])
def test_at_500_pixels_tables_show_that_they_scroll(
    browser, address, comparison, which, dark
):
    where = address if which == "report" else comparison.as_uri()
    open_page(browser, where, width=500, dark=dark)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 500
    found = browser.evaluate(SCROLLERS)
    assert any(hidden > 2 for hidden, *_ in found)
    for hidden, right, left, name in found:
        assert right is (hidden > 2), name
        assert not left, name
    browser.evaluate(
        "document.querySelectorAll('.wide').forEach(w => { w.scrollLeft = 1e5; })"
    )
    browser.wait_for("document.querySelector('.scroller.more-left')")
    for hidden, right, left, name in browser.evaluate(SCROLLERS):
        assert not right and left is (hidden > 2), name
    assert complaints(browser) == []


@pytest.mark.parametrize("which", ["report", "compare"])
def test_at_500_pixels_the_scores_can_be_read_without_scrolling(
    browser, address, comparison, which
):
    where = address if which == "report" else comparison.as_uri()
    open_page(browser, where, width=500)
    table = "#cells" if which == "report" else "#summary"
    heading, cell = (
        browser.evaluate(
            f"(r => [r.left, r.right])(document.querySelector("
            f"'{table} .scroller {part} tr > :nth-child(2)').getBoundingClientRect())"
        )
        for part in ("thead", "tbody")
    )
    text = browser.evaluate(
        f"document.querySelector('{table} thead th:nth-child(2)').textContent"
    )
    assert text == "accuracy %"
    assert heading[1] <= 500 and 0 <= cell[0] < cell[1] <= 500


def test_a_comparison_is_a_small_page_with_its_verdict_on_top(browser, comparison):
    assert comparison.stat().st_size < 1.5e6
    open_page(browser, comparison.as_uri(), width=1200)
    top = browser.evaluate("document.querySelector('h1').textContent")
    assert top == "Random forest is best: 90.0 % right, not significant with 3 seeds"
    assert browser.evaluate("document.title").startswith(top)
    y, height = browser.evaluate(
        "(r => [r.y, r.height])(document.querySelector('h1').getBoundingClientRect())"
    )
    assert y + height < 200
    first = browser.evaluate(
        "(r => r.y)(document.querySelector('#summary table').getBoundingClientRect())"
    )
    assert first < 500
    assert complaints(browser) == []


def test_compressed_data_are_read(browser, tmp_path, monkeypatch):
    monkeypatch.setattr("cofire.lab.report.results_page.MOST_PLAIN", 1000)
    path = tmp_path / "packed.html"
    write_results_page(path, campaign(("madelon",), hidden=(100,), seeds=2, epochs=9))
    assert b"deflate" in path.read_bytes()
    open_page(browser, path.as_uri())
    assert browser.evaluate(SHOWN) == 6
    assert complaints(browser) == []
