// The door to the searches.
#include "bindings/door.hpp"
#include "search/windows.hpp"

namespace cofire {
namespace {

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

// What both searches are told, and the arrays they fill.
struct SearchCall {
    std::vector<LayerView> views;
    SearchRequest request;
    std::vector<int64_t*> found;
    Loss loss;

    SearchCall(const nb::list& layers, const std::string& output, const OwnedRows& rows,
               const Array1<const int64_t>& row_ids,
               const std::optional<Array1<const float>>& sample_weight, const nb::list& kept,
               const nb::list& places, const std::string& score, const std::string& ties,
               std::vector<double> gate, int sharpness, uint64_t seed, uint64_t epoch)
        : views(layer_views(layers, Access::read)), loss(loss_of_output(output)) {
        if (rows.view.n_features != views.front().n_in)
            throw nb::value_error("rows: not one feature per input neuron");
        if (sample_weight && static_cast<int64_t>(sample_weight->shape(0)) != rows.view.n_rows)
            throw nb::value_error("sample_weight: not one per row");
        check_ids(row_ids, rows.view.n_rows);
        if (kept.size() != views.size() || places.size() != views.size())
            throw nb::value_error("kept and places: not one array per layer");
        request.row_ids = row_ids.data();
        request.n_rows = static_cast<int64_t>(row_ids.shape(0));
        request.sample_weight = sample_weight ? sample_weight->data() : nullptr;
        request.metric = metric_named(score);
        request.ties = ties_named(ties);
        if (gate.size() != views.size()) throw nb::value_error("gate: not one per layer");
        if (sharpness < 0) throw nb::value_error("sharpness: below 0");
        request.gate = std::move(gate);
        request.sharpness = sharpness;
        if (is_drawn() && request.metric != Metric::pearson)
            throw nb::value_error("gate, sharpness: only for correlations (pearson)");
        request.random = {seed, epoch};
        for (std::size_t l = 0; l < views.size(); l++) {
            const char* expected = "a contiguous int64 array per layer";
            const auto out = exactly<Array1<int64_t>>(places[l], "places", expected);
            found.push_back(out.data());
            request.n_wanted.push_back(static_cast<int64_t>(out.shape(0)));
            request.kept.push_back(kept_places(
                exactly<Array1<const int64_t>>(kept[l], "kept", expected), views[l], out.shape(0)));
        }
    }

    bool is_drawn() const {
        return request.sharpness > 0 || std::any_of(request.gate.begin(), request.gate.end(),
                                                    [](double z) { return z >= 0; });
    }

    static void check_ids(const Array1<const int64_t>& ids, int64_t n_rows,
                          const char* what = "row_ids") {
        for (std::size_t i = 0; i < ids.shape(0); i++)
            if (ids.data()[i] < 0 || ids.data()[i] >= n_rows)
                throw nb::value_error((std::string(what) + ": a row that does not exist").c_str());
    }

