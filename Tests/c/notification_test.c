/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * notification_test.c: registering for notifications, and being told. The ends of threads are what posts here. */
#include "helpers.h"
#include "host_items.h"

enum { WILL_EXIT = TREADLE_NOTIFY_THREAD_WILL_EXIT, MULTITHREADED = TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED };

static uint64_t add(uint32_t name, void *object, treadle_notification_fn fn, void *info, treadle_release_fn destroy) {
    uint64_t token = 0;
    CHECK_INT(add_notification(name, object, fn, info, destroy, &token), TREADLE_OK);
    CHECK(token != 0);
    return token;
}
static void remove_it(uint64_t token) { CHECK_INT(treadle_notification_remove(token), TREADLE_OK); }
static void must_be_unknown(uint64_t token) { CHECK_ERROR(treadle_notification_remove(token), TREADLE_E_NOT_FOUND, "token"); }

/* Posts once: a thread with an object ends. Returns that object's handle, for comparison only. */
static void *have_an_object(void *unused) { return (void)unused, treadle_thread_current(); }
static void *post(void) {
    void *thread = on_thread(have_an_object, NULL);
    CHECK(thread);
    return thread;
}

static void write_word(uint32_t name, void *object, void *info) {
    (void)object;
    CHECK_INT(name, WILL_EXIT);
    trace("%s", (const char *)info);
}
static void destroy_word(void *word) { trace("-%s", (const char *)word); }

TEST(the_first_who_registered_is_told_first, "NOTE-1") {
    uint64_t tokens[3];
    static char *words[] = {"a", "b", "c"};
    post();
    CHECK_TRACE("");
    for (int i = 0; i < 3; i++) tokens[i] = add(WILL_EXIT, NULL, write_word, words[i], destroy_word);
    CHECK(tokens[0] != tokens[1] && tokens[1] != tokens[2] && tokens[0] != tokens[2]);
    post();
    CHECK_TRACE("a b c");
    remove_it(tokens[1]);
    CHECK_TRACE("-b"); /* nobody calls it: at once */
    post();
    CHECK_TRACE("a c");
    tokens[1] = add(WILL_EXIT, NULL, write_word, words[1], destroy_word);
    post();
    CHECK_TRACE("a c b");
    for (int i = 2; i >= 0; i--) remove_it(tokens[i]);
    CHECK_TRACE("-c -b -a");
    post();
    CHECK_TRACE("");
}

static void *told_object;
static int32_t told_thread;
static void note(uint32_t name, void *object, void *info) {
    CHECK_INT(name, WILL_EXIT);
    CHECK(info == &told_object);
    CHECK(object == (void *)treadle_thread_current());
    told_object = object;
    told_thread = thread_id();
}
static void *have_an_object_and_tell(void *out_id) {
    *(int32_t *)out_id = thread_id();
    return treadle_thread_current();
}
TEST(what_is_told_and_where, "NOTE-1 THR-14") {
    int32_t id = 0;
    uint64_t token = add(WILL_EXIT, NULL, note, &told_object, NULL);
    void *thread = on_thread(have_an_object_and_tell, &id);
    CHECK(told_object == thread);
    CHECK_INT(told_thread, id); /* on the thread that posts it */
    remove_it(token);
}

static sem_t have_object, may_end;
static void *wait_with_an_object(void *out_thread) {
    *(void **)out_thread = treadle_thread_current();
    sem_post(&have_object);
    await(&may_end);
    return NULL;
}
TEST(the_notifications_of_one_object, "NOTE-1") {
    pthread_t thread;
    void *object = NULL;
    sem_init(&have_object, 0, 0);
    sem_init(&may_end, 0, 0);
    CHECK_INT(pthread_create(&thread, NULL, wait_with_an_object, &object), 0);
    await(&have_object);
    uint64_t all = add(WILL_EXIT, NULL, write_word, "all", NULL), one = add(WILL_EXIT, object, write_word, "one", NULL);
    uint64_t none = add(WILL_EXIT, (void *)0x123, write_word, "none", NULL);
    uint64_t other = add(MULTITHREADED, NULL, write_word, "another name", NULL);
    post();
    CHECK_TRACE("all"); /* that was another thread */
    sem_post(&may_end);
    pthread_join(thread, NULL);
    CHECK_TRACE("all one");
    remove_it(all);
    remove_it(one);
    remove_it(none);
    remove_it(other);
}

