// Training and prediction, for Python.
#include <nanobind/stl/vector.h>

#include <optional>
#include <vector>

#include "bindings/classes.hpp"
#include "bindings/interpreter.hpp"

namespace cofire {
namespace {

struct BoundSamples {
    Samples view;  // its targets are filled in when the network is known
    double label_smoothing;
    nb::object rows, targets;
    OptionalWeights weight;
};

struct BoundBatches {
    Batches view;
    Array<const int64_t> order;
    std::optional<Array<const int64_t>> row_numbers;
};

void make_samples(BoundSamples* self, nb::object rows, nb::object targets, nb::object sample_weight,
                  double largest_input, double label_smoothing) {
    const BoundRows& bound = nb::cast<const BoundRows&>(rows);
    const OptionalWeights weight(sample_weight, "sample_weight");
    if (!(label_smoothing >= 0 && label_smoothing < 1))
        refuse("label_smoothing: must lie in [0, 1), got ", label_smoothing);
    const Samples view{bound.view, {}, weight.one_per_row(bound.view.n_rows), largest_input};
    new (self) BoundSamples{view, label_smoothing, rows, targets, weight};
}

void make_batches(BoundBatches* self, nb::object order, int64_t batch_size, bool drop_last,
                  std::optional<Augmentation> augmentation, double input_dropout, uint64_t seed,
                  uint64_t epoch, int64_t pass_offset, int64_t pass_size, nb::object row_numbers) {
    const auto ids = array<const int64_t>(order, "order");
    std::optional<Array<const int64_t>> numbers;
    if (!row_numbers.is_none()) numbers = array<const int64_t>(row_numbers, "row_numbers");
    if (batch_size < 1) refuse("batch_size: must be at least 1, got ", batch_size);
    if (!(input_dropout >= 0 && input_dropout < 1))
        refuse("input_dropout: must lie in [0, 1), got ", input_dropout);
    if (pass_size < 1) refuse("pass_size: must be at least 1, got ", pass_size);
    if (pass_offset < 0) refuse("pass_offset: must be at least 0, got ", pass_offset);
    const Passes passes{{seed, epoch}, pass_offset, pass_size, numbers ? numbers->data() : nullptr};
    const Batches view{ids.data(),   size(ids),     batch_size, drop_last,
                       augmentation, input_dropout, passes};
    new (self) BoundBatches{view, ids, numbers};
}

void make_optimizer(Optimizer* self, const std::string& kind, nb::dict settings,
                    int64_t steps_done) {
    Optimizer made;
    made.kind = static_cast<int>(&row_named(kOptimizers, kind, "kind") - kOptimizers);
    made.steps_done = steps_done;
    std::string known;
    std::size_t n_known = 0;
    const auto take = [&](const char* name) {
        known += text(known.empty() ? "" : ", ", name);
        n_known++;
        if (!settings.contains(name)) refuse("settings: ", kind, " needs '", name, "'");
        const nb::object number = settings[name];
        float value = 0;
        if (!nb::try_cast(number, value))
            throw nb::type_error(
                text("settings: '", name, "' must be a number, got ", describe(number)).c_str());
        return value;
    };
    made.learning_rate = take("learning_rate");
    made.alpha = take("alpha");
    for (int k = 0; k < kMaxSettings && made.traits().settings[k] != nullptr; k++)
        made.settings[k] = take(made.traits().settings[k]);
    if (settings.size() != n_known)
        refuse("settings: ", kind, " takes ", known, "; got ", nb::str(settings.keys()).c_str());
    new (self) Optimizer(made);
}

// Refuses rows that are not images of this shape, and a shift beyond the image.
void check_images(const Rows& rows, const Augmentation& a) {
    if (rows.kind == Rows::Kind::sparse)
        refuse("augmentation: expected dense rows, got sparse rows, which are not images");
    // By division: the product of any three numbers may overflow.
    const int64_t n = rows.n_features;
    if (a.height < 1 || a.width < 1 || a.channels < 1 || n % a.height != 0 ||
        n / a.height % a.width != 0 || n / a.height / a.width != a.channels)
        refuse("augmentation: height * width * channels must be the number of features, ", n,
               ", got ", a.height, " * ", a.width, " * ", a.channels);
    if (a.max_down < 0 || a.max_down >= a.height || a.max_right < 0 || a.max_right >= a.width)
        refuse("augmentation: a shift must lie within the image of ", a.height, " x ", a.width,
               " pixels, got ", a.max_down, " down and ", a.max_right, " right");
}

EpochResult py_train_epoch(const BoundNetwork& network, Optimizer& optimizer,
                           const BoundSamples& samples, const BoundBatches& batches,
                           int n_threads) {
    const Rows& rows = samples.view.rows;
    network.check_rows(rows);
    network.check_trainable(optimizer);
    check_range(batches.order, rows.n_rows, "order");
    if (batches.row_numbers && size(*batches.row_numbers) != rows.n_rows)
        refuse("row_numbers: expected one for each of ", rows.n_rows, " rows, got ",
               size(*batches.row_numbers));
    if (batches.view.augmentation) check_images(rows, *batches.view.augmentation);
    const OutputTraits& output = traits(network.view.output);
    if (samples.label_smoothing > 0 && !output.is_probability)
        refuse("label_smoothing: must be 0 for the output '", output.name,
               "', whose targets are not classes; got ", samples.label_smoothing);
    Samples view = samples.view;
    view.targets = targets_of(samples.targets, network.view, rows.n_rows);
    view.targets.smoothing = static_cast<float>(samples.label_smoothing);
    const EpochResult result = run_unlocked(n_threads, [&](const CallContext& context) {
        return train_epoch(network.view, view, batches.view, optimizer, context);
    });
    if (result.diverged_layer < 0) optimizer.steps_done += result.n_steps;
    if (result.interrupted) throw nb::python_error();
    return result;
}

void py_predict(const std::vector<const BoundNetwork*>& networks, const BoundRows& rows,
                nb::object out, int n_threads) {
    if (networks.empty()) refuse("networks: expected at least one network, got none");
    std::vector<NetworkView> views;
    for (const BoundNetwork* network : networks) {
        network->check_rows(rows.view);
        views.push_back(network->view);
    }
    const int64_t n_out = views.front().n_out();
    for (const NetworkView& view : views)
        if (view.n_out() != n_out)
            refuse("networks: expected ", n_out, " outputs of each, got ", view.n_out());
    const auto predictions = array<float, 2>(out, "out");
    if (size(predictions) != rows.view.n_rows ||
        static_cast<int64_t>(predictions.shape(1)) != n_out)
        refuse("out: expected the shape (", rows.view.n_rows, ", ", n_out, "), got (",
               predictions.shape(0), ", ", predictions.shape(1), ")");
    const bool finished = run_unlocked(n_threads, [&](const CallContext& context) {
        return predict(views, rows.view, predictions.data(), context);
    });
    if (!finished) throw nb::python_error();
}

}  // namespace

void add_training(nb::module_& m) {
    m.attr("OPTIMIZERS") = names(kOptimizers);
    nb::class_<Optimizer>(m, "Optimizer")
        .def("__init__", make_optimizer, nb::kw_only(), "kind"_a, "settings"_a, "steps_done"_a)
        .def_ro("steps_done", &Optimizer::steps_done);
    nb::class_<Augmentation>(m, "Augmentation")
        .def(
            "__init__",
            [](Augmentation* self, int64_t height, int64_t width, int64_t channels,
               int64_t max_down, int64_t max_right, bool flip) {
                new (self) Augmentation{height, width, channels, max_down, max_right, flip};
            },
            nb::kw_only(), "height"_a, "width"_a, "channels"_a, "max_down"_a, "max_right"_a,
            "flip"_a);
    nb::class_<BoundSamples>(m, "Samples")
        .def("__init__", make_samples, nb::kw_only(), "rows"_a, "targets"_a.none(),
             "sample_weight"_a.none(), "largest_input"_a, "label_smoothing"_a);
    nb::class_<BoundBatches>(m, "Batches")
        .def("__init__", make_batches, nb::kw_only(), "order"_a.none(), "batch_size"_a,
             "drop_last"_a, "augmentation"_a.none(), "input_dropout"_a, "seed"_a, "epoch"_a,
             "pass_offset"_a, "pass_size"_a, "row_numbers"_a.none());
    nb::class_<EpochResult>(m, "EpochResult")
        .def_ro("loss", &EpochResult::loss)
        .def_ro("n_steps", &EpochResult::n_steps)
        .def_ro("diverged_layer", &EpochResult::diverged_layer)
        .def_ro("fired", &EpochResult::fired);
    m.def("train_epoch", py_train_epoch, nb::kw_only(), "network"_a, "optimizer"_a, "samples"_a,
          "batches"_a, "n_threads"_a);
    m.attr("ROWS_PER_TASK") = kRowsPerTask;
    m.def("predict", py_predict, nb::kw_only(), "networks"_a, "rows"_a, "out"_a.none(),
          "n_threads"_a);
}

}  // namespace cofire
