/* Stands between the server and the C library and makes files fail: LD_PRELOAD.
 *
 * FAULTS_DIR      only files below this directory are touched
 * FAULTS_CONTROL  a file of one struct control, mapped and shared with the test
 * FAULTS_JOURNAL  what was written and synced is appended here, as struct note, so that the test can
 *                 take away what a power cut would
 *
 * The layout of both structs is repeated in faults.rs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FDS = 65536, RULES = 8, FOREVER = -1 };
enum { NOTHING, FAIL, LIE, SHORT, KILL, DELAY };

struct rule {
    char call[16];  /* write, overwrite, sync, open, create, rename, unlink, truncate, link, mkdir; or
                       change: all of them but open */
    char path[48];  /* a part of the path */
    uint32_t action;
    int32_t value;  /* errno, or milliseconds */
    uint64_t skip;  /* so many matching calls pass first, */
    uint64_t count; /* then so many are struck */
    uint64_t seen;  /* matching calls so far */
};

struct control {
    int64_t clock_ns; /* added to the wall clock */
    struct rule rules[RULES];
};

struct note {
    uint64_t what; /* w written, b sync begins, s synced, f sync failed, t truncated, n new file */
    uint64_t inode;
    uint64_t offset;
    uint64_t length;
};

static struct control nothing;
static volatile struct control *control = &nothing;
static const char *dir;
static int journal = -1;
static char *paths[FDS]; /* by descriptor, of files below the directory */

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
    dir = getenv("FAULTS_DIR");
    const char *path = getenv("FAULTS_CONTROL");
    if (path) {
        int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
        void *at = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at != MAP_FAILED) control = at;
        syscall(SYS_close, fd);
    }
    path = getenv("FAULTS_JOURNAL");
    if (path)
        journal =
            syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

static int is_ours(const char *path) { return dir && !strncmp(path, dir, strlen(dir)); }

static const char *path_of(int fd) { return fd >= 0 && fd < FDS ? paths[fd] : NULL; }

/* What is to happen to this call; KILL and DELAY happen here. */
static uint32_t strike(const char *call, const char *path, int32_t *value) {
    if (!path || !is_ours(path)) return NOTHING;
    for (int i = 0; i < RULES; i++) {
        volatile struct rule *rule = &control->rules[i];
        if (rule->action == NOTHING) continue;
        int is_any_change = !strcmp((char *)rule->call, "change") && strcmp(call, "open");
        if (!is_any_change && strcmp((char *)rule->call, call)) continue;
        if (!strstr(path, (char *)rule->path)) continue;
        uint64_t seen = __atomic_fetch_add(&rule->seen, 1, __ATOMIC_SEQ_CST);
        if (seen < rule->skip || seen - rule->skip >= rule->count) continue;
        *value = rule->value;
        if (rule->action == KILL) syscall(SYS_kill, getpid(), SIGKILL);
        if (rule->action == DELAY) {
            struct timespec time = {rule->value / 1000, rule->value % 1000 * 1000000L};
            syscall(SYS_nanosleep, &time, NULL);
            continue;
        }
        return rule->action;
    }
    return NOTHING;
}

static void note(char what, int fd, uint64_t offset, uint64_t length) {
    struct stat stat;
    if (journal < 0 || syscall(SYS_fstat, fd, &stat)) return;
    struct note note = {what, stat.st_ino, offset, length};
    int before = errno;
    if (syscall(SYS_write, journal, &note, sizeof note) != sizeof note) abort();
    errno = before;
}

static int opened(int fd, const char *path, int flags) {
    if (fd < 0 || fd >= FDS) return fd;
    free(paths[fd]);
    paths[fd] = is_ours(path) ? strdup(path) : NULL;
    if (paths[fd] && flags & O_CREAT && lseek(fd, 0, SEEK_END) == 0) note('n', fd, 0, 0);
    return fd;
}

static int open_struck(const char *path, int flags) {
    int32_t value = 0;
    if (flags & O_CREAT && strike("create", path, &value) == FAIL) return value;
    return strike("open", path, &value) == FAIL ? value : 0;
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    int error = open_struck(path, flags);
    if (error) return errno = error, -1;
    REAL(open64);
    return opened(real(path, flags, mode), path, flags);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    int error = open_struck(path, flags);
    if (error) return errno = error, -1;
    REAL(open);
    return opened(real(path, flags, mode), path, flags);
}

