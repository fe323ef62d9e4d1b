/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * snapshot.c: each run begins with the same memory. What can be written, the program's own data and the heap, is write-protected
 * at first; the first write to a page keeps a copy of it, and from then on the page is copied back behind each run. After a
 * few runs no page is new, and a run costs no system call. */
#include "world.h"

#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

enum { PAGE = 4096, HEAP = 64 << 20, HEAP_PAGES = HEAP / PAGE, DATA_PAGES = 8192, ALTERNATIVE = 64 * 1024 };

/* Outside of what is restored. */
struct control {
    char *heap, *data;
    size_t data_pages;
    char *heap_copy, *data_copy;
    char *dirty[HEAP_PAGES + DATA_PAGES];
    char *copies[HEAP_PAGES + DATA_PAGES];
    size_t dirty_count;
    bool is_taken;
};
static struct control *control;

/* --- The heap ----------------------------------------------------------------------------------------
 * Of its own, so that it can be restored: blocks of a few sizes, with a header of 16 bytes. */

struct block {
    size_t size;
    struct block *next; /* free */
};
static struct block *free_blocks[128];
static char *heap_end; /* NULL: nothing was allocated yet */

static void *reserve(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) _exit(3);
    return memory;
}
static void prepare(void) {
    if (control) return;
    control = reserve(sizeof *control);
    control->heap = heap_end = reserve(HEAP);
}
static bool is_ours(const void *memory) { return control && (uintptr_t)memory - (uintptr_t)control->heap < HEAP; }
/* Steps of 16 up to 1,008, then powers of two. */
static int class_of(size_t *size) {
    if (*size <= 1008) {
        *size = (*size + 15) & ~(size_t)15;
        return (int)(*size / 16);
    }
    int class = 64;
    for (size_t power = 1024;; power *= 2, class++)
        if (power >= *size) {
            *size = power;
            return class;
        }
}
static long in_use;
long pieces_in_use(void) { return in_use; }
static void *allocate(size_t size, bool *is_fresh) {
    prepare();
    in_use++;
    if (size == 0) size = 1;
    int class = class_of(&size);
    struct block *block = free_blocks[class];
    *is_fresh = block == NULL;
    if (block) {
        free_blocks[class] = block->next;
        memory_is_allocated((char *)block + 16, size);
    } else {
        if (heap_end + size + 16 > control->heap + HEAP) return NULL;
        block = (struct block *)heap_end;
        heap_end += size + 16;
        block->size = size;
    }
    return (char *)block + 16;
}
static struct block *block_of(void *memory) { return (struct block *)((char *)memory - 16); }

void __real_free(void *memory);
size_t __real_malloc_usable_size(void *memory);
void *__real_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size) {
    bool is_fresh;
    return allocate(size, &is_fresh);
}
void *__wrap_calloc(size_t count, size_t size) {
    bool is_fresh;
    void *memory = allocate(count * size, &is_fresh);
    if (memory && !is_fresh) memset(memory, 0, count * size);
    if (memory) memory_is_filled(memory, count * size, __builtin_return_address(0));
    return memory;
}
size_t __wrap_malloc_usable_size(void *memory) {
    if (!memory) return 0;
    return is_ours(memory) ? block_of(memory)->size : __real_malloc_usable_size(memory);
}
void __wrap_free(void *memory) {
    if (!memory) return;
    if (!is_ours(memory)) {
        __real_free(memory);
        return;
    }
    struct block *block = block_of(memory);
    size_t size = block->size;
    in_use--;
    memory_is_freed(memory, size, __builtin_return_address(0));
    forget_words(memory, size);
    int class = class_of(&size);
    block->next = free_blocks[class];
    free_blocks[class] = block;
}
void *__wrap_realloc(void *memory, size_t size) {
    if (!memory) return __wrap_malloc(size);
    if (!is_ours(memory)) return __real_realloc(memory, size);
    size_t old = block_of(memory)->size;
    if (size <= old) return memory;
    void *new = __wrap_malloc(size);
    if (!new) return NULL;
    memcpy(new, memory, old);
    memory_is_filled(new, old, __builtin_return_address(0));
    __wrap_free(memory);
    return new;
}
/* No more than what the alignment needs is lost: such blocks are few. */
int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
    if (alignment <= 16) return (*out = __wrap_malloc(size)) ? 0 : 12;
    prepare();
    uintptr_t at = ((uintptr_t)heap_end + 16 + alignment - 1) & ~(alignment - 1);
    class_of(&size);
    if (at + size > (uintptr_t)control->heap + HEAP) return 12;
    heap_end = (char *)at + size;
    block_of((void *)at)->size = size;
    *out = (void *)at;
    return 0;
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    void *memory;
    return __wrap_posix_memalign(&memory, alignment, size) ? NULL : memory;
}
/* operator new and delete */
void *__wrap__Znwm(size_t size) { return __wrap_malloc(size); }
void *__wrap__Znam(size_t size) { return __wrap_malloc(size); }
void __wrap__ZdlPv(void *memory) { __wrap_free(memory); }
void __wrap__ZdaPv(void *memory) { __wrap_free(memory); }
void __wrap__ZdlPvm(void *memory, size_t size) { (void)size, __wrap_free(memory); }

