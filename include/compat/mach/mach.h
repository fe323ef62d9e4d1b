/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * mach.h: all of this folder. */
#ifndef CF_COMPAT_MACH_MACH_H
#define CF_COMPAT_MACH_MACH_H

#include "message.h"
#include "port.h"

#endif
