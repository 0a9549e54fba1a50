// Where samples come from: float rows, byte rows with a scale and offset, sparse rows, or tiles, a
// copy of rows from which a few features are fast to read. A row is always a sample of the data;
// what a tile has per neuron is a tile row.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"

namespace cofire {

// The samples in the columns of a tile; columns beyond them repeat the first.
struct TileSamples {
    const int64_t* ids = nullptr;  // of their rows
    int n = 0;

    int n8() const { return (n + 7) / 8; }
    int64_t n_columns() const { return n8() * 8; }
    int64_t id(int64_t column) const { return ids[column < n ? column : 0]; }
};

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
    // Of tiles: row id is column id % kMaxTile of tile id / kMaxTile, which has kMaxTile numbers
    // per feature; number q of feature f stands for step[f] * (q - zero[f]).
    const uint16_t* tiles = nullptr;
    const float* step = nullptr;
    const int32_t* zero = nullptr;

    // tile[tile_row[f], s] = the value of feature f in the row of column s; tile_row[f] < 0: the
    // feature is not wanted. Sparse rows expect a tile of zeros and fill in.
    // next_ids (or nullptr): rows that will be wanted soon, at least 8 of them.
    void gather(const Kernels& kernels, const TileSamples& samples, const int64_t* next_ids,
                const int32_t* tile_row, float* tile) const;

    // Makes a tile of sparse rows zero again, touching only what gather filled in.
    void clear(const TileSamples& samples, const int32_t* tile_row, float* tile) const;

    // rarity[k]: the smallest number of the n rows that share a feature which is not 0 in row
    // ids[k]; n where it has none.
    void rarity(const int64_t* ids, int64_t n, int64_t* rarity) const;

    // Fills in a copy of these rows as tiles: row k of it is row ids[k].
    void copy_to_tiles(const Kernels& kernels, const int64_t* ids, int64_t n, uint16_t* to_tiles,
                       float* to_step, int32_t* to_zero) const;

    float tile_value(int64_t id, int64_t feature) const;
};

}  // namespace cofire
