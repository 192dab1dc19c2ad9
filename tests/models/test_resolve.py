"""From a model string to a model: forms, hosts, keys."""

import dataclasses
from pathlib import Path

import pytest

from psysafe.errors import UsageError
from psysafe.models import FORMS, PROVIDERS, Limits, ManagedModel, Price, check_key_hosts, load_model
from psysafe.models.openai_compatible import OpenAICompatible
from psysafe.models.scripted import ScriptedModel

KEY = "sk-planted-0123456789abcdef"


def resolve(name: str, **environment: str) -> OpenAICompatible:
    model = load_model(name, environment=environment)
    assert isinstance(model, OpenAICompatible)
    return model


def refusal_of(name: str, **environment: str) -> str:
    with pytest.raises(UsageError) as caught:
        load_model(name, environment=environment)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# -- forms


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gpt-4o",
        "openai",
        "openai/",
        "nobody/model",
        "/x",
        "OpenAI/x",
        "ftp://host/v1#m",
        "127.0.0.1:8000",
        "local:x",
    ],
)
def test_an_unknown_model_string_is_answered_with_all_forms(name: str) -> None:
    message = refusal_of(name, OPENAI_API_KEY=KEY)
    assert message.startswith(f"unknown model {name!r}; expected one of: ")
    for form in FORMS:
        assert form in message


def test_every_provider_is_among_the_forms() -> None:
    assert [form for form in FORMS if form.endswith("/MODEL")] == [f"{name}/MODEL" for name in PROVIDERS]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_provider_and_a_model_resolve_to_its_address_and_key(provider: str) -> None:
    known = PROVIDERS[provider]
    model = resolve(f"{provider}/some/model:tag", **({known.key_name: KEY} if known.key_name else {}))
    endpoint = model.endpoint
    assert model.name == f"{provider}/some/model:tag"
    assert endpoint.base_url == known.base_url
    assert endpoint.model == "some/model:tag"
    assert endpoint.loopback == (known.key_name is None)
    assert (endpoint.key, endpoint.key_name) == ((KEY, known.key_name) if known.key_name else (None, None))


@pytest.mark.parametrize("provider", [name for name, known in PROVIDERS.items() if known.key_name])
@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_key_names_the_variable_to_set(provider: str, value: str | None) -> None:
    name = PROVIDERS[provider].key_name
    assert name is not None
    message = refusal_of(f"{provider}/m", **({} if value is None else {name: value}), PSYSAFE_API_KEY=KEY)
    assert f"set the environment variable {name}" in message
    assert KEY not in message


def test_a_model_that_will_not_be_asked_needs_no_key() -> None:
    model = load_model("openai/gpt-4o-mini", environment={}, need_key=False)
    assert isinstance(model, OpenAICompatible)
    assert model.endpoint.key is None
    assert model.info.price is not None


def test_the_identity_of_an_endpoint_is_its_address_and_of_a_script_its_content(tmp_path: Path) -> None:
    assert resolve("http://h:1/v1#m").info.identity == "http://h:1/v1"
    assert resolve("http://h:1/v1#m", PSYSAFE_API_KEY=KEY).info.identity == "http://h:1/v1"
    identities = []
    for name, text in (("a", "rules: [{reply: x}]"), ("b", "rules: [{reply: x}]"), ("a", "rules: [{reply: y}]")):
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        identities.append(load_model(f"scripted:{path}", environment={}).info.identity)
    assert identities[0] == identities[1] != identities[2]


@pytest.mark.parametrize("provider", [name for name, known in PROVIDERS.items() if known.url_name])
def test_the_address_of_a_local_server_can_be_changed(provider: str) -> None:
    name = PROVIDERS[provider].url_name
    assert name is not None
    model = resolve(f"{provider}/m", **{name: "http://10.0.0.5:9000/v1/"})
    assert (model.endpoint.base_url, model.endpoint.loopback) == ("http://10.0.0.5:9000/v1", False)
    assert resolve(f"{provider}/m", **{name: ""}).endpoint.base_url == PROVIDERS[provider].base_url


