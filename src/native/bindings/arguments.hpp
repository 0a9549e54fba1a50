// Checks of what comes from Python: types, layouts and values, with errors that name the argument,
// what was expected and what came. Nothing is converted.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <type_traits>

namespace cofire {

namespace nb = nanobind;
using namespace nb::literals;

// A part of a message: words, or a number. Not by a stream: where libstdc++ is linked statically
// into this module, streams crash beside another copy of it in the same process.
template <class Part> void append(std::string& message, const Part& part) {
    if constexpr (std::is_integral_v<Part>) {
        message += std::to_string(part);
    } else if constexpr (std::is_floating_point_v<Part>) {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%g", static_cast<double>(part));
        message += digits;
    } else {
        message += part;
    }
}

template <class... Parts> std::string text(const Parts&... parts) {
    std::string message;
    (append(message, parts), ...);
    return message;
}

template <class... Parts> [[noreturn]] void refuse(const Parts&... parts) {
    throw nb::value_error(text(parts...).c_str());
}

// ---- arrays -------------------------------------------------------------------------------------

template <class T, std::size_t N = 1>
using Array = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

template <class T> constexpr const char* dtype_name() {
    using Plain = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Plain, float>) return "float32";
    if constexpr (std::is_same_v<Plain, int64_t>) return "int64";
    if constexpr (std::is_same_v<Plain, int32_t>) return "int32";
    if constexpr (std::is_same_v<Plain, uint16_t>) return "uint16";
    if constexpr (std::is_same_v<Plain, uint8_t>) return "uint8";
}

// What came instead of an array that was expected.
inline std::string describe(nb::handle object) {
    if (!nb::hasattr(object, "dtype") || !nb::hasattr(object, "flags"))
        return nb::cast<std::string>(object.type().attr("__name__"));
    const nb::object dtype = object.attr("dtype"), shape = object.attr("shape"),
                     flags = object.attr("flags");
    std::string found = text(nb::str(dtype).c_str(), " of shape ", nb::str(shape).c_str());
    if (!nb::cast<bool>(flags.attr("c_contiguous"))) found += ", not contiguous";
    if (!nb::cast<bool>(flags.attr("writeable"))) found += ", read-only";
    return found;
}

// The array as it came. T is const where it is only read.
template <class T, std::size_t N = 1>
Array<T, N> array(nb::handle object, const std::string& argument) {
    Array<T, N> found;
    if (object.is_none() || !nb::try_cast(object, found, false))
        throw nb::type_error(text(argument, ": expected a contiguous",
                                  std::is_const_v<T> ? " " : ", writable ", dtype_name<T>(),
                                  " array with ", N, N == 1 ? " dimension" : " dimensions",
                                  ", got ", describe(object))
                                 .c_str());
    return found;
}

template <class A> int64_t size(const A& array) { return static_cast<int64_t>(array.shape(0)); }

// each: what one of them belongs to.
inline void check_size(int64_t n, int64_t expected, const std::string& argument, const char* each) {
    if (n != expected) refuse(argument, ": expected ", expected, ", one per ", each, ", got ", n);
}

// Weights as they came, or None.
class OptionalWeights {
public:
    OptionalWeights(nb::handle object, const std::string& argument) : argument_(argument) {
        if (!object.is_none()) given_ = array<const float>(object, argument);
    }
    // nullptr for None.
    const float* one_per_row(int64_t n_rows) const {
        if (!given_) return nullptr;
        check_size(size(*given_), n_rows, argument_, "row");
        return given_->data();
    }

private:
    std::string argument_;
    std::optional<Array<const float>> given_;
};

// Whether all numbers lie in [0, end).
template <class T>
void check_range(const Array<const T>& numbers, int64_t end, const std::string& argument) {
    for (int64_t k = 0; k < size(numbers); k++)
        if (numbers.data()[k] < 0 || numbers.data()[k] >= end)
            refuse(argument, ": must lie in [0, ", end, "), but ", argument, "[", k,
                   "] = ", numbers.data()[k]);
}

// Compressed rows are walked without further checks inside, so they are checked here.
inline void check_compressed(const Array<const int64_t>& indptr,
                             const Array<const int32_t>& indices, int64_t n_columns) {
    const int64_t n = size(indptr) - 1, n_entries = size(indices);
    const int64_t* start = indptr.data();
    if (n < 0) refuse("indptr: expected at least 1 number, got none");
    if (start[0] != 0) refuse("indptr: must start with 0, but indptr[0] = ", start[0]);
    for (int64_t j = 0; j < n; j++)
        if (start[j + 1] < start[j])
            refuse("indptr: must not decrease, but indptr[", j, "] = ", start[j], " > indptr[",
                   j + 1, "] = ", start[j + 1]);
    if (start[n] != n_entries)
        refuse("indptr: must end with the number of indices, ", n_entries, ", but indptr[", n,
               "] = ", start[n]);
    check_range(indices, n_columns, "indices");
}

// ---- names --------------------------------------------------------------------------------------

// The row of a table that has this name.
template <class Row, std::size_t N>
const Row& row_named(const Row (&table)[N], const std::string& name, const char* argument) {
    for (const Row& row : table)
        if (name == row.name) return row;
    std::string known;
    for (const Row& row : table) known += text(known.empty() ? "" : ", ", row.name);
    refuse(argument, ": unknown '", name, "'; expected one of ", known);
}

template <class Row, std::size_t N> nb::tuple names(const Row (&table)[N]) {
    nb::list found;
    for (const Row& row : table) found.append(row.name);
    return nb::tuple(found);
}

}  // namespace cofire
