/* The time of day as a program reads it, off by the nanoseconds that the file $SOAK_CLOCK holds, at once when that
 * changes. For LD_PRELOAD: what the program starts keeps the machine's clock, what it forks does not. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000LL

static volatile const int64_t *off_ns;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("SOAK_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *held = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *off_ns, PROT_READ, MAP_SHARED, file, 0);
    if (held == MAP_FAILED)
        abort();
    close(file);
    off_ns = held;
    unsetenv("LD_PRELOAD");
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int code = syscall(SYS_clock_gettime, clock, now);
    if (code == 0 && clock == CLOCK_REALTIME && off_ns) {
        int64_t told_ns = now->tv_sec * SECOND_NS + now->tv_nsec + *off_ns;
        now->tv_sec = told_ns / SECOND_NS;
        now->tv_nsec = told_ns % SECOND_NS;
    }
    return code;
}
