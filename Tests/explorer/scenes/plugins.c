/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugins.c: plugins that are started, used, stopped, closed and replaced by several threads at once. Their code is the scenes': a query
 * function stands for the library that is mapped elsewhere. */
#include "owner.h"

#include <string.h>

/* Plain, also what they say of themselves: the library orders what it calls of a plugin, on whatever thread. */
enum { LOADED, INITIALISED, STARTED, STOPPED, ENDED };
struct instance {
    const treadle_plugin_host *host;
    const struct instance *used; /* until it has stopped */
    int phase;
};
static void enter(struct instance *instance, int phase) {
    REQUIRE(instance->phase < phase && (!instance->used || instance->used->phase == STARTED));
    instance->phase = phase;
}
static struct instance one, two; /* two uses what one provides, and one what two does where it is asked to */

static treadle_status init(struct instance *instance, const treadle_plugin_host *host, void **out) {
    instance->host = host;
    enter(instance, INITIALISED);
    *out = instance;
    return TREADLE_OK;
}
static treadle_status init_one(const treadle_plugin_host *host, void **out) { return init(&one, host, out); }
static treadle_status init_two(const treadle_plugin_host *host, void **out) { return init(&two, host, out); }
static treadle_status start_it(void *instance) {
    enter(instance, STARTED);
    return TREADLE_OK;
}
static treadle_status stop_it(void *instance, int64_t timeout) {
    (void)timeout;
    enter(instance, STOPPED);
    ((struct instance *)instance)->used = NULL;
    return TREADLE_OK;
}
static void end_it(void *instance) { enter(instance, ENDED); }
static const void *provide(void *instance, const char *name) { return (void)name, instance; }

#define NAMED(ID) .struct_size = sizeof(treadle_plugin_description), .abi_min = TREADLE_PLUGIN_ABI, .abi_max = TREADLE_PLUGIN_ABI, \
                  .behaviour = TREADLE_PLUGIN_BEHAVIOUR, .id = ID, .name = ID, .version = "1"
#define FIRST "scene.one/1"
#define SECOND "scene.two/1"
static const char *const first[] = {FIRST, NULL}, *const second[] = {SECOND, NULL};
static const treadle_plugin_description described_one = {NAMED("scene.one"), .optional = second, .provided = first, .init = init_one,
                                                         .start = start_it, .stop = stop_it, .deinit = end_it, .get_extension = provide},
    described_two = {NAMED("scene.two"), .required = first, .init = init_two, .start = start_it, .stop = stop_it, .deinit = end_it},
    described_two_in_turn = {NAMED("scene.two"), .optional = first, .provided = second, .init = init_two, .start = start_it, .stop = stop_it,
                             .deinit = end_it, .get_extension = provide};
static const treadle_plugin_description *query_one(uint32_t abi) { return (void)abi, &described_one; }
static const treadle_plugin_description *query_two(uint32_t abi) { return (void)abi, &described_two; }
static const treadle_plugin_description *query_two_in_turn(uint32_t abi) { return (void)abi, &described_two_in_turn; }

static treadle_plugin_config config_of(treadle_plugin_query_fn query) {
    return (treadle_plugin_config){.struct_size = sizeof(treadle_plugin_config), .query = query};
}
static treadle_plugin load(treadle_plugin_query_fn query) {
    treadle_plugin_config config = config_of(query);
    treadle_plugin plugin;
    REQUIRE_OK(treadle_plugin_load(&config, &plugin));
    return plugin;
}
static treadle_plugin plugin_one, plugin_two;
static void *close_it(void *plugin) {
    treadle_status status = treadle_plugin_close(plugin, TREADLE_FOREVER);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    return NULL;
}
static void require_end(treadle_plugin plugin, const struct instance *instance, int phase) {
    REQUIRE(instance->phase == phase);
    REQUIRE_OK(treadle_release(plugin));
}

/* --- Uses ------------------------------------------------------------------------------------------- */

