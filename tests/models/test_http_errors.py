"""What a status and its body mean, in any of the shapes that servers give it."""

import email.utils
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.models import FATAL_KINDS, ErrorKind, ModelError
from psysafe.models.http_errors import error_from_response, scrub

KEY = "sk-planted-0123456789abcdef"


def error_of(status: int, body: Any = "", headers: dict[str, str] | None = None, key: str | None = None) -> ModelError:
    data = body.encode() if isinstance(body, str) else body if isinstance(body, bytes) else json.dumps(body).encode()
    failure = error_from_response(status, headers or {}, data, key, "openai/m")
    assert str(failure).startswith("openai/m: ")
    assert "\n" not in str(failure)
    assert failure.status == status
    return failure


@pytest.mark.parametrize(
    "status,kind,retryable",
    [
        (400, "bad_request", False),
        (401, "auth", False),
        (402, "auth", False),
        (403, "auth", False),
        (404, "not_found", False),
        (405, "bad_request", False),
        (408, "endpoint_error", True),
        (409, "endpoint_error", True),
        (413, "bad_request", False),
        (422, "bad_request", False),
        (425, "endpoint_error", True),
        (429, "rate_limited", True),
        (451, "bad_request", False),
        (500, "endpoint_error", True),
        (502, "endpoint_error", True),
        (503, "endpoint_error", True),
        (504, "endpoint_error", True),
        (529, "endpoint_error", True),
        (301, "not_found", False),
        (308, "not_found", False),
    ],
)
def test_a_status_has_a_kind_and_either_may_pass_or_not(status: int, kind: ErrorKind, retryable: bool) -> None:
    failure = error_of(status, {"error": {"message": "it failed"}})
    assert (failure.kind, failure.retryable) == (kind, retryable)


def test_a_used_up_account_stops_a_run_and_a_rate_does_not() -> None:
    used_up = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    assert error_of(429, used_up).kind in FATAL_KINDS
    assert error_of(402, {"error": {"message": "Insufficient credits"}}).kind in FATAL_KINDS
    assert error_of(429, {"error": {"message": "Rate limit", "code": "rate_limit_exceeded"}}).kind not in FATAL_KINDS


@pytest.mark.parametrize("status", [400, 403, 422, 451])
@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": "content_filter", "message": "The response was filtered"}},
        {"error": {"code": None, "message": "triggering Azure OpenAI's content management policy"}},
        {"error": {"message": "Your input was flagged"}},
        {"error": {"message": "Input data may contain inappropriate content", "code": "data_inspection_failed"}},
    ],
)
def test_a_content_filter_that_refuses_the_input_is_blocked_not_auth_and_not_tried_again(
    status: int, body: Any
) -> None:
    failure = error_of(status, body)
    assert (failure.kind, failure.retryable) == ("blocked", False)


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_words_about_filters_do_not_change_what_other_statuses_mean(status: int) -> None:
    body = {"error": {"message": "content_filter", "code": "content_filter"}}
    assert error_of(status, body).kind == error_of(status).kind


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. Your messages resulted in 9000; reduce max_tokens",
        "the request exceeds the available context size",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Requested too many tokens",
    ],
)
def test_a_prompt_that_is_too_long_says_so_and_names_no_parameter(message: str) -> None:
    failure = error_of(400, {"error": {"message": message}})
    assert "too long for this model" in str(failure)
    assert failure.parameter is None


