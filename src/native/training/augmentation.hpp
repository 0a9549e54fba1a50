// Images that training sees flipped and shifted at random, differently in every pass.
#pragma once

#include <cstdint>

#include "random/counter_random.hpp"
#include "training/rows.hpp"

namespace cofire {

// An image's feature (y * width + x) * channels + c is channel c of the pixel in line y, column x.
struct Augmentation {
    int64_t height = 1, width = 1, channels = 1;
    int64_t max_down = 0, max_right = 0;  // pixels of a shift, in either direction
    bool flip = false;

    // What Rows::gather does, with floats or bytes as they are seen in this pass. Only a row's
    // number and the pass decide how: neither its position in a batch nor the thread. Bytes are
    // moved as they are; scale and offset are those of the feature they are moved to. position: of
    // the first sample in the order; scratch: room for a tile of features.
    void gather(const Rows& rows, const Passes& passes, int64_t position, const Kernels& kernels,
                const TileSamples& samples, const int32_t* tile_row, float* scratch,
                float* tile) const;

private:
    template <class T>
    void copy_images(const T* values, const Passes& passes, int64_t position,
                     const TileSamples& samples, T* to, const T** pointers) const;
    template <class T> void copy_line(const T* from, bool flipped, int64_t right, T* to) const;
};

}  // namespace cofire