/* A plugin that begins to be used is not ended any more, and one that is about to end is not used. */
SCENE(a_plugin_is_closed_while_another_begins_to_use_it, "PLUG-2, PLUG-4") {
    plugin_one = load(query_one), plugin_two = load(query_two);
    REQUIRE_OK(treadle_plugin_start(plugin_one));
    explore_from_here();
    pthread_t other = start(close_it, plugin_one);
    two.used = &one;
    treadle_status status = treadle_plugin_start(plugin_two);
    REQUIRE(status == TREADLE_OK || ((status == TREADLE_E_NOT_FOUND || status == TREADLE_E_CLOSED) && two.phase == LOADED));
    close_it(plugin_two);
    join(other);
    require_end(plugin_two, &two, status == TREADLE_OK ? ENDED : LOADED);
    require_end(plugin_one, &one, ENDED);
}

/* A start that fails for another requirement uses nothing any more. */
static const char *const one_and_none[] = {FIRST, "scene.none/1", NULL};
static const treadle_plugin_description described_lacking = {NAMED("scene.two"), .required = one_and_none, .init = init_two, .deinit = end_it};
static const treadle_plugin_description *query_lacking(uint32_t abi) { return (void)abi, &described_lacking; }
SCENE(a_plugin_is_closed_while_the_start_of_its_user_fails, "PLUG-2, PLUG-4") {
    plugin_one = load(query_one), plugin_two = load(query_lacking);
    explore_from_here();
    pthread_t other = start(close_it, plugin_one);
    treadle_status status = treadle_plugin_start(plugin_two);
    REQUIRE(status == TREADLE_E_NOT_FOUND || status == TREADLE_E_CLOSED);
    join(other);
    close_it(plugin_two);
    require_end(plugin_two, &two, LOADED);
    require_end(plugin_one, &one, one.phase == ENDED ? ENDED : LOADED);
}

/* A holder is told of until it has ended, and the close that waits for it goes on then. */
SCENE(a_plugin_is_closed_while_its_last_user_ends, "PLUG-4, SCOPE-3") {
    plugin_one = load(query_one), plugin_two = load(query_two);
    REQUIRE_OK(treadle_plugin_start(plugin_two));
    two.used = &one;
    explore_from_here();
    pthread_t other = start(close_it, plugin_two);
    treadle_scope_holder holder;
    size_t count;
    REQUIRE_OK(treadle_scope_copy_holders(plugin_one, &holder, sizeof holder, 1, &count));
    REQUIRE(count == 0 || (count == 1 && holder.kind == TREADLE_HOLDER_PLUGIN && strcmp(holder.label, "scene.two") == 0));
    close_it(plugin_one);
    join(other);
    require_end(plugin_two, &two, ENDED);
    require_end(plugin_one, &one, ENDED);
}

/* Neither could end before the other: one of the two is refused. */
static counter uses;
static void start_and_use(treadle_plugin plugin, struct instance *instance, const char *name, const struct instance *other) {
    treadle_status status = treadle_plugin_start(plugin);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED || status == TREADLE_E_STATE || status == TREADLE_E_CLOSED);
    if (status == TREADLE_OK) {
        const void *found = instance->host->get_extension(instance->host, name);
        REQUIRE(!found || found == other);
        if (found) count(&uses);
    }
    close_it(plugin);
}
static void *use_one(void *info) {
    start_and_use(plugin_two, &two, FIRST, &one);
    return info;
}
SCENE(two_plugins_begin_to_use_each_other, "PLUG-2, PLUG-4") {
    plugin_one = load(query_one), plugin_two = load(query_two_in_turn);
    explore_from_here();
    pthread_t other = start(use_one, NULL);
    start_and_use(plugin_one, &one, SECOND, &two);
    join(other);
    REQUIRE(counted(&uses) <= 1);
    REQUIRE_OK(treadle_release(plugin_one));
    REQUIRE_OK(treadle_release(plugin_two));
}

/* --- Ends ------------------------------------------------------------------------------------------- */

