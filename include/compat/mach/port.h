/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * port.h: the number of a port inside of this process; CoreFoundation/CFMachPort.h makes them. */
#ifndef CF_COMPAT_MACH_PORT_H
#define CF_COMPAT_MACH_PORT_H

/** A port's number; 0 for none. */
typedef unsigned int mach_port_t;
typedef mach_port_t mach_port_name_t;
#define MACH_PORT_NULL ((mach_port_t)0)
#define MACH_PORT_VALID(name) ((name) != MACH_PORT_NULL)

#endif
