/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFSocket's name registry, for which no system has a server: what CoreFoundation answers then. */
#include <CoreFoundation/CFSocket.h>

#include <stdatomic.h>
#include <stdbool.h>

static bool is_string(CFTypeRef name) { return name && CFGetTypeID(name) == CFStringGetTypeID(); }

CFSocketError CFSocketRegisterValue(const CFSocketSignature *server, CFTimeInterval timeout, CFStringRef name,
                                    CFPropertyListRef value) {
    (void)server, (void)timeout;
    return is_string(name) && value ? kCFSocketTimeout : kCFSocketError;
}
CFSocketError CFSocketCopyRegisteredValue(const CFSocketSignature *server, CFTimeInterval timeout, CFStringRef name,
                                          CFPropertyListRef *value, CFDataRef *address) {
    (void)server, (void)timeout, (void)value, (void)address;
    return is_string(name) ? kCFSocketTimeout : kCFSocketError;
}
CFSocketError CFSocketRegisterSocketSignature(const CFSocketSignature *server, CFTimeInterval timeout, CFStringRef name,
                                              const CFSocketSignature *signature) {
    (void)server, (void)timeout;
    return is_string(name) && signature ? kCFSocketTimeout : kCFSocketError;
}
CFSocketError CFSocketCopyRegisteredSocketSignature(const CFSocketSignature *server, CFTimeInterval timeout, CFStringRef name,
                                                    CFSocketSignature *signature, CFDataRef *address) {
    (void)server, (void)timeout, (void)name, (void)signature, (void)address;
    return kCFSocketError;
}
CFSocketError CFSocketUnregister(const CFSocketSignature *server, CFTimeInterval timeout, CFStringRef name) {
    (void)server, (void)timeout;
    return is_string(name) ? kCFSocketTimeout : kCFSocketError;
}

static _Atomic uint16_t default_port = 2454;
void CFSocketSetDefaultNameRegistryPortNumber(uint16_t port) { atomic_store(&default_port, port); }
uint16_t CFSocketGetDefaultNameRegistryPortNumber(void) { return atomic_load(&default_port); }
