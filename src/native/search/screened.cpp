// Nearly the best pairs: a sketch ranks all of them, the rows rank the best by the sketch.
#include <algorithm>
#include <utility>

#include "search/all_pairs.hpp"
#include "search/race.hpp"
#include "search/sketch.hpp"

namespace cofire {
namespace {

class ScreenedSearch {
public:
    ScreenedSearch(SearchContext& context, const Screening& screening)
        : context_(context), request_(context.request), workers_(context.workers),
          screening_(screening),
          centres_cost_(find_centres(context, {request_.row_ids, request_.n_rows})) {}

    ScreenedResult run() {
        const int n_layers = context_.n_layers();
        const RowSignals sample(
            context_, context_.plan,
            {screening_.sample_ids, screening_.n_sample, screening_.row_weight});
        const Sketch sketch(context_, sample, kSketchColumns / context_.tile_size);
        // The race may miss more than the sketch: there a better recall costs rows.
        const double misses = 1.0 - screening_.recall, screening_misses = 0.2 * misses;
        Race race(context_, screening_.n_sure, 0.8 * misses);

        ScreenedResult result;
        result.pairs.resize(n_layers);
        result.recall.assign(n_layers, 1.0);
        result.factor = screening_.factor;
        std::vector<int64_t> n_wanted = request_.n_wanted, n_exact(n_layers, 0);
        const auto leave_to_exact = [&](int l) {
            n_exact[l] = std::exchange(n_wanted[l], 0);
            // Less than it would take, so that it is tried again some epochs later.
            result.factor[l] = std::max<int64_t>(result.factor[l] - result.factor[l] / 8, 1);
        };
        for (int l = 0; l < n_layers; l++)
            if (!is_worth_screening(l, result.factor[l])) leave_to_exact(l);
        while (std::any_of(n_wanted.begin(), n_wanted.end(), [](int64_t n) { return n > 0; })) {
            std::vector<Candidates> candidates =
                screen(sketch, n_wanted, result.factor, result.multiply_adds);
            result.n_rows = std::max(result.n_rows, race.run(candidates));
            if (workers_.stopped()) break;
            for (int l = 0; l < n_layers; l++) {
                if (n_wanted[l] == 0) continue;
                const Choice choice = choose(l, candidates[l]);
                const double n = static_cast<double>(n_wanted[l]);
                result.pairs[l] = choice.pairs;
                const double wrong = choice.missed + candidates[l].expected_errors;
                result.recall[l] = std::max(1.0 - wrong / n, 0.0);
                const double tolerated = std::max(screening_misses * n, 1.0);
                int64_t& factor = result.factor[l];
                if (choice.missed > tolerated) {
                    const int64_t had = divide_up(candidates[l].indices.size(), n_wanted[l]);
                    factor = had + divide_up(had, 2);
                } else if (factor > 2) {
                    factor -= choice.spare ? factor / 2 : choice.missed < tolerated / 8;
                }
                // Once more, with more candidates, only where those missed alone are too many.
                if (choice.missed <= std::max(misses * n, 1.0))
                    n_wanted[l] = 0;
                else if (!is_worth_screening(l, factor))
                    leave_to_exact(l);
            }
        }
        find_exactly(n_exact, result);
        result.multiply_adds += sketch.multiply_adds() + race.multiply_adds() + centres_cost_;
        result.interrupted = workers_.stopped();
        return result;
    }

private:
    const SearchContext& context_;
    const SearchRequest& request_;
    Workers& workers_;
    const Screening& screening_;
    const int64_t centres_cost_;

    // Where few pairs are similar, the sketch says little: most pairs would be candidates. Then it
    // is faster to look at all pairs, which need not be held.
    bool is_worth_screening(int layer, int64_t factor) const {
        constexpr int64_t kTimes = 64, kMany = 1 << 16;
        const int64_t n = request_.n_wanted[layer], most = std::max(kTimes * n, kMany);
        return n * factor <= most || context_.n_free(layer) <= most;
    }

    void find_exactly(const std::vector<int64_t>& n_wanted, ScreenedResult& result) {
        if (std::all_of(n_wanted.begin(), n_wanted.end(), [](int64_t n) { return n == 0; })) return;
        const RowSignals rows(context_, context_.plan, {request_.row_ids, request_.n_rows});
        AllPairs search(context_, rows, n_wanted, false);
        const std::vector<std::vector<RankedPair>> best = search.run();
        for (int l = 0; l < context_.n_layers(); l++) {
            if (n_wanted[l] == 0) continue;
            result.pairs[l] = context_.tie_break(l).flat_indices(best[l]);
            result.recall[l] = 1.0;
        }
        result.multiply_adds += search.multiply_adds();
        result.n_rows = request_.n_rows;
    }

