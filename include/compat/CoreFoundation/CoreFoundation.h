/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CoreFoundation.h: all of the compatibility headers, and the standard headers that code which includes this one
 * on Apple's systems does not include itself (unless CF_OMIT_SYSTEM_NAMES is defined). */
#ifndef CF_COMPAT_COREFOUNDATION_H
#define CF_COMPAT_COREFOUNDATION_H

#ifndef CF_OMIT_SYSTEM_NAMES
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#endif

#include "CFArray.h"
#include "CFBase.h"
#include "CFData.h"
#include "CFDate.h"
#include "CFDictionary.h"
#include "CFFileDescriptor.h"
#include "CFMachPort.h"
#include "CFMessagePort.h"
#include "CFNumber.h"
#include "CFRunLoop.h"
#include "CFSet.h"
#include "CFSocket.h"
#include "CFString.h"

#endif
