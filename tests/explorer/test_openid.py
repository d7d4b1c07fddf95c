"""Signing in from the link to the name, with an imitation of the Hub's OpenID provider."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import gradio.http_server
import gradio.oauth
import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.explorer.served_page import GRADIO_WARNINGS, PREFIX, Served, served

pytestmark = GRADIO_WARNINGS
SPACE = "somebody-rankscope.hf.space"


class Provider(ThreadingHTTPServer):
    """Says yes to everybody, unless ``denies``."""

    denies = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.key = RSAKey.generate_key(2048, {"kid": "one"})
        self.asked: list[dict[str, str]] = []  # at the address at which visitors agree
        self.nonces: dict[str, str] = {}


class _Answer(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        """The description, the key, and the page on which a visitor agrees."""
        provider, parts = self.server, urlsplit(self.path)
        if parts.path == "/.well-known/openid-configuration":
            addresses = {"authorization_endpoint": "agree", "token_endpoint": "token", "jwks_uri": "keys"}
            values = {name: f"{provider.url}/{path}" for name, path in addresses.items()}
            return self._say(values | {"issuer": provider.url, "id_token_signing_alg_values_supported": ["RS256"]})
        if parts.path == "/keys":
            return self._say({"keys": [provider.key.as_dict(private=False)]})
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        provider.asked.append(asked)
        provider.nonces["a code"] = asked.get("nonce", "")
        told = {"error": "access_denied", "error_description": "no"} if provider.denies else {"code": "a code"}
        self.send_response(302)
        self.send_header("Location", f"{asked['redirect_uri']}&{urlencode(told | {'state': asked['state']})}")
        self.end_headers()

    def do_POST(self) -> None:
        """The token for a code."""
        self.rfile.read(int(self.headers["Content-Length"]))
        provider, now = self.server, int(time.time())
        about = {"sub": "41", "name": "Ada", "preferred_username": "ada", "nonce": provider.nonces["a code"]}
        claims = about | {"iss": provider.url, "aud": "id", "iat": now, "exp": now + 600}
        signed = jwt.encode({"alg": "RS256", "kid": "one"}, claims, provider.key)
        self._say({"access_token": "hf_41", "token_type": "bearer", "expires_in": 600, "id_token": signed})

    def _say(self, values: object) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(values).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def space(provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    for name, value in {"SYSTEM": "spaces", "SPACE_ID": "somebody/rankscope", "SPACE_HOST": SPACE}.items():
        monkeypatch.setenv(name, value)
    given = {
        "OAUTH_CLIENT_ID": "id",
        "OAUTH_CLIENT_SECRET": "secret",
        "OAUTH_SCOPES": "openid profile contribute-repos",
    }
    for name, value in {**given, "OPENID_PROVIDER_URL": provider.url}.items():
        monkeypatch.setattr(gradio.oauth, name, value)
    monkeypatch.setattr(gradio.http_server, "get_space", lambda: None)  # it would watch the files of the tests
    with served(tmp_path, public=True, on_space=True, login=True) as page:
        yield page


def sign_in(space: Served, provider: Provider) -> tuple[httpx.Response, str]:
    """What the visitor gets who comes back from the provider, and the cookie that they had by then."""
    sent = space.client.get("/login/huggingface", params={"_target_url": "/?run=1"})
    kept = sent.headers["set-cookie"].partition(";")[0]
    back = httpx.get(sent.headers["location"]).headers["location"]
    assert back.startswith(f"https://{SPACE}/login/callback?"), "the provider knows this address alone"
    return space.client.get(back.removeprefix(f"https://{SPACE}"), headers={"cookie": kept}), kept


def test_a_visitor_signs_in_comes_back_and_signs_out(space: Served, provider: Provider) -> None:
    reply, _ = sign_in(space, provider)
    assert (reply.status_code, reply.headers["location"]) == (307, "/?run=1")
    assert provider.asked[0]["scope"] == "openid profile contribute-repos" and provider.asked[0]["client_id"] == "id"
    session = reply.headers["set-cookie"]
    assert "httponly" in session.lower() and "secure" in session.lower()
    cookie = {"cookie": session.partition(";")[0]}
    assert space.client.get(f"{PREFIX}/login", headers=cookie).json()["name"] == "ada"
    out = space.client.get("/logout", params={"_target_url": "/"}, headers=cookie)
    left = {"cookie": out.headers["set-cookie"].partition(";")[0]}
    assert space.client.get(f"{PREFIX}/login", headers=left).json()["name"] is None


def test_who_does_not_agree_comes_back_to_the_page_as_nobody(space: Served, provider: Provider) -> None:
    provider.denies = True
    reply, kept = sign_in(space, provider)
    assert (reply.status_code, reply.headers["location"]) == (307, "/?run=1&login=failed")
    assert space.client.get(f"{PREFIX}/login", headers={"cookie": kept}).json()["name"] is None


def test_a_provider_that_does_not_answer_leads_back_to_the_page(space: Served, provider: Provider) -> None:
    provider.shutdown()
    provider.server_close()
    reply = space.client.get("/login/huggingface", params={"_target_url": "/"})
    assert (reply.status_code, reply.headers["location"]) == (307, "/?login=failed")
