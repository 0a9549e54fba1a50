"""The paper's tables and figures: which runs they need, what they make of them."""

import json
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from cofire.lab.experiments import Store
from cofire.lab.experiments.statistics import agreement
from cofire.lab.paper import (
    ITEMS,
    Choice,
    fair,
    item_named,
    published,
    summary,
)
from cofire.lab.paper.captions import caption
from cofire.lab.paper.cells import gather
from cofire.lab.paper.fair import trials
from cofire.lab.paper.reproduce import tabulate, write
from cofire.lab.paper.tables import printed_cell
from cofire.methods import METHODS
from helpers.needs import needs_package
from helpers.results_cases import result

ALL = Choice()
FAIR = ITEMS["fair"]
SMALL = Choice(data=("madelon",), hidden=(100,), epsilon=(1.0,))
WITH_RUNS = sorted(name for name, item in ITEMS.items() if item.runs(ALL))
WITH_ACCURACIES = [name for name, item in ITEMS.items() if item.published]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        yield store


def fill(store, runs, made=result):
    """Put a result into the store for each of the runs."""
    store.add(runs)
    for number, run in enumerate(runs):
        assert store.claim(run)
        store.finish(run, made(run, number), {})


def scored(scores):
    """Results with test accuracies by (method, seed), else 0.5."""

    def made(run, number):
        score = scores.get((run.method, run.seed), 0.5)
        return replace(result(run, number), score=score)

    return made


def rows(table):
    """Each row by its columns."""
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_the_authors_program_changes_what_the_paper_leaves_open():
    runs = item_named("table2").runs(replace(SMALL, program=True))
    changed = {run.method: json.loads(run.options) for run in runs}
    early = {"method_options": {"first_update": "index_order", "ties": "index"}}
    assert changed["ctre_seq"] == changed["ctre_sim"] == early
    assert changed["rigl"] == {"method_options": {"batch": "random_batch"}}
    assert changed["set"] == changed["snip"] == changed["dense"] == {}


# ---- which runs ----------------------------------------------------------------------

# The specification, section 7, inventory: the runs that an item needs beyond the table
# whose runs it shares (the main one, where nothing else is said).
NEW_RUNS = {
    "table1": 0,
    "table2": 4050 + 54,  # three seeds of each dense network
    "table3": 0,
    "table4": 270,
    "table5": 54,
    "table6": 0,
    "table7": 270,
    "table8": 540,
    "table9": 162,
    "table10": 324,
    "figure2": 0,
    "figure3": 13 * 4 * 3 + 5 * 5 * 3 + 6 * 5 * 3,
    "figure4": 6,
    "figure5": 0,
    "figure6": 0,
    "figure7": 0,
} | {f"figure{k}": 0 for k in range(8, 14)}
SHARED = {"table2": None, "figure5": "table5", "figure7": "table4"}


@pytest.mark.parametrize("name", NEW_RUNS)
def test_items_need_as_many_runs_as_the_inventory_says(name):
    runs = ITEMS[name].runs(ALL)
    assert len(runs) == len(set(runs))
    others = ["table2", SHARED.get(name)] if name != "table2" else []
    shared = {run for other in others if other for run in ITEMS[other].runs(ALL)}
    assert len(set(runs) - shared) == NEW_RUNS[name]
    if NEW_RUNS[name] == 0 and name != "table1":
        assert runs


def test_runs_are_those_of_the_paper():
    epochs = {name: {r.epochs for r in ITEMS[name].runs(ALL)} for name in NEW_RUNS}
    assert epochs.pop("table1") == set() and epochs.pop("figure4") == {100}
    assert set.union(*epochs.values()) == {500}
    profiles = {name: {r.profile for r in ITEMS[name].runs(ALL)} for name in epochs}
    assert profiles.pop("table8") == {"sparse"}
    assert set.union(*profiles.values()) == {"masked"}


