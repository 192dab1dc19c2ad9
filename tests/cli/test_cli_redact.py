"""judge --redact: personal data reaches neither the judge nor the run nor the exports."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.cli.support import INSULT, Command, chat, meta, verdict, write_chats
from tests.support.endpoint import Endpoint, completion

pytest.importorskip("phonenumbers", reason="needs psysafe[redact]")
pytest.importorskip("faker", reason="needs psysafe[redact]")

PLANTED = ["Priya", "Ellison", "555-2671", "kim.q@example.org", "Maple", "62704", "4111 1111", "sad_kevin90", "536-22"]
TEXT = (
    "I'm Priya, my therapist, Margaret Ellison, is away. Call (415) 555-2671 or kim.q@example.org, "
    "1420 Maple Street, Springfield, IL 62704. Card 4111 1111 1111 1111, SSN 536-22-1234, insta @sad_kevin90."
)


def records() -> Path:
    first = chat(1, "Priya, call 988. Reply 1.", note=f"Priya wrote {TEXT}")
    first["messages"][0]["content"] = TEXT
    return write_chats("chats.jsonl", [first, chat(2)])


def everything_below(directory: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def test_nothing_personal_reaches_the_judge_the_run_or_an_export(psysafe: Command, endpoint: Endpoint) -> None:
    endpoint.handler = lambda body, attempt: completion(orjson.dumps(verdict(0)).decode())
    arguments = ["judge", records(), "-m", endpoint.model_string, "--run", "r", "--redact", *INSULT]
    result = psysafe(*arguments)
    assert result.code == 0
    assert result.err.splitlines()[-1].startswith(
        "redacted: 2 names, 1 e-mail address, 1 phone number, 1 address, 2 numbers"
    )
    assert result.err.splitlines()[-1].endswith("in 1 conversation")
    exports = [psysafe("export", "r", "--to", form).out for form in ("jsonl", "csv")]
    sent = " ".join(orjson.dumps(call.body).decode() for call in endpoint.everything if call.body)
    assert "[NAME 1], call 988" in sent
    stored = everything_below(Path("r"))
    for planted in PLANTED:
        assert planted not in sent
        assert planted not in result.out + result.err + "".join(exports)
        assert planted.encode() not in stored


def test_the_manifest_says_so_and_a_resume_without_it_is_refused(psysafe: Command, endpoint: Endpoint) -> None:
    endpoint.handler = lambda body, attempt: completion(orjson.dumps(verdict(0)).decode())
    arguments = ["judge", records(), "-m", endpoint.model_string, "--run", "r", *INSULT]
    assert psysafe(*arguments, "--redact").code == 0
    source = meta("r", "manifest")["source"]
    assert source["redacted"] is True
    assert set(source["redactor"]) == {"rules", "Faker", "phonenumbers"}
    calls = len(endpoint.calls)
    refused = psysafe(*arguments, "--resume")
    assert refused.code == 2
    assert "redacted: the run has True, asked for none" in refused.err
    again = psysafe(*arguments, "--redact", "--resume")
    assert again.code == 0
    assert len(endpoint.calls) == calls


def test_a_resume_with_it_of_a_run_without_it_is_refused(psysafe: Command, endpoint: Endpoint) -> None:
    endpoint.handler = lambda body, attempt: completion(orjson.dumps(verdict(0)).decode())
    arguments = ["judge", records(), "-m", endpoint.model_string, "--run", "r", *INSULT]
    assert psysafe(*arguments).code == 0
    refused = psysafe(*arguments, "--resume", "--redact")
    assert refused.code == 2
    assert "redacted: the run has none, asked for True" in refused.err
    assert "Nothing was found" not in refused.err
