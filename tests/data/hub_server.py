"""A small stand-in for the Hub's server: enough of its addresses for ``datasets`` to load a set over real HTTP.

Run as a program it serves the folders below its first argument (``<owner>/<name>/...``) and prints its port.
``gated/*`` answers that access must be asked for; everything else that is not there, that the repository is unknown.
"""

from __future__ import annotations

import hashlib
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

SHA = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """Serves ``root``."""

    root = Path()
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        """File facts."""
        self.do_GET()

    def do_POST(self) -> None:
        """Facts about named paths."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        wanted = parse_qs(body).get("paths") or json.loads(body or "{}").get("paths", [])
        repo = self._repo(unquote(urlsplit(self.path).path).split("/")[3:])
        self._json([fact for fact in self._facts(repo) if fact["path"] in wanted] if repo else [])

    def do_GET(self) -> None:
        """Repositories under /api/datasets, files under /datasets."""
        parts = unquote(urlsplit(self.path).path).strip("/").split("/")
        api = parts[0] == "api"
        parts = parts[2:] if api else parts[1:]
        repo = self._repo(parts)
        if repo is None:
            code = "GatedRepo" if parts[:1] == ["gated"] else "RepoNotFound"
            self._send(401, b"{}", {"X-Error-Code": code, "X-Error-Message": "no"})
        elif not api and parts[2] == "resolve":
            self._file(repo / "/".join(parts[4:]))
        elif api and len(parts) > 2 and parts[2] == "tree":
            under = repo / "/".join(parts[4:])
            deep = "true" in parse_qs(urlsplit(self.path).query).get("recursive", ["false"])[0].lower()
            self._json([fact for fact in self._facts(repo) if _below(repo / str(fact["path"]), under, deep)])
        else:
            siblings = [{"rfilename": fact["path"], "size": fact["size"]} for fact in self._facts(repo)]
            self._json({"id": "/".join(parts[:2]), "sha": SHA, "siblings": siblings, "private": False, "tags": []})

    def _repo(self, parts: list[str]) -> Path | None:
        folder = self.root / "/".join(parts[:2])
        return folder if len(parts) > 1 and parts[0] != "gated" and folder.is_dir() else None

    def _facts(self, repo: Path) -> list[dict[str, object]]:
        return [
            {
                "type": "file" if path.is_file() else "directory",
                "oid": hashlib.sha1(path.read_bytes() if path.is_file() else b"").hexdigest(),
                "size": path.stat().st_size if path.is_file() else 0,
                "path": path.relative_to(repo).as_posix(),
            }
            for path in sorted(repo.rglob("*"))
        ]

    def _file(self, path: Path) -> None:
        if not path.is_file():
            self._send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": SHA})
            return
        body = path.read_bytes()
        self._send(200, body, {"ETag": f'"{hashlib.sha1(body).hexdigest()}"', "X-Repo-Commit": SHA})

    def _json(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _below(path: Path, folder: Path, deep: bool) -> bool:
    return folder in path.parents if deep else path.parent == folder


def serve(root: Path) -> ThreadingHTTPServer:
    """A server on a free port of this machine, not yet running."""
    return ThreadingHTTPServer(("127.0.0.1", 0), type("RootedHub", (Hub,), {"root": root}))


if __name__ == "__main__":
    server = serve(Path(sys.argv[1]))
    print(server.server_port, flush=True)
    server.serve_forever()