    // Returns how many there are per layer.
    template <class Result> std::vector<std::size_t> give_back(const Result& result) const {
        if (result.interrupted) throw nb::python_error();
        std::vector<std::size_t> n_found;
        for (std::size_t l = 0; l < views.size(); l++) {
            std::copy(result.places[l].begin(), result.places[l].end(), found[l]);
            n_found.push_back(result.places[l].size());
        }
        return n_found;
    }
};

nb::object py_best_places(nb::list layers, const std::string& activation, const std::string& output,
                          const OwnedRows& rows, Array1<const int64_t> row_ids,
                          std::optional<Array1<const float>> sample_weight, nb::list kept,
                          nb::list places, const std::string& score, const std::string& ties,
                          std::vector<double> gate, int sharpness, nb::object targets,
                          uint64_t seed, uint64_t epoch, int n_threads) {
    SearchCall call(layers, output, rows, row_ids, sample_weight, kept, places, score, ties, gate,
                    sharpness, seed, epoch);
    if (call.request.metric == Metric::gradient)
        call.request.targets =
            targets_of(targets, call.loss, call.views.back().n_out, rows.view.n_rows);
    SearchResult result;
    {
        const Unlocked unlocked;
        result = best_places(call.views, activation_named(activation), call.loss, rows.view,
                             call.request, n_threads, signals_pending);
    }
    return nb::make_tuple(call.give_back(result), result.n_firing, result.multiply_adds);
}

nb::object py_screened_places(nb::list layers, const std::string& activation,
                              const std::string& output, const OwnedRows& rows,
                              Array1<const int64_t> row_ids,
                              std::optional<Array1<const float>> sample_weight, nb::list kept,
                              nb::list places, const std::string& score, const std::string& ties,
                              std::vector<double> gate, int sharpness, uint64_t seed,
                              uint64_t epoch, Array1<const int64_t> sample_ids,
                              std::optional<Array1<const float>> row_share,
                              std::vector<int64_t> factor, double recall, int64_t n_sure,
                              int n_threads) {
    const SearchCall call(layers, output, rows, row_ids, sample_weight, kept, places, score, ties,
                          gate, sharpness, seed, epoch);
    if (call.is_drawn()) throw nb::value_error("gate, sharpness: not for a screened search");
    SearchCall::check_ids(sample_ids, rows.view.n_rows, "sample_ids");
    if (call.request.metric == Metric::gradient)
        throw nb::value_error("score: gradients are not screened");
    if (row_share && row_share->shape(0) != sample_ids.shape(0))
        throw nb::value_error("row_share: not one per row of the sample");
    if (factor.size() != call.views.size() ||
        std::any_of(factor.begin(), factor.end(), [](int64_t f) { return f < 1; }))
        throw nb::value_error("factor: not one number from 1 on per layer");
    if (!(recall > 0.0 && recall <= 1.0)) throw nb::value_error("recall: not in (0, 1]");
    if (n_sure < 0 || n_sure > call.request.n_rows)
        throw nb::value_error("n_sure: not a number of rows");
    const Screening how{sample_ids.data(),
                        static_cast<int64_t>(sample_ids.shape(0)),
                        row_share ? row_share->data() : nullptr,
                        factor,
                        recall,
                        n_sure};
    ScreenedResult result;
    {
        const Unlocked unlocked;
        result = screened_places(call.views, activation_named(activation), call.loss, rows.view,
                                 call.request, how, n_threads, signals_pending);
    }
    call.give_back(result);
    return nb::make_tuple(result.recall, result.factor, result.n_rows, result.multiply_adds);
}

nb::object py_hashed_places(nb::list layers, const std::string& activation,
                            const std::string& output, const OwnedRows& rows,
                            Array1<const int64_t> row_ids,
                            std::optional<Array1<const float>> sample_weight, nb::list kept,
                            nb::list places, const std::string& score, const std::string& ties,
                            std::vector<double> gate, int sharpness, uint64_t seed, uint64_t epoch,
                            std::optional<Array1<const float>> row_share, int64_t n_tables,
                            int n_threads) {
    const SearchCall call(layers, output, rows, row_ids, sample_weight, kept, places, score, ties,
                          gate, sharpness, seed, epoch);
    if (call.request.metric == Metric::gradient)
        throw nb::value_error("score: gradients are not hashed");
    if (row_share && row_share->shape(0) != row_ids.shape(0))
        throw nb::value_error("row_share: not one per row");
    if (n_tables < 1) throw nb::value_error("n_tables: less than 1");
    SearchResult result;
    {
        const Unlocked unlocked;
        result = hashed_places(call.views, activation_named(activation), call.loss, rows.view,
                               call.request, row_share ? row_share->data() : nullptr, n_tables,
                               n_threads, signals_pending);
    }
    return nb::make_tuple(call.give_back(result), result.multiply_adds);
}

// For each of the rows, the count of its rarest feature: in how many of the rows it is not 0.
void py_rarity(const OwnedRows& rows, Array1<const int64_t> row_ids, Array1<int64_t> rarity) {
    SearchCall::check_ids(row_ids, rows.view.n_rows);
    if (rarity.shape(0) != row_ids.shape(0)) throw nb::value_error("rarity: not one per row");
    const Unlocked unlocked;
    rows.view.rarity(row_ids.data(), static_cast<int64_t>(row_ids.shape(0)), rarity.data());
}

// A copy of some rows in a given order, in tiles: (n_tiles, n_features, 64).
OwnedRows py_tile_rows(const OwnedRows& rows, Array1<const int64_t> order,
                       nb::ndarray<uint16_t, nb::ndim<3>, nb::c_contig, nb::device::cpu> tiles,
                       Array1<float> step, Array1<int32_t> zero) {
    SearchCall::check_ids(order, rows.view.n_rows, "order");
    const int64_t n = static_cast<int64_t>(order.shape(0)), n_features = rows.view.n_features;
    if (static_cast<int64_t>(tiles.shape(0)) != divide_up(n, kMaxTile) ||
        static_cast<int64_t>(tiles.shape(1)) != n_features || tiles.shape(2) != kMaxTile)
        throw nb::value_error("tiles: not 64 numbers per feature for every 64 rows");
    if (static_cast<int64_t>(step.shape(0)) != n_features || zero.shape(0) != step.shape(0))
        throw nb::value_error("step and zero: not one number per feature");
    {
        const Unlocked unlocked;
        rows.view.copy_to_tiles(kernels(), order.data(), n, tiles.data(), step.data(), zero.data());
    }
    OwnedRows copy;
    copy.view.kind = Rows::Kind::tiles;
    copy.view.n_rows = n;
    copy.view.n_features = n_features;
    copy.view.tiles = tiles.data();
    copy.view.step = step.data();
    copy.view.zero = zero.data();
    copy.owners = {nb::cast(tiles), nb::cast(step), nb::cast(zero)};
    return copy;
}

}  // namespace

void add_search(nb::module_& m) {
    m.def("best_places", py_best_places, nb::kw_only(), "layers"_a, "activation"_a, "output"_a,
          "rows"_a, "row_ids"_a.noconvert(), "sample_weight"_a.noconvert().none(), "kept"_a,
          "places"_a, "score"_a, "ties"_a, "gate"_a, "sharpness"_a, "targets"_a.none(), "seed"_a,
          "epoch"_a, "n_threads"_a);
    m.def("screened_places", py_screened_places, nb::kw_only(), "layers"_a, "activation"_a,
          "output"_a, "rows"_a, "row_ids"_a.noconvert(), "sample_weight"_a.noconvert().none(),
          "kept"_a, "places"_a, "score"_a, "ties"_a, "gate"_a, "sharpness"_a, "seed"_a, "epoch"_a,
          "sample_ids"_a.noconvert(), "row_share"_a.noconvert().none(), "factor"_a, "recall"_a,
          "n_sure"_a = 0, "n_threads"_a);
    m.def("hashed_places", py_hashed_places, nb::kw_only(), "layers"_a, "activation"_a, "output"_a,
          "rows"_a, "row_ids"_a.noconvert(), "sample_weight"_a.noconvert().none(), "kept"_a,
          "places"_a, "score"_a, "ties"_a, "gate"_a, "sharpness"_a, "seed"_a, "epoch"_a,
          "row_share"_a.noconvert().none(), "n_tables"_a, "n_threads"_a);
    m.def("tile_rows", py_tile_rows, "rows"_a, "order"_a.noconvert(), "tiles"_a.noconvert(),
          "step"_a.noconvert(), "zero"_a.noconvert());
    m.def("rarity", py_rarity, "rows"_a, "row_ids"_a.noconvert(), "rarity"_a.noconvert());
}

}  // namespace cofire
