/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * unwind_test.c: the stack unwinds from every kind of callback to where it begins, through the library's Swift, its stubs and
 * libffi: for debuggers, crash reporters and sanitizers. And from every instruction of the library, for profilers. */
#include "closures.h"
#include "invocations.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <setjmp.h>
#include <ucontext.h>
#include <unwind.h>

int main(int count, char **arguments);

/* --- Looking at a stack -------------------------------------------------------------------------- */

enum { DEEPEST = 256 };
struct stack {
    void *frames[DEEPEST]; /* where each goes on, the innermost first */
    int count;
};

static bool is_of_library(void *frame, const char *name) {
    Dl_info info;
    return dladdr((char *)frame - 1, &info) && strstr(info.dli_fname, name);
}
/* The first frame at or behind `from` that is of the function; DEEPEST if none is. */
static int find_function(const struct stack *stack, int from, any_code function) {
    for (int i = from; i < stack->count; i++)
        if (_Unwind_FindEnclosingFunction((char *)stack->frames[i] - 1) == (void *)function) return i;
    return DEEPEST;
}
static int find_library(const struct stack *stack, int from, const char *name) {
    for (int i = from; i < stack->count; i++)
        if (is_of_library(stack->frames[i], name)) return i;
    return DEEPEST;
}
static void show(const char *what, const struct stack *stack) {
    fprintf(stderr, "%s:\n", what);
    for (int i = 0; i < stack->count; i++) {
        Dl_info info = {.dli_fname = "?"};
        dladdr(stack->frames[i], &info);
        fprintf(stderr, "  #%d %p %s +0x%zx\n", i, stack->frames[i], info.dli_fname,
                (size_t)((char *)stack->frames[i] - (char *)info.dli_fbase));
    }
}
/* The callback, then the library, then the function that the stack begins with; NULL: the C library's thread function. */
static void check_stack(const char *what, const struct stack *stack, any_code callback, any_code begin) {
    int library = find_library(stack, find_function(stack, 0, callback), "/libtreadle.so");
    int end = begin ? find_function(stack, library, begin) : find_library(stack, library, "/libc.so");
    if (end < DEEPEST) return;
    show(what, stack);
    CHECK(!"the stack does not reach its beginning");
}

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *info) {
    struct stack *stack = info;
    if (stack->count == DEEPEST) return _URC_NORMAL_STOP;
    stack->frames[stack->count++] = (void *)_Unwind_GetIP(context);
    return _URC_NO_REASON;
}

static any_code stack_begin = (any_code)main;
static atomic_int looks;
/* To be called by callbacks: each is a function of its own, and not the last that they do is to call this. */
__attribute__((noinline)) static void look(any_code callback) {
    struct stack stack = {.count = 0};
    stack.count = backtrace(stack.frames, DEEPEST);
    check_stack("backtrace", &stack, callback, stack_begin);
    stack.count = 0;
    _Unwind_Backtrace(take_frame, &stack);
    check_stack("_Unwind_Backtrace", &stack, callback, stack_begin);
    atomic_fetch_add(&looks, 1);
}
static void check_looks(int count) {
    CHECK_INT(looks, count);
    looks = 0;
}

/* --- Callbacks ----------------------------------------------------------------------------------- */

#define MODE TREADLE_DEFAULT_MODE

static void perform(treadle_source source, void *info) {
    look((any_code)perform);
    if (info && --*(int *)info > 0) CHECK_INT(treadle_source_signal(source), TREADLE_OK);
}
static void schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    look((any_code)schedule);
    (void)source, (void)loop, (void)mode, (void)info;
}
static void fire(treadle_timer timer, void *info) {
    look((any_code)fire);
    (void)timer, (void)info;
}
static void notify(treadle_observer observer, uint32_t activity, void *info) {
    look((any_code)notify);
    (void)observer, (void)activity, (void)info;
}
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    look((any_code)ready);
    CHECK_INT(treadle_descriptor_invalidate(descriptor), TREADLE_OK);
    (void)events, (void)info;
}
static void post(void *info) {
    look((any_code)post);
    (void)info;
}
static void destroy(void *info) {
    look((any_code)destroy);
    (void)info;
}
static void request(void *target, void *argument) {
    look((any_code)request);
    (void)target, (void)argument;
}
static int64_t called_with_registers(void *pointer, int64_t number, double other) {
    look((any_code)called_with_registers);
    return *(int64_t *)pointer + number + (int64_t)other;
}
struct triple {
    int64_t first, second, third;
};
static struct triple called_by_libffi(struct triple value, int64_t number) {
    look((any_code)called_by_libffi);
    return (struct triple){value.first + number, value.second + number, value.third + number};
}
static treadle_status handle(treadle_call *call, void *info) {
    look((any_code)handle);
    int32_t result = 7;
    (void)info;
    return treadle_call_set_result(call, &result, sizeof result);
}

