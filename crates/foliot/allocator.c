/* Memory that is given back goes back to the system at once. mimalloc keeps it for a second by itself, and what a
 * thread that sleeps has given back for as long as it sleeps: memory grew to four times limits.memory_bytes while
 * hundreds of large bodies were unpacked and refused. MIMALLOC_PURGE_DELAY still says otherwise.
 *
 * Each thread keeps pages that others have emptied until it looks at them, which it does every ten thousand times that
 * it needs one. In a small process that is a quarter of the memory, so there it looks ten times as often. A large one
 * would spend a tenth of its time on looking. */
#include <fcntl.h>
#include <mimalloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a process has that is small. */
static const unsigned long SMALL_BYTES = 64ul << 20;

/* So many looks of a thread are by one answer to how large the process is. */
static const unsigned LOOKS_PER_ANSWER = 16;

static atomic_bool is_small;
static _Thread_local unsigned looks;

/* Whether this process is small; not where the system does not say. */
static bool find_out(void) {
    char text[64];
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return false;
    text[length] = 0;
    char *second = strchr(text, ' ');
    if (second == NULL) return false;
    return strtoul(second, NULL, 10) <= SMALL_BYTES / (unsigned long)sysconf(_SC_PAGESIZE);
}

/* Called by each thread every thousand times that it needs a page. */
static void look(bool force, unsigned long long heartbeat, void *none) {
    (void)heartbeat, (void)none;
    if (force) return;
    if (++looks % LOOKS_PER_ANSWER == 0) atomic_store(&is_small, find_out());
    if (atomic_load(&is_small)) mi_collect(false);
}

__attribute__((constructor)) static void give_back_at_once(void) {
    mi_option_set_default(mi_option_purge_delay, 0);
    atomic_store(&is_small, find_out());
    mi_register_deferred_free(look, NULL);
}