static int firsts;
static void count_first(uint32_t name, void *object, void *info) {
    (void)info;
    CHECK_INT(name, MULTITHREADED);
    CHECK(object == NULL && treadle_is_multithreaded());
    firsts++;
}
static void *end_at_once(void *unused) { return unused; }
TEST(the_first_thread_is_told_once, "NOTE-1 THR-11") {
    uint64_t token = add(MULTITHREADED, NULL, count_first, NULL, NULL);
    uint64_t other = add(MULTITHREADED, (void *)0x123, count_first, NULL, NULL); /* its object is NULL: never */
    for (int i = 0; i < 3; i++) {
        treadle_thread thread;
        CHECK_INT(create_thread(end_at_once, NULL, NULL, &thread), TREADLE_OK);
        CHECK_INT(firsts, i > 0);
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        CHECK_INT(firsts, 1);
        CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    }
    remove_it(token);
    remove_it(other);
}

/* --- Changes while it is told --------------------------------------------------------------------- */

static uint64_t victims[4];
static void remove_victims(uint32_t name, void *object, void *info) {
    (void)name, (void)object;
    trace("%s", (const char *)info);
    for (int i = 0; i < 4; i++)
        if (victims[i]) remove_it(victims[i]);
    memset(victims, 0, sizeof victims);
}
TEST(one_that_is_removed_meanwhile_is_not_called, "NOTE-1") {
    uint64_t before = add(WILL_EXIT, NULL, write_word, "before", NULL);
    victims[0] = add(WILL_EXIT, NULL, write_word, "earlier", destroy_word);
    uint64_t remover = add(WILL_EXIT, NULL, remove_victims, "remover", destroy_word);
    victims[1] = add(WILL_EXIT, NULL, write_word, "next", destroy_word);
    uint64_t middle = add(WILL_EXIT, NULL, write_word, "middle", NULL);
    victims[2] = add(WILL_EXIT, NULL, write_word, "last", destroy_word);
    post();
    CHECK_TRACE("before earlier remover -earlier -next -last middle");
    post();
    CHECK_TRACE("before remover middle");
    remove_it(before);
    remove_it(remover);
    remove_it(middle);
    CHECK_TRACE("-remover");
}

/* One that removes itself: destroyed once its call has returned. */
static uint64_t own;
static void remove_itself(uint32_t name, void *object, void *info) {
    (void)name, (void)object;
    trace("%s", (const char *)info);
    remove_it(own);
    must_be_unknown(own);
    trace("removed");
}
TEST(one_that_removes_itself, "NOTE-1 OBJ-3") {
    own = add(WILL_EXIT, NULL, remove_itself, "it", destroy_word);
    uint64_t next = add(WILL_EXIT, NULL, write_word, "next", NULL);
    post();
    CHECK_TRACE("it removed -it next");
    must_be_unknown(own);
    post();
    CHECK_TRACE("next");
    remove_it(next);
}

static uint64_t added[2];
static int additions;
static void add_others(uint32_t name, void *object, void *info) {
    (void)name, (void)object;
    trace("%s", (const char *)info);
    if (additions == 2) return;
    added[additions] = add(WILL_EXIT, NULL, write_word, additions ? "second" : "first", NULL);
    additions++;
}
TEST(one_that_is_added_meanwhile_is_not_called_yet, "NOTE-1") {
    uint64_t adder = add(WILL_EXIT, NULL, add_others, "adder", NULL);
    post();
    CHECK_TRACE("adder");
    post();
    CHECK_TRACE("adder first");
    post();
    CHECK_TRACE("adder first second");
    remove_it(adder);
    remove_it(added[0]);
    remove_it(added[1]);
}

/* Told in the middle of being told: a handler waits for the end of another thread. */
static int depth;
static void post_inside(uint32_t name, void *object, void *info) {
    (void)name, (void)object, (void)info;
    if (depth >= 3) return;
    depth++;
    trace("(");
    post();
    trace(")");
}
TEST(a_notification_in_a_notification, "NOTE-1 OBJ-7") {
    uint64_t one = add(WILL_EXIT, NULL, post_inside, NULL, NULL), two = add(WILL_EXIT, NULL, write_word, "w", NULL);
    post();
    CHECK_TRACE("( ( ( w ) w ) w ) w");
    remove_it(one);
    remove_it(two);
}

/* Removed by another thread while it is called: removal does not wait, destroy does. */
static sem_t entered, leave;
static atomic_int destroyed;
static void enter(uint32_t name, void *object, void *info) {
    (void)name, (void)object, (void)info;
    sem_post(&entered);
    await(&leave);
    CHECK_INT(destroyed, 0);
}
static void count_destroyed(void *info) { (void)info, atomic_fetch_add(&destroyed, 1); }
TEST(a_removal_does_not_wait_for_a_call, "NOTE-1 OBJ-9 OBJ-3") {
    pthread_t threads[2];
    sem_init(&entered, 0, 0);
    sem_init(&leave, 0, 0);
    uint64_t token = add(WILL_EXIT, NULL, enter, NULL, count_destroyed);
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, have_an_object, NULL), 0);
    for (int i = 0; i < 2; i++) await(&entered);
    remove_it(token);
    must_be_unknown(token);
    CHECK_INT(destroyed, 0);
    post(); /* it is not called any more */
    for (int i = 0; i < 2; i++) sem_post(&leave);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    CHECK_INT(destroyed, 1);
}

