/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFSocket's name registry, for which there is no server. */
#include "sockets.h"

TEST(nothing_is_registered_or_found, "ABI-10") {
    CFStringRef name = CFSTR("name");
    struct sockaddr_in address = {.sin_family = AF_INET};
    CFDataRef bytes = CFDataCreate(NULL, (const UInt8 *)&address, sizeof address);
    CFSocketSignature server = {PF_INET, SOCK_STREAM, 0, bytes}, out = server;
    const CFSocketSignature *servers[] = {NULL, &server};
    CFPropertyListRef value = name;
    CFDataRef found = bytes;
    for (int i = 0; i < 2; i++) {
        CHECK_INT(CFSocketRegisterValue(servers[i], 1, name, name), kCFSocketTimeout);
        CHECK_INT(CFSocketCopyRegisteredValue(servers[i], 1, name, &value, &found), kCFSocketTimeout);
        CHECK_INT(CFSocketRegisterSocketSignature(servers[i], 1, name, &server), kCFSocketTimeout);
        CHECK_INT(CFSocketCopyRegisteredSocketSignature(servers[i], 1, name, &out, &found), kCFSocketError);
        CHECK_INT(CFSocketUnregister(servers[i], 1, name), kCFSocketTimeout);
    }
    CHECK(value == name && found == bytes && out.address == bytes && out.socketType == SOCK_STREAM);
    CFStringRef bad[] = {NULL, (CFStringRef)bytes};
    for (int i = 0; i < 2; i++) {
        CHECK_INT(CFSocketRegisterValue(NULL, 1, bad[i], name), kCFSocketError);
        CHECK_INT(CFSocketCopyRegisteredValue(NULL, 1, bad[i], NULL, NULL), kCFSocketError);
        CHECK_INT(CFSocketRegisterSocketSignature(NULL, 1, bad[i], &server), kCFSocketError);
        CHECK_INT(CFSocketUnregister(NULL, 1, bad[i]), kCFSocketError);
    }
    CHECK_INT(CFSocketRegisterValue(NULL, 1, name, NULL), kCFSocketError);
    CHECK_INT(CFSocketRegisterSocketSignature(NULL, 1, name, NULL), kCFSocketError);
    CFRelease(bytes);
}

TEST(its_words_and_its_port_are_those_of_CoreFoundation, "ABI-10") {
    static const struct { const CFStringRef *constant; const char *text; } words[] = {
        {&kCFSocketCommandKey, "Command"}, {&kCFSocketNameKey, "Name"}, {&kCFSocketValueKey, "Value"},
        {&kCFSocketResultKey, "Result"}, {&kCFSocketErrorKey, "Error"}, {&kCFSocketRegisterCommand, "Register"},
        {&kCFSocketRetrieveCommand, "Retrieve"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        CFStringRef text = CFStringCreateWithCString(NULL, words[i].text, kCFStringEncodingUTF8);
        CHECK(CFEqual(*words[i].constant, text));
        CFRelease(text);
    }
    CHECK_INT(CFSocketGetDefaultNameRegistryPortNumber(), 2454);
    CFSocketSetDefaultNameRegistryPortNumber(65535);
    CHECK_INT(CFSocketGetDefaultNameRegistryPortNumber(), 65535);
}

TEST_MAIN()
