/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * people.h: what the plugins for the tests of treadle-host begin with. */
#ifndef TREADLE_TEST_PEOPLE_H
#define TREADLE_TEST_PEOPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <treadle.h>
#include <treadle_host.h>

#ifndef VERSION
#define VERSION "1"
#endif

static const struct treadle_host_extension *people;

static inline treadle_status meet_people(const treadle_plugin_host *host) {
    people = host->get_extension(host, TREADLE_HOST_EXTENSION);
    return people && people->struct_size >= sizeof *people ? TREADLE_OK : TREADLE_E_NOT_FOUND;
}

#define DESCRIBED(last, ...)                                                                                        \
    static const treadle_plugin_description description = {                                                         \
        TREADLE_PLUGIN_COMMON, .id = "org.example." last, .name = "a " last, .version = VERSION,                    \
        .flags = TREADLE_PLUGIN_MAY_UNMAP, .required = required, .init = init, .deinit = deinit, __VA_ARGS__};      \
    TREADLE_PLUGIN_EXPORT(description)

#endif