/* --- Bad input ------------------------------------------------------------------------------------ */

static void must_not_be_called(uint32_t name, void *object, void *info) {
    (void)name, (void)object, (void)info;
    CHECK(0);
}
TEST(bad_arguments_of_notifications, "NOTE-1") {
    static const uint32_t names[] = {0, 4, 5, 100, 0x80000000, UINT32_MAX};
    static const uint64_t garbage[] = {0, 1, 2, 99, UINT32_MAX, (uint64_t)1 << 32, UINT64_MAX - 1, UINT64_MAX};
    uint64_t token = 5;
    int expected = 0;
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) must_be_unknown(garbage[i]);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK_ERROR(add_notification(names[i], NULL, must_not_be_called, NULL, count_destroyed, &token), TREADLE_E_ARG, "name");
        CHECK_INT(token, 0);
        CHECK_INT(destroyed, ++expected);
    }
    CHECK_ERROR(add_notification(WILL_EXIT, NULL, NULL, NULL, count_destroyed, &token), TREADLE_E_ARG, "fn");
    CHECK_INT(destroyed, ++expected);
    CHECK_ERROR(add_notification(WILL_EXIT, NULL, must_not_be_called, NULL, count_destroyed, NULL), TREADLE_E_ARG, "out_token");
    CHECK_INT(destroyed, ++expected);
    CHECK_ERROR(add_notification(WILL_EXIT, NULL, must_not_be_called, NULL, NULL, NULL), TREADLE_E_ARG, "out_token");
    post();
    token = add(WILL_EXIT, NULL, must_not_be_called, NULL, count_destroyed);
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++)
        if (garbage[i] != token) must_be_unknown(garbage[i]);
    must_be_unknown(token + 1);
    must_be_unknown(token - 1);
    CHECK_INT(destroyed, expected);
    remove_it(token);
    CHECK_INT(destroyed, expected + 1);
    must_be_unknown(token);
    CHECK_INT(destroyed, expected + 1);
}

/* --- Many ----------------------------------------------------------------------------------------- */

enum { MANY = 10000 };
static intptr_t last_told;
static int told_count;
static void in_order(uint32_t name, void *object, void *info) {
    (void)name, (void)object;
    CHECK((intptr_t)info > last_told);
    last_told = (intptr_t)info;
    told_count++;
}
TEST(ten_thousand_registrations, "NOTE-1") {
    static uint64_t tokens[MANY];
    for (intptr_t i = 0; i < MANY; i++) tokens[i] = add(WILL_EXIT, NULL, in_order, (void *)(i + 1), count_destroyed);
    post();
    CHECK_INT(told_count, MANY);
    for (int i = 1; i < MANY; i += 2) remove_it(tokens[i]); /* every other; then from the end */
    CHECK_INT(destroyed, MANY / 2);
    last_told = told_count = 0;
    post();
    CHECK_INT(told_count, MANY / 2);
    for (int i = 1; i < MANY; i += 2) must_be_unknown(tokens[i]);
    for (int i = MANY - 2; i >= 0; i -= 2) remove_it(tokens[i]);
    CHECK_INT(destroyed, MANY);
    last_told = told_count = 0;
    post();
    CHECK_INT(told_count, 0);
    uint64_t token = add(WILL_EXIT, NULL, in_order, (void *)1, NULL);
    for (int i = 0; i < MANY; i++) CHECK(tokens[i] != token);
    remove_it(token);
}