def test_a_refused_parameter_is_named() -> None:
    body = {"error": {"message": "Unsupported value", "param": "temperature", "code": "unsupported_value"}}
    assert error_of(400, body).parameter == "temperature"
    assert error_of(422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs"}]}).parameter == "seed"
    assert error_of(500, body).parameter is None


@pytest.mark.parametrize(
    "body,says",
    [
        ({"error": {"message": "it broke"}}, "it broke"),
        ({"error": "it broke"}, "it broke"),
        ({"message": "it broke"}, "it broke"),
        ({"detail": "it broke"}, "it broke"),
        ({"error": {"msg": "it broke"}}, "it broke"),
        ({"object": "error", "message": "it broke", "code": 400}, "it broke"),
        ([{"error": {"message": "it broke"}}], "it broke"),
        ({"error": {"message": "Provider error", "metadata": {"raw": "it broke"}}}, "Provider error it broke"),
        ({"error": None, "message": "it broke"}, "it broke"),
        ("it broke", "it broke"),
        ("<html>\n  <h1>it\tbroke</h1>", "<html> <h1>it broke</h1>"),
    ],
)
def test_the_endpoints_own_words_are_shown_whatever_their_shape(body: Any, says: str) -> None:
    assert str(error_of(500, body)) == f"openai/m: HTTP 500: {says}"


@pytest.mark.parametrize("body", ["", {}, {"error": {}}, {"error": {"message": ""}}, {"error": {"message": None}}, []])
def test_an_endpoint_that_says_nothing_is_not_quoted(body: Any) -> None:
    assert str(error_of(500, body)) in ("openai/m: HTTP 500", "openai/m: HTTP 500: []")


def test_a_page_of_text_is_cut() -> None:
    assert len(str(error_of(500, "x " * 100_000))) < 400


bodies = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "detail", "code", "param", "metadata", "raw", "msg"]), inner
        )
    ),
    max_leaves=10,
)


@given(
    status=st.integers(300, 599),
    body=st.binary(max_size=30) | bodies.map(lambda body: json.dumps(body).encode()),
    header=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=10),
)
def test_no_body_and_no_header_is_too_odd_to_become_an_error(status: int, body: bytes, header: str) -> None:
    failure = error_from_response(status, {"Retry-After": header, "retry-after-ms": header}, body, KEY, "m")
    assert failure.status == status
    assert failure.retry_after is None or failure.retry_after >= 0
    assert "\n" not in str(failure)


# -- Retry-After


@pytest.mark.parametrize(
    "headers,seconds",
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": "-5"}, 0.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
        ({"retry-after-ms": "soon", "Retry-After": "1"}, 1.0),
        ({"Retry-After": email.utils.formatdate(1_900_000_030, usegmt=True)}, 30.0),
        ({"Retry-After": email.utils.formatdate(1_899_999_000, usegmt=True)}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_milliseconds_or_a_date(
    headers: dict[str, str], seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_900_000_000.0)
    for status in (429, 503):
        assert error_of(status, headers=headers).retry_after == seconds


def test_permanent_errors_ask_for_no_wait() -> None:
    assert error_of(400, headers={"Retry-After": "7"}).retry_after is None


# -- the key


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        f"Incorrect API key provided: {KEY[:9]}*********{KEY[-4:]}.",
        f"Authorization: Bearer {KEY}\n{KEY}",
        "you sent gsk_0123456789abcdef",
        "you sent hf_0123456789abcdef, xai-0123456789abcdef and pk-0123456789abcdef",
    ],
)
def test_keys_and_what_looks_like_one_are_taken_out(text: str) -> None:
    shown = scrub(text, KEY)
    assert "[key]" in shown
    assert "0123" not in shown
    assert "cdef" not in shown
    for status in (400, 401, 403, 404, 422, 429, 500):
        assert "cdef" not in str(error_of(status, {"error": {"message": text, "code": KEY, "param": KEY}}, key=KEY))
        assert "cdef" not in str(error_of(status, text, key=KEY))


def test_a_key_without_any_form_is_taken_out_because_it_is_the_key() -> None:
    assert scrub("the word is swordfish, swordfish!", "swordfish") == "the word is [key], [key]!"
    assert scrub("the word is swordfish", None) == "the word is swordfish"


def test_a_key_is_taken_out_before_the_text_is_cut() -> None:
    for length in range(270, 310):
        assert "sword" not in scrub("x" * length + "swordfish", "swordfish")


def test_the_address_that_a_redirect_names_is_shown_without_the_key() -> None:
    failure = error_of(307, headers={"Location": f"https://other.example/?key={KEY}"}, key=KEY)
    assert "https://other.example/?key=[key]" in str(failure)
    assert "redirects are not followed" in str(failure)
