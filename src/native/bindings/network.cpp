// Networks and targets, for Python.
#include "bindings/classes.hpp"

namespace cofire {
namespace {

// One parameter array and its moments.
ParameterView parameters(BoundNetwork& network, nb::handle values, const nb::list& moments,
                         int64_t n, const std::string& name, const char* each) {
    const auto one = [&](nb::handle object, const std::string& argument) {
        const auto numbers = array<const float>(object, argument);
        check_size(size(numbers), n, argument, each);
        Array<float> writable;
        if (network.read_only.empty() && !nb::try_cast(object, writable, false))
            network.read_only = argument;
        network.owners.push_back(nb::cast(numbers));
        return const_cast<float*>(numbers.data());  // written to after check_trainable only
    };
    ParameterView view;
    view.value = one(values, name);
    for (std::size_t m = 0; m < moments.size(); m++)
        view.moments[m] = one(moments[m], text("moment ", m + 1, " of ", name));
    return view;
}

// Errors name the layer, counted from 1.
void add_layer(BoundNetwork& network, int64_t n_in, nb::object indptr, nb::object indices,
               nb::object weights, nb::object bias, nb::list weight_moments,
               nb::list bias_moments) {
    const std::size_t number = network.view.layers.size() + 1, n_moments = weight_moments.size();
    const std::string prefix = text("layer ", number, ": ");
    const auto start = array<const int64_t>(indptr, prefix + "indptr");
    const auto input = array<const int32_t>(indices, prefix + "indices");
    if (number > 1 && network.view.n_out() != n_in)
        refuse(prefix, "n_in: expected ", network.view.n_out(), ", the number of neurons in layer ",
               number - 1, ", got ", n_in);
    try {
        check_compressed(start, input, n_in);
    } catch (const nb::builtin_exception& error) {
        refuse(prefix, error.what());
    }
    if (n_moments > kMaxMoments || bias_moments.size() != n_moments ||
        (number > 1 && static_cast<int>(n_moments) != network.n_moments))
        refuse(prefix, "weight_moments and bias_moments: expected as many of each in all layers, ",
               "at most ", kMaxMoments, ", got ", n_moments, " and ", bias_moments.size());
    network.n_moments = static_cast<int>(n_moments);
    LayerView layer;
    layer.n_in = n_in;
    layer.n_out = size(start) - 1;
    layer.indptr = start.data();
    layer.indices = input.data();
    layer.weights = parameters(network, weights, weight_moments, layer.n_connections(),
                               prefix + "weights", "connection");
    layer.bias = parameters(network, bias, bias_moments, layer.n_out, prefix + "bias", "neuron");
    network.owners.push_back(nb::cast(start));
    network.owners.push_back(nb::cast(input));
    network.view.layers.push_back(layer);
}

}  // namespace

void BoundNetwork::check_rows(const Rows& rows) const {
    if (view.layers.empty()) refuse("network: has no layers; add_layer adds one");
    if (rows.n_features != view.n_in())
        refuse("rows: expected ", view.n_in(), " features, one per input neuron, got ",
               rows.n_features);
}

void BoundNetwork::check_trainable(const Optimizer& optimizer) const {
    if (optimizer.traits().n_moments != n_moments)
        refuse("optimizer: ", optimizer.traits().name, " needs ", optimizer.traits().n_moments,
               " moments of each parameter, got ", n_moments, "; start() makes them");
    if (!read_only.empty()) refuse(read_only, ": is read-only; training writes to it");
}

Targets targets_of(nb::handle targets, const NetworkView& network, int64_t n_rows) {
    Targets wanted;
    if (traits(network.output).has_class_targets) {
        const auto labels = array<const int32_t>(targets, "targets");
        check_size(size(labels), n_rows, "targets", "row");
        check_range(labels, network.n_out(), "targets");
        wanted.labels = labels.data();
    } else {
        const auto values = array<const float, 2>(targets, "targets");
        check_size(size(values), n_rows, "targets", "row");
        if (static_cast<int64_t>(values.shape(1)) != network.n_out())
            refuse("targets: expected ", network.n_out(), " columns, one per output, got ",
                   values.shape(1));
        wanted.values = values.data();
    }
    return wanted;
}

void add_network(nb::module_& m) {
    m.attr("ACTIVATIONS") = names(kActivations);
    m.attr("OUTPUTS") = names(kOutputs);
    nb::class_<BoundNetwork>(m, "Network")
        .def(
            "__init__",
            [](BoundNetwork* self, const std::string& activation, const std::string& output) {
                NetworkView view;
                view.activation = row_named(kActivations, activation, "activation").value;
                view.output = row_named(kOutputs, output, "output").value;
                new (self) BoundNetwork{view, {}, 0, {}};
            },
            nb::kw_only(), "activation"_a, "output"_a)
        .def("add_layer", add_layer, nb::kw_only(), "n_in"_a, "indptr"_a.none(), "indices"_a.none(),
             "weights"_a.none(), "bias"_a.none(), "weight_moments"_a, "bias_moments"_a);
}

}  // namespace cofire
