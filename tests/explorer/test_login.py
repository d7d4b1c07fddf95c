"""Signing in with an account of the Hub, or an imitation of its provider: whose a run is then, and what others get."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import gradio.http_server
import gradio.oauth
import httpx
import pytest
from itsdangerous import TimestampSigner
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.requests import Request

from explorer.server import login as logins
from explorer.server.visitors import LOGIN, Caller, digest, owner_of, owns
from explorer.settings import Limits
from tests.explorer.served_page import GRADIO_WARNINGS, PREFIX, Served, served
from tests.made_up_plan import make_plan, sweep
from tests.waiting import PATIENCE
from trainers.publishing import upload as pushing
from trainers.publishing.upload import PushTarget

pytestmark = GRADIO_WARNINGS
SECRET, SCOPES = "a secret of the space", "openid profile contribute-repos"
SPACE = "somebody-rankscope.hf.space"


@contextmanager
def on_a_space(provider: str, root: Path) -> Iterator[Served]:
    """The page of a Space whose visitors sign in at a provider."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"SYSTEM": "spaces", "SPACE_ID": "somebody/rankscope", "SPACE_HOST": SPACE}.items():
            patch.setenv(name, value)
        given = {"OAUTH_CLIENT_ID": "id", "OAUTH_CLIENT_SECRET": SECRET, "OAUTH_SCOPES": SCOPES}
        for name, value in {**given, "OPENID_PROVIDER_URL": provider}.items():
            patch.setattr(gradio.oauth, name, value)
        patch.setattr(gradio.http_server, "get_space", lambda: None)  # it would watch the files of the tests
        with served(root, public=True, on_space=True, login=True, limits=Limits(hourly=100)) as page:
            yield page


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with on_a_space("http://127.0.0.1:9", tmp_path_factory.mktemp("login")) as page:
        yield page


def cookie(number: str, name: str = "somebody", lasts: float = 600.0) -> dict[str, str]:
    """What a browser sends that has signed in, as gradio's session signs it."""
    about = {"sub": number, "preferred_username": name}
    info = {"access_token": f"hf_{number}", "expires_at": int(time.time() + lasts), "userinfo": about}
    key = hashlib.sha256(f"{SECRET}-v4".encode()).hexdigest()
    content = base64.b64encode(json.dumps({"oauth_info": info}).encode())
    return {"cookie": f"session={TimestampSigner(key).sign(content).decode()}"}


def mine(page: Served, run: str, token: str = "", **headers: str) -> bool:
    """Whether the tab Runs lets a visitor name a run."""
    return bool(page.event("look", run, token, **headers)[-1]["visible"])


def train(page: Served, token: str = "", **headers: str) -> str:
    """The id of a run that the form starts."""
    described = {"kind": "metric_learning", "settings": {}}
    return str(page.post(f"{PREFIX}/form/train", described, **shown(token), **headers).json()["id"])


def stop(page: Served, run: str, token: str = "", **headers: str) -> str:
    """What comes of the button Stop."""
    asked = {"id": run, "action": "stop"}
    reply = page.post(f"{PREFIX}/training/act", asked, **shown(token), **headers).json()
    return str(reply.get("problem", "stopped"))


def shown(token: str) -> dict[str, str]:
    return {"x-rankscope-token": token} if token else {}


def test_the_run_of_a_login_is_theirs_in_the_frame_and_outside_it(space: Served) -> None:
    run = train(space, "of the frame", **cookie("1"))
    assert mine(space, run, "of the space's own address", **cookie("1")) is True, "another token, the same account"
    assert mine(space, run, "of the frame") is False, "signed out on a shared computer"
    assert mine(space, run, "of the frame", **cookie("2")) is False, "whoever signs in there next"
    for headers in ({}, cookie("2"), cookie("1", lasts=-5)):
        assert "Only the visitor" in stop(space, run, "of the frame", **headers)
    assert stop(space, run, "", **cookie("1")) == "stopped"
    assert (space.explorer.library.root / run / "owner").read_text() == f"login {digest('1')}"
    files = [path.read_bytes() for path in space.explorer.library.root.rglob("*") if path.is_file()]
    assert files and not any(b"hf_1" in content for content in files), "its token is stored nowhere"


def test_what_was_started_before_signing_in_stays_with_its_token(space: Served) -> None:
    run = train(space, "mine")
    assert mine(space, run, "mine", **cookie("3")) is True and mine(space, run, "theirs", **cookie("3")) is False
    assert mine(space, run, **cookie("3")) is False, "a login takes over no run"
    assert stop(space, run, "mine", **cookie("3")) == "stopped"


@pytest.mark.parametrize("header", [{"sec-fetch-site": "cross-site"}, {"origin": "https://elsewhere.example"}])
def test_a_login_counts_for_nothing_in_what_another_site_sends(space: Served, header: dict[str, str]) -> None:
    run = train(space, "", **cookie("4"))
    assert mine(space, run, **cookie("4"), **header) is False
    assert "Only the visitor" in stop(space, run, "", **cookie("4"), **header)
    assert stop(space, run, "", **cookie("4")) == "stopped"


