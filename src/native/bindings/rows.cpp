// Rows, for Python.
#include "bindings/classes.hpp"
#include "bindings/interpreter.hpp"
#include "search/windows.hpp"

namespace cofire {
namespace {

BoundRows float_rows(nb::object values) {
    const auto x = array<const float, 2>(values, "values");
    BoundRows rows;
    rows.view.kind = Rows::Kind::floats;
    rows.view.n_rows = size(x);
    rows.view.n_features = static_cast<int64_t>(x.shape(1));
    rows.view.floats = x.data();
    rows.owners = {nb::cast(x)};
    return rows;
}

BoundRows byte_rows(nb::object values, nb::object scale, nb::object offset) {
    const auto x = array<const uint8_t, 2>(values, "values");
    const auto factor = array<const float>(scale, "scale");
    const auto summand = array<const float>(offset, "offset");
    BoundRows rows;
    rows.view.kind = Rows::Kind::bytes;
    rows.view.n_rows = size(x);
    rows.view.n_features = static_cast<int64_t>(x.shape(1));
    check_size(size(factor), rows.view.n_features, "scale", "feature");
    check_size(size(summand), rows.view.n_features, "offset", "feature");
    rows.view.bytes = x.data();
    rows.view.scale = factor.data();
    rows.view.offset = summand.data();
    rows.owners = {nb::cast(x), nb::cast(factor), nb::cast(summand)};
    return rows;
}

BoundRows sparse_rows(nb::object indptr, nb::object indices, nb::object values,
                      int64_t n_features) {
    const auto start = array<const int64_t>(indptr, "indptr");
    const auto feature = array<const int32_t>(indices, "indices");
    const auto x = array<const float>(values, "values");
    check_compressed(start, feature, n_features);
    check_size(size(x), size(feature), "values", "index");
    BoundRows rows;
    rows.view.kind = Rows::Kind::sparse;
    rows.view.n_rows = size(start) - 1;
    rows.view.n_features = n_features;
    rows.view.indptr = start.data();
    rows.view.indices = feature.data();
    rows.view.values = x.data();
    rows.owners = {nb::cast(start), nb::cast(feature), nb::cast(x)};
    return rows;
}

// Fills `tiles` with a copy of some rows in a given order: (n_tiles, n_features, 64).
BoundRows tile_rows(const BoundRows& rows, nb::object order, nb::object tiles, nb::object step,
                    nb::object zero) {
    const auto ids = array<const int64_t>(order, "order");
    const auto to_tiles = array<uint16_t, 3>(tiles, "tiles");
    const auto to_step = array<float>(step, "step");
    const auto to_zero = array<int32_t>(zero, "zero");
    check_range(ids, rows.view.n_rows, "order");
    const int64_t n_features = rows.view.n_features, n_tiles = divide_up(size(ids), kMaxTile);
    if (size(to_tiles) != n_tiles || static_cast<int64_t>(to_tiles.shape(1)) != n_features ||
        to_tiles.shape(2) != kMaxTile)
        refuse("tiles: expected the shape (", n_tiles, ", ", n_features, ", ", kMaxTile, "), got (",
               to_tiles.shape(0), ", ", to_tiles.shape(1), ", ", to_tiles.shape(2), ")");
    check_size(size(to_step), n_features, "step", "feature");
    check_size(size(to_zero), n_features, "zero", "feature");
    {
        const Unlocked unlocked;
        rows.view.copy_to_tiles(kernels(), ids.data(), size(ids), to_tiles.data(), to_step.data(),
                                to_zero.data());
    }
    BoundRows copy;
    copy.view.kind = Rows::Kind::tiles;
    copy.view.n_rows = size(ids);
    copy.view.n_features = n_features;
    copy.view.tiles = to_tiles.data();
    copy.view.step = to_step.data();
    copy.view.zero = to_zero.data();
    copy.owners = {nb::cast(to_tiles), nb::cast(to_step), nb::cast(to_zero)};
    return copy;
}

// For each of the rows, the count of its rarest feature: in how many of the rows it is not 0.
void rarity(const BoundRows& rows, nb::object row_ids, nb::object out) {
    const auto ids = array<const int64_t>(row_ids, "row_ids");
    const auto counts = array<int64_t>(out, "out");
    check_range(ids, rows.view.n_rows, "row_ids");
    check_size(size(counts), size(ids), "out", "row");
    const Unlocked unlocked;
    rows.view.rarity(ids.data(), size(ids), counts.data());
}

}  // namespace

void add_rows(nb::module_& m) {
    nb::class_<BoundRows>(m, "Rows")
        .def_prop_ro("n_rows", [](const BoundRows& r) { return r.view.n_rows; })
        .def_prop_ro("n_features", [](const BoundRows& r) { return r.view.n_features; });
    m.def("float_rows", float_rows, "values"_a.none());
    m.def("byte_rows", byte_rows, "values"_a.none(), "scale"_a.none(), "offset"_a.none());
    m.def("sparse_rows", sparse_rows, "indptr"_a.none(), "indices"_a.none(), "values"_a.none(),
          "n_features"_a);
    m.def("tile_rows", tile_rows, "rows"_a, "order"_a.none(), "tiles"_a.none(), "step"_a.none(),
          "zero"_a.none());
    m.def("rarity", rarity, "rows"_a, "row_ids"_a.none(), "out"_a.none());
}

}  // namespace cofire
