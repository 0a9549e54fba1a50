// What comes through the door from Python: types and layouts are checked, nothing is converted.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "search/search.hpp"
#include "training/epoch.hpp"

namespace cofire {

namespace nb = nanobind;
using namespace nb::literals;

template <class T> using Array1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Array2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Compressed rows are walked without further checks inside, so they are checked at the door.
inline void check_compressed(const Array1<const int64_t>& indptr,
                             const Array1<const int32_t>& indices, int64_t n_columns) {
    const int64_t n = static_cast<int64_t>(indptr.shape(0)) - 1;
    const int64_t n_entries = static_cast<int64_t>(indices.shape(0));
    if (n < 0 || indptr.data()[0] != 0 || indptr.data()[n] != n_entries)
        throw nb::value_error("indptr: does not run from 0 to the number of indices");
    for (int64_t j = 0; j < n; j++)
        if (indptr.data()[j + 1] < indptr.data()[j]) throw nb::value_error("indptr: falls");
    for (int64_t k = 0; k < n_entries; k++)
        if (indices.data()[k] < 0 || indices.data()[k] >= n_columns)
            throw nb::value_error("indices: out of range");
}

// Rows with the arrays they point into, so that these live as long as the rows.
struct OwnedRows {
    Rows view;
    std::vector<nb::object> owners;
};

inline OwnedRows float_rows(Array2<const float> values) {
    OwnedRows rows;
    rows.view.kind = Rows::Kind::floats;
    rows.view.n_rows = values.shape(0);
    rows.view.n_features = values.shape(1);
    rows.view.floats = values.data();
    rows.owners.push_back(nb::cast(values));
    return rows;
}

inline OwnedRows byte_rows(Array2<const uint8_t> values, Array1<const float> scale,
                           Array1<const float> offset) {
    if (scale.shape(0) != values.shape(1) || offset.shape(0) != values.shape(1))
        throw nb::value_error("scale and offset need one number per feature");
    OwnedRows rows;
    rows.view.kind = Rows::Kind::bytes;
    rows.view.n_rows = values.shape(0);
    rows.view.n_features = values.shape(1);
    rows.view.bytes = values.data();
    rows.view.scale = scale.data();
    rows.view.offset = offset.data();
    rows.owners = {nb::cast(values), nb::cast(scale), nb::cast(offset)};
    return rows;
}

inline OwnedRows sparse_rows(Array1<const int64_t> indptr, Array1<const int32_t> indices,
                             Array1<const float> values, int64_t n_features) {
    check_compressed(indptr, indices, n_features);
    if (values.shape(0) != indices.shape(0))
        throw nb::value_error("values: not as many as indices");
    OwnedRows rows;
    rows.view.kind = Rows::Kind::sparse;
    rows.view.n_rows = static_cast<int64_t>(indptr.shape(0)) - 1;
    rows.view.n_features = n_features;
    rows.view.indptr = indptr.data();
    rows.view.indices = indices.data();
    rows.view.values = values.data();
    rows.owners = {nb::cast(indptr), nb::cast(indices), nb::cast(values)};
    return rows;
}

// An array as it came, or an error that says what was expected: nothing is converted.
template <class Array> Array exactly(nb::handle object, const char* what, const char* expected) {
    Array array;
    if (!nb::try_cast(object, array, false))
        throw nb::type_error((std::string(what) + ": expected " + expected).c_str());
    return array;
}

enum class Access { read, write };

// (values, first, second): a parameter array and its optimiser state, None where it has none.
inline ParameterView parameters(nb::handle triple, int64_t n, const char* what, Access access) {
    const auto one = [&](int i) -> float* {
        const nb::object entry = triple[i];
        if (entry.is_none()) return nullptr;
        const auto array = exactly<Array1<const float>>(
            entry, what, "a contiguous float32 array of one dimension");
        if (static_cast<int64_t>(array.shape(0)) != n)
            throw nb::value_error((std::string(what) + ": an array of another length").c_str());
        if (access == Access::write)
            exactly<Array1<float>>(entry, what, "an array that may be written to");
        return const_cast<float*>(array.data());  // written to only with Access::write
    };
    return {one(0), one(1), one(2)};
}

// A layer comes as (n_in, indptr, indices, weights, bias), the last two as triples.
inline std::vector<LayerView> layer_views(const nb::list& layers, Access access) {
    std::vector<LayerView> views;
    for (nb::handle layer : layers) {
        LayerView v;
        const auto indptr =
            exactly<Array1<const int64_t>>(layer[1], "indptr", "a contiguous int64 array");
        const auto indices =
            exactly<Array1<const int32_t>>(layer[2], "indices", "a contiguous int32 array");
        v.n_in = nb::cast<int64_t>(layer[0]);
        check_compressed(indptr, indices, v.n_in);
        v.n_out = static_cast<int64_t>(indptr.shape(0)) - 1;
        v.indptr = indptr.data();
        v.indices = indices.data();
        if (!views.empty() && views.back().n_out != v.n_in)
            throw nb::value_error("layers: the sizes of neighbours differ");
        v.weights = parameters(layer[3], v.n_connections(), "weights", access);
        v.bias = parameters(layer[4], v.n_out, "bias", access);
        views.push_back(v);
    }
    if (views.empty()) throw nb::value_error("layers: none");
    return views;
}

inline Activation activation_named(const std::string& name) {
    if (name == "relu") return Activation::relu;
    if (name == "leaky_relu") return Activation::leaky_relu;
    if (name == "tanh") return Activation::tanh;
    if (name == "identity") return Activation::identity;
    throw nb::value_error(("activation: " + name).c_str());
}

inline Loss loss_of_output(const std::string& name) {
    if (name == "softmax") return Loss::softmax;
    if (name == "sigmoid") return Loss::sigmoid;
    if (name == "identity") return Loss::squared;
    throw nb::value_error(("output: " + name).c_str());
}

inline Metric metric_named(const std::string& name) {
    if (name == "cosine") return Metric::cosine;
    if (name == "pearson") return Metric::pearson;
    if (name == "lowest_cosine") return Metric::lowest_cosine;
    if (name == "hebb") return Metric::hebb;
    if (name == "euclidean") return Metric::euclidean;
    if (name == "gradient") return Metric::gradient;
    throw nb::value_error(("score: " + name).c_str());
}

inline Ties ties_named(const std::string& name) {
    if (name == "random") return Ties::random;
    if (name == "index") return Ties::index;
    throw nb::value_error(("ties: " + name).c_str());
}

// At its end Python ends the threads that ask for its lock (up to 3.13), through C++ frames that
// would end the process. They wait for its end instead, as from 3.14 on.
template <class Ask> auto unless_python_ends(Ask ask) {
    try {
        return ask();
    } catch (...) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

// While it lives, other Python threads may run.
class Unlocked {
public:
    Unlocked() = default;
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
    ~Unlocked() {
        unless_python_ends([this] { PyEval_RestoreThread(state_); });
    }

private:
    PyThreadState* state_ = PyEval_SaveThread();
};

inline bool signals_pending() {
    // Not nb::gil_scoped_acquire, which lets nothing pass.
    const PyGILState_STATE gil = unless_python_ends([] { return PyGILState_Ensure(); });
    const bool pending = PyErr_CheckSignals() != 0;
    PyGILState_Release(gil);
    return pending;
}

// One target per row, of the kind that the loss compares with.
inline Targets targets_of(nb::handle targets, Loss loss, int64_t n_out, int64_t n_rows) {
    Targets wanted;
    std::size_t n_targets = 0;
    if (loss == Loss::softmax) {
        const auto labels =
            exactly<Array1<const int32_t>>(targets, "targets", "int32 class numbers");
        wanted.labels = labels.data();
        n_targets = labels.shape(0);
        for (std::size_t i = 0; i < n_targets; i++)
            if (labels.data()[i] < 0 || labels.data()[i] >= n_out)
                throw nb::value_error("targets: a class that has no output");
    } else {
        const auto values = exactly<Array2<const float>>(
            targets, "targets", "a contiguous float32 array of two dimensions");
        wanted.values = values.data();
        n_targets = values.shape(0);
        if (static_cast<int64_t>(values.shape(1)) != n_out)
            throw nb::value_error("targets: not one column per output");
    }
    if (static_cast<int64_t>(n_targets) != n_rows)
        throw nb::value_error("targets: not one per row");
    return wanted;
}

// Whether the rows are images of this shape, and no shift leaves nothing of them.
inline void check_images(const Rows& rows, const Augmentation& a) {
    if (rows.kind == Rows::Kind::sparse)
        throw nb::value_error("augmentation: sparse rows are no images");
    // By division: the product of any three numbers need not be one.
    const int64_t n = rows.n_features;
    if (a.height < 1 || a.width < 1 || a.channels < 1 || n % a.height != 0 ||
        n / a.height % a.width != 0 || n / a.height / a.width != a.channels)
        throw nb::value_error("augmentation: rows are not height * width * channels features");
    if (a.max_down < 0 || a.max_down >= a.height || a.max_right < 0 || a.max_right >= a.width)
        throw nb::value_error("augmentation: a shift beyond the image");
}

// What module_search.cpp adds to the module.
void add_search(nb::module_& m);

}  // namespace cofire