/* --- Pages ------------------------------------------------------------------------------------------ */

/* What the loader leaves writable of the program: its last segments. What it makes constant is in segments before. Between two of them may
 * be a page that is not there. */
static int look(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size, (void)context;
    uintptr_t begin = 0, end = 0, constant = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_GNU_RELRO) constant = (info->dlpi_addr + h->p_vaddr + h->p_memsz + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + h->p_vaddr, to = from + h->p_memsz;
        if (h->p_type != PT_LOAD || !(h->p_flags & PF_W) || to <= constant) continue;
        if (from < constant) from = constant;
        if (begin == 0 || from < begin) begin = from;
        if (to > end) end = to;
    }
    begin &= ~(uintptr_t)(PAGE - 1);
    control->data = (char *)begin;
    control->data_pages = (end - begin + PAGE - 1) / PAGE;
    return 1;
}

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    char *page = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
    if (number == SIGSEGV && control->is_taken) {
        char *copy = NULL;
        if ((uintptr_t)page - (uintptr_t)control->heap < HEAP) copy = control->heap_copy + (page - control->heap);
        if ((uintptr_t)page - (uintptr_t)control->data < control->data_pages * PAGE) copy = control->data_copy + (page - control->data);
        if (copy && info->si_code == SEGV_ACCERR) {
            memcpy(copy, page, PAGE);
            control->dirty[control->dirty_count] = page;
            control->copies[control->dirty_count++] = copy;
            mprotect(page, PAGE, PROT_READ | PROT_WRITE);
            return;
        }
    }
    if (world.count == 0) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    if (number == SIGALRM) fail("livelock: the run makes no step");
    fail("signal %d (%s) at %p", number, strsignal(number), info->si_addr);
}

void snapshot_take(void) {
    prepare();
    dl_iterate_phdr(look, NULL);
    if (control->data_pages > DATA_PAGES) _exit(3);
    watch_for_races(control->heap, HEAP);
    watch_for_races(control->data, control->data_pages * PAGE);
    control->heap_copy = reserve(HEAP);
    control->data_copy = reserve(control->data_pages * PAGE);
    stack_t stack = {.ss_sp = reserve(ALTERNATIVE), .ss_size = ALTERNATIVE};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT, SIGALRM};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &action, NULL);
    control->is_taken = true;
    if (mprotect(control->data, control->data_pages * PAGE, PROT_READ) || mprotect(control->heap, HEAP, PROT_READ)) _exit(3);
}
void snapshot_restore(void) {
    for (size_t i = 0; i < control->dirty_count; i++) memcpy(control->dirty[i], control->copies[i], PAGE);
}
