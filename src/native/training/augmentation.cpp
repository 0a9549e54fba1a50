#include "training/augmentation.hpp"

#include <algorithm>

namespace cofire {

void Augmentation::gather(const Rows& rows, const Passes& passes, int64_t position,
                          const Kernels& kernels, const TileSamples& samples,
                          const int32_t* tile_row, float* scratch, float* tile) const {
    const auto repeat_first = [&](auto** pointers) {
        std::fill(pointers + samples.n, pointers + samples.n_columns(), pointers[0]);
    };
    if (rows.kind == Rows::Kind::bytes) {
        const uint8_t* pointers[kMaxTile];
        copy_images(rows.bytes, passes, position, samples, reinterpret_cast<uint8_t*>(scratch),
                    pointers);
        repeat_first(pointers);
        kernels.gather_bytes(samples.n8(), rows.n_features, pointers, rows.scale, rows.offset,
                             tile_row, tile);
    } else {
        const float* pointers[kMaxTile];
        copy_images(rows.floats, passes, position, samples, scratch, pointers);
        repeat_first(pointers);
        kernels.gather_floats(samples.n8(), rows.n_features, pointers, pointers, tile_row, tile);
    }
}

// The images of the samples as they are seen, one behind the other, and where each is.
template <class T>
void Augmentation::copy_images(const T* values, const Passes& passes, int64_t position,
                               const TileSamples& samples, T* to, const T** pointers) const {
    const int64_t line = width * channels;
    for (int s = 0; s < samples.n; s++) {
        const CounterRandom numbers = passes.at(position + s).stream(Stream::augmentation);
        const auto within = [&](int64_t index, int64_t most) {  // -most … most
            return static_cast<int64_t>(uint64_t{numbers.at(index)} * (2 * most + 1) >> 32) - most;
        };
        const T* image = values + samples.ids[s] * height * line;
        const int64_t row = passes.number(samples.ids[s]);
        const bool flipped = flip && numbers.at(3 * row) % 2 == 1;
        const int64_t down = within(3 * row + 1, max_down);
        const int64_t right = within(3 * row + 2, max_right);
        pointers[s] = to;
        for (int64_t y = 0; y < height; y++, to += line)
            copy_line(image + std::clamp<int64_t>(y - down, 0, height - 1) * line, flipped, right,
                      to);
    }
}

// Pixel x of `to` is pixel x - right of `from`, counted from the other end where flipped; beyond
// an edge it is the edge's pixel.
template <class T>
void Augmentation::copy_line(const T* from, bool flipped, int64_t right, T* to) const {
    const int64_t first = std::max<int64_t>(right, 0), last = std::min(width, width + right);
    if (flipped) {
        const T* pixel = from + (width - 1 - (first - right)) * channels;
        for (int64_t x = first; x < last; x++, pixel -= channels)
            for (int64_t c = 0; c < channels; c++) to[x * channels + c] = pixel[c];
    } else {
        std::copy_n(from + (first - right) * channels, (last - first) * channels,
                    to + first * channels);
    }
    for (int64_t k = first * channels - 1; k >= 0; k--) to[k] = to[k + channels];
    for (int64_t k = last * channels; k < width * channels; k++) to[k] = to[k - channels];
}

}  // namespace cofire