/* Registrations come and go on some threads while others end. Each info is destroyed once, after its last call. */
struct life {
    atomic_int calls, ended;
};
static atomic_int lives, ends, over;
static void live(uint32_t name, void *object, void *info) {
    struct life *life = info;
    (void)name, (void)object;
    CHECK_INT(atomic_load(&life->ended), 0);
    atomic_fetch_add(&life->calls, 1);
    sched_yield();
    CHECK_INT(atomic_load(&life->ended), 0);
}
static void end_life(void *info) {
    struct life *life = info;
    CHECK_INT(atomic_fetch_add(&life->ended, 1), 0);
    atomic_fetch_add(&ends, 1);
    free(life);
}
static void *come_and_go(void *unused) {
    uint64_t tokens[8] = {0};
    for (int i = 0; !atomic_load(&over); i++) {
        if (tokens[i & 7]) remove_it(tokens[i & 7]);
        struct life *life = calloc(1, sizeof *life);
        atomic_fetch_add(&lives, 1);
        tokens[i & 7] = add(WILL_EXIT, NULL, live, life, end_life);
    }
    for (int i = 0; i < 8; i++)
        if (tokens[i]) remove_it(tokens[i]);
    return unused;
}
static void *end_threads(void *unused) {
    for (int i = scaled(1000); i > 0; i--) post();
    return unused;
}
TEST(registrations_race_with_notifications, "NOTE-1 OBJ-3") {
    pthread_t changing[2], ending[2];
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&changing[i], NULL, come_and_go, NULL), 0);
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&ending[i], NULL, end_threads, NULL), 0);
    for (int i = 0; i < 2; i++) pthread_join(ending[i], NULL);
    atomic_store(&over, 1);
    for (int i = 0; i < 2; i++) pthread_join(changing[i], NULL);
    CHECK_INT(ends, lives);
}

/* --- Hosts ---------------------------------------------------------------------------------------- */

static bool fails;
static void *event_subject;
static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    CHECK(is_size(event->struct_size, sizeof *event));
    CHECK_INT(event->kind, TREADLE_EVENT_NOTIFICATION);
    CHECK_INT(event->value, WILL_EXIT);
    CHECK(!event->loop && !event->mode && !event->argument);
    CHECK_INT(event->late_ns, 0);
    CHECK_INT(event->descriptor, -1);
    event_subject = event->subject;
    trace("t%" PRIu64, event->token);
    return fails ? ticket : ~ticket;
}
static void must_retire(treadle_host host, uint64_t token) {
    uint64_t tokens[4] = {0};
    size_t count = 0;
    CHECK_INT(treadle_host_take_retired(host, tokens, 4, &count), TREADLE_OK);
    CHECK_INT(count, token ? 1 : 0);
    CHECK_INT(tokens[0], token);
}
TEST(a_host_is_told_by_events, "NOTE-1 ABI-2 ABI-3") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    treadle_host host;
    uint64_t one = 0, two = 0, dropped = 0;
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    CHECK_INT(host_notification(host, 77, WILL_EXIT, NULL, &one), TREADLE_OK);
    uint64_t plain = add(WILL_EXIT, NULL, write_word, "plain", NULL);
    CHECK_INT(host_notification(host, 88, WILL_EXIT, NULL, &two), TREADLE_OK);
    CHECK(one && two && one != two);
    void *thread = post();
    CHECK_TRACE("t77 plain t88");
    CHECK(event_subject == thread);
    fails = true; /* there is no run that it could end; the others are told */
    post();
    CHECK_TRACE("t77 plain t88");
    fails = false;
    must_retire(host, 0);
    remove_it(one);
    must_retire(host, 77);
    must_be_unknown(one);
    CHECK_ERROR(host_notification(host, 5, 4, NULL, &one), TREADLE_E_ARG, "name");
    CHECK_ERROR(host_notification(NULL, 5, WILL_EXIT, NULL, &one), TREADLE_E_ARG, "token");
    treadle_notification_config both = {.struct_size = sizeof both, .name = WILL_EXIT, .host = host, .fn = must_not_be_called};
    CHECK_ERROR(treadle_notification_add(&both, &one), TREADLE_E_ARG, "fn");
    both.fn = NULL, both.info = &host;
    CHECK_ERROR(treadle_notification_add(&both, &one), TREADLE_E_ARG, "info");
    both.info = NULL, both.destroy = count_destroyed;
    CHECK_ERROR(treadle_notification_add(&both, &one), TREADLE_E_ARG, "destroy");
    CHECK_INT(destroyed, 1);
    both.destroy = NULL, both.reserved = 1;
    CHECK_ERROR(treadle_notification_add(&both, &one), TREADLE_E_ARG, "reserved");
    CHECK_INT(one, 0);
    CHECK_ERROR(host_notification(host, 5, WILL_EXIT, NULL, NULL), TREADLE_E_ARG, "out_token");
    must_retire(host, 0); /* not after an error */
    CHECK_INT(treadle_host_quiesce(host, TREADLE_FOREVER), TREADLE_OK);
    CHECK_ERROR(host_notification(host, 5, WILL_EXIT, NULL, &one), TREADLE_E_CLOSED, "host");
    post();
    CHECK_TRACE("plain");
    CHECK_INT(treadle_host_get_dropped(host, &dropped), TREADLE_OK);
    CHECK_INT(dropped, 1);
    remove_it(two);
    must_retire(host, 88);
    remove_it(plain);
}

TEST_MAIN()
