// The module that Python imports; the other files in this folder fill it.
#include <cfenv>
#include <exception>

#include "bindings/classes.hpp"

using namespace cofire;

namespace {

// From enter() to leave() the calling thread, and those that it starts, calculate by the standard:
// rounded to the nearest, and numbers below 1.2e-38 are kept. Then it is as it was before. Both are
// settings of a thread that any library may change: one built with -ffast-math turns small numbers
// to 0 in every thread that loads it. The same training must not depend on that.
class StandardFloats {
public:
    void enter() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    void leave() { std::fesetenv(&before_); }

private:
    std::fenv_t before_{};
};

}  // namespace

NB_MODULE(_native, m) {
    // Allocates the memory for this thread's exceptions, while there is some (can_throw in
    // crew.hpp).
    (void)std::uncaught_exceptions();
    add_rows(m);
    add_network(m);
    add_training(m);
    add_search(m);
    nb::class_<StandardFloats>(m, "StandardFloats")
        .def(nb::init<>())
        .def("enter", &StandardFloats::enter)
        .def("leave", &StandardFloats::leave);
    m.def("simd_level", [] { return std::string(kernels().name); });
}
