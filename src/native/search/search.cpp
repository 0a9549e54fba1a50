#include "search/search.hpp"

#include <algorithm>
#include <utility>

#include "search/all_pairs.hpp"
#include "search/hashing.hpp"
#include "search/race.hpp"
#include "search/sketch.hpp"
#include "training/epoch.hpp"

namespace cofire {
namespace {

// So few that their sums are made in double (products_exact in products.hpp).
constexpr int64_t kFewRows = 256;
// Where layers are wider, hashed sketches have half as many columns and pairs meet more seldom:
// what is compared lies anywhere in memory.
constexpr int64_t kVeryWide = 65536;

// Per level and row of a tile: weighted sums of the signal and of its square.
struct Moments {
    std::vector<std::vector<double>> sums, squares;
    double weight = 0.0;

    explicit Moments(const Plan& plan) {
        for (int64_t n : plan.n_live) sums.emplace_back(n, 0.0);
        squares = sums;
    }
    void add(const Plan& plan, const Signals& signals) {
        const int64_t stride = signals.n8 * 8;
        for (int64_t s = 0; s < stride; s++) weight += signals.weight[s];
        for (int v = 0; v <= plan.n_layers(); v++)
            for (int64_t j = 0; j < plan.n_live[v]; j++) {
                const float* row = signals.inputs[v].data() + j * stride;
                double sum = 0.0, square = 0.0;
                for (int64_t s = 0; s < stride; s++) {
                    const double x = row[s], weighted = signals.weight[s] * x;
                    sum += weighted;
                    square += weighted * x;
                }
                sums[v][j] += sum;
                squares[v][j] += square;
            }
    }
    void join(const Moments& other) {
        weight += other.weight;
        for (std::size_t v = 0; v < sums.size(); v++)
            for (std::size_t j = 0; j < sums[v].size(); j++) {
                sums[v][j] += other.sums[v][j];
                squares[v][j] += other.squares[v][j];
            }
    }
};

class Search {
public:
    Search(const std::vector<LayerView>& layers, Activation activation, Loss loss, const Rows& rows,
           const SearchRequest& request, int n_threads, const std::function<bool()>& interrupted)
        : layers_(layers), plan_(layers, activation, Purpose::every_unit), loss_(loss), rows_(rows),
          request_(request), tile_size_(Tiling(2 * kMaxTile, plan_.widest()).tile_size),
          workers_(n_threads, interrupted) {}

    SearchResult exact() {
        find_centres({request_.row_ids, request_.n_rows});
        const RowSignals rows = signals({request_.row_ids, request_.n_rows});
        AllPairs search(plan_, request_, rows, request_.n_wanted, tile_size_,
                        request_.n_rows <= kFewRows, workers_);
        SearchResult result;
        for (const std::vector<Candidate>& best : search.run())
            result.places.push_back(places(result.places.size(), best));
        result.n_firing = search.n_firing();
        result.multiply_adds = search.multiply_adds() + centres_price_;
        result.interrupted = workers_.stopped();
        return result;
    }

    ScreenedResult screened(const Screening& how) {
        find_centres({request_.row_ids, request_.n_rows});
        const RowSignals sample = signals({how.sample_ids, how.n_sample, how.sample_weight});
        const Sketch sketch(plan_, sample, request_, tile_size_, kSketchColumns / tile_size_,
                            workers_);
        // The race may miss more: there it is rows that a better one costs.
        const double racing = 0.8 * (1.0 - how.recall), screening = 0.2 * (1.0 - how.recall);
        Race race(layers_, plan_.activation, loss_, rows_, request_, how.n_sure, tile_size_, racing,
                  workers_);

        ScreenedResult result;
        result.places.resize(plan_.n_layers());
        result.recall.assign(plan_.n_layers(), 1.0);
        result.factor = how.factor;
        std::vector<int64_t> n_wanted = request_.n_wanted, n_exact(plan_.n_layers(), 0);
        const auto leave_to_exact = [&](int l) {
            n_exact[l] = std::exchange(n_wanted[l], 0);
            // Less than it would take, so that it is tried again some epochs later.
            result.factor[l] = std::max<int64_t>(result.factor[l] - result.factor[l] / 8, 1);
        };
        for (int l = 0; l < plan_.n_layers(); l++)
            if (!worth_screening(l, result.factor[l])) leave_to_exact(l);
        while (std::any_of(n_wanted.begin(), n_wanted.end(), [](int64_t n) { return n > 0; })) {
            std::vector<Field> fields =
                screen(sketch, n_wanted, result.factor, result.multiply_adds);
            result.n_rows = std::max(result.n_rows, race.run(fields));
            if (workers_.stopped()) break;
            for (int l = 0; l < plan_.n_layers(); l++) {
                if (n_wanted[l] == 0) continue;
                const Choice choice = choose(l, fields[l]);
                const double n = static_cast<double>(n_wanted[l]);
                result.places[l] = choice.places;
                const double wrong = choice.missed + fields[l].expected_errors;
                result.recall[l] = std::max(1.0 - wrong / n, 0.0);
                const double tolerated = std::max(screening * n, 1.0);
                int64_t& factor = result.factor[l];
                if (choice.missed > tolerated) {
                    const int64_t had = divide_up(fields[l].places.size(), n_wanted[l]);
                    factor = had + divide_up(had, 2);
                } else if (factor > 2) {
                    factor -= choice.spare ? factor / 2 : choice.missed < tolerated / 8;
                }
                // Once more, with more of them, only where that many alone are too many.
                if (choice.missed <= std::max((1.0 - how.recall) * n, 1.0))
                    n_wanted[l] = 0;
                else if (!worth_screening(l, factor))
                    leave_to_exact(l);
            }
        }
        find_exactly(n_exact, result);
        result.multiply_adds += sketch.multiply_adds() + race.multiply_adds() + centres_price_;
        result.interrupted = workers_.stopped();
        return result;
    }

