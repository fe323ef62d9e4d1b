/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * version.h: the version that these headers describe. The build systems read it from here. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_VERSION_H
#define TREADLE_VERSION_H

#include "types.h"

#define TREADLE_VERSION_MAJOR 1
#define TREADLE_VERSION_MINOR 0
#define TREADLE_VERSION_PATCH 0

/** The header's version as one number, for comparing with treadle_version(). Since 1.0. */
#define TREADLE_VERSION ((TREADLE_VERSION_MAJOR << 16) | (TREADLE_VERSION_MINOR << 8) | TREADLE_VERSION_PATCH)

TREADLE_BEGIN_DECLS

/** The version of the library that is loaded: major << 16 | minor << 8 | patch.
 *  Programs compiled for 1.x run with every later 1.y.
 *  [any, quick] Errors: none. Since 1.0. */
TREADLE_API uint32_t treadle_version(void);

/** The same as text, such as "1.0.0". Static: never freed.
 *  [any, quick] Errors: none. Since 1.0. */
TREADLE_API const char *treadle_version_string(void);

TREADLE_END_DECLS
#endif
