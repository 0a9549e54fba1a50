#include "search/search.hpp"

#include "search/all_pairs.hpp"
#include "search/hashing.hpp"
#include "search/held.hpp"
#include "search/sketch.hpp"

namespace cofire {

namespace {

SearchResult best_pairs_of(const SearchContext& context, const SignalSource& source) {
    // So few that their sums are made in double (products_exact in products.hpp).
    constexpr int64_t kFewRows = 256;
    const SearchRequest& request = context.request;
    AllPairs search(context, source, request.n_wanted, request.n_rows <= kFewRows);
    SearchResult result;
    for (const std::vector<RankedPair>& best : search.run())
        result.pairs.push_back(
            context.tie_break(static_cast<int>(result.pairs.size())).flat_indices(best));
    result.n_firing = search.n_firing();
    result.multiply_adds = search.multiply_adds();
    result.interrupted = context.workers.stopped();
    return result;
}

}  // namespace

SearchResult best_pairs(const NetworkView& network, const SearchRequest& request,
                        const CallContext& call) {
    Workers workers(call);
    SearchContext context{network, request, workers};
    const RowList list{request.row_ids, request.n_rows};
    SearchResult result;
    if (HeldSignals::fits(context, list)) {
        const HeldSignals signals(context, list);
        result = best_pairs_of(context, signals);
        result.multiply_adds += signals.multiply_adds();
    } else {
        const int64_t centres_cost = find_centres(context, list);
        result = best_pairs_of(context, RowSignals(context, context.plan, list));
        result.multiply_adds += centres_cost;
    }
    return result;
}

SearchResult hashed_pairs(const NetworkView& network, const SearchRequest& request,
                          const Hashing& hashing, const CallContext& call) {
    // Where layers are wider, sketches have half as many columns and fewer pairs are compared: what
    // is compared lies anywhere in memory.
    constexpr int64_t kVeryWide = 65536;
    Workers workers(call);
    SearchContext context{network, request, workers};
    const RowList list{request.row_ids, request.n_rows, hashing.row_weight};
    const int64_t centres_cost = find_centres(context, list);
    const RowSignals sample(context, context.plan, list);
    const bool very_wide = context.plan.widest() > kVeryWide;
    const int64_t n_columns = very_wide ? kSketchColumns / 2 : kSketchColumns;
    const Sketch sketch(context, sample, n_columns / context.tile_size);
    HashedPairs search(context, sketch, hashing.n_tables, very_wide ? 8 : 32);
    SearchResult result;
    for (int l = 0; l < context.n_layers(); l++) result.pairs.push_back(search.run(l));
    result.multiply_adds = sketch.multiply_adds() + search.multiply_adds() + centres_cost;
    result.interrupted = workers.stopped();
    return result;
}

}  // namespace cofire