    SearchResult hashed(const RowList& list, int64_t n_tables) {
        find_centres(list);
        const RowSignals sample = signals(list);
        const bool very_wide = plan_.widest() > kVeryWide;
        const int64_t n_columns = very_wide ? kSketchColumns / 2 : kSketchColumns;
        const Sketch sketch(plan_, sample, request_, tile_size_, n_columns / tile_size_, workers_);
        HashedPairs search(plan_, loss_, request_, sketch, tile_size_, n_tables, very_wide ? 8 : 32,
                           workers_);
        SearchResult result;
        for (int l = 0; l < plan_.n_layers(); l++) result.places.push_back(search.run(l));
        result.multiply_adds = sketch.multiply_adds() + search.multiply_adds() + centres_price_;
        result.interrupted = workers_.stopped();
        return result;
    }

private:
    const std::vector<LayerView>& layers_;
    const Plan plan_;
    const Loss loss_;
    const Rows& rows_;
    SearchRequest request_;
    const int tile_size_;
    Workers workers_;
    int64_t centres_price_ = 0;

    // The means of the neurons' signals over some rows, where correlations are looked for. Tiles
    // are dealt into groups by their number, and the groups summed in their order.
    void find_centres(const RowList& list) {
        if (request_.metric != Metric::pearson) return;
        const RowSignals rows = signals(list);
        std::vector<Moments> groups(kMaxGroups, Moments(plan_));
        std::vector<SignalSpace> spaces;
        for (int t = 0; t < workers_.n_threads(); t++) spaces.push_back(rows.make_space());
        const int64_t n_tiles = divide_up(list.n, tile_size_);
        workers_.share(kMaxGroups, [&](int64_t group, int thread) {
            for (int64_t t = group; t < n_tiles && !workers_.stopped(); t += kMaxGroups)
                rows.with_tile(t * tile_size_, plan_.n_layers(), spaces[thread],
                               [&](const Signals& signals) { groups[group].add(plan_, signals); });
        });
        for (int g = 1; g < kMaxGroups; g++) groups[0].join(groups[g]);
        request_.centres = Centres::of(plan_, groups[0].sums, groups[0].squares, groups[0].weight);
        int64_t n_neurons = 0;
        for (int64_t n : plan_.n_live) n_neurons += n;
        centres_price_ = list.n * (rows.price(plan_.n_layers()) + n_neurons);
    }

    RowSignals signals(const RowList& list) const {
        return {plan_, kernels(), loss_, rows_, request_, list, tile_size_};
    }

    TieBreak order(int layer) const {
        return {request_.ties, request_.random.stream(Stream::ties, layer), plan_.sizes[layer],
                plan_.sizes[layer + 1]};
    }

    std::vector<int64_t> places(int layer, const std::vector<Candidate>& best) const {
        const TieBreak order = this->order(layer);
        std::vector<int64_t> places;
        for (const Candidate& c : best) places.push_back(order.place_of(c));
        std::sort(places.begin(), places.end());
        return places;
    }

    int64_t n_free(int layer) const {
        const Places& kept = request_.kept[layer];
        return plan_.sizes[layer] * plan_.sizes[layer + 1] - (kept.end - kept.begin);
    }

    // Where little is alike, the sketch tells little: most pairs would be candidates. All pairs
    // are then looked at sooner, and held nowhere.
    bool worth_screening(int layer, int64_t factor) const {
        constexpr int64_t kTimes = 64, kMany = 1 << 16;
        const int64_t n = request_.n_wanted[layer], most = std::max(kTimes * n, kMany);
        return n * factor <= most || n_free(layer) <= most;
    }

    void find_exactly(const std::vector<int64_t>& n_wanted, ScreenedResult& result) {
        if (std::all_of(n_wanted.begin(), n_wanted.end(), [](int64_t n) { return n == 0; })) return;
        const RowSignals rows = signals({request_.row_ids, request_.n_rows});
        AllPairs search(plan_, request_, rows, n_wanted, tile_size_, false, workers_);
        const std::vector<std::vector<Candidate>> best = search.run();
        for (int l = 0; l < plan_.n_layers(); l++) {
            if (n_wanted[l] == 0) continue;
            result.places[l] = places(l, best[l]);
            result.recall[l] = 1.0;
        }
        result.multiply_adds += search.multiply_adds();
        result.n_rows = request_.n_rows;
    }

