// The door to Python: checks types and layouts, converts nothing, and calls the engine.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "epoch.hpp"
#include "search.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace cofire;

namespace {

template <class T> using Array1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Array2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Compressed rows are walked without further checks inside, so they are checked at the door.
void check_compressed(const Array1<const int64_t>& indptr, const Array1<const int32_t>& indices,
                      int64_t n_columns) {
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

OwnedRows float_rows(Array2<const float> values) {
    OwnedRows rows;
    rows.view.kind = Rows::Kind::floats;
    rows.view.n_rows = values.shape(0);
    rows.view.n_features = values.shape(1);
    rows.view.floats = values.data();
    rows.owners.push_back(nb::cast(values));
    return rows;
}

OwnedRows byte_rows(Array2<const uint8_t> values, Array1<const float> scale,
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

OwnedRows sparse_rows(Array1<const int64_t> indptr, Array1<const int32_t> indices,
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
ParameterView parameters(nb::handle triple, int64_t n, const char* what, Access access) {
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
std::vector<LayerView> layer_views(const nb::list& layers, Access access) {
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

Activation activation_named(const std::string& name) {
    if (name == "relu") return Activation::relu;
    if (name == "leaky_relu") return Activation::leaky_relu;
    if (name == "tanh") return Activation::tanh;
    if (name == "identity") return Activation::identity;
    throw nb::value_error(("activation: " + name).c_str());
}

Loss loss_of_output(const std::string& name) {
    if (name == "softmax") return Loss::softmax;
    if (name == "sigmoid") return Loss::sigmoid;
    if (name == "identity") return Loss::squared;
    throw nb::value_error(("output: " + name).c_str());
}

Metric metric_named(const std::string& name) {
    if (name == "cosine") return Metric::cosine;
    if (name == "lowest_cosine") return Metric::lowest_cosine;
    if (name == "hebb") return Metric::hebb;
    if (name == "euclidean") return Metric::euclidean;
    if (name == "gradient") return Metric::gradient;
    throw nb::value_error(("score: " + name).c_str());
}

Ties ties_named(const std::string& name) {
    if (name == "random") return Ties::random;
    if (name == "index") return Ties::index;
    throw nb::value_error(("ties: " + name).c_str());
}

bool signals_pending() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// One target per row, of the kind that the loss compares with.
Targets targets_of(nb::handle targets, Loss loss, int64_t n_out, int64_t n_rows) {
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

nb::object py_train_epoch(nb::list layers, const std::string& activation, const std::string& output,
                          const OwnedRows& rows, nb::object targets,
                          std::optional<Array1<const float>> sample_weight,
                          Array1<const int64_t> order, int64_t batch_size, bool drop_last,
                          Optimizer& optimizer, int n_threads) {
    const std::vector<LayerView> views = layer_views(layers, Access::write);
    for (const LayerView& v : views)
        for (const ParameterView& p : {v.weights, v.bias})
            if (!p.value || !p.first || (!p.second && optimizer.kind == Optimizer::Kind::adam))
                throw nb::value_error("optimizer: its moments are missing; start() makes them");
    const Loss loss = loss_of_output(output);
    const Targets wanted = targets_of(targets, loss, views.back().n_out, rows.view.n_rows);
    if (rows.view.n_features != views.front().n_in)
        throw nb::value_error("rows: not one feature per input neuron");
    if (sample_weight && static_cast<int64_t>(sample_weight->shape(0)) != rows.view.n_rows)
        throw nb::value_error("sample_weight: not one per row");
    if (batch_size < 1) throw nb::value_error("batch_size: less than 1");
    for (std::size_t i = 0; i < order.shape(0); i++)
        if (order.data()[i] < 0 || order.data()[i] >= rows.view.n_rows)
            throw nb::value_error("order: a row that does not exist");
    Batches batches{order.data(), static_cast<int64_t>(order.shape(0)), batch_size, drop_last};

    EpochResult result;
    {
        nb::gil_scoped_release unlocked;
        result = train_epoch(views, activation_named(activation), loss, rows.view, wanted,
                             sample_weight ? sample_weight->data() : nullptr, batches, optimizer,
                             n_threads, signals_pending);
    }
    if (result.diverged_layer < 0) optimizer.steps_done += result.n_steps;
    if (result.interrupted) throw nb::python_error();
    return nb::make_tuple(result.loss, result.n_steps, result.diverged_layer, result.fired);
}

void py_predict(nb::list layers, const std::string& activation, const std::string& output,
                const OwnedRows& rows, Array2<float> out, int n_threads) {
    const std::vector<LayerView> views = layer_views(layers, Access::read);
    if (rows.view.n_features != views.front().n_in)
        throw nb::value_error("rows: not one feature per input neuron");
    if (static_cast<int64_t>(out.shape(0)) != rows.view.n_rows ||
        static_cast<int64_t>(out.shape(1)) != views.back().n_out)
        throw nb::value_error("out: not one row per sample and one column per output");
    bool finished;
    {
        nb::gil_scoped_release unlocked;
        finished = predict(views, activation_named(activation), loss_of_output(output), rows.view,
                           out.data(), n_threads, signals_pending);
    }
    if (!finished) throw nb::python_error();
}

// Ascending places within the layer, and enough others for those wanted.
Places kept_places(const Array1<const int64_t>& kept, const LayerView& layer, int64_t n_wanted) {
    const int64_t n_places = layer.n_in * layer.n_out, n = static_cast<int64_t>(kept.shape(0));
    const Places places{kept.data(), kept.data() + n};
    for (int64_t k = 0; k < n; k++)
        if (places.begin[k] < (k == 0 ? 0 : places.begin[k - 1] + 1) || places.begin[k] >= n_places)
            throw nb::value_error("kept: not ascending places of the layer");
    if (n_wanted > n_places - n) throw nb::value_error("wanted: more places than are free");
    return places;
}

std::vector<int64_t> py_best_places(nb::list layers, const std::string& activation,
                                    const std::string& output, const OwnedRows& rows,
                                    Array1<const int64_t> row_ids,
                                    std::optional<Array1<const float>> sample_weight, nb::list kept,
                                    nb::list places, const std::string& score,
                                    const std::string& ties, nb::object targets, uint64_t seed,
                                    uint64_t epoch, int n_threads) {
    const std::vector<LayerView> views = layer_views(layers, Access::read);
    if (rows.view.n_features != views.front().n_in)
        throw nb::value_error("rows: not one feature per input neuron");
    if (sample_weight && static_cast<int64_t>(sample_weight->shape(0)) != rows.view.n_rows)
        throw nb::value_error("sample_weight: not one per row");
    for (std::size_t i = 0; i < row_ids.shape(0); i++)
        if (row_ids.data()[i] < 0 || row_ids.data()[i] >= rows.view.n_rows)
            throw nb::value_error("row_ids: a row that does not exist");
    if (kept.size() != views.size() || places.size() != views.size())
        throw nb::value_error("kept and places: not one array per layer");
    SearchRequest request;
    request.row_ids = row_ids.data();
    request.n_rows = static_cast<int64_t>(row_ids.shape(0));
    request.sample_weight = sample_weight ? sample_weight->data() : nullptr;
    request.metric = metric_named(score);
    request.ties = ties_named(ties);
    const Loss loss = loss_of_output(output);
    if (request.metric == Metric::gradient)
        request.targets = targets_of(targets, loss, views.back().n_out, rows.view.n_rows);
    request.seed = seed;
    request.epoch = epoch;
    std::vector<int64_t*> found;
    for (std::size_t l = 0; l < views.size(); l++) {
        const char* expected = "a contiguous int64 array per layer";
        const auto out = exactly<Array1<int64_t>>(places[l], "places", expected);
        found.push_back(out.data());
        request.n_wanted.push_back(static_cast<int64_t>(out.shape(0)));
        request.kept.push_back(kept_places(
            exactly<Array1<const int64_t>>(kept[l], "kept", expected), views[l], out.shape(0)));
    }
    SearchResult result;
    {
        nb::gil_scoped_release unlocked;
        result = best_places(views, activation_named(activation), loss, rows.view, request,
                             n_threads, signals_pending);
    }
    if (result.interrupted) throw nb::python_error();
    for (std::size_t l = 0; l < views.size(); l++)
        std::copy(result.places[l].begin(), result.places[l].end(), found[l]);
    return result.n_firing;
}

}  // namespace

NB_MODULE(_native, m) {
    nb::class_<OwnedRows>(m, "Rows")
        .def_prop_ro("n_rows", [](const OwnedRows& r) { return r.view.n_rows; })
        .def_prop_ro("n_features", [](const OwnedRows& r) { return r.view.n_features; });
    m.def("float_rows", float_rows, "values"_a.noconvert());
    m.def("byte_rows", byte_rows, "values"_a.noconvert(), "scale"_a.noconvert(),
          "offset"_a.noconvert());
    m.def("sparse_rows", sparse_rows, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "values"_a.noconvert(), "n_features"_a);

    nb::class_<Optimizer>(m, "Optimizer")
        .def(
            "__init__",
            [](Optimizer* self, const std::string& kind, float learning_rate, float alpha,
               bool decoupled_decay, float momentum, bool nesterov, float beta_1, float beta_2,
               float epsilon, int64_t steps_done) {
                if (kind != "sgd" && kind != "adam") throw nb::value_error("kind");
                new (self) Optimizer{kind == "sgd" ? Optimizer::Kind::sgd : Optimizer::Kind::adam,
                                     learning_rate,
                                     alpha,
                                     decoupled_decay,
                                     momentum,
                                     nesterov,
                                     beta_1,
                                     beta_2,
                                     epsilon,
                                     steps_done};
            },
            nb::kw_only(), "kind"_a, "learning_rate"_a, "alpha"_a, "decoupled_decay"_a = false,
            "momentum"_a = 0.0f, "nesterov"_a = false, "beta_1"_a = 0.9f, "beta_2"_a = 0.999f,
            "epsilon"_a = 1e-8f, "steps_done"_a = 0)
        .def_ro("steps_done", &Optimizer::steps_done);

    m.def("train_epoch", py_train_epoch, nb::kw_only(), "layers"_a, "activation"_a, "output"_a,
          "rows"_a, "targets"_a, "sample_weight"_a.noconvert().none(), "order"_a.noconvert(),
          "batch_size"_a, "drop_last"_a, "optimizer"_a, "n_threads"_a);
    m.def("predict", py_predict, nb::kw_only(), "layers"_a, "activation"_a, "output"_a, "rows"_a,
          "out"_a.noconvert(), "n_threads"_a);
    m.def("best_places", py_best_places, nb::kw_only(), "layers"_a, "activation"_a, "output"_a,
          "rows"_a, "row_ids"_a.noconvert(), "sample_weight"_a.noconvert().none(), "kept"_a,
          "places"_a, "score"_a, "ties"_a, "targets"_a.none(), "seed"_a, "epoch"_a, "n_threads"_a);
    m.def("simd_level", [] { return std::string(kernels().name); });
}
