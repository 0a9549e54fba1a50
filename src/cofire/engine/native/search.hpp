// The search for the best pairs of neurons to connect: exact, over all pairs, without holding
// them.
#pragma once

#include <functional>
#include <vector>

#include "plan.hpp"
#include "rows.hpp"
#include "targets.hpp"

namespace cofire {

// By what pairs are ranked (ranking.hpp). All but the last look at activations on both sides;
// gradient looks at the activation of the input and the delta of the output.
enum class Metric : int { cosine, lowest_cosine, hebb, euclidean, gradient };

// Among equals: by lot, or the lower input, then the lower output first.
enum class Ties : int { random, index };

// Ascending places (output * n_in + input) of a layer that are no candidates.
struct Places {
    const int64_t* begin = nullptr;
    const int64_t* end = nullptr;
};

struct SearchRequest {
    const int64_t* row_ids = nullptr;  // the samples to look at
    int64_t n_rows = 0;
    const float* sample_weight = nullptr;  // per row of the data, or none: all 1
    std::vector<Places> kept;              // per layer
    std::vector<int64_t> n_wanted;         // per layer; 0: the layer is left out
    Metric metric = Metric::cosine;
    Ties ties = Ties::random;
    Targets targets;               // for gradients
    uint64_t seed = 0, epoch = 0;  // of the lots that decide ties
};

struct SearchResult {
    std::vector<std::vector<int64_t>> places;  // per layer, ascending
    std::vector<int64_t> n_firing;             // per level: neurons that fire for some row
    bool interrupted = false;
};

// Per layer the n_wanted best places outside kept, of which there must be as many. The same for
// any number of threads. interrupted() is asked now and then on the calling thread.
SearchResult best_places(const std::vector<LayerView>& layers, Activation activation, Loss loss,
                         const Rows& rows, const SearchRequest& request, int n_threads,
                         const std::function<bool()>& interrupted);

}  // namespace cofire
