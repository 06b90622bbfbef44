# SPDX-License-Identifier: Apache-2.0
"""OpenAI-style servers that say what a test wants said."""
import http.server
import json
import threading


def chat(content):
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}],
                       "usage": {"prompt_tokens": 5, "completion_tokens": 3}}).encode()


def reply(handler, body, status=200):
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def says(words):
    """What a server does that answers with `words` of the conversation's messages."""
    return lambda handler, _: reply(handler, chat(words(json.loads(handler.request_text)["messages"])))


class ModelServer:
    """Does with each request what `behave` does with its handler."""

    def __init__(self, behave):
        self.asked = []  # the texts of the requests
        self.ending = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.request_text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                outer.asked.append(self.request_text)
                try:
                    behave(self, outer)
                except OSError:
                    pass  # the client has had enough

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
