/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleSignal.h: where signals come into the library. */
#ifndef CTREADLE_SIGNAL_H
#define CTREADLE_SIGNAL_H

#include <stdint.h>

/* Exported (source.h). A signal more of a flooded source ends here, and most of those that a source gives itself. */
int32_t treadle_source_signal(void *source);
int32_t treadle_source_signal_and_wake(void *source);
/* All other signals: Swift's (SourceABI.swift). */
int32_t libtreadle_signal(void *source);
int32_t libtreadle_signal_and_wake(void *source);

#endif