/* --- Kinds --------------------------------------------------------------------------------------- */

TEST(from_sources_timers_observers_and_descriptors, "") {
    int turns = 40, fd = eventfd(1, EFD_CLOEXEC); /* so often that the loop takes its shortest way */
    treadle_loop loop = treadle_loop_current();
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform, .schedule = schedule, .info = &turns};
    treadle_source source;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    check_looks(1);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    while (turns > 0) CHECK(poll_mode(MODE) >= 0);
    check_looks(40);

    treadle_timer timer = make_timer(fire, NULL, treadle_time_now(), 0);
    CHECK_INT(treadle_loop_add_timer(loop, timer, MODE), TREADLE_OK);
    CHECK(poll_mode(MODE) >= 0);
    check_looks(1);

    treadle_descriptor descriptor = make_descriptor(ready, NULL, fd, TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, MODE), TREADLE_OK);
    CHECK(poll_mode(MODE) >= 0);
    check_looks(1);

    treadle_observer observer = make_observer(notify, NULL, TREADLE_BEFORE_TIMERS | TREADLE_BEFORE_SOURCES);
    CHECK_INT(treadle_loop_add_observer(loop, observer, MODE), TREADLE_OK);
    CHECK(poll_mode(MODE) >= 0);
    CHECK(looks >= 2);
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    close(fd);
}

