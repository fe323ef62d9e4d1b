/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_circle_test.c: plugins that use each other in circles: of what they require, which is refused by name before any of their
 * code runs, and of what they are given later, which would keep all of them from ending. Each is a part of the program. */
#include "plugins.h"

enum { MEMBERS = 4 };
/* Member i has example.N/1, N its number, and would have that of the next one. */
static const char *const names[] = {"example.0/1", "example.1/1", "example.2/1", "example.3/1"};
static const char *lists[MEMBERS][2][3];
static const char *ids[] = {"org.example.0", "org.example.1", "org.example.2", "org.example.3"};
static treadle_plugin_description descriptions[MEMBERS];
static const treadle_plugin_host *hosts[MEMBERS];
static int inits;

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    treadle_plugin_info info = {.struct_size = sizeof info};
    CHECK_INT(treadle_plugin_get_info(host->plugin, &info), TREADLE_OK);
    hosts[info.description - descriptions] = host;
    *out_instance = NULL;
    inits++;
    return TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }
static const void *get_extension(void *instance, const char *id) { return (void)instance, id; }
#define QUERY(number) \
    static const treadle_plugin_description *query_##number(uint32_t abi) { return (void)abi, &descriptions[number]; }
QUERY(0) QUERY(1) QUERY(2) QUERY(3)
static const treadle_plugin_query_fn queries[] = {query_0, query_1, query_2, query_3};

/* A circle of some, whose members require the next one, or would use it. */
static void make_circle(treadle_plugin *plugins, int count, bool is_required) {
    inits = 0;
    for (int i = 0; i < count; i++) {
        lists[i][0][0] = names[i], lists[i][1][0] = names[(i + 1) % count], lists[i][1][1] = i == 0 && count > 3 ? names[2] : NULL;
        descriptions[i] = (treadle_plugin_description){
            TREADLE_PLUGIN_COMMON, .id = ids[i], .name = ids[i], .version = "1", .init = init, .deinit = deinit,
            .get_extension = get_extension, .provided = lists[i][0], .required = is_required ? lists[i][1] : NULL,
            .optional = is_required ? NULL : lists[i][1]};
        treadle_plugin_config config = {.struct_size = sizeof config, .query = queries[i]};
        CHECK_INT(treadle_plugin_load(&config, &plugins[i]), TREADLE_OK);
    }
}
static void end_circle(treadle_plugin *plugins, int count) {
    /* Users first, wherever that begins: in some order each can be closed, and without waiting. */
    int left = count;
    for (int round = 0; round < count && left > 0; round++)
        for (int i = 0; i < count; i++) {
            if (!plugins[i] || treadle_plugin_close(plugins[i], 0) != TREADLE_OK) continue;
            CHECK_INT(treadle_release(plugins[i]), TREADLE_OK);
            plugins[i] = NULL;
            left--;
        }
    CHECK_INT(left, 0);
}

TEST(circles_of_what_is_required_are_refused_by_name, "PLUG-2") {
    treadle_plugin plugins[MEMBERS];
    for (int count = 2; count <= MEMBERS; count++) {
        make_circle(plugins, count, true);
        for (int i = 0; i < count; i++) {
            CHECK_INT(treadle_plugin_start(plugins[i]), TREADLE_E_DEADLOCK);
            CHECK_ERROR_SAYS(ids[i]);
            CHECK_ERROR_SAYS(ids[(i + count - 1) % count]);
        }
        CHECK_INT(inits, 0);
        end_circle(plugins, count);
    }
}

TEST(a_plugin_gets_nothing_from_one_that_uses_it, "PLUG-2 PLUG-4") {
    treadle_plugin plugins[MEMBERS];
    treadle_scope_holder holder;
    size_t count;
    for (int members = 2; members <= MEMBERS; members++)
        for (int first = 0; first < members; first++) {
            make_circle(plugins, members, false);
            /* Each goes without what was not there yet, or waits for it itself. */
            for (int i = 0; i < members; i++) {
                treadle_status status = treadle_plugin_start(plugins[(first + i) % members]);
                if (status != TREADLE_OK) CHECK_INT(status, TREADLE_IGNORED);
            }
            CHECK_INT(inits, members);
            /* All of them ask now: exactly one is refused, since it is used, in the end, by the one that it asks for. */
            int refused = 0;
            for (int i = 0; i < members; i++) {
                int next = (i + 1) % members;
                const char *found = hosts[i]->get_extension(hosts[i], names[next]);
                if (found) {
                    CHECK(strcmp(found, names[next]) == 0);
                    CHECK_INT(treadle_plugin_close(plugins[next], 0), TREADLE_E_TIMEOUT);
                    CHECK_INT(treadle_scope_copy_holders(plugins[next], &holder, sizeof(treadle_scope_holder), 1, &count), TREADLE_OK);
                    CHECK_INT(holder.kind, TREADLE_HOLDER_PLUGIN);
                } else {
                    refused++;
                    CHECK_ERROR_SAYS(ids[i]);
                    CHECK_ERROR_SAYS(ids[next]);
                    CHECK_ERROR_SAYS("is used by the plugin that it would use");
                }
            }
            CHECK_INT(refused, 1);
            end_circle(plugins, members);
        }
}

/* --- A long way round ---------------------------------------------------------------------------------- */

enum { LINKS = 1000 };
static treadle_plugin links[LINKS];
static treadle_plugin_description links_described[LINKS];
static const char *link_lists[LINKS][2][2];
static char link_names[LINKS + 1][32], link_ids[LINKS][32];
static int asked;
static const treadle_plugin_description *query_link(uint32_t abi) { return (void)abi, &links_described[asked]; }
static treadle_status init_link(const treadle_plugin_host *host, void **out_instance) {
    (void)host;
    *out_instance = NULL;
    inits++;
    return TREADLE_OK;
}
/* Whom a plugin uses in the end is looked for at each start: once for each, and not once for each way there. */
TEST(a_long_chain_of_plugins_starts_and_ends, "PLUG-2 PLUG-4") {
    inits = 0;
    for (int i = 0; i <= LINKS; i++) snprintf(link_names[i], sizeof link_names[i], "example.link-%d/1", i);
    for (asked = 0; asked < LINKS; asked++) {
        int i = asked;
        snprintf(link_ids[i], sizeof link_ids[i], "org.example.link-%d", i);
        link_lists[i][0][0] = link_names[i], link_lists[i][1][0] = i + 1 < LINKS ? link_names[i + 1] : NULL;
        links_described[i] = (treadle_plugin_description){
            TREADLE_PLUGIN_COMMON, .id = link_ids[i], .name = "a link", .version = "1", .init = init_link, .deinit = deinit,
            .get_extension = get_extension, .provided = link_lists[i][0], .required = link_lists[i][1]};
        treadle_plugin_config config = {.struct_size = sizeof config, .query = query_link};
        CHECK_INT(treadle_plugin_load(&config, &links[i]), TREADLE_OK);
    }
    CHECK_INT(treadle_plugin_start(links[0]), TREADLE_OK);
    CHECK_INT(inits, LINKS);
    CHECK_INT(treadle_plugin_close(links[LINKS - 1], 0), TREADLE_E_TIMEOUT);
    for (int i = 0; i < LINKS; i++) {
        CHECK_INT(treadle_plugin_close(links[i], 0), TREADLE_OK);
        CHECK_INT(treadle_release(links[i]), TREADLE_OK);
    }
}

TEST_MAIN()