    // Several times as many candidates as are wanted, the best by the sketch.
    std::vector<Field> screen(const Sketch& sketch, const std::vector<int64_t>& n_wanted,
                              const std::vector<int64_t>& factor, int64_t& multiply_adds) {
        constexpr int64_t kFew = 1024;
        std::vector<int64_t> n(n_wanted);
        for (int l = 0; l < plan_.n_layers(); l++)
            if (n[l] > 0) n[l] = std::min(std::max(n[l] * factor[l], kFew), n_free(l));
        AllPairs search(plan_, request_, sketch, n, tile_size_, false, workers_);
        std::vector<std::vector<Candidate>> best = search.run();
        multiply_adds += search.multiply_adds();
        std::vector<Field> fields(plan_.n_layers());
        workers_.share(plan_.n_layers(),
                       [&](int64_t l, int) { fields[l] = field(l, best[l], n_wanted[l]); });
        return fields;
    }

    // Output after output, as the race is fastest.
    Field field(int layer, std::vector<Candidate>& best, int64_t n_wanted) const {
        const TieBreak order = this->order(layer);
        const auto half = best.begin() + best.size() / 2, quarter = best.begin() + best.size() / 4;
        std::nth_element(best.begin(), half, best.end());
        std::nth_element(best.begin(), quarter, half);
        struct Runner {
            int64_t place;
            uint32_t rank;
            uint8_t quarter;
            bool operator<(const Runner& other) const { return place < other.place; }
        };
        std::vector<Runner> runners;
        for (auto c = best.begin(); c != best.end(); ++c) {
            const int behind = (c >= quarter) + (c >= half);
            runners.push_back({order.place_of(*c), static_cast<uint32_t>(c->key >> 32),
                               static_cast<uint8_t>(behind)});
        }
        std::sort(runners.begin(), runners.end());
        Field field;
        field.n_wanted = n_wanted;
        for (const Runner& r : runners) {
            field.places.push_back(r.place);
            field.scores.push_back(score_of_rank(request_.metric, r.rank));
            field.quarter.push_back(r.quarter);
        }
        return field;
    }

    struct Choice {
        std::vector<int64_t> places;
        double missed = 0.0;  // better ones that are not in the field, by estimate
        bool spare = false;   // half of the field would have done
    };

    // The best of a field. The further down the sketch's list, the fewer are chosen. Their share
    // falls from the first quarter to the second, from there to the second half, and so on beyond
    // the end: by the last ratio again, and by less where the ratio itself has fallen.
    Choice choose(int layer, const Field& field) const {
        const TieBreak order = this->order(layer);
        const int64_t n = static_cast<int64_t>(field.places.size());
        std::vector<std::pair<Candidate, int64_t>> ranked;
        for (int64_t c = 0; c < n; c++)
            ranked.emplace_back(
                order.candidate(rank_of(request_.metric, field.scores[c]), field.places[c]), c);
        std::nth_element(ranked.begin(), ranked.begin() + (field.n_wanted - 1), ranked.end());
        Choice choice;
        double quarter = 0.0, half = 0.0;
        for (int64_t k = 0; k < field.n_wanted; k++) {
            const int64_t at = ranked[k].second;
            choice.places.push_back(field.places[at]);
            half += field.quarter[at] == 2;
            quarter += field.quarter[at] == 1;
        }
        std::sort(choice.places.begin(), choice.places.end());
        choice.spare = half + quarter == 0.0;
        const double first = static_cast<double>(field.n_wanted) - quarter - half;
        const double before = std::max(quarter, 1.0) / std::max(first, 1.0);
        const double last = half / 2.0 / std::max(quarter, 1.0);
        const double ratio = std::min(2.0 * last * std::min(last / before, 1.0), 0.9);
        if (n < n_free(layer)) choice.missed = half * ratio / (1.0 - ratio);
        return choice;
    }
};

}  // namespace

SearchResult best_places(const std::vector<LayerView>& layers, Activation activation, Loss loss,
                         const Rows& rows, const SearchRequest& request, int n_threads,
                         const std::function<bool()>& interrupted) {
    return Search(layers, activation, loss, rows, request, n_threads, interrupted).exact();
}

ScreenedResult screened_places(const std::vector<LayerView>& layers, Activation activation,
                               Loss loss, const Rows& rows, const SearchRequest& request,
                               const Screening& how, int n_threads,
                               const std::function<bool()>& interrupted) {
    return Search(layers, activation, loss, rows, request, n_threads, interrupted).screened(how);
}

SearchResult hashed_places(const std::vector<LayerView>& layers, Activation activation, Loss loss,
                           const Rows& rows, const SearchRequest& request, const float* row_share,
                           int64_t n_tables, int n_threads,
                           const std::function<bool()>& interrupted) {
    Search search(layers, activation, loss, rows, request, n_threads, interrupted);
    return search.hashed({request.row_ids, request.n_rows, row_share}, n_tables);
}

}  // namespace cofire