def test_a_few_seeds_of_every_cell_come_first():
    runs = ITEMS["table2"].runs(ALL)
    n_first = 6 * 9 * 5 * 3 + 6 * 3 * 3
    assert {run.seed for run in runs[:n_first]} == {0, 1, 2}
    assert len({run.cell for run in runs[:n_first]}) == 6 * 9 * 5 + 6 * 3
    seeds = [run.seed // 3 for run in runs]
    assert seeds == sorted(seeds)


def test_a_choice_leaves_out_what_is_not_asked_for():
    choice = replace(SMALL, methods=("set", "dense"), seeds=2, epochs=7)
    runs = ITEMS["table2"].runs(choice)
    assert {(r.method, r.epsilon, r.seed) for r in runs} == {
        *(("set", 1.0, 0), ("set", 1.0, 1)),
        *(("dense", None, 0), ("dense", None, 1)),
    }
    assert {(r.data, r.hidden, r.epochs) for r in runs} == {("madelon", 100, 7)}
    assert ITEMS["table5"].runs(replace(ALL, data=("isolet",))) == []
    assert len(ITEMS["table4"].runs(replace(ALL, seeds=99))) == 5 * 9 * 2 * (15 + 3)


def test_another_search_makes_other_runs_of_those_that_search_alone():
    exact = ITEMS["table2"].runs(SMALL)
    screened = ITEMS["table2"].runs(replace(SMALL, similarity="screened"))
    changed = {r.method for r in set(screened) - set(exact)}
    assert changed == {"ctre_seq", "ctre_sim"}
    assert len(set(screened) & set(exact)) == 3 * 15 + 3
    assert {r.options for r in screened if r.method == "ctre_sim"} == {
        '{"similarity":"screened"}'
    }


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"data": ("madeln",)}, "unknown data set 'madeln'. Did you mean 'madelon'"),
        ({"methods": ("ctre",)}, "unknown method 'ctre'. Did you mean"),
        ({"similarity": "exat"}, "unknown similarity 'exat'. Did you mean 'exact'"),
    ],
)
def test_a_choice_of_what_does_not_exist_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        Choice(**wrong)
    with pytest.raises(ValueError, match="unknown table or figure 'table22'. Did"):
        item_named("table22")


@pytest.mark.parametrize("name", WITH_RUNS)
def test_quick_is_a_small_part_and_says_so(name):
    choice = Choice(quick=True)
    runs = ITEMS[name].runs(choice)
    assert 0 < len(runs) < len(ITEMS[name].runs(ALL)) or name == "rewiring"
    assert all(run.epochs <= 60 for run in runs)
    assert max(Counter(run.cell for run in runs).values()) <= 2
    assert {r.method for r in runs} == {r.method for r in ITEMS[name].runs(ALL)}
    assert "REDUCED" in caption(choice, runs, [])
    assert "REDUCED" not in caption(ALL, runs, [])


# ---- what the paper prints -----------------------------------------------------------

N_ROWS = {
    "datasets": 8,
    "results_main": 6 * (9 * 5 + 3),
    "density": 6 * (9 + 3),
    "significance": 6 * 9 * 4,
    "ablation_cosine": 5 * 9 * 4,
    "ablation_hebb": 9 * 4,
    "training_delay": 6 * 3 * 5,
    "ablation_sampling": 5 * 9 * 3,
    "pure_sparse": 5 * 9 * 4,
    "ablation_euclidean": 6 * 9 * 2,
    "ablation_seq_order": 6 * 9 * 3,
}


@pytest.mark.parametrize("file", N_ROWS)
def test_the_paper_s_tables_are_whole_and_their_names_ours(file):
    assert {path.stem for path in published.FOLDER.glob("*.csv")} == set(N_ROWS)
    lines = published.rows(file)
    assert len(lines) == N_ROWS[file]
    if file == "datasets":
        return
    places = [published.cell_of(row) for row in lines]
    assert len(set(places)) == len(places)
    known = {*METHODS, "" if file == "density" else "CTRE"}
    assert {where.method for where in places} <= known
    assert {where.hidden for where in places} == {100, 500, 1000}
    dense = {"results_main": {"dense"}, "density": {""}}.get(file, set())
    assert {p.method for p in places if p.epsilon is None} == dense


