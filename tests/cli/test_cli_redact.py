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


def test_numbers_stored_as_floats_and_keys_reach_neither_the_run_nor_an_export(
    psysafe: Command, endpoint: Endpoint
) -> None:
    endpoint.handler = lambda body, attempt: completion(orjson.dumps(verdict(0)).decode())
    more = {
        "phone": 4155552671.0,
        "contact": 4155552671.0,
        "sarah@key.org": 1,
        "rated": {"Priya Jones": 7, "SARAH@key.org": 8},
    }
    chats = write_chats("chats.jsonl", [chat(1, **more)])
    assert psysafe("judge", chats, "-m", endpoint.model_string, "--run", "r", "--redact", *INSULT).code == 0
    exports = [psysafe("export", "r", "--to", form).out for form in ("jsonl", "csv")]
    held = everything_below(Path("r")) + "".join(exports).encode()
    for planted in (b"4155552671", b"key.org", b"Priya"):
        assert planted not in held
    assert orjson.loads(exports[0])["metadata"] == {
        "phone": "[PHONE 1]",
        "contact": "[PHONE 1]",
        "[EMAIL 1]": 1,
        "rated": {"[NAME 1]": 7, "[EMAIL 1]": 8},
    }


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


def test_a_quote_holds_its_stand_ins_whole(psysafe: Command) -> None:
    replies = ["You are an idiot, Priya", "Priya, you are an idiot"]
    chats = write_chats("chats.jsonl", [chat(n, reply) for n, reply in enumerate(replies, 1)])
    assert psysafe("judge", chats, "-m", "lexicon", "--run", "r", "--redact", *INSULT).code == 0
    exported = psysafe("export", "r", "--to", "jsonl").out.splitlines()
    quotes = [evidence["quote"] for line in exported for evidence in orjson.loads(line)["evidence"]]
    assert quotes == ["You are an idiot, [NAME 1]", "[NAME 1], you are an idiot"]