static void *start_plugin(void *plugin) {
    treadle_status status = treadle_plugin_start(plugin);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED || status == TREADLE_E_STATE || status == TREADLE_E_CLOSED);
    return NULL;
}
SCENE(a_plugin_is_closed_by_two_while_it_is_started, "PLUG-2, PLUG-4") {
    plugin_one = load(query_one);
    explore_from_here();
    pthread_t starter = start(start_plugin, plugin_one), closer = start(close_it, plugin_one);
    close_it(plugin_one);
    REQUIRE(one.phase == ENDED || one.phase == LOADED);
    join(starter);
    join(closer);
    require_end(plugin_one, &one, one.phase);
}

/* A stop is over when the plugin says so, which may be before it has returned. */
static struct event is_stopping;
static treadle_status stop_later(void *instance, int64_t timeout) {
    (void)instance, (void)timeout;
    set(&is_stopping);
    return TREADLE_DEFERRED;
}
static const treadle_plugin_description described_late = {NAMED("scene.one"), .init = init_one, .start = start_it, .stop = stop_later,
                                                          .deinit = end_it};
static const treadle_plugin_description *query_late(uint32_t abi) { return (void)abi, &described_late; }
SCENE(a_plugin_says_that_its_stop_is_over, "PLUG-4") {
    plugin_one = load(query_late);
    REQUIRE_OK(treadle_plugin_start(plugin_one));
    explore_from_here();
    pthread_t other = start(close_it, plugin_one);
    await(&is_stopping);
    enter(&one, STOPPED);
    one.host->stopped(one.host);
    join(other);
    require_end(plugin_one, &one, ENDED);
}

/* The one that takes its place is started when it has ended, by any thread that asks for it, and gets what it has saved. */
static struct instance heir;
static treadle_status init_heir(const treadle_plugin_host *host, void **out) {
    REQUIRE(one.phase == ENDED);
    return init(&heir, host, out);
}
static treadle_status save(void *instance, treadle_plugin_write_fn write, void *sink) {
    REQUIRE(((struct instance *)instance)->phase == STOPPED);
    write(sink, "text", 4);
    return TREADLE_OK;
}
static treadle_status restore(void *instance, const void *bytes, size_t size) {
    (void)instance;
    REQUIRE(size == 4 && memcmp(bytes, "text", 4) == 0);
    return TREADLE_OK;
}
static const treadle_plugin_description described_old = {NAMED("scene.one"), .init = init_one, .start = start_it, .stop = stop_it,
                                                         .deinit = end_it, .save = save},
    described_heir = {NAMED("scene.one"), .init = init_heir, .start = start_it, .stop = stop_it, .deinit = end_it, .restore = restore};
static const treadle_plugin_description *query_old(uint32_t abi) { return (void)abi, &described_old; }
static const treadle_plugin_description *query_heir(uint32_t abi) { return (void)abi, &described_heir; }
static void *start_all(void *info) {
    treadle_plugin plugins[2];
    size_t count;
    REQUIRE_OK(treadle_plugin_copy_all(plugins, 2, &count));
    for (size_t i = 0; i < count; i++) {
        start_plugin(plugins[i]);
        REQUIRE_OK(treadle_release(plugins[i]));
    }
    return info;
}
SCENE(a_plugin_is_replaced_while_another_thread_starts_all, "PLUG-7, PLUG-2") {
    plugin_one = load(query_old);
    REQUIRE_OK(treadle_plugin_start(plugin_one));
    explore_from_here();
    pthread_t other = start(start_all, NULL);
    treadle_plugin_config config = config_of(query_heir);
    treadle_status status = treadle_plugin_reload(plugin_one, &config, TREADLE_FOREVER, &plugin_two);
    REQUIRE(one.phase == ENDED);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_STATE);
    join(other);
    REQUIRE_OK(treadle_release(plugin_one));
    if (status != TREADLE_OK) return;
    close_it(plugin_two);
    require_end(plugin_two, &heir, ENDED);
}