@pytest.mark.parametrize("name", WITH_ACCURACIES)
def test_items_ask_for_what_the_paper_prints_and_for_nothing_else(name):
    printed = published.accuracies(ITEMS[name].published)
    runs = ITEMS[name].runs(ALL)
    assert {printed_cell(run.cell) for run in runs} == set(printed)
    seeds = {where: set() for where in printed}
    for run in runs:
        seeds[printed_cell(run.cell)].add(run.seed)
    assert {w: len(s) for w, s in seeds.items()} == {
        where: figures.seeds for where, figures in printed.items()
    }


@pytest.mark.parametrize("name, file", [("table3", "significance"), ("table6", None)])
def test_items_of_their_own_kind_ask_for_what_is_printed(name, file):
    lines = published.rows(file or "training_delay")
    printed = {published.cell_of(row) for row in lines}
    cells = {run.cell for run in ITEMS[name].runs(ALL)}
    assert {w for w in printed if w.method != "CTRE"} <= {
        printed_cell(cell) for cell in cells
    }


# ---- tables --------------------------------------------------------------------------


def test_accuracies_stand_beside_the_paper_s(store):
    choice = replace(SMALL, methods=("set", "ctre_sim"), seeds=2)
    runs = ITEMS["table2"].runs(choice)
    scores = {("set", 0): 0.60, ("set", 1): 0.62, ("ctre_sim", 0): 0.90}
    fill(store, [r for r in runs if (r.method, r.seed) in scores], scored(scores))
    made = tabulate(ITEMS["table2"], store, choice)
    table, densities = made.tables
    first, second = rows(table)
    assert [first["method"], second["method"]] == ["SET", "CTRE_sim"]
    assert (first["ours"].mean, first["ours"].spread) == pytest.approx((61, 1))
    assert (first["paper"].mean, first["paper"].spread) == (60.4, 2.1)
    assert (first["seeds"], first["seeds there"]) == (2, 15)
    assert first["difference"] == pytest.approx(0.6) and first["mark"] == "agrees"
    assert first["p"] == pytest.approx(agreement([60, 62], 60.4, 2.1, 15).p)
    assert second["difference"] == pytest.approx(8.4) and second["mark"] == "above"
    assert second["p"] is None  # one seed
    # Best in the paper is CTRE_seq, of which there is no run here.
    assert table.bold == {(1, table.columns.index("ours"))}
    assert "1 of 2 cells agree, 1 above, 0 below" in table.caption
    missing = "1 of 4 runs are missing: madelon n = 100 eps 1 (1)."
    assert missing in table.caption
    assert [run.seed for run in made.found.missing] == [1] and made.found.n_runs == 4
    (line,) = rows(densities)
    assert (line["connections (thousands)"], line["density %"]) == pytest.approx(
        (1.102, 100 * 1102 / 70200)
    )
    assert line["paper: connections (thousands)"] == 1.1


def test_results_of_other_runs_have_no_say(store):
    choice = replace(SMALL, methods=("set",), seeds=1)
    (run,) = ITEMS["table2"].runs(choice)
    others = [
        replace(run, epochs=60),
        replace(run, profile="sparse"),
        replace(run, seed=1),
        replace(run, split=0),
        replace(run, options='{"momentum":0.5}'),
    ]
    fill(store, others)
    assert tabulate(ITEMS["table2"], store, choice).tables == []
    fill(store, [run], scored({("set", 0): 0.6}))
    (line,) = rows(tabulate(ITEMS["table2"], store, choice).tables[0])
    assert (line["ours"].mean, line["seeds"]) == (60.0, 1)


