"""psysafe doctor, models, dimensions, taxonomy and bench: what there is, and whether it works."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from psysafe.judging.cases import load_cases
from psysafe.taxonomy import load_dimensions
from tests.cli.support import Command, chats, control_characters, script, verdict
from tests.support.endpoint import Endpoint, Fault, completion, error, refuses

OURS = (files("psysafe.taxonomy") / "data" / "insulting_behaviour.yaml").read_text()


# ---- doctor


def test_the_doctor_looks_at_the_installation(psysafe: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-4f9c2e7d81")
    result = psysafe("doctor")
    assert result.code == 0
    assert result.err == ""
    for start in ("ok     psysafe: ", "ok     dimensions: privacy_violation, ", "ok     runs folder: "):
        assert start in result.out
    assert "keys in the environment: OPENAI_API_KEY\n" in result.out
    assert "planted" not in result.out


def test_a_good_endpoint_is_found_good_with_what_it_can_do(psysafe: Command, endpoint: Endpoint) -> None:
    result = psysafe("doctor", "-m", endpoint.model_string)
    assert result.code == 0
    name = re.escape(endpoint.model_string)
    assert re.search(rf"ok +{name}: {endpoint.host} answered in \d+\.\d\d s as judge-served\n", result.out)
    assert re.search(rf"ok +{name} structured output: json_schema\n", result.out)
    assert re.search(rf"ok +{name} usage: reported\n", result.out)
    assert re.search(rf"note +{name} price: unknown: give --price IN,OUT to see costs\n", result.out)
    assert "leave this machine" not in result.out


def test_no_conversation_is_sent_by_the_doctor(psysafe: Command, endpoint: Endpoint) -> None:
    psysafe("doctor", "-m", endpoint.model_string)
    assert [call.body["messages"][-1]["content"] for call in endpoint.calls] == ["Answer with the one word: ready"]
    assert len(endpoint.probes) == 1


def test_what_an_endpoint_lacks_is_noted(psysafe: Command, endpoint: Endpoint) -> None:
    endpoint.script_probe = True

    def handler(body: dict[str, Any], attempt: int) -> Any:
        return refuses("response_format") if "response_format" in body else completion("ready", usage=None)

    endpoint.handler = handler
    result = psysafe("doctor", "-m", endpoint.model_string)
    assert result.code == 0
    assert "structured output: text" in result.out
    assert "usage: not reported: cost will be unknown" in result.out


def test_that_texts_would_leave_this_machine_is_noted(psysafe: Command, endpoint: Endpoint) -> None:
    result = psysafe("doctor", "-m", f"http://0.0.0.0:{endpoint.port}/v1#judge")
    assert f"conversations judged with it leave this machine, to 0.0.0.0:{endpoint.port}" in result.out


@pytest.mark.parametrize(
    "play, problem",
    [
        (error(401, "wrong key"), r"the endpoint refused the key \(401\): wrong key"),
        (error(404, "no judge"), r"no such model or path \(404\): no judge"),
        (Fault.DISCONNECT, r"the connection to 127\.0\.0\.1:\d+ broke"),
        (Fault.HANG, r"127\.0\.0\.1:\d+ gave no complete answer within 0\.\d s"),
    ],
)
def test_an_endpoint_that_does_not_work_is_named_with_the_reason(
    psysafe: Command, endpoint: Endpoint, play: Any, problem: str
) -> None:
    endpoint.script_probe = True
    endpoint.handler = lambda body, attempt: play
    result = psysafe("doctor", "-m", endpoint.model_string, "--timeout", "0.2")
    assert result.code == 2
    (line,) = [line for line in result.out.splitlines() if line.startswith("FAILED")]
    assert re.search(problem, line)


def test_a_dead_endpoint_is_named(psysafe: Command) -> None:
    result = psysafe("doctor", "-m", "http://127.0.0.1:9/v1#m")
    assert result.code == 2
    assert "FAILED http://127.0.0.1:9/v1#m: cannot reach 127.0.0.1:9: " in result.out


def test_one_bad_model_does_not_hide_the_others(psysafe: Command, endpoint: Endpoint) -> None:
    models = ["-m", "gpt-4", "-m", "openai/gpt-4o", "-m", endpoint.model_string, "-m", script("judge.yaml")]
    result = psysafe("doctor", *models, "--json")
    assert result.code == 2
    assert result.json["ok"] is False
    states = {check["what"]: check["state"] for check in result.json["checks"]}
    assert (states["gpt-4"], states["openai/gpt-4o"]) == ("failed", "failed")
    assert states[endpoint.model_string] == "ok"
    assert states["scripted:judge.yaml"] == "ok"


def test_the_object_of_the_doctor_has_the_same_checks(psysafe: Command, endpoint: Endpoint) -> None:
    result = psysafe("doctor", "-m", endpoint.model_string, "--json")
    assert result.json["ok"] is True
    assert {tuple(check) for check in result.json["checks"]} == {("state", "what", "found")}
    assert {check["state"] for check in result.json["checks"]} <= {"ok", "note", "failed"}


# ---- models


def test_the_forms_of_a_model_are_listed_with_whether_they_are_ready(
    psysafe: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-4f9c2e7d81")
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://127.0.0.1:5/v1")
    result = psysafe("models")
    rows = {line.split()[0]: line.rstrip() for line in result.out.splitlines()}
    assert rows["openai/MODEL"].endswith("key is set")
    assert rows["groq/MODEL"].endswith("key is not set")
    assert "http://127.0.0.1:5/v1" in rows["ollama/MODEL"]
    assert "scripted:FILE.yaml" in rows
    assert "planted" not in result.out
    ready = {row["form"]: row["ready"] for row in psysafe("models", "--json").json}
    assert (ready["openai/MODEL"], ready["groq/MODEL"], ready["ollama/MODEL"]) == (True, False, True)


@pytest.mark.parametrize("there", [True, False])
def test_of_inspect_it_is_said_whether_it_is_installed_since_its_keys_are_its_own(
    psysafe: Command, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    monkeypatch.setattr("psysafe.cli.models.find_spec", lambda name: object() if there else None)
    (line,) = [line.rstrip() for line in psysafe("models").out.splitlines() if line.startswith("inspect:")]
    assert line.endswith("  installed" if there else "  not installed")


# ---- dimensions


def test_the_dimensions_are_listed(psysafe: Command) -> None:
    result = psysafe("dimensions")
    assert result.code == 0
    for dimension in load_dimensions().values():
        assert re.search(rf"^{dimension.id} +{dimension.group} +0-2", result.out, re.M)
    listed = psysafe("dimensions", "--json").json
    assert [row["id"] for row in listed] == list(load_dimensions())
    assert set(listed[0]) == {"id", "name", "group", "question"}


def test_a_rubric_is_shown_with_a_warning(psysafe: Command) -> None:
    result = psysafe("dimensions", "insulting_behaviour")
    assert result.out.startswith("CONTENT WARNING: rubrics show examples of harm.")
    assert "# Dimension: " in result.out
    assert "Near misses" in result.out
    whole = psysafe("dimensions", "insulting_behaviour", "--json").json
    assert whole["scale"] == {"low": 0, "high": 2, "harmful_from": 1}


def test_an_unknown_dimension_is_named(psysafe: Command) -> None:
    result = psysafe("dimensions", "sarcasm")
    assert result.code == 2
    assert "unknown dimension 'sarcasm'; there are: privacy_violation" in result.complaint


# ---- taxonomy check


def mine(name: str, content: str) -> Path:
    Path("mine").mkdir(exist_ok=True)
    (Path("mine") / name).write_text(content)
    return Path("mine")


def test_a_good_folder_is_found_good(psysafe: Command) -> None:
    folder = mine("my_harm.yaml", OURS.replace("id: insulting_behaviour", "id: my_harm"))
    mine("insulting_behaviour.yml", OURS)
    mine("notes.txt", "not a dimension")
    result = psysafe("taxonomy", "check", folder)
    assert result.code == 0
    assert re.search(r"^my_harm: good, [\d,]+ words, hash [0-9a-f]{12}$", result.out, re.M)
    assert "2 dimensions; use them with --taxonomy mine" in result.out


def test_every_problem_of_every_file_is_named_with_file_line_and_place(psysafe: Command) -> None:
    folder = mine(
        "my_harm.yaml", OURS.replace("id: insulting_behaviour", "id: My Harm").replace("high: 2", "high: two")
    )
    mine("no_yaml.yaml", "id: [")
    mine("other_name.yaml", OURS)
    mine("misspelt.yaml", OURS.replace("id: insulting_behaviour", "id: misspelt").replace("question:", "qestion:"))
    (folder / "latin.yaml").write_bytes("id: schön".encode("latin-1"))
    mine("empty.yaml", "")
    result = psysafe("taxonomy", "check", folder)
    assert result.code == 2
    assert result.out == ""
    problems = result.err.removeprefix("psysafe: ").splitlines()
    starts = [
        "mine/empty.yaml: the file is empty",
        "mine/latin.yaml, line 1: the file is not saved as UTF-8",
        "mine/misspelt.yaml, line 19: unknown field 'qestion'; rename it to 'question', which is missing",
        "mine/my_harm.yaml, line 15: id: found 'My Harm'; expected small letters",
        "mine/my_harm.yaml, line 21: scale, high: found 'two'; expected a whole number",
        "mine/no_yaml.yaml, line 1, column 5: the bracket [",
        "mine/other_name.yaml, line 15: id: the file is named other_name.yaml, but its id is insulting_behaviour",
    ]
    assert [line[: len(start)] for line, start in zip(problems, starts, strict=True)] == starts


def test_what_a_file_holds_cannot_drive_the_terminal_when_it_is_complained_of(psysafe: Command) -> None:
    folder = mine("my_harm.yaml", OURS.replace("id: insulting_behaviour", 'id: "\\e[31m"\n"\\u202E": 1'))
    result = psysafe("taxonomy", "check", folder)
    assert result.code == 2
    assert "unknown field" in result.err
    assert control_characters(result.out + result.err) == []


def test_the_command_that_comes_next_can_be_pasted_when_the_folder_has_a_space(psysafe: Command) -> None:
    psysafe("taxonomy", "copy", "insulting_behaviour", "my folder")
    assert "use them with --taxonomy 'my folder'" in psysafe("taxonomy", "check", "my folder").out


@pytest.mark.parametrize("name, problem", [("none", "none: not a folder"), ("hollow", "hollow: holds no .yaml file")])
def test_a_folder_that_holds_none_is_refused(psysafe: Command, name: str, problem: str) -> None:
    Path("hollow").mkdir()
    result = psysafe("taxonomy", "check", name)
    assert result.code == 2
    assert problem in result.complaint


# ---- taxonomy copy


def test_a_dimension_is_copied_and_what_comes_next_is_said_and_works(psysafe: Command) -> None:
    result = psysafe("taxonomy", "copy", "insulting_behaviour", "mine", "--as", "my_harm")
    assert result.code == 0
    assert result.err == ""
    assert Path("mine/my_harm.yaml").read_text() == OURS.replace("id: insulting_behaviour", "id: my_harm")
    first, _, edit, check, judge = result.out.splitlines()
    assert first.startswith("mine/my_harm.yaml: a copy of insulting_behaviour")
    assert "it stands beside ours" in first
    assert "Edit it in a text editor" in edit
    assert check.endswith("psysafe taxonomy check mine")
    assert judge.endswith("psysafe judge CHATS --model MODEL --taxonomy mine --dimensions my_harm")
    assert psysafe(*check.split()[2:]).out.startswith("my_harm: good")
    command = judge.replace("CHATS", str(chats(1))).replace("MODEL", script("judge.yaml")).split()
    assert list(psysafe(*command[2:], "--json").json["dimensions"]) == ["my_harm"]


def test_a_copy_that_keeps_its_id_is_said_to_take_the_place_of_ours(psysafe: Command) -> None:
    result = psysafe("taxonomy", "copy", "insulting_behaviour", "mine")
    assert "it takes the place of our insulting_behaviour" in result.out
    assert Path("mine/insulting_behaviour.yaml").read_text() == OURS


def test_a_copy_never_overwrites(psysafe: Command) -> None:
    mine("my_harm.yaml", "the work of a week")
    result = psysafe("taxonomy", "copy", "insulting_behaviour", "mine", "--as", "my_harm")
    assert result.code == 2
    assert result.complaint.startswith("mine/my_harm.yaml is there already and is not overwritten")
    assert Path("mine/my_harm.yaml").read_text() == "the work of a week"


def test_only_what_comes_with_psysafe_can_be_copied(psysafe: Command) -> None:
    result = psysafe("taxonomy", "copy", "sarcasm", "mine")
    assert result.code == 2
    assert "no dimension 'sarcasm' comes with psysafe; expected a dimension (privacy_violation, " in result.complaint
    assert not Path("mine").exists()


# ---- bench cases


def test_misses_are_shown_and_are_no_failure(psysafe: Command) -> None:
    total = len(load_cases())
    result = psysafe("bench", "cases", "-m", script("lenient.yaml"))
    assert result.code == 0
    first, *misses = result.out.splitlines()
    found = re.fullmatch(rf"scripted:lenient single: (\d+) right, (\d+) missed, 0 unscored of {total} cases", first)
    assert found
    right, missed = int(found[1]), int(found[2])
    assert right + missed == total
    assert right > 0
    assert len([line for line in misses if re.match(r"  \S+ \(\w+\): level 0, ", line)]) <= missed
    assert missed > 0


def test_a_judge_that_never_answers_has_all_cases_unscored(psysafe: Command) -> None:
    total = len(load_cases())
    result = psysafe("bench", "cases", "-m", script("silent.yaml", {"fault": "empty"}), "--json")
    assert result.code == 0
    (row,) = result.json["results"]
    # replies that failed are not the judge's to score
    assert row["unscored"] + row["right"] + row["missed"] == total
    assert row["unscored"] >= total - 2
    assert {miss["problem"] for miss in row["misses"]} >= {"unscored: judge_empty"}


def test_mechanisms_are_compared_case_by_case(psysafe: Command) -> None:
    rules = [
        {"when": {"prompt": "Another evaluator has scored"}, "reply": verdict(2)},
        {"reply": verdict(0)},
    ]
    arguments = ["-m", script("judge.yaml", *rules), "--mechanism", "single", "--mechanism", "dual:weights=0,1"]
    result = psysafe("bench", "cases", *arguments, "--json")
    assert [row["mechanism"] for row in result.json["results"]] == ["single", "dual:weights=0.0,1.0"]
    (pair,) = result.json["differences"]
    assert len(pair["differ"]) > len(load_cases()) / 2
    assert "differ on" in psysafe("bench", "cases", *arguments).out


def test_a_bench_without_a_working_model_is_a_usage_error(psysafe: Command, endpoint: Endpoint) -> None:
    endpoint.script_probe = True
    endpoint.handler = lambda body, attempt: error(401, "wrong key")
    result = psysafe("bench", "cases", "-m", endpoint.model_string)
    assert result.code == 2
    assert "the endpoint refused the key (401)" in result.complaint
