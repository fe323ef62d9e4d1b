/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle_host.h: the extension that treadle-host has for the plugins that it runs: they talk to people, and end the program.
 *
 * A plugin names it as required or optional, and asks for it in init:
 *
 *     const struct treadle_host_extension *people = host->get_extension(host, TREADLE_HOST_EXTENSION);
 *     people->print("hello");
 *
 * It is valid until the plugin's stop has returned. */
#ifndef TREADLE_HOST_EXTENSION_H
#define TREADLE_HOST_EXTENSION_H

#include <stddef.h>

/** The name of the extension. What is behind the slash changes when a plugin that was built for it could not go on. */
#define TREADLE_HOST_EXTENSION "treadle.host/1"

/** The extension. Later versions add members at its end: struct_size tells how much there is. */
struct treadle_host_extension {
    size_t struct_size; /* what the host has: sizeof(struct treadle_host_extension) */
    /* Writes a line of text to standard output, and adds the line's end. Lines of several threads do not mix. NULL is an empty
     * line. While a plugin is checked nothing is written. From any thread. */
    void (*print)(const char *text);
    /* Ends the main loop: the host stops, closes all plugins, and ends with this status (0 to 255), or with 1 if one does not
     * end in time. The first status that is not 0 counts. It returns at once. From any thread. */
    void (*finish)(int status);
};

#endif