@pytest.mark.parametrize(
    "name,base_url,model,host",
    [
        ("http://127.0.0.1:8000/v1#m", "http://127.0.0.1:8000/v1", "m", "127.0.0.1:8000"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1", None, "127.0.0.1:8000"),
        ("http://127.0.0.1:8000/v1/#m", "http://127.0.0.1:8000/v1", "m", "127.0.0.1:8000"),
        ("http://h/v1/chat/completions#m", "http://h/v1", "m", "h"),
        ("https://Example.ORG/v1#org/m#x", "https://Example.ORG/v1", "org/m#x", "example.org"),
        ("http://[::1]:8000/v1#m", "http://[::1]:8000/v1", "m", "[::1]:8000"),
        ("http://h/v1#", "http://h/v1", None, "h"),
    ],
)
def test_a_base_url_with_a_model_behind_the_hash(name: str, base_url: str, model: str | None, host: str) -> None:
    endpoint = resolve(name).endpoint
    assert (endpoint.base_url, endpoint.model, endpoint.host) == (base_url, model, host)


def test_a_scripted_model_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("rules: [{reply: x}]")
    limits = Limits(concurrency=3)
    model = load_model(f"scripted:{path}", limits, environment={})
    assert isinstance(model, ScriptedModel)
    assert model.gate.limits is limits
    assert (model.info.host, model.info.loopback) == (None, True)
    given = Price(1, 2)
    assert load_model(f"scripted:{path}", price=given, environment={}).info.price == given


def test_limits_and_price_reach_the_model() -> None:
    limits, price = Limits(concurrency=3), Price(1, 2)
    model = load_model("http://h/v1#m", limits, price=price, environment={})
    assert isinstance(model, OpenAICompatible)
    assert model.limits is limits
    assert model.info.price == price


def test_prices_are_known_for_providers_and_unknown_for_bare_addresses() -> None:
    known = resolve("openai/gpt-4o-mini", OPENAI_API_KEY=KEY).info.price
    assert known is not None
    assert known.input > 0
    assert resolve("openai/my-own-finetune", OPENAI_API_KEY=KEY).info.price is None
    assert resolve("http://h/v1#gpt-4o-mini").info.price is None
    assert resolve("ollama/gpt-4o-mini").info.price is None
    given = Price(1, 2)
    assert load_model("openai/gpt-4o-mini", price=given, environment={"OPENAI_API_KEY": KEY}).info.price == given


def test_the_environment_is_the_processs_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = load_model("openai/m")
    assert isinstance(model, OpenAICompatible)
    assert model.endpoint.key == KEY


# -- addresses that are refused


@pytest.mark.parametrize(
    "url",
    [
        "http://user:hunter2@host/v1#m",
        "https://hunter2@host/v1#m",
        "http://:hunter2@host/v1",
        "http://user:hunter2@host:99999/v1",
        "http://user:hunter2@host:port/v1",
        "http://user:hunter2@/v1",
        "http://user:hun/ter2@host/v1",
        "http://user:hunter2@[host/v1",
        "http://127.0.0.1\\@elsewhere.example/v1",
    ],
)
def test_an_address_with_a_password_is_refused_and_not_repeated(url: str) -> None:
    message = refusal_of(url)
    assert "user name or password" in message
    assert "hun" not in message
    assert "ter2" not in message


def test_the_refusal_of_a_password_says_where_a_key_belongs() -> None:
    assert "put the key into PSYSAFE_API_KEY" in refusal_of("http://user:hunter2@host/v1#m")


def test_an_address_with_a_query_is_refused_and_the_query_not_repeated() -> None:
    message = refusal_of("https://host/v1?api_key=hunter2#m")
    assert "https://host/v1: a base URL has no query part" in message
    assert "hunter2" not in message


@pytest.mark.parametrize(
    "url", ["http://", "http:///v1", "https://#m", "http://host:99999/v1", "http://host:port/v1", "http://[::1/v1"]
)
def test_an_address_that_is_none_is_refused_with_an_example(url: str) -> None:
    message = refusal_of(url)
    assert repr(url.partition("#")[0]) in message
    assert "http://127.0.0.1:8000/v1#MODEL" in message


# -- this machine


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8000", "127.255.3.4", "[::1]:8000", "[::1]", "localhost", "LocalHost:1", "a.localhost"],
)
def test_this_machine_is_known_as_such(host: str) -> None:
    assert resolve(f"http://{host}/v1#m").info.loopback


@pytest.mark.parametrize(
    "host",
    [
        "127.evil.com",
        "127.0.0.1.evil.com",
        "localhost.evil.com",
        "evil-localhost",
        "notlocalhost",
        "128.0.0.1",
        "10.0.0.1",
        "192.168.0.1",
        "0.0.0.0",
        "[::2]",
        "[fe80::1]",
        "example.org",
        "127.0.0.1%2eevil.com",
        "evil.com:127",
    ],
)
def test_no_other_machine_passes_for_this_one(host: str) -> None:
    assert not resolve(f"http://{host}/v1#m").info.loopback


