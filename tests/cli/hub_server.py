"""A server that behaves like the hub, and one like the network that it leads large files to, both on 127.0.0.1. What goes wrong in
real networks is planted as faults."""
import dataclasses
import hashlib
import http.server
import json
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse

TOKEN = "hf_secretOfTheTest"


def git_sha1(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclasses.dataclass
class Repository:
    """One commit, and the branches and tags that stand for it."""
    files: dict  # path -> bytes
    revisions: tuple = ("main",)
    large: tuple = (".safetensors", ".bin", ".pth", ".onnx", ".h5")
    gated: bool = False
    moved_to: str = ""
    commit: str = ""

    def __post_init__(self):
        self.commit = self.commit or hashlib.sha1(repr(sorted(self.files.items())).encode()).hexdigest()

    def is_large(self, name):
        return name.endswith(self.large)

    def etag(self, name):
        content = self.files[name]
        return hashlib.sha256(content).hexdigest() if self.is_large(name) else git_sha1(content)


@dataclasses.dataclass
class Request:
    place: str  # "hub" or "cdn"
    method: str
    path: str
    headers: dict


@dataclasses.dataclass
class Fault:
    """What happens to the first `times` requests whose place, method and path fit. Gets the handler and what would be sent."""
    place: str
    method: str
    path: str  # a part of it
    act: object
    times: int


class Hub:
    def __init__(self, certificate=None):
        """With a certificate, (file, key), the hub speaks HTTPS."""
        self.certificate = certificate
        self.repositories = {}
        self.requests = []
        self.faults = []
        self.stopped = threading.Event()
        self.lock = threading.Lock()
        self.servers = {place: self._serve(place) for place in ("hub", "cdn")}
        self.endpoint = self._address("hub")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for server in self.servers.values():
            server.shutdown()
            server.server_close()

    def plant(self, place, method, path, act, times=1):
        self.faults.append(Fault(place, method, path, act, times))

    def seen(self, place=None, method=None, path=""):
        with self.lock:
            return [r for r in self.requests
                    if place in (None, r.place) and method in (None, r.method) and path in r.path]

    def _address(self, place):
        scheme = "https" if self.certificate and place == "hub" else "http"
        return "%s://127.0.0.1:%d" % (scheme, self.servers[place].server_address[1])

    def _serve(self, place):
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                try:
                    hub._answer(place, self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            do_HEAD = do_GET

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):  # these are what is tested
                    super().handle_error(request, client_address)

        server = Server(("127.0.0.1", 0), Handler)
        if self.certificate and place == "hub":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return server

    def _answer(self, place, handler):
        path = urllib.parse.urlsplit(handler.path).path  # a proxy is asked for whole URLs
        with self.lock:
            self.requests.append(Request(place, handler.command, path, {k.lower(): v for k, v in handler.headers.items()}))
            fault = next((f for f in self.faults if f.times and f.place == place and f.method in ("", handler.command)
                          and f.path in path), None)
            if fault:
                fault.times -= 1
        status, headers, body = self._hub(handler, path) if place == "hub" else self._cdn(path)
        if status == 200 and handler.headers.get("Range") and place == "cdn":
            first = int(re.fullmatch(r"bytes=(\d+)-", handler.headers["Range"])[1])
            if first >= len(body):
                status, body = 416, b""
            else:
                headers = {**headers, "Content-Range": "bytes %d-%d/%d" % (first, len(body) - 1, len(body))}
                status, body = 206, body[first:]
        if fault:
            fault.act(handler, status, headers, body)
        else:
            send(handler, status, headers, body)

    # ---------------------------------------------------------------------------------------------- the hub
    def _hub(self, handler, path):
        api = re.fullmatch(r"/api/models/([^/]+/[^/]+)/(revision|tree)/([^/]+)", path)
        file = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if not api and not file:
            return 404, {}, b"no such page"
        name, revision = (api or file)[1], urllib.parse.unquote((api[3] if api else file[2]))
        repository = self.repositories.get(name)
        if repository is None:
            return 401, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}, b"{}"
        if repository.moved_to:
            return 307, {"Location": handler.path.replace(name, repository.moved_to)}, b""
        if repository.gated and handler.headers.get("Authorization") != "Bearer " + TOKEN:
            return 403, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted"}, b"{}"
        if revision not in repository.revisions and not (len(revision) >= 5 and repository.commit.startswith(revision)):
            return 404, {"X-Error-Code": "RevisionNotFound"}, b"{}"
        if api:
            return 200, {"Content-Type": "application/json"}, self._listing(name, repository, api[2]).encode()
        return self._resolve(repository, urllib.parse.unquote(file[3]))

    def _listing(self, name, repository, kind):
        if kind == "revision":
            return json.dumps({"id": name, "modelId": name, "sha": repository.commit, "tags": [], "downloads": 0, "private": False,
                               "siblings": [{"rfilename": path} for path in repository.files]})
        entries = []
        for path, content in repository.files.items():
            entry = {"type": "file", "path": path, "size": len(content), "oid": git_sha1(content)}
            if repository.is_large(path):
                entry["lfs"] = {"oid": repository.etag(path), "size": len(content), "pointerSize": 130}
            entries.append(entry)
        return json.dumps(entries)

    def _resolve(self, repository, path):
        headers = {"X-Repo-Commit": repository.commit}
        if path not in repository.files:
            return 404, {**headers, "X-Error-Code": "EntryNotFound"}, b""
        etag = repository.etag(path)
        if not repository.is_large(path):
            return 200, {**headers, "ETag": '"%s"' % etag}, repository.files[path]
        return 302, {**headers, "X-Linked-ETag": '"%s"' % etag, "X-Linked-Size": str(len(repository.files[path])),
                     "Location": "%s/blobs/%s?signature=abc" % (self._address("cdn"), etag)}, b"Found. Redirecting"

    def _cdn(self, path):
        etag = path.rsplit("/", 1)[-1]
        for repository in self.repositories.values():
            for name, content in repository.files.items():
                if repository.etag(name) == etag:
                    return 200, {"ETag": '"another"', "Accept-Ranges": "bytes"}, content
        return 403, {}, b"expired"

    # ------------------------------------------------------------------------------------------- faults
    def stall(self, sent=0):
        """Sends that many bytes and no more, and does not end."""
        def act(handler, status, headers, body):
            if sent:
                start(handler, status, headers, len(body))
                handler.wfile.write(body[:sent])
                handler.wfile.flush()
            self.stopped.wait(60)
            handler.close_connection = True
        return act


def start(handler, status, headers, length):
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(length))
    handler.end_headers()


def send(handler, status, headers, body):
    start(handler, status, headers, len(body))
    if handler.command != "HEAD":
        handler.wfile.write(body)


def answer(status, headers=None, body=b""):
    """Another answer than the right one."""
    return lambda handler, *_: send(handler, status, headers or {}, body)


def cut(sent):
    """The connection breaks after so many bytes."""
    def act(handler, status, headers, body):
        start(handler, status, headers, len(body))
        handler.wfile.write(body[:sent])
        handler.wfile.flush()
        time.sleep(0.05)  # what was sent arrives before the reset
        handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True
    return act


def changed(change):
    """The right answer, but for what `change` makes of its status, headers and body."""
    return lambda handler, status, headers, body: send(handler, *change(status, headers, body))


def lying_length(length_of):
    """A Content-Length that is not the body's."""
    def act(handler, status, headers, body):
        start(handler, status, headers, length_of(len(body)))
        handler.wfile.write(body)
        handler.close_connection = True
    return act


def whole_file(hub):
    """As a server that knows no ranges."""
    def act(handler, status, headers, body):
        send(handler, *hub._cdn(urllib.parse.urlsplit(handler.path).path))
    return act