def test_the_summary_counts_each_place_once_and_as_the_paper_trained_it(store):
    (run,) = ITEMS["table2"].runs(
        Choice(
            data=("madelon",), methods=("set",), hidden=(1000,), epsilon=(1,), seeds=1
        )
    )
    # Of the same place, but for other items: for few epochs, and under study.
    others = [run for name in ("cost", "rewiring") for run in ITEMS[name].runs(ALL)]
    others = [other for other in others if other.cell.method == "set"]
    fill(store, others, scored({}))
    fill(store, [run], scored({("set", 0): 0.617}))
    found = ITEMS["summary"].find(store, ALL)
    counted = {row["table"]: row for row in rows(summary.faithfulness_table(found))}
    assert counted["table2"]["done"] == counted["all"]["done"] == 1
    assert counted["table2"]["agree"] == counted["all"]["agree"] == 1
    assert counted["table8"]["done"] == 0


def test_the_summary_tells_variants_that_have_the_figures_of_set(store):
    """As printed, and with a run here that is far off while SET's is near."""
    where = Choice(data=("isolet",), hidden=(500,), epsilon=(1,), seeds=1)
    first = ITEMS["table10"].runs(replace(where, methods=("ctre_seq_abl1",)))
    # Of the same place as the run of SET that counts, but under study or sparse.
    others = ITEMS["table8"].runs(replace(where, methods=("set",)))
    fill(store, others, scored({("set", 0): 0.1}))
    fill(
        store,
        ITEMS["table2"].runs(replace(where, methods=("set",))),
        scored({("set", 0): 0.86}),
    )
    fill(store, first, scored({("ctre_seq_abl1", 0): 0.5}))
    lines = rows(summary.set_like_table(ITEMS["summary"].find(store, ALL)))
    found = {line["method"]: line for line in lines}
    main = {
        (p.data, p.hidden, p.epsilon): v
        for p, v in published.accuracies("results_main").items()
        if p.method == "set"
    }
    off = [
        v.mean - main[p.data, p.hidden, p.epsilon].mean
        for p, v in published.accuracies("ablation_seq_order").items()
        if p.method == "ctre_seq_abl1"
    ]
    reversed_order = found["CTRE_abl1:seq"]
    assert reversed_order["cells"] == reversed_order["agree with the paper's SET"] == 54
    assert reversed_order["mean difference"] == pytest.approx(np.mean(off))
    assert reversed_order["mean distance"] == pytest.approx(np.mean(np.abs(off)))
    assert reversed_order["run here"] == reversed_order["our SET agrees"] == 1
    assert reversed_order["our variant agrees"] == 0
    assert found["CTRE_sim-euclidean"]["agree with the paper's SET"] < 54
    assert found["CTRE_sim-euclidean"]["run here"] == 0
    assert "CTRE_seq" not in found and len(found) == len(lines) == 9


def test_missing_runs_are_named_but_not_without_end(store):
    made = caption(ALL, *[ITEMS["table2"].runs(ALL)] * 2)
    assert "4104 of 4104 runs are missing: madelon n = 100 eps 1 (75), " in made
    assert made.endswith("and 64 more cells.")  # of 6 * (9 + 3)


def test_nothing_is_made_of_nothing(store, tmp_path):
    for name, item in ITEMS.items():
        if name != "table1":
            made = tabulate(item, store, SMALL)
            assert made.tables == [] and write(made, tmp_path / "out") == []
    elsewhere = replace(ALL, data=("pcmac",))  # of which no table has a cell
    assert tabulate(ITEMS["table2"], store, elsewhere).tables == []
    assert not (tmp_path / "out").exists()


def test_every_table_of_accuracies_is_written(store, tmp_path):
    choice = replace(SMALL, seeds=2, epochs=3)
    names = [n for n in WITH_ACCURACIES if ITEMS[n].runs(choice)]
    fill(store, list(dict.fromkeys(r for n in names for r in ITEMS[n].runs(choice))))
    for name in names:
        made = tabulate(ITEMS[name], store, choice)
        made.found = replace(made.found, cells={})  # no figures here
        files = {path.name for path in write(made, tmp_path)}
        own = f"{name}-3-epochs"  # not in the place of the real one
        assert {f"{own}.md", f"{own}.csv", f"{own}.tex"} <= files
        (table, *_) = made.tables
        assert len(table.rows) == len({r.cell for r in ITEMS[name].runs(choice)})
        assert all(line["paper"] is not None for line in rows(table))
        assert "missing" not in table.caption


