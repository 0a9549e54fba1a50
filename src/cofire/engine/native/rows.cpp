#include "rows.hpp"

#include <algorithm>
#include <vector>

namespace cofire {

void Rows::gather(const Kernels& kernels, const int64_t* ids, int n, int n8,
                  const int64_t* next_ids, const int32_t* destination, float* tile) const {
    if (kind == Kind::sparse) {
        const int64_t stride = n8 * 8;
        for (int s = 0; s < stride; s++) {
            const int64_t id = ids[s < n ? s : 0];
            for (int64_t k = indptr[id]; k < indptr[id + 1]; k++) {
                const int32_t row = destination[indices[k]];
                if (row >= 0) tile[row * stride + s] += values[k];
            }
        }
        return;
    }
    if (kind == Kind::bytes) {
        const uint8_t* pointers[kMaxTile];
        for (int s = 0; s < n8 * 8; s++) pointers[s] = bytes + ids[s < n ? s : 0] * n_features;
        kernels.gather_bytes(n8, n_features, pointers, scale, offset, destination, tile);
        return;
    }
    const float* pointers[kMaxTile];
    const float* next[8];
    for (int s = 0; s < n8 * 8; s++) pointers[s] = floats + ids[s < n ? s : 0] * n_features;
    for (int s = 0; s < 8; s++)
        next[s] = next_ids == nullptr ? pointers[s] : floats + next_ids[s] * n_features;
    kernels.gather_floats(n8, n_features, pointers, next, destination, tile);
}

void Rows::clear(const int64_t* ids, int n, int n8, const int32_t* destination, float* tile) const {
    if (kind != Kind::sparse) return;
    const int64_t stride = n8 * 8;
    for (int s = 0; s < stride; s++) {
        const int64_t id = ids[s < n ? s : 0];
        for (int64_t k = indptr[id]; k < indptr[id + 1]; k++) {
            const int32_t row = destination[indices[k]];
            if (row >= 0) tile[row * stride + s] = 0.0f;
        }
    }
}

namespace {

// use(feature) for each feature of a row that is not 0
template <class Use> void each_feature(const Rows& rows, int64_t id, Use use) {
    if (rows.kind == Rows::Kind::sparse) {
        for (int64_t k = rows.indptr[id]; k < rows.indptr[id + 1]; k++)
            if (rows.values[k] != 0.0f) use(rows.indices[k]);
        return;
    }
    for (int64_t f = 0; f < rows.n_features; f++) {
        const int64_t at = id * rows.n_features + f;
        const bool zero = rows.kind == Rows::Kind::floats
                              ? rows.floats[at] == 0.0f
                              : rows.scale[f] * rows.bytes[at] + rows.offset[f] == 0.0f;
        if (!zero) use(f);
    }
}

}  // namespace

void Rows::rarity(const int64_t* ids, int64_t n, int64_t* rarity) const {
    std::vector<int64_t> count(n_features, 0);
    for (int64_t k = 0; k < n; k++) each_feature(*this, ids[k], [&](int64_t f) { count[f]++; });
    for (int64_t k = 0; k < n; k++) {
        rarity[k] = n;
        each_feature(*this, ids[k], [&](int64_t f) { rarity[k] = std::min(rarity[k], count[f]); });
    }
}

}  // namespace cofire