int close(int fd) {
    if (fd >= 0 && fd < FDS && paths[fd]) {
        free(paths[fd]);
        paths[fd] = NULL;
    }
    REAL(close);
    return real(fd);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    REAL(write);
    const char *path = path_of(fd);
    if (!path) return real(fd, bytes, length);
    int32_t value = 0;
    uint32_t action = strike("write", path, &value);
    if (action == FAIL) return errno = value, -1;
    if (action == SHORT && length > 1) length /= 2;
    ssize_t done = real(fd, bytes, length);
    if (done > 0) note('w', fd, lseek(fd, 0, SEEK_CUR) - done, done);
    return done;
}

/* Whether a file holds these bytes already: then a power cut that takes them leaves the same. */
static int holds(int fd, const void *bytes, size_t length, off64_t offset) {
    void *there = malloc(length);
    int before = errno;
    int is_same = there && syscall(SYS_pread64, fd, there, length, offset) == (ssize_t)length
        && !memcmp(there, bytes, length);
    errno = before;
    free(there);
    return is_same;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
    REAL(pwrite64);
    const char *path = path_of(fd);
    if (!path) return real(fd, bytes, length, offset);
    int32_t value = 0;
    uint32_t action = strike("overwrite", path, &value);
    if (action == FAIL) return errno = value, -1;
    if (action == SHORT && length > 1) length /= 2;
    int is_same = holds(fd, bytes, length, offset);
    ssize_t done = real(fd, bytes, length, offset);
    if (done > 0) note(is_same ? 'o' : 'w', fd, offset, done);
    return done;
}

/* A failed sync leaves what was dirty clean and lost, as Linux does; a lie leaves it dirty. */
static int sync_by(int fd, int (*real)(int)) {
    const char *path = path_of(fd);
    if (!path) return real(fd);
    int32_t value = 0;
    note('b', fd, 0, 0);
    switch (strike("sync", path, &value)) {
    case FAIL:
        note('f', fd, 0, 0);
        return errno = value, -1;
    case LIE:
        return 0;
    }
    int done = real(fd);
    note(done ? 'f' : 's', fd, 0, 0);
    return done;
}

int fsync(int fd) {
    REAL(fsync);
    return sync_by(fd, real);
}

int fdatasync(int fd) {
    REAL(fdatasync);
    return sync_by(fd, real);
}

int ftruncate64(int fd, off64_t length) {
    int32_t value = 0;
    if (strike("truncate", path_of(fd), &value) == FAIL) return errno = value, -1;
    REAL(ftruncate64);
    int done = real(fd, length);
    if (!done && path_of(fd)) note('t', fd, 0, length);
    return done;
}

int rename(const char *from, const char *to) {
    int32_t value = 0;
    if (strike("rename", to, &value) == FAIL) return errno = value, -1;
    REAL(rename);
    return real(from, to);
}

int unlink(const char *path) {
    int32_t value = 0;
    if (strike("unlink", path, &value) == FAIL) return errno = value, -1;
    REAL(unlink);
    return real(path);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
    int32_t value = 0;
    if (strike("link", to, &value) == FAIL) return errno = value, -1;
    REAL(linkat);
    return real(from_dir, from, to_dir, to, flags);
}

int mkdir(const char *path, mode_t mode) {
    int32_t value = 0;
    if (strike("mkdir", path, &value) == FAIL) return errno = value, -1;
    REAL(mkdir);
    return real(path, mode);
}

/* The clock jumps; what never goes back is left alone. */
int clock_gettime(clockid_t clock, struct timespec *time) {
    int done = syscall(SYS_clock_gettime, clock, time);
    if (done == 0 && clock == CLOCK_REALTIME && control->clock_ns) {
        __int128 all = (__int128)time->tv_sec * 1000000000 + time->tv_nsec + control->clock_ns;
        time->tv_sec = all / 1000000000;
        time->tv_nsec = all % 1000000000;
    }
    return done;
}
