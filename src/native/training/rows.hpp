// Where samples come from: float rows, byte rows with a scale and offset, sparse rows, or tiles, a
// copy of rows that is fast to read a few features of.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"

namespace cofire {

struct Rows {
    enum class Kind { floats, bytes, sparse, tiles } kind = Kind::floats;
    int64_t n_rows = 0, n_features = 0;
    const float* floats = nullptr;
    const uint8_t* bytes = nullptr;
    const float* scale = nullptr;  // of bytes, per feature
    const float* offset = nullptr;
    const int64_t* indptr = nullptr;  // of sparse rows
    const int32_t* indices = nullptr;
    const float* values = nullptr;
    // Of tiles: row id is column id % kMaxTile of tile id / kMaxTile, which has a row of kMaxTile
    // numbers per feature; number q of feature f stands for step[f] * (q - zero[f]).
    const uint16_t* tiles = nullptr;
    const float* step = nullptr;
    const int32_t* zero = nullptr;

    // tile[destination[f], s] = the value of feature f in row ids[s], s < n; the columns up
    // to n8 * 8 repeat the first sample. Sparse rows expect a tile of zeros and fill in.
    // next_ids (or nullptr): rows that will be wanted soon, at least 8 of them.
    void gather(const Kernels& kernels, const int64_t* ids, int n, int n8, const int64_t* next_ids,
                const int32_t* destination, float* tile) const;

    // rarity[k]: the smallest number of the n rows that share a feature which is not 0 in row
    // ids[k]; n where it has none.
    void rarity(const int64_t* ids, int64_t n, int64_t* rarity) const;

    float tile_value(int64_t id, int64_t feature) const;

    // Fills in a copy of these rows as tiles: row k of it is row ids[k].
    void copy_to_tiles(const Kernels& kernels, const int64_t* ids, int64_t n, uint16_t* to_tiles,
                       float* to_step, int32_t* to_zero) const;

    // Makes a tile of sparse rows zero again, touching only what gather filled in.
    void clear(const int64_t* ids, int n, int n8, const int32_t* destination, float* tile) const;
};

}  // namespace cofire