    // Several times as many candidates as are wanted, the best by the sketch.
    std::vector<Candidates> screen(const Sketch& sketch, const std::vector<int64_t>& n_wanted,
                                   const std::vector<int64_t>& factor, int64_t& multiply_adds) {
        constexpr int64_t kFew = 1024;
        std::vector<int64_t> n(n_wanted);
        for (int l = 0; l < context_.n_layers(); l++)
            if (n[l] > 0) n[l] = std::min(std::max(n[l] * factor[l], kFew), context_.n_free(l));
        AllPairs search(context_, sketch, n, false);
        std::vector<std::vector<RankedPair>> best = search.run();
        multiply_adds += search.multiply_adds();
        std::vector<Candidates> candidates(context_.n_layers());
        workers_.parallel_for(context_.n_layers(), [&](int64_t l, int) {
            candidates[l] = candidates_of(static_cast<int>(l), best[l], n_wanted[l]);
        });
        return candidates;
    }

    // In ascending order, output after output: so the race is fastest.
    Candidates candidates_of(int layer, std::vector<RankedPair>& best, int64_t n_wanted) const {
        const TieBreak tie_break = context_.tie_break(layer);
        const auto half = best.begin() + best.size() / 2, quarter = best.begin() + best.size() / 4;
        std::nth_element(best.begin(), half, best.end());
        std::nth_element(best.begin(), quarter, half);
        struct Entry {
            int64_t index;
            uint32_t rank;
            uint8_t quarter;
            bool operator<(const Entry& other) const { return index < other.index; }
        };
        std::vector<Entry> entries;
        for (auto pair = best.begin(); pair != best.end(); ++pair) {
            const int behind = (pair >= quarter) + (pair >= half);
            entries.push_back(
                {tie_break.flat_index(*pair), pair->rank(), static_cast<uint8_t>(behind)});
        }
        std::sort(entries.begin(), entries.end());
        Candidates candidates;
        candidates.n_wanted = n_wanted;
        for (const Entry& entry : entries) {
            candidates.indices.push_back(entry.index);
            candidates.scores.push_back(score_of_rank(request_.metric, entry.rank));
            candidates.quarter.push_back(entry.quarter);
        }
        return candidates;
    }

    struct Choice {
        std::vector<int64_t> pairs;  // flat indices, ascending
        double missed = 0.0;         // better ones that are not among the candidates, by estimate
        bool spare = false;          // half of the candidates would have been enough
    };

    // The best candidates. The further down the sketch's list, the fewer are chosen. The fraction
    // that is chosen falls from the first quarter to the second, from there to the second half, and
    // so on beyond the end: by the last ratio again, and by less where the ratio itself has fallen.
    Choice choose(int layer, const Candidates& candidates) const {
        const TieBreak tie_break = context_.tie_break(layer);
        const int64_t n = static_cast<int64_t>(candidates.indices.size());
        std::vector<std::pair<RankedPair, int64_t>> ranked;
        for (int64_t c = 0; c < n; c++)
            ranked.emplace_back(tie_break.ranked(rank_of(request_.metric, candidates.scores[c]),
                                                 candidates.indices[c]),
                                c);
        std::nth_element(ranked.begin(), ranked.begin() + (candidates.n_wanted - 1), ranked.end());
        Choice choice;
        double quarter = 0.0, half = 0.0;
        for (int64_t k = 0; k < candidates.n_wanted; k++) {
            const int64_t c = ranked[k].second;
            choice.pairs.push_back(candidates.indices[c]);
            half += candidates.quarter[c] == 2;
            quarter += candidates.quarter[c] == 1;
        }
        std::sort(choice.pairs.begin(), choice.pairs.end());
        choice.spare = half + quarter == 0.0;
        const double first = static_cast<double>(candidates.n_wanted) - quarter - half;
        const double before = std::max(quarter, 1.0) / std::max(first, 1.0);
        const double last = half / 2.0 / std::max(quarter, 1.0);
        const double ratio = std::min(2.0 * last * std::min(last / before, 1.0), 0.9);
        if (n < context_.n_free(layer)) choice.missed = half * ratio / (1.0 - ratio);
        return choice;
    }
};

}  // namespace

ScreenedResult screened_pairs(const NetworkView& network, const SearchRequest& request,
                              const Screening& screening, const CallContext& call) {
    Workers workers(call);
    SearchContext context{network, request, workers};
    return ScreenedSearch(context, screening).run();
}

}  // namespace cofire
