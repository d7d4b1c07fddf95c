"""The page behind reverse proxies, as people set nginx and its like up: it opens, draws its maps and trains there."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import sidebar
from tests.browser.conftest import PROXIED, Site, serve
from tests.browser.pages import READINGS, open_page, rest

_OWN = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}
"""Headers that each connection has its own of."""


@dataclass(frozen=True, kw_only=True)
class Way:
    """How a proxy passes requests on.

    Attributes:
        prefix: path below which it serves the page.
        cut: it passes the rest of the path on, without the prefix.
        tls: browsers speak TLS with it.
        forwarded: it adds the headers ``X-Forwarded-*``.
        host: the header ``Host`` as it is passed on: ``kept``, ``upstream`` (nginx's default) or ``without port``.
    """

    prefix: str = ""
    cut: bool = True
    tls: bool = False
    forwarded: bool = False
    host: str = "kept"


class _Proxy(BaseHTTPRequestHandler):
    way: Way
    upstream: str
    server: ThreadingHTTPServer

    def do_GET(self) -> None:
        """Pass a request on, and the reply back as it comes."""
        way = self.way
        if not self.path.startswith(f"{way.prefix}/"):
            self.send_error(404)
            return
        connection = http.client.HTTPConnection(self.upstream, timeout=60)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path[len(way.prefix) :] if way.cut else self.path
        connection.request(self.command, path, body or None, self._headers())
        reply = connection.getresponse()
        self.send_response(reply.status)
        for name, value in reply.getheaders():
            if name.lower() not in _OWN:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while piece := reply.read1(65536):
            self.wfile.write(piece)
        connection.close()
        self.close_connection = True

    def do_POST(self) -> None:
        """Pass it on as well."""
        self.do_GET()

    def _headers(self) -> dict[str, str]:
        way, asked = self.way, self.headers["Host"]
        hosts = {"kept": asked, "upstream": self.upstream, "without port": asked.partition(":")[0]}
        more = {"X-Forwarded-Host": asked, "X-Forwarded-Proto": "https" if way.tls else "http"} if way.forwarded else {}
        kept = {name: value for name, value in self.headers.items() if name.lower() not in _OWN}
        return {**kept, **more, "Host": hosts[way.host]}

    def log_message(self, *_said: object) -> None:
        """Write nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_of: object) -> None:
        """Browsers end streams when they leave a page."""


@contextlib.contextmanager
def proxied(way: Way, upstream: str, folder: Path) -> Iterator[str]:
    """The address at which browsers see the page at ``upstream``; ``folder`` is for the certificate."""
    handler = type("Handler", (_Proxy,), {"way": way, "upstream": urlsplit(upstream).netloc})
    server = _Server(("127.0.0.1", 0), handler)
    if way.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate(folder))
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"{'https' if way.tls else 'http'}://{PROXIED}:{server.server_port}{way.prefix}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def certificate(folder: Path) -> Path:
    """A certificate that a server of this name signs itself, with its key, in a file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, PROXIED)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(PROXIED)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    written = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "proxy.pem"
    path.write_bytes(written + made.public_bytes(pem))
    return path


# ------------------------------------------------------------------------------------------------------- the page


@pytest.fixture
def visitor(browser: Browser) -> Iterator[BrowserContext]:
    """A profile that takes the proxies' certificates."""
    context = browser.new_context(ignore_https_errors=True)
    context.add_init_script(path=READINGS)
    yield context
    context.close()


@pytest.fixture(scope="module")
def sites(site: Site) -> Iterator[dict[str, Site]]:
    """A page that was told the proxy's name alone, and one that was told a path too, by that path."""
    with serve(site.root, site.finished, hosts=(PROXIED,), root_path="/lab/tools") as below:
        yield {"": site, "/lab/tools": below}


@pytest.mark.parametrize(
    ("told", "way"),
    [
        ("", Way(prefix="/lab/tools")),
        pytest.param("", Way(tls=True, host="upstream"), marks=pytest.mark.long),
        ("", Way(prefix="/lab/tools", tls=True, forwarded=True, host="without port")),
        pytest.param("/lab/tools", Way(prefix="/lab/tools"), marks=pytest.mark.long),
        ("/lab/tools", Way(prefix="/lab/tools", cut=False)),
    ],
    ids=["prefix cut", "TLS and another Host", "all at once", "told the prefix that is cut", "told the prefix"],
)
def test_the_page_opens_and_trains_by_the_browsers_address(
    visitor: BrowserContext, sites: dict[str, Site], tmp_path: Path, told: str, way: Way
) -> None:
    with proxied(way, sites[told].url, tmp_path) as address:
        behind = Site(url=address, root=sites[told].root, finished=sites[told].finished)
        with open_page(visitor, behind, behind.at(behind.finished)) as page:
            rest(page)
            assert page.locator(".rs-card").count()
            sidebar.train(page)
            sidebar.leave_queue(page)


def test_a_header_that_is_missing_is_named(visitor: BrowserContext, sites: dict[str, Site], tmp_path: Path) -> None:
    own = sites[""]
    with proxied(Way(host="upstream"), own.url, tmp_path) as address:
        said: list[str] = []
        page: Page = visitor.new_page()
        page.on("response", lambda reply: reply.status == 403 and said.append(reply.json()["error"]))
        page.goto(f"{address}/?run={own.finished.id}")
        button = page.locator(sidebar.FORM).get_by_role("button", name="Train", exact=True)
        with page.expect_response(lambda reply: reply.status == 403):
            button.click()
        expect(page.locator("body")).to_contain_text("proxy_set_header Host $http_host")
        assert all(f"--allow-host {address.removeprefix('http://')}." in each for each in said)
