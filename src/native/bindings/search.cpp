// The searches, for Python.
#include "search/search.hpp"

#include <algorithm>
#include <utility>

#include "bindings/classes.hpp"
#include "bindings/interpreter.hpp"

namespace cofire {
namespace {

// What all searches are asked for. It can be checked only together with a network.
struct BoundRequest {
    SearchRequest view;
    nb::object rows, targets;
    Array<const int64_t> row_ids;
    OptionalWeights sample_weight;
    std::vector<Array<const int64_t>> kept;

    bool is_drawn() const {
        return view.sharpness > 0 ||
               std::any_of(view.gate.begin(), view.gate.end(), [](double z) { return z >= 0; });
    }
    // Refuses what does not fit the network; the request with the targets, where it needs some.
    SearchRequest checked(const BoundNetwork& network) const;
};

void make_request(BoundRequest* self, nb::object rows, nb::object row_ids, nb::object sample_weight,
                  nb::list kept, std::vector<int64_t> n_wanted, const std::string& score,
                  const std::string& ties, std::vector<double> gate, int sharpness,
                  nb::object targets, uint64_t seed, uint64_t epoch) {
    BoundRequest made{{},
                      rows,
                      targets,
                      array<const int64_t>(row_ids, "row_ids"),
                      {sample_weight, "sample_weight"},
                      {}};
    for (std::size_t l = 0; l < kept.size(); l++)
        made.kept.push_back(array<const int64_t>(kept[l], text("kept[", l, "]")));
    if (sharpness < 0) refuse("sharpness: must be at least 0, got ", sharpness);
    SearchRequest& request = made.view;
    request.rows = nb::cast<const BoundRows&>(rows).view;
    request.row_ids = made.row_ids.data();
    request.n_rows = size(made.row_ids);
    request.sample_weight = made.sample_weight.one_per_row(request.rows.n_rows);
    for (const auto& indices : made.kept)
        request.kept.push_back({indices.data(), indices.data() + size(indices)});
    request.n_wanted = std::move(n_wanted);
    request.metric = row_named(kMetrics, score, "score").value;
    request.ties = row_named(kTies, ties, "ties").value;
    request.gate = std::move(gate);
    request.sharpness = sharpness;
    request.random = {seed, epoch};
    check_range(made.row_ids, request.rows.n_rows, "row_ids");
    if (made.is_drawn() && request.metric != Metric::pearson)
        refuse("gate and sharpness: are for the score 'pearson' only, got '", score, "'");
    new (self) BoundRequest(std::move(made));
}

// Ascending flat indices within the layer, and enough others for those wanted.
void check_kept(const FlatIndices& kept, int64_t n_wanted, int64_t n_pairs, std::size_t l) {
    for (int64_t k = 0; k < kept.size(); k++) {
        const int64_t index = kept.begin[k];
        if (index < 0 || index >= n_pairs)
            refuse("kept[", l, "]: must lie in [0, ", n_pairs, "), but kept[", l, "][", k,
                   "] = ", index);
        if (k > 0 && index <= kept.begin[k - 1])
            refuse("kept[", l, "]: must ascend, but kept[", l, "][", k - 1,
                   "] = ", kept.begin[k - 1], " and kept[", l, "][", k, "] = ", index);
    }
    const int64_t n_free = n_pairs - kept.size();
    if (n_wanted < 0 || n_wanted > n_free)
        refuse("n_wanted[", l, "]: must lie in [0, ", n_free, "], the pairs of layer ", l + 1,
               " that are not kept, got ", n_wanted);
}

SearchRequest BoundRequest::checked(const BoundNetwork& network) const {
    network.check_rows(view.rows);
    const int64_t n_layers = network.view.n_layers();
    check_size(static_cast<int64_t>(view.kept.size()), n_layers, "kept", "layer");
    check_size(static_cast<int64_t>(view.n_wanted.size()), n_layers, "n_wanted", "layer");
    check_size(static_cast<int64_t>(view.gate.size()), n_layers, "gate", "layer");
    for (std::size_t l = 0; l < view.kept.size(); l++)
        check_kept(view.kept[l], view.n_wanted[l], network.view.layers[l].n_pairs(), l);
    SearchRequest request = view;
    if (request.metric == Metric::gradient)
        request.targets = targets_of(targets, network.view, request.rows.n_rows);
    return request;
}

struct BoundScreening {
    Screening view;
    Array<const int64_t> sample_ids;
    OptionalWeights row_weight;
};

void make_screening(BoundScreening* self, nb::object sample_ids, nb::object row_weight,
                    std::vector<int64_t> factor, double recall, int64_t n_sure) {
    const auto ids = array<const int64_t>(sample_ids, "sample_ids");
    const OptionalWeights weight(row_weight, "row_weight");
    for (std::size_t l = 0; l < factor.size(); l++)
        if (factor[l] < 1) refuse("factor[", l, "]: must be at least 1, got ", factor[l]);
    if (!(recall > 0.0 && recall <= 1.0)) refuse("recall: must lie in (0, 1], got ", recall);
    const Screening view{ids.data(),        size(ids), weight.one_per_row(size(ids)),
                         std::move(factor), recall,    n_sure};
    new (self) BoundScreening{view, ids, weight};
}

template <class Result> Result unless_interrupted(Result&& result) {
    if (result.interrupted) throw nb::python_error();
    return std::move(result);
}

SearchResult py_best_pairs(const BoundNetwork& network, const BoundRequest& request,
                           int n_threads) {
    const SearchRequest checked = request.checked(network);
    return unless_interrupted(run_unlocked(n_threads, [&](const CallContext& context) {
        return best_pairs(network.view, checked, context);
    }));
}

ScreenedResult py_screened_pairs(const BoundNetwork& network, const BoundRequest& request,
                                 const BoundScreening& screening, int n_threads) {
    if (request.view.metric == Metric::gradient)
        refuse("score: 'gradient' cannot be screened; best_pairs finds it");
    if (request.is_drawn()) refuse("gate and sharpness: cannot be screened; best_pairs takes them");
    const SearchRequest checked = request.checked(network);
    check_range(screening.sample_ids, checked.rows.n_rows, "sample_ids");
    check_size(static_cast<int64_t>(screening.view.factor.size()), network.view.n_layers(),
               "factor", "layer");
    if (screening.view.n_sure < 0 || screening.view.n_sure > checked.n_rows)
        refuse("n_sure: must lie in [0, ", checked.n_rows, "], the number of row_ids, got ",
               screening.view.n_sure);
    return unless_interrupted(run_unlocked(n_threads, [&](const CallContext& context) {
        return screened_pairs(network.view, checked, screening.view, context);
    }));
}

SearchResult py_hashed_pairs(const BoundNetwork& network, const BoundRequest& request,
                             nb::object row_weight, int64_t n_tables, int n_threads) {
    if (request.view.metric == Metric::gradient)
        refuse("score: 'gradient' cannot be hashed; best_pairs finds it");
    const SearchRequest checked = request.checked(network);
    const OptionalWeights weight(row_weight, "row_weight");
    if (n_tables < 1) refuse("n_tables: must be at least 1, got ", n_tables);
    const Hashing hashing{weight.one_per_row(checked.n_rows), n_tables};
    return unless_interrupted(run_unlocked(n_threads, [&](const CallContext& context) {
        return hashed_pairs(network.view, checked, hashing, context);
    }));
}

// Per layer the flat indices that were found, as arrays that share the result's memory.
template <class Result> nb::list pairs(nb::handle_t<Result> self) {
    nb::list found;
    for (std::vector<int64_t>& layer : nb::cast<Result&>(self).pairs)
        found.append(
            nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>(layer.data(), {layer.size()}, self)
                .cast());
    return found;
}

}  // namespace

void add_search(nb::module_& m) {
    m.attr("SCORES") = names(kMetrics);
    m.attr("TIES") = names(kTies);
    nb::class_<BoundRequest>(m, "SearchRequest")
        .def("__init__", make_request, nb::kw_only(), "rows"_a, "row_ids"_a.none(),
             "sample_weight"_a.none(), "kept"_a, "n_wanted"_a, "score"_a, "ties"_a, "gate"_a,
             "sharpness"_a, "targets"_a.none(), "seed"_a, "epoch"_a);
    nb::class_<BoundScreening>(m, "Screening")
        .def("__init__", make_screening, nb::kw_only(), "sample_ids"_a.none(),
             "row_weight"_a.none(), "factor"_a, "recall"_a, "n_sure"_a);
    nb::class_<SearchResult>(m, "SearchResult")
        .def_prop_ro("pairs", pairs<SearchResult>)
        .def_ro("n_firing", &SearchResult::n_firing)
        .def_ro("multiply_adds", &SearchResult::multiply_adds);
    nb::class_<ScreenedResult>(m, "ScreenedResult")
        .def_prop_ro("pairs", pairs<ScreenedResult>)
        .def_ro("recall", &ScreenedResult::recall)
        .def_ro("factor", &ScreenedResult::factor)
        .def_ro("n_rows", &ScreenedResult::n_rows)
        .def_ro("multiply_adds", &ScreenedResult::multiply_adds);
    m.def("best_pairs", py_best_pairs, nb::kw_only(), "network"_a, "request"_a, "n_threads"_a);
    m.def("screened_pairs", py_screened_pairs, nb::kw_only(), "network"_a, "request"_a,
          "screening"_a, "n_threads"_a);
    m.def("hashed_pairs", py_hashed_pairs, nb::kw_only(), "network"_a, "request"_a,
          "row_weight"_a.none(), "n_tables"_a, "n_threads"_a);
}

}  // namespace cofire
