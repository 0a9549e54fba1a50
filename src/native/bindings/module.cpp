// The door to Python: rows, training, prediction. The search is in module_search.cpp.
#include <exception>

#include "bindings/door.hpp"
#include "threads/float_mode.hpp"

using namespace cofire;

namespace {

nb::object py_train_epoch(nb::list layers, const std::string& activation, const std::string& output,
                          const OwnedRows& rows, nb::object targets,
                          std::optional<Array1<const float>> sample_weight,
                          Array1<const int64_t> order, int64_t batch_size, bool drop_last,
                          double largest_input, std::optional<Augmentation> augmentation,
                          double label_smoothing, double input_dropout, uint64_t seed,
                          uint64_t epoch, Optimizer& optimizer, int n_threads) {
    const std::vector<LayerView> views = layer_views(layers, Access::write);
    for (const LayerView& v : views)
        for (const ParameterView& p : {v.weights, v.bias})
            if (!p.value || !p.first || (!p.second && optimizer.kind == Optimizer::Kind::adam))
                throw nb::value_error("optimizer: its moments are missing; start() makes them");
    const Loss loss = loss_of_output(output);
    Targets wanted = targets_of(targets, loss, views.back().n_out, rows.view.n_rows);
    if (!(label_smoothing >= 0 && label_smoothing < 1))
        throw nb::value_error("label_smoothing: not in [0, 1)");
    if (label_smoothing > 0 && loss == Loss::squared)
        throw nb::value_error("label_smoothing: for classes, not for numbers");
    wanted.smoothing = static_cast<float>(label_smoothing);
    if (rows.view.n_features != views.front().n_in)
        throw nb::value_error("rows: not one feature per input neuron");
    if (sample_weight && static_cast<int64_t>(sample_weight->shape(0)) != rows.view.n_rows)
        throw nb::value_error("sample_weight: not one per row");
    if (batch_size < 1) throw nb::value_error("batch_size: less than 1");
    for (std::size_t i = 0; i < order.shape(0); i++)
        if (order.data()[i] < 0 || order.data()[i] >= rows.view.n_rows)
            throw nb::value_error("order: a row that does not exist");
    if (augmentation) check_images(rows.view, *augmentation);
    if (!(input_dropout >= 0 && input_dropout < 1))
        throw nb::value_error("input_dropout: not in [0, 1)");
    Batches batches{order.data(),
                    static_cast<int64_t>(order.shape(0)),
                    batch_size,
                    drop_last,
                    augmentation ? &*augmentation : nullptr,
                    largest_input,
                    {input_dropout, {seed, epoch}}};

    EpochResult result;
    {
        const Unlocked unlocked;
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
        const Unlocked unlocked;
        finished = predict(views, activation_named(activation), loss_of_output(output), rows.view,
                           out.data(), n_threads, signals_pending);
    }
    if (!finished) throw nb::python_error();
}

}  // namespace

NB_MODULE(_native, m) {
    // The memory for this thread's exceptions, while there is some (can_throw in crew.hpp).
    (void)std::uncaught_exceptions();
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
               float momentum, bool nesterov, float beta_1, float beta_2, float epsilon,
               int64_t steps_done) {
                if (kind != "sgd" && kind != "adam") throw nb::value_error("kind");
                new (self) Optimizer{kind == "sgd" ? Optimizer::Kind::sgd : Optimizer::Kind::adam,
                                     learning_rate,
                                     alpha,
                                     momentum,
                                     nesterov,
                                     beta_1,
                                     beta_2,
                                     epsilon,
                                     steps_done};
            },
            nb::kw_only(), "kind"_a, "learning_rate"_a, "alpha"_a, "momentum"_a = 0.0f,
            "nesterov"_a = false, "beta_1"_a = 0.9f, "beta_2"_a = 0.999f, "epsilon"_a = 1e-8f,
            "steps_done"_a = 0)
        .def_ro("steps_done", &Optimizer::steps_done);

    nb::class_<Augmentation>(m, "Augmentation")
        .def(
            "__init__",
            [](Augmentation* self, int64_t height, int64_t width, int64_t channels,
               int64_t max_down, int64_t max_right, bool flip, uint64_t seed, uint64_t epoch) {
                new (self)
                    Augmentation{height, width, channels, max_down, max_right, flip, {seed, epoch}};
            },
            nb::kw_only(), "height"_a, "width"_a, "channels"_a, "max_down"_a, "max_right"_a,
            "flip"_a, "seed"_a, "epoch"_a);

    m.def("train_epoch", py_train_epoch, nb::kw_only(), "layers"_a, "activation"_a, "output"_a,
          "rows"_a, "targets"_a, "sample_weight"_a.noconvert().none(), "order"_a.noconvert(),
          "batch_size"_a, "drop_last"_a, "largest_input"_a, "augmentation"_a.none(),
          "label_smoothing"_a, "input_dropout"_a, "seed"_a, "epoch"_a, "optimizer"_a,
          "n_threads"_a);
    m.def("predict", py_predict, nb::kw_only(), "layers"_a, "activation"_a, "output"_a, "rows"_a,
          "out"_a.noconvert(), "n_threads"_a);
    add_search(m);
    nb::class_<StandardFloats>(m, "StandardFloats")
        .def(nb::init<>())
        .def("enter", &StandardFloats::enter)
        .def("leave", &StandardFloats::leave);
    m.def("simd_level", [] { return std::string(kernels().name); });
}