# -- keys and hosts


def test_a_bare_address_takes_its_key_from_one_variable_and_needs_none() -> None:
    assert resolve("http://h/v1#m", PSYSAFE_API_KEY=KEY, OPENAI_API_KEY="x").endpoint.key == KEY
    assert resolve("http://h/v1#m", OPENAI_API_KEY="x").endpoint.key is None
    assert resolve("http://h/v1#m", PSYSAFE_API_KEY="").endpoint.key is None


def test_the_bare_key_goes_to_no_provider() -> None:
    assert resolve("openai/m", OPENAI_API_KEY="own", PSYSAFE_API_KEY=KEY).endpoint.key == "own"
    assert resolve("ollama/m", PSYSAFE_API_KEY=KEY).endpoint.key is None


@pytest.mark.parametrize("bound", ["h.example", "h.example:8000", "H.Example"])
def test_a_bound_key_goes_to_its_host(bound: str) -> None:
    model = resolve("https://h.example:8000/v1#m", PSYSAFE_API_KEY=KEY, PSYSAFE_API_KEY_HOST=bound)
    assert model.endpoint.key == KEY


@pytest.mark.parametrize("bound", ["other.example", "h.example:9000", "example", "xh.example", "h.example.evil.com"])
def test_a_bound_key_goes_to_no_other_host(bound: str) -> None:
    message = refusal_of("https://h.example:8000/v1#m", PSYSAFE_API_KEY=KEY, PSYSAFE_API_KEY_HOST=bound)
    assert f"bound to {bound} by PSYSAFE_API_KEY_HOST" in message
    assert "not sent to h.example:8000" in message
    assert KEY not in message


def models_of(names: list[str], environment: dict[str, str]) -> list[ManagedModel]:
    return [load_model(name, environment=environment) for name in names]


def test_one_key_for_two_hosts_is_refused_and_both_named() -> None:
    environment = {"PSYSAFE_API_KEY": KEY}
    models = models_of(["http://a.example/v1#m", "http://b.example/v1#m"], environment)
    with pytest.raises(UsageError, match=r"several hosts \(a\.example, b\.example\).*PSYSAFE_API_KEY_HOST") as caught:
        check_key_hosts(models, environment)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "names,environment",
    [
        (["http://a.example/v1#m", "http://a.example/v1#n"], {"PSYSAFE_API_KEY": KEY}),
        (["http://a.example/v1#m", "http://b.example/v1#m"], {}),
        (["http://a.example/v1#m", "ollama/m"], {"PSYSAFE_API_KEY": KEY}),
        (["http://a.example/v1#m", "openai/m"], {"PSYSAFE_API_KEY": KEY, "OPENAI_API_KEY": "x"}),
        (["openai/m", "groq/m"], {"OPENAI_API_KEY": KEY, "GROQ_API_KEY": KEY}),
        ([], {"PSYSAFE_API_KEY": KEY}),
    ],
)
def test_keys_that_each_stay_with_one_host_are_fine(names: list[str], environment: dict[str, str]) -> None:
    check_key_hosts(models_of(names, environment), environment)


def test_a_line_end_around_a_key_is_not_part_of_it() -> None:
    assert resolve("http://h/v1#m", PSYSAFE_API_KEY=f"{KEY}\r\n").endpoint.key == KEY
    assert resolve("openai/m", OPENAI_API_KEY=f" {KEY}\n").endpoint.key == KEY
    assert resolve("http://h/v1#m", PSYSAFE_API_KEY="\n").endpoint.key is None


@pytest.mark.parametrize("key", ["two\nlines", "nul\0", "carriage\rreturn"])
def test_a_key_that_cannot_travel_in_a_header_is_refused_without_being_shown(key: str) -> None:
    message = refusal_of("http://h/v1#m", PSYSAFE_API_KEY=key)
    assert "PSYSAFE_API_KEY" in message
    assert key[:3] not in message


def test_no_representation_of_a_model_shows_its_key() -> None:
    model = resolve("https://h.example/v1#m", PSYSAFE_API_KEY=KEY)
    for shown in (repr(model), str(model.endpoint), repr(model.endpoint), repr(model.info), f"{model.info.details}"):
        assert KEY not in shown
    assert dataclasses.is_dataclass(model.endpoint)