TEST(from_posts_and_requests, "") {
    treadle_loop loop = treadle_loop_current();
    treadle_thread self = treadle_thread_current();
    treadle_post block = {.struct_size = sizeof block, .fn = post, .destroy = destroy};
    treadle_request plain = {.struct_size = sizeof plain, .fn = request, .target = &block, .release_target = destroy};
    CHECK_INT(treadle_loop_post(loop, post, NULL), TREADLE_OK);
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK(poll_mode(MODE) >= 0);
    check_looks(3);
    CHECK_INT(perform_on(self, &plain, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
    check_looks(2);
    CHECK_INT(perform_on(self, &plain, NULL, 0, 0), TREADLE_OK);
    CHECK_INT(perform_after(0, &plain, NULL, 0), TREADLE_OK);
    while (looks < 4) CHECK(poll_mode(MODE) >= 0);
    check_looks(4);
}

TEST(from_functions_of_any_type, "") {
    int64_t number = 1;
    treadle_invocation invocation = INVOCATION(called_with_registers, "q^vqd");
    INVOCATION_SET(invocation, 0, void *, &number);
    INVOCATION_SET(invocation, 1, int64_t, 20);
    CHECK_INT(invoke(invocation, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(invocation, int64_t), 21);
    invocation_end(invocation);
    check_looks(1);

    invocation = INVOCATION(called_by_libffi, "{=qqq}{=qqq}q");
    INVOCATION_SET(invocation, 1, int64_t, 5);
    CHECK_INT(invoke(invocation, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(invocation, struct triple).third, 5);
    invocation_end(invocation);
    check_looks(1);

    void *pointer = &number;
    double other = 300;
    treadle_argument arguments[] = {{.value = &pointer, .size = sizeof pointer}, {.value = &number, .size = sizeof number},
                                    {.value = &other, .size = sizeof other}};
    treadle_routine_config config = {.struct_size = sizeof config, .code = CODE(called_with_registers), .signature = "q^vqd",
                                     .arguments = arguments, .argument_count = COUNT(arguments)};
    treadle_routine routine;
    int64_t result = 0;
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    CHECK_INT(treadle_routine_call(routine, NULL, &result, sizeof result), TREADLE_OK);
    CHECK_INT(result, 302);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    check_looks(1);
}

TEST(from_closures, "") {
    static const char *const encodings[] = {"ii", "i{=qqq}"};
    for (size_t i = 0; i < COUNT(encodings); i++) {
        treadle_closure closure = MADE(.signature = encodings[i], .handler = handle);
        int32_t result = i == 0 ? CODE_OF(int32_t (*)(int32_t), closure)(1)
                                : CODE_OF(int32_t (*)(struct triple), closure)((struct triple){1, 2, 3});
        CHECK_INT(result, 7);
        check_looks(1);
        end_closure(closure);
    }
}

/* Of a thread of the program's own, and of Treadle's. */
static void *own_thread(void *info) {
    int turns = 3;
    treadle_source source = make_source(perform, &turns);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    while (turns > 0) CHECK(poll_mode(MODE) >= 0);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    return info;
}
static void *entry(void *info) {
    look((any_code)entry);
    return own_thread(info);
}
TEST(from_threads, "") {
    stack_begin = (any_code)own_thread;
    on_thread(own_thread, NULL);
    check_looks(3);
    stack_begin = NULL;
    thread_end(thread_begin(entry, NULL));
    check_looks(4);
}

/* --- The address sanitizer ----------------------------------------------------------------------- */

#if ADDRESS_SANITIZER
static void fault(void *info) {
    char *volatile memory = malloc(1);
    free(memory);
    *(int *)info = *memory;
}
/* The first stack of the report. */
static struct stack read_report(FILE *report) {
    struct stack stack = {.count = 0};
    char line[4096];
    bool is_error = false;
    while (fgets(line, sizeof line, report)) {
        int number;
        void *frame;
        if (strstr(line, "heap-use-after-free")) is_error = true;
        if (!is_error || sscanf(line, " #%d %p", &number, &frame) != 2) continue;
        if (number != stack.count || stack.count == DEEPEST) break;
        stack.frames[stack.count++] = (char *)frame + 1; /* it names the call, and not what follows */
    }
    return stack;
}
TEST(a_report_of_the_address_sanitizer_shows_all_of_the_stack, "") {
    int ends[2], status, number;
    CHECK_INT(pipe(ends), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        CHECK_INT(treadle_loop_post(treadle_loop_current(), fault, &number), TREADLE_OK);
        CHECK(poll_mode(MODE) >= 0);
        _exit(0);
    }
    close(ends[1]);
    FILE *report = fdopen(ends[0], "r");
    struct stack stack = read_report(report);
    fclose(report);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(status != 0);
    check_stack("the address sanitizer", &stack, (any_code)fault, (any_code)main);
}
#endif

/* --- Every instruction --------------------------------------------------------------------------- */

#if defined(__x86_64__) && !defined(__ILP32__) && !ADDRESS_SANITIZER && !THREAD_SANITIZER
static struct {
    uintptr_t from, end; /* the library's code */
    void *back;          /* where `step_through` goes on to: in all stacks */
    long instructions, lost;
    sigjmp_buf astray; /* a wrong entry may lead the unwinder anywhere */
} steps;

static int find_code(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    if (!strstr(info->dlpi_name, "/libtreadle.so")) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        steps.from = info->dlpi_addr + part->p_vaddr, steps.end = steps.from + part->p_memsz;
    }
    return 1;
}
static void take_step(int number, siginfo_t *info, void *context) {
    uintptr_t at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    struct stack stack = {.count = 0};
    (void)number, (void)info;
    if (at < steps.from || at >= steps.end) return;
    steps.instructions++;
    if (sigsetjmp(steps.astray, 1) == 0) {
        stack.count = backtrace(stack.frames, DEEPEST);
        for (int i = 0; i < stack.count; i++)
            if (stack.frames[i] == steps.back) return;
    }
    if (steps.lost++ >= 5) return;
    stack.frames[0] = (void *)at;
    if (stack.count == 0) stack.count = 1;
    show("from an instruction", &stack);
}
static void go_astray(int number) {
    (void)number;
    siglongjmp(steps.astray, 1);
}
/* The processor's flag that makes each instruction end in SIGTRAP. */
#define SET_TRAP_FLAG(change)                                                        \
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\t" change                  \
                     "\n\tpopfq\n\tleaq 128(%%rsp), %%rsp" : : : "memory", "cc")
__attribute__((noinline)) static void step_through(void (*work)(void)) {
    steps.back = __builtin_return_address(0);
    SET_TRAP_FLAG("orq $0x100, (%%rsp)");
    work();
    SET_TRAP_FLAG("andq $~0x100, (%%rsp)");
}

static void count_down(treadle_source source, void *info) {
    if (--*(int *)info > 0) treadle_source_signal(source);
}
static void do_nothing(treadle_timer timer, void *info) { (void)timer, (void)info; }
static void see_nothing(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, (void)info; }
static void give_up(treadle_descriptor descriptor, uint32_t events, void *info) {
    treadle_descriptor_invalidate(descriptor);
    (void)events, (void)info;
}
static int64_t add(void *pointer, int64_t number, double other) { return *(int64_t *)pointer + number + (int64_t)other; }
static struct triple move(struct triple value, int64_t number) { return value.first += number, value; }
static treadle_status answer(treadle_call *call, void *info) { return treadle_call_set_result(call, info, sizeof(int32_t)); }
static void say_nothing(void *info) { (void)info; }
static void request_nothing(void *target, void *argument) { (void)target, (void)argument; }

static void do_a_bit_of_everything(void) {
    int turns = 20, fd = eventfd(1, EFD_CLOEXEC);
    treadle_loop loop = treadle_loop_current();
    treadle_source source = make_source(count_down, &turns);
    treadle_timer timer = make_timer(do_nothing, NULL, treadle_time_now(), 0);
    treadle_observer observer = make_observer(see_nothing, NULL, TREADLE_ALL_ACTIVITIES);
    treadle_descriptor descriptor = make_descriptor(give_up, NULL, fd, TREADLE_READABLE);
    treadle_request plain = {.struct_size = sizeof plain, .fn = request_nothing, .target = &turns};
    treadle_loop_add_source(loop, source, MODE);
    treadle_loop_add_timer(loop, timer, MODE);
    treadle_loop_add_observer(loop, observer, MODE);
    treadle_loop_add_descriptor(loop, descriptor, MODE);
    treadle_loop_post(loop, say_nothing, NULL);
    perform_on(treadle_thread_current(), &plain, NULL, 0, 0);
    treadle_source_signal(source);
    while (turns > 0) poll_mode(MODE);
    treadle_observer_invalidate(observer);
    turns = 20;
    treadle_source_signal(source);
    while (turns > 0) poll_mode(MODE);
    treadle_loop_run(loop, MODE, MILLISECONDS(1), 0);

    int64_t number = 1;
    int32_t seven = 7;
    treadle_invocation invocation = INVOCATION(add, "q^vqd");
    INVOCATION_SET(invocation, 0, void *, &number);
    invoke(invocation, NULL, TREADLE_WAIT_BLOCK);
    invocation_end(invocation);
    invocation = INVOCATION(move, "{=qqq}{=qqq}q");
    invoke(invocation, NULL, TREADLE_WAIT_BLOCK);
    invocation_end(invocation);
    treadle_closure closure = MADE(.signature = "ii", .handler = answer, .info = &seven);
    CODE_OF(int32_t (*)(int32_t), closure)(1);
    end_closure(closure);
    closure = MADE(.signature = "i{=qqq}", .handler = answer, .info = &seven);
    CODE_OF(int32_t (*)(struct triple), closure)((struct triple){1, 2, 3});
    end_closure(closure);
    treadle_source_signal(NULL); /* a failure, and its text */
    treadle_source_invalidate(source);
    treadle_source_release(source), treadle_timer_release(timer);
    treadle_observer_release(observer), treadle_descriptor_release(descriptor);
    close(fd);
}
TEST(from_every_instruction, "") {
    const char *way = getenv("TREADLE_TEST_WAY");
    if (!way || strcmp(way, "shared") != 0) return; /* valgrind has no such flag, and another runtime no tables of its own */
    struct stack first;
    struct sigaction action = {.sa_sigaction = take_step, .sa_flags = SA_SIGINFO};
    backtrace(first.frames, DEEPEST); /* loads what it needs */
    CHECK_INT(dl_iterate_phdr(find_code, NULL), 1);
    CHECK(steps.from < steps.end);
    CHECK_INT(sigaction(SIGTRAP, &action, NULL), 0);
    signal(SIGSEGV, go_astray);
    step_through(do_a_bit_of_everything);
    signal(SIGTRAP, SIG_DFL), signal(SIGSEGV, SIG_DFL);
    printf("%ld instructions\n", steps.instructions);
    CHECK(steps.instructions > 1000);
    CHECK_INT(steps.lost, 0);
}
#endif

TEST_MAIN()