def test_the_test_of_significance_is_against_the_better_variant(store):
    scores = {("ctre_seq", k): 0.70 + k / 1000 for k in range(15)}
    scores |= {("ctre_sim", k): 0.80 + k / 1000 for k in range(15)}
    scores |= {("set", k): 0.60 + k / 1000 for k in range(15)}
    # In the same order, eight of fifteen beyond the others' largest: D = 8/15.
    scores |= {("rigl", k): 0.80 + (k - 8) / 1000 for k in range(15)}
    scores |= {("snip", k): 0.80 + (k - 7) / 1000 for k in range(15)}
    fill(store, ITEMS["table3"].runs(SMALL), scored(scores))
    (table,) = tabulate(ITEMS["table3"], store, SMALL).tables
    found = {row["method"]: row for row in rows(table)}
    assert list(found) == ["SNIP", "RigL", "SET"]
    assert {row["CTRE is"] for row in found.values()} == {"CTRE_sim"}
    assert [found[m]["KS"] for m in found] == pytest.approx([7 / 15, 8 / 15, 1])
    assert [found[m]["ours"] for m in found] == ["True", "Reject", "Reject"]
    assert [found[m]["paper"] for m in found] == ["Reject"] * 3
    assert found["SET"]["CTRE - method"] == pytest.approx(20)
    p = [found[m]["p"] for m in found]
    # Holm: the smallest of three times 3, the next times 2, the largest as it is.
    assert [found[m]["p, Holm"] for m in found] == pytest.approx(
        [p[0], 2 * p[1], 3 * p[2]]
    )
    assert "2 of 3 decisions are the paper's" in table.caption


def test_too_few_seeds_decide_nothing_and_weaken_nobody(store):
    """Cells with three seeds have no decision, and Holm does not count them."""
    small = replace(SMALL, hidden=(100, 500), methods=("set", "ctre_seq", "ctre_sim"))
    runs = [
        run for run in ITEMS["table3"].runs(small) if run.hidden == 100 or run.seed < 3
    ]
    scores = {("set", k): 0.6 + k / 1000 for k in range(15)}
    scores |= {("ctre_sim", k): 0.8 + k / 1000 for k in range(15)}
    fill(store, runs, scored(scores))
    (table,) = tabulate(ITEMS["table3"], store, small).tables
    many, few = rows(table)
    assert (many["n"], many["ours"], many["p, Holm"]) == (100, "Reject", many["p"])
    assert (few["n"], few["ours"], few["p, Holm"]) == (500, None, None)
    assert "of 1 decisions" in table.caption


def test_without_both_variants_there_is_nothing_to_test(store):
    choice = replace(SMALL, methods=("set", "ctre_sim"))
    fill(store, ITEMS["table3"].runs(choice))
    (table,) = tabulate(ITEMS["table3"], store, choice).tables
    assert table.rows == []


def test_delays_are_those_of_the_mean_curve(store):
    steps = {
        "snip": [0.1] * 10,
        "rigl": [0.5] * 10,
        "set": [0.2] * 7 + [0.8] * 3,
        "ctre_seq": [0.2] + [0.725] * 9,  # 0.72 is 0.9 of the best
        "ctre_sim": [0.2] * 4 + [0.8] * 6,
    }

    def made(run, number):
        test = np.array(steps[run.method])
        # Of two seeds one is a bit above, the other as much below: the mean counts.
        test = test + (0.01 if run.seed else -0.01)
        curves = {"validation_score": np.arange(10.0), "test_score": test}
        found = result(run, number)
        return replace(found, curves={**found.curves, **curves})

    choice = replace(SMALL, epochs=10, seeds=2)
    fill(store, ITEMS["table6"].runs(choice), made)
    (table,) = tabulate(ITEMS["table6"], store, choice).tables
    found = {row["method"]: row for row in rows(table)}
    ours = {name: row["ours"] for name, row in found.items()}
    assert ours == {
        "SNIP": None,
        "RigL": None,
        "SET": 80.0,
        "CTRE_seq": 20.0,
        "CTRE_sim": 50.0,
    }
    assert found["CTRE_sim"]["paper"] == 9.8 and found["SET"]["paper"] is None
    assert found["CTRE_sim"]["difference"] == pytest.approx(40.2)
    assert found["SET"]["reached as there"] == "no"
    assert found["SNIP"]["reached as there"] == "yes"
    assert "CTRE is lowest (ties count) in 1 of 1 cells" in table.caption
    assert "0 more cells lack runs of a method" in table.caption


