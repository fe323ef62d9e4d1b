#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""A small HTTP server for the test of the fetcher, on a free port of the loopback. Its first line of output is the port.
GET /N answers N bytes; /slow begins to answer and goes on for ever, after a line of output that says so; all else is not
there. It ends with its input."""

import http.server
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = self.path[1:]
        if name == "slow":
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            self.wfile.write(b"a beginning")
            print("slow", flush=True)
            self.rfile.read(1)  # until the client goes
            self.close_connection = True
        elif name.isdigit():
            self.send_response(200)
            self.send_header("Content-Length", name)
            self.end_headers()
            self.wfile.write(bytes(ord("a") + i % 23 for i in range(int(name))))
        else:
            self.send_error(404)

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """A client that goes in the middle is what the test does."""


server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
