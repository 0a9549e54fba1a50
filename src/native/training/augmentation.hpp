// How training sees rows that are images: flipped and shifted, otherwise in every epoch.
#pragma once

#include <cstdint>

#include "random/counter_random.hpp"
#include "training/rows.hpp"

namespace cofire {

// An image's feature (y * width + x) * channels + c is channel c of the pixel in row y, column x.
struct Augmentation {
    int64_t height = 1, width = 1, channels = 1;
    int64_t max_down = 0, max_right = 0;  // pixels of a shift, in either direction
    bool flip = false;
    RandomKey random;

    // What Rows::gather does, with floats or bytes as they are seen in this epoch. A row's number
    // decides how: neither its place in a batch nor who asks. Bytes are moved as they are; scale
    // and offset are those of the place they come to. scratch: room for a tile of features.
    void gather(const Rows& rows, const Kernels& kernels, const int64_t* ids, int n, int n8,
                const int32_t* destination, float* scratch, float* tile) const;

private:
    template <class T>
    void copy_images(const T* values, const int64_t* ids, int n, T* to, const T** pointers) const;
    template <class T> void copy_line(const T* from, bool flipped, int64_t right, T* to) const;
};

}  // namespace cofire
