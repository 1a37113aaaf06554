/* Memory that is given back goes back to the system at once. mimalloc keeps it for a second by itself, and what a
 * thread that sleeps has given back for as long as it sleeps: memory grew to four times limits.memory_bytes while
 * hundreds of large bodies were unpacked and refused. MIMALLOC_PURGE_DELAY still says otherwise. */
#include <mimalloc.h>

__attribute__((constructor)) static void give_back_at_once(void) {
    mi_option_set_default(mi_option_purge_delay, 0);
}