def test_the_page_says_who_has_signed_in(space: Served) -> None:
    told = space.client.get(f"{PREFIX}/login").json()
    assert told == {"offered": True, "name": None, "address": f"https://{SPACE}"}
    about = space.client.get(f"{PREFIX}/login", headers=cookie("1", "ada")).json()
    assert about["name"] == "ada" and "hf_1" not in json.dumps(about)
    forged = {"cookie": cookie("1")["cookie"][:-2] + "xx"}
    assert space.client.get(f"{PREFIX}/login", headers=forged).json()["name"] is None


def test_the_token_for_the_hub_is_that_of_the_request() -> None:
    login = logins.Login(id="1", name="ada", token="hf_1")
    assert logins.hub_token(Request({"type": "http", LOGIN: login})) == "hf_1" and "hf_1" not in repr(login)
    assert logins.hub_token(Request({"type": "http"})) == logins.hub_token(None) == ""


def test_no_made_up_token_counts_as_a_login() -> None:
    owner = owner_of("", Caller(login="1"))
    for token in ("1", "login 1", owner, f"login {digest('1')}", digest("1")):
        assert not owns(owner, token), token
    assert owns(owner, "", Caller(login="1")) and not owns(owner, "", Caller(login="2"))
    assert not owns("", "", Caller()) and not owns("", "", Caller(login="1")), "a run without an owner is nobody's"


def test_a_visitor_pushes_with_their_own_token_and_never_with_that_of_the_server(
    space: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_server")
    plan = make_plan(space.explorer.library.root, sweep("smooth_ap"))
    asked = {"run": plan.id, "to": "ada/seeds", "private": True}
    with monkeypatch.context() as patched:
        patched.setattr(pushing, "write_comparison", lambda *_: pytest.fail("files are made for nobody"))
        assert "sign in with Hugging Face on this page" in pushed(space, asked)["error"]
    assert space.client.get(f"{PREFIX}/hub/about").json()["can"] is False
    targets: list[PushTarget] = []

    def upload(files: Mapping[str, Path], target: PushTarget, **_: str) -> str:
        targets.append(target)
        return f"https://huggingface.co/datasets/{target.name}/commit/{len(files)}"

    monkeypatch.setattr(pushing, "upload", upload)
    monkeypatch.setattr("trainers.publishing.upload.online", lambda: True)
    about = space.client.get(f"{PREFIX}/hub/about", headers=cookie("88", "ada")).json()
    assert (about["can"], about["name"]) == (True, "ada")
    done = pushed(space, asked, **cookie("88", "ada"))
    assert done["result"] == {"url": "https://huggingface.co/datasets/ada/seeds/commit/4"}
    assert targets == [PushTarget(name="ada/seeds", private=True, token="hf_88")] and "hf_88" not in f"{done} {targets}"
    written = [path.read_bytes() for path in space.explorer.library.root.rglob("*") if path.is_file()]
    assert written and not any(b"hf_88" in content for content in written)


def pushed(page: Served, asked: dict[str, object], **headers: str) -> dict[str, Any]:
    """The job of a push, once it has ended."""
    job = page.post(f"{PREFIX}/hub/push", asked, **headers).json()["job"]
    page.explorer.hub.jobs.get(job).done.wait(PATIENCE)
    return dict(page.client.get(f"{PREFIX}/hub/job/{job}").json())


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


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def signing(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with on_a_space(provider.url, tmp_path_factory.mktemp("signing")) as page:
        yield page


def sign_in(signing: Served, provider: Provider) -> tuple[httpx.Response, str]:
    """What the visitor gets who comes back from the provider, and the cookie that they had by then."""
    sent = signing.client.get("/login/huggingface", params={"_target_url": "/?run=1"})
    kept = sent.headers["set-cookie"].partition(";")[0]
    back = httpx.get(sent.headers["location"]).headers["location"]
    assert back.startswith(f"https://{SPACE}/login/callback?"), "the provider knows this address alone"
    return signing.client.get(back.removeprefix(f"https://{SPACE}"), headers={"cookie": kept}), kept


def test_a_visitor_signs_in_comes_back_and_signs_out(signing: Served, provider: Provider) -> None:
    reply, _ = sign_in(signing, provider)
    assert (reply.status_code, reply.headers["location"]) == (307, "/?run=1")
    assert provider.asked[0]["scope"] == SCOPES and provider.asked[0]["client_id"] == "id"
    session = reply.headers["set-cookie"]
    assert "httponly" in session.lower() and "secure" in session.lower()
    cookie = {"cookie": session.partition(";")[0]}
    assert signing.client.get(f"{PREFIX}/login", headers=cookie).json()["name"] == "ada"
    out = signing.client.get("/logout", params={"_target_url": "/"}, headers=cookie)
    left = {"cookie": out.headers["set-cookie"].partition(";")[0]}
    assert signing.client.get(f"{PREFIX}/login", headers=left).json()["name"] is None


def test_who_does_not_agree_comes_back_to_the_page_as_nobody(
    signing: Served, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "denies", True)
    reply, kept = sign_in(signing, provider)
    assert (reply.status_code, reply.headers["location"]) == (307, "/?run=1&login=failed")
    assert signing.client.get(f"{PREFIX}/login", headers={"cookie": kept}).json()["name"] is None


def test_a_provider_that_does_not_answer_leads_back_to_the_page(space: Served) -> None:
    reply = space.client.get("/login/huggingface", params={"_target_url": "/"})
    assert (reply.status_code, reply.headers["location"]) == (307, "/?login=failed")
