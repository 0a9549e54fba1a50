/* Preloaded into a test: makes a chosen call on files below a chosen folder fail.
 *
 * Counted are open, read, write, fsync, rename and unlink; the n-th counted from faults_arm
 * on fails with an error number, or writes half of what it should, or ends the process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HALF = -1, KILL = -2, HALF_AND_KILL = -3 }; /* instead of an error number */

static char folder[4096];
static long calls, fatal;
static int what;

void faults_arm(const char* below, long n, int error) {
    snprintf(folder, sizeof folder, "%s", below);
    calls = 0, fatal = n, what = error;
}

long faults_calls(void) { return calls; }

static void end(void) { kill(getpid(), SIGKILL); }

/* Whether this call fails; with HALF only calls that can do half their work. */
static int fails(const char* path, int can_do_half) {
    if (folder[0] == 0 || strstr(path, folder) == NULL) return 0;
    if ((what == HALF || what == HALF_AND_KILL) && !can_do_half) return 0;
    if (++calls != fatal) return 0;
    if (what == KILL) end();
    errno = what;
    return 1;
}

static int fails_at(int fd, int can_do_half) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return fails(path, can_do_half);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define OPEN(name)                                \
    int name(const char* path, int flags, ...) {  \
        va_list rest;                             \
        va_start(rest, flags);                    \
        const mode_t mode = va_arg(rest, mode_t); \
        va_end(rest);                             \
        if (fails(path, 0)) return -1;            \
        return REAL(name)(path, flags, mode);     \
    }
OPEN(open)
OPEN(open64)

ssize_t read(int fd, void* buffer, size_t n) {
    if (fails_at(fd, 0)) return -1;
    return REAL(read)(fd, buffer, n);
}

ssize_t write(int fd, const void* buffer, size_t n) {
    if (!fails_at(fd, 1)) return REAL(write)(fd, buffer, n);
    if (what > 0) return -1;
    const ssize_t done = REAL(write)(fd, buffer, n / 2);
    if (what == HALF_AND_KILL) end();
    return done;
}

int fsync(int fd) { return fails_at(fd, 0) ? -1 : REAL(fsync)(fd); }
int rename(const char* from, const char* to) { return fails(to, 0) ? -1 : REAL(rename)(from, to); }
int unlink(const char* path) { return fails(path, 0) ? -1 : REAL(unlink)(path); }
