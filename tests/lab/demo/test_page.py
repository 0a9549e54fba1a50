import copy
import json
import re
from html.parser import HTMLParser

import pytest

from cofire.lab.demo.page import demo_page, write_demo_page
from helpers.chromium import Chromium, find_chromium


def method(title, accuracies, connections, inputs):
    epochs = 4
    return {
        "title": title,
        "model": None,
        "accuracies": accuracies,
        "mean": sum(accuracies) / len(accuracies),
        "sd": 0.0125,
        "connections": connections,
        "density": connections / 70_200,
        "seconds": 1.25,
        "curve": {key: [0.5] * epochs for key in ("mean", "low", "high")},
        "input_connections": inputs,
    }


@pytest.fixture
def figures():
    return {
        "data": "madelon",
        "sizes": [5, 3, 2],
        "epochs": 4,
        "seeds": [0, 1],
        "methods": {
            "dense": method("Dense", [0.5, 0.55], 70_200, [3.0] * 5),
            "set": method("SET", [0.5, 0.61], 1102, [1.0, 1, 1, 1, 0]),
            "ctre_sim": method("CTRE", [0.8, 0.9], 1102, [0.0, 3, 1, 0, 0]),
            "default": method("Default", [0.87, 0.89], 1404, [0.0, 9, 1, 0, 0])
            | {"model": "SparseMLPClassifier()", "curve": None},
            "gradient_boosting": method("Boosting", [0.82], 0, [])
            | {"model": "HistGradientBoostingClassifier()", "curve": None}
            | dict.fromkeys(("connections", "density", "input_connections")),
        },
        "points_above": {"dense": 32.5, "set": 29.5},
        "default_above_boosting": 6.0,
        "default_sizes": [5, 4, 4, 2],
        "default_networks": 4,
        "informative_features": [1],
        "receipt": "1,102 connections & <no> more",
        "seconds": 61.4,
    }


class Reader(HTMLParser):
    """Collects tags that are open, attributes and text."""

    VOID = {"meta", "br", "img", "link", "input"}

    def __init__(self, page):
        super().__init__()
        self.open, self.attributes, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["script"], ["style"]):
            self.text += data


def script_data(page):
    found = re.search(r'<script id="figures"[^>]*>(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def test_the_page_says_what_was_measured(figures):
    reader = Reader(demo_page(figures))
    assert reader.open == []
    text = " ".join(reader.text.replace("\N{NO-BREAK SPACE}", " ").split())
    assert "88.0 % right with 2.0 % of the connections" in text
    assert "cofire gets 88.0 %" in text and "gradient boosting 82.0 %" in text
    assert "with all 70,200 of them it gets 52.5 %, with 1,102" in text
    assert "fire alike (CTRE) 85.0 %" in text
    assert "85.0 ± 1.2 %80.0, 90.0" in text
    assert "DefaultSparseMLPClassifier()88.0 ± 1.2 %87.0, 89.01,404" in text
    assert "BoostingHistGradientBoostingClassifier()82.0 %82.0–1.2 s" in text
    assert "The default (4 networks 5-4-4-2) and gradient boosting" in text
    assert "75.0 % of its input connections are on the 1 useful inputs" in text
    assert "1,102 connections & <no> more" in text
    assert "cofire demo --epochs 4 --seeds 2" in text
    assert "{{" not in text


def test_the_page_carries_its_curves(figures):
    data = script_data(demo_page(figures))
    assert data["epochs"] == 4
    assert data["informative"] == [1]
    assert data["methods"]["ctre_sim"]["inputs"] == [0, 3, 1, 0, 0]
    assert data["methods"]["set"]["mean"] == [0.5] * 4
    assert data["methods"]["gradient_boosting"] == {"title": "Boosting", "final": 0.82}
    assert "inputs" not in data["methods"]["default"]


def test_the_page_asks_the_network_for_nothing(figures):
    page = demo_page(figures)
    reader = Reader(page)
    assert not {"src", "href", "srcset"} & {name for name, _ in reader.attributes}
    assert set(re.findall(r"https?://[^\s\"'<]*", page)) == {
        "http://www.w3.org/2000/svg"  # a name, not an address
    }
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    assert len(page) < 100_000


def test_one_seed_has_no_spread(figures):
    for row in figures["methods"].values():
        row["accuracies"] = row["accuracies"][:1]
    figures["seeds"] = [0]
    page = demo_page(figures)
    assert "±" not in page
    assert "mean of 1 seed, band" in " ".join(page.split())


def test_names_cannot_break_out(figures):
    bad = copy.deepcopy(figures)
    bad["methods"]["set"]["title"] = "</script><script>alert(1)</script>"
    page = demo_page(bad)
    assert "<script>alert" not in page
    assert script_data(page)["methods"]["set"]["title"].startswith("</script>")


def test_the_page_is_written_as_utf8(figures, tmp_path):
    write_demo_page(tmp_path / "p.html", figures)
    assert (tmp_path / "p.html").read_text("utf-8") == demo_page(figures)


# ---- in a browser --------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(find_chromium(), tmp_path_factory.mktemp("profile")) as browser:
        yield browser


LABELS = "[...document.querySelectorAll('#curves .end')].map(text => text.textContent)"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [500, 1100])
def test_the_chart_has_all_methods_and_fits(browser, figures, tmp_path, width, dark):
    path = tmp_path / "demo.html"
    write_demo_page(path, figures)
    browser.events.clear()
    browser.open(path.as_uri(), width=width, dark=dark)
    browser.wait_for("document.querySelector('#curves .end')")
    labels = browser.evaluate(LABELS)
    wide = width > 560
    assert sorted(labels) == sorted(
        f"{row['title'] + ' ' if wide else ''}"
        f"{100 * (row['curve']['mean'][-1] if row['curve'] else row['mean']):.1f} %"
        for row in figures["methods"].values()
    )
    dashed = "document.querySelectorAll('#curves path[stroke-dasharray]').length"
    assert browser.evaluate(dashed) == 2
    sideways = "document.documentElement.scrollWidth - innerWidth"
    assert browser.evaluate(sideways) <= 0
    assert not [
        event
        for event in browser.events
        if event[0] in ("Runtime.exceptionThrown", "Log.entryAdded")
    ]