def test_there_is_no_delay_without_all_five_methods(store):
    choice = replace(SMALL, seeds=1)
    runs = ITEMS["table6"].runs(choice)
    fill(store, [run for run in runs if run.method != "ctre_seq"])
    (table,) = tabulate(ITEMS["table6"], store, choice).tables
    assert table.rows == []
    assert "1 more cells lack runs of a method" in table.caption


def test_imported_runs_count_for_accuracies_but_not_for_curves(store):
    choice = replace(SMALL, seeds=2)
    runs = ITEMS["table6"].runs(choice)

    def made(run, number):
        found = result(run, number)
        return replace(found, curves={}) if run.seed == 1 else found

    fill(store, runs, made)
    delays = tabulate(ITEMS["table6"], store, choice)
    assert {run.seed for run in delays.found.missing} == {1}
    assert f"5 of {len(runs)} runs are missing" in delays.tables[0].caption
    accuracies = tabulate(ITEMS["table3"], store, choice)
    assert accuracies.found.missing == []


def test_table_1_is_of_the_data_that_are_here(monkeypatch, tmp_path, store):
    monkeypatch.delenv("COFIRE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (table,) = tabulate(ITEMS["table1"], store, ALL).tables
    assert {row["data"] for row in rows(table)} == {"Madelon"}
    assert {row["mark"] for row in rows(table)} == {"agrees"}
    figures = {row["figure"]: row["ours"] for row in rows(table)}
    assert figures == {
        "dimensions": 500,
        "samples": 2600,
        "train": 2000,
        "test": 600,
        "classes": 2,
    }
    (table,) = tabulate(ITEMS["table1"], store, Choice(data=("isolet",))).tables
    assert table.rows == []


def test_cost_tells_growth_from_training_also_where_the_first_epoch_grows(store):
    choice = replace(Choice(), data=("madelon",), epochs=3)
    runs = ITEMS["cost"].runs(choice)
    growth = {"set": [0, 0, 0], "rigl": [5, 5, 5], "ctre_sim": [0, 90, 90]}

    def made(run, number):
        found = result(run, number)
        training = 3 * 1800 * found.connections
        more = np.array(growth.get(run.method, [0, 9, 9])) * 1e6
        curves = {
            "multiply_adds": training + more,
            "train_seconds": [1.0, 0.002, 0.002],
            "rewire_seconds": [0.0, 0.001, 0.003],
            "evaluate_seconds": [0.5, 0.5, 0.5],
        }
        notes = found.notes | {"rows_an_epoch": 1800}
        return replace(found, curves={**found.curves, **curves}, notes=notes)

    fill(store, runs, made)
    (table,) = tabulate(ITEMS["cost"], store, choice).tables
    found = {row["method"]: row for row in rows(table)}
    assert len(found) == 6 and "CTRE_sim, screened" in found
    expected = {"SET": 0, "RigL": 5, "CTRE_sim": 90, "CTRE_sample2": 9}
    for name, adds in expected.items():
        assert found[name]["growth M multiply-adds"] == pytest.approx(adds, abs=1e-3)
    training = 3 * 1800 * 6502 / 1e6
    assert found["RigL"]["training M multiply-adds"] == pytest.approx(training)
    assert found["SET"]["training ms"] == pytest.approx(2)
    assert found["SET"]["growth ms"] == pytest.approx(2)
    assert found["SET"]["growth / training"] == pytest.approx(1)


# ---- figures -------------------------------------------------------------------------


def with_studies(run, number):
    """A result with what the studies of figure 4 and of the rewirings bring."""
    found = result(run, number)
    n = run.epochs
    more = {"loss_before_rewiring": np.ones(n), "loss_after_rewiring": np.ones(n)}
    if json.loads(run.options).get("study") == "removal":
        kinds = ("magnitude ascending", "cosine descending", "random ascending")
        more |= {
            f"removal {epoch} {kind}": np.linspace(0.9, 0.1, 101)
            for epoch in (10, 30)
            for kind in kinds
        }
    notes = found.notes | {"rows_an_epoch": 1800}
    return replace(found, curves={**found.curves, **more}, notes=notes)


@pytest.mark.parametrize("name", sorted(name for name in ITEMS if ITEMS[name].figures))
def test_every_figure_is_drawn(name):
    needs_package("matplotlib", "pip install cofire[plot]")
    choice = Choice(quick=True, epochs=4)
    runs = ITEMS[name].runs(choice)
    if name == "table2":  # ranks are of several cells
        choice = replace(choice, hidden=(100, 500))
        runs = ITEMS[name].runs(choice)
    cells = gather([with_studies(r, k) for k, r in enumerate(runs)], runs)
    drawn = ITEMS[name].figures(cells)
    assert drawn
    for figure in drawn.values():
        axes = figure.get_axes()
        assert axes and all(axis.has_data() for axis in axes)
    if name in ("figure2", "figure6"):
        (only,) = drawn[""].get_axes()
        assert only.get_title(loc="left") == "Madelon"


def test_a_reduced_figure_is_written_as_such(store, tmp_path):
    needs_package("matplotlib", "pip install cofire[plot]")
    choice = Choice(quick=True, epochs=4, seeds=1)
    fill(store, ITEMS["figure6"].runs(choice))
    made = tabulate(ITEMS["figure6"], store, choice)
    files = write(made, tmp_path / "new")
    name = "figure6-quick-4-epochs"  # not in the place of the real one
    assert sorted(p.name for p in files) == [f"{name}.png", f"{name}.svg"]
    assert "REDUCED" in (tmp_path / "new" / f"{name}.svg").read_text("utf-8")


def test_tables_are_written_where_no_figures_can_be(store, tmp_path, monkeypatch):
    choice = replace(SMALL, seeds=1, hidden=(100, 500), epochs=3)
    fill(store, ITEMS["table2"].runs(choice))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    made = tabulate(ITEMS["table2"], store, choice)
    files = {path.name for path in write(made, tmp_path)}
    assert files >= {"table2-3-epochs.md", "table2-density-3-epochs.csv"}
    assert "no figures" in made.undrawn and "matplotlib" in made.undrawn


# ---- fair ----------------------------------------------------------------------------


def test_trials_are_the_same_ever_and_begin_with_the_paper_s():
    paper = {"learning_rate_init": 0.01, "drop_fraction": 0.2, "init": "glorot"}
    found = trials(20)
    assert found[0] == paper
    assert found[1] == paper | {"init": "sparse_aware"}
    assert found == trials(20) and found[:7] == trials(7)
    assert len({json.dumps(trial) for trial in found}) == 20
    for trial in found[2:]:
        assert 10**-2.7 * 0.9 < trial["learning_rate_init"] < 10**-0.7 * 1.1
        assert 0.05 <= trial["drop_fraction"] <= 0.5
    assert {trial["init"] for trial in found} == {"glorot", "normal", "sparse_aware"}


def test_every_contestant_gets_the_same_trials_on_every_split():
    runs = FAIR.runs(ALL)
    assert len(runs) == len(set(runs)) == 5 * 2 * 20 * 8
    assert {(r.seed, r.epsilon, r.hidden) for r in runs} == {(0, 1.0, 1000)}
    contestants = {fair.contestant(run) for run in runs}
    assert contestants == set(fair.CONTESTANTS)
    assert FAIR.runs(replace(ALL, epsilon=(5.0,))) == []


def of_fair(choice, validation, test):
    """Results of all trials, their scores by contestant, split and trial."""
    made = []
    for run in FAIR.runs(choice):
        settings = {n: json.loads(run.options)[n] for n in fair.PAPERS}
        where = fair.contestant(run), run.split, trials(20).index(settings)
        scores = {"validation_score": validation(*where), "score": test(*where)}
        made.append(replace(result(replace(run, epochs=3)), run=run, **scores))
    return made


def settings_of(run):
    return {name: json.loads(run.options)[name] for name in fair.PAPERS}


def test_settings_are_chosen_by_validation_whatever_the_test_says():
    def best(name, split):
        return (3 + 2 * split + len(name)) % 20

    results = of_fair(
        SMALL,
        validation=lambda name, split, k: 0.9 if k == best(name, split) else 0.4,
        test=lambda name, split, k: 0.1 if k == best(name, split) else 0.99,
    )
    fresh = FAIR.fresh(SMALL, results)
    assert len(fresh) == len(set(fresh)) == 15 * 8
    for run in fresh:
        chosen = trials(20)[best(fair.contestant(run), run.split)]
        assert settings_of(run) == chosen
        assert run.split == (run.seed - fair.FIRST_SEED) % 5
    seeds = {run.seed for run in fresh}
    assert len(seeds) == 15 and seeds.isdisjoint(run.seed for run in FAIR.runs(SMALL))


def test_among_equals_the_earlier_trial_is_chosen():
    results = of_fair(SMALL, lambda *where: 0.5, lambda name, split, k: k / 20)
    assert all(settings_of(run) == trials(1)[0] for run in FAIR.fresh(SMALL, results))


def test_fresh_runs_wait_for_all_trials_but_for_those_that_diverged(store):
    choice = replace(SMALL, methods=("set", "static"), quick=True)
    *some, last = of_fair(choice, lambda *w: 0.5, lambda *w: 0.5)
    finished = {"SET", "Static"} - {fair.contestant(last.run)}
    assert {fair.contestant(r) for r in FAIR.fresh(choice, some)} == finished
    fill(store, [r.run for r in some])
    store.add([last.run])
    for error, n in [("MemoryError", 2), ("cofire.errors.DivergenceError: x", 4)]:
        store.claim(last.run, again=True)
        store.fail(last.run, error)
        *_, fresh = FAIR.stages(choice, store)
        assert len(fresh) == n  # two of each contestant
        made = tabulate(FAIR, store, choice)
        assert made.found.n_runs == 8 + n


def test_the_table_has_fresh_runs_and_trials_side_by_side(store):
    choice = replace(SMALL, methods=("set", "ctre_sim"))
    results = of_fair(choice, lambda name, split, k: k / 20, lambda *w: 0.5)
    fresh = FAIR.fresh(choice, results)
    by_run = {r.run: r for r in results}
    of = {"set": 0.6, "ctre_sim": 0.8}
    for run in fresh:
        score = of[run.method] + (run.seed % 5) / 100
        by_run[run] = replace(result(replace(run, epochs=3)), run=run, score=score)
    fill(store, list(by_run), lambda run, number: by_run[run])
    made = tabulate(FAIR, store, choice)
    assert made.found.missing == []
    (table,) = made.tables
    found = {row["method"]: row for row in rows(table)}
    assert list(found) == ["SET", "CTRE_sim"]
    assert found["SET"]["paper's settings"].mean == 50.0
    assert found["SET"]["fresh runs"] == 15
    assert found["SET"]["chosen settings"].mean == pytest.approx(62)
    assert found["CTRE_sim"]["chosen settings"].mean == pytest.approx(82)
    assert found["SET"]["CTRE_sim - method"].startswith("20")
    assert found["SET"]["p, Holm"] == pytest.approx(2 / 2**15)
    assert found["CTRE_sim"]["p, Holm"] is None
    last = trials(20)[-1]
    assert found["SET"][table.columns[-1]].count(f"{last['init']}") == 5
    assert "500 epochs" in table.caption
