"""What an endpoint takes: found out once before the fan-out, corrected whenever it refuses a parameter by name."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from psysafe.models import ModelError, load_model
from psysafe.models.capabilities import Capabilities, named_parameter
from psysafe.models.openai_compatible import OpenAICompatible
from tests.support.asking import QUICK, SCHEMA, ask, failure_of, opened, run
from tests.support.endpoint import Answer, Endpoint, Play, completion, error, is_probe, refuses

EVERYTHING: dict[str, Any] = {
    "schema": SCHEMA,
    "temperature": 0.7,
    "top_p": 0.9,
    "seed": 3,
    "max_tokens": 50,
    "stop": ("END",),
    "top_logprobs": 5,
}


# -- which parameter a refusal names


@pytest.mark.parametrize(
    "message,param,parameter",
    [
        ("Unsupported value: 'temperature' does not support 0 with this model.", "temperature", "temperature"),
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            "max_tokens",
            "max_tokens",
        ),
        ("Unrecognized request argument supplied: max_completion_tokens", None, "max_tokens"),
        ("Invalid schema for response_format 'verdict': json_schema too deep", "response_format", "json_schema"),
        ("This model does not support response_format of type json_schema", "response_format", "json_schema"),
        ("'response_format.type' must be 'json_schema' or 'text'", None, "json_schema"),
        ("response_format is not supported", "response_format.type", "response_format"),
        ("json_schema is not available", None, "json_schema"),
        ("You are not allowed to request logprobs from this model", None, "logprobs"),
        ("bad", "top_logprobs", "logprobs"),
        ("bad", "stop[0]", "stop"),
        ("property 'seed' is unsupported", None, "seed"),
        ('[{"loc":["body","top_p"],"msg":"Extra inputs are not permitted"}]', None, "top_p"),
        ("Temperature must be 1", None, "temperature"),
        ("`temperature` and `top_p` cannot both be specified for this model.", None, "top_p"),
        ("the messages must alternate", None, None),
        ("please stop", None, None),
        ("nothing of ours", "tools", None),
        ("", None, None),
        ("", 7, None),
    ],
)
def test_a_refusal_names_a_parameter_in_its_param_field_or_its_words(
    message: str, param: object, parameter: str | None
) -> None:
    assert named_parameter(message, param) == parameter


def test_structure_goes_down_one_step_at_a_time_and_ends_at_text() -> None:
    capabilities = Capabilities()
    seen = [capabilities.structure]
    while capabilities.downgrade("response_format"):
        seen.append(capabilities.structure)
    assert seen == ["json_schema", "json_object", "text"]
    assert len(capabilities.downgrades) == 2


@pytest.mark.parametrize("parameter", ["temperature", "top_p", "seed", "stop", "logprobs"])
def test_a_parameter_can_be_given_up_once(parameter: str) -> None:
    capabilities = Capabilities()
    assert capabilities.downgrade(parameter)
    assert not capabilities.downgrade(parameter)
    assert capabilities.dropped == {parameter}
    assert len(capabilities.downgrades) == 1


def test_the_name_of_max_tokens_changes_once_and_not_back_and_forth() -> None:
    capabilities = Capabilities()
    assert capabilities.downgrade("max_tokens")
    assert capabilities.max_tokens_name == "max_completion_tokens"
    assert not capabilities.downgrade("max_tokens")
    assert capabilities.max_tokens_name == "max_completion_tokens"


@pytest.mark.parametrize("parameter", ["messages", "model", "tools", ""])
def test_what_cannot_be_left_out_cannot_be_given_up(parameter: str) -> None:
    capabilities = Capabilities()
    assert not capabilities.downgrade(parameter)
    assert capabilities == Capabilities()


def test_the_record_is_json_ready() -> None:
    capabilities = Capabilities()
    capabilities.downgrade("seed")
    capabilities.downgrade("json_schema")
    assert orjson.loads(orjson.dumps(capabilities.as_dict())) == {
        "structure": "json_object",
        "max_tokens_name": "max_tokens",
        "dropped": ["seed"],
        "downgrades": [
            "seed refused: not sent any more",
            "json_schema refused: answers are asked for as json_object",
        ],
    }


# -- the probe


def takes(*refused: str, named: bool = True) -> Callable[[dict[str, Any], int], Play]:
    """An endpoint that refuses these; ``json_schema`` and ``json_object`` are formats, the rest parameters."""

    def handler(body: dict[str, Any], attempt: int) -> Play:
        form = body.get("response_format", {}).get("type")
        for name in refused:
            if name == form:
                return refuses("response_format", f"{name} is not supported") if named else error(400, "bad request")
            if name in body:
                return refuses(name) if named else error(400, "bad request")
        return "yes"

    return handler


def test_an_endpoint_that_takes_everything_is_probed_with_one_request() -> None:
    async def scenario() -> None:
        async with Endpoint(script_probe=True) as endpoint, opened(endpoint) as model:
            assert len(endpoint.probes) == 1
            assert endpoint.probes[0].body["response_format"]["type"] == "json_schema"
            assert model.info.details["capabilities"]["structure"] == "json_schema"
            assert model.capabilities.downgrades == []
            await model.open()
            await ask(model)
            assert len(endpoint.probes) == 1

    run(scenario())


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    "refused,structure", [(["json_schema"], "json_object"), (["json_schema", "json_object"], "text")]
)
def test_the_strongest_structure_that_it_takes_is_found_before_the_first_call(
    refused: list[str], structure: str, named: bool
) -> None:
    async def scenario() -> None:
        async with (
            Endpoint(takes(*refused, named=named), script_probe=True) as endpoint,
            opened(endpoint) as model,
        ):
            assert model.capabilities.structure == structure
            assert len(model.capabilities.downgrades) == len(refused)
            assert endpoint.calls == []
            await asyncio.gather(*(ask(model, str(i), schema=SCHEMA) for i in range(20)))
            assert len(endpoint.calls) == 20
            for body in endpoint.bodies:
                assert body.get("response_format") == (None if structure == "text" else {"type": structure})

    run(scenario())


@pytest.mark.parametrize("parameter", ["temperature", "seed", "max_tokens"])
def test_parameters_that_judges_send_are_tried_by_the_probe(parameter: str) -> None:
    async def scenario() -> None:
        async with Endpoint(takes(parameter), script_probe=True) as endpoint, opened(endpoint) as model:
            assert len(endpoint.probes) == 2
            await ask(model, **EVERYTHING)
            assert len(endpoint.calls) == 1
            assert parameter not in endpoint.bodies[0]

    run(scenario())


def test_an_endpoint_that_takes_one_of_temperature_and_top_p_keeps_the_temperature() -> None:
    def handler(body: dict[str, Any], attempt: int) -> Play:
        if "temperature" in body and "top_p" in body:
            return error(400, "`temperature` and `top_p` cannot both be specified for this model.")
        return "yes"

    async def scenario() -> None:
        async with Endpoint(handler, script_probe=True) as endpoint, opened(endpoint) as model:
            await ask(model, temperature=0.3)
            assert endpoint.bodies[0]["temperature"] == 0.3

    run(scenario())


def test_an_endpoint_that_refuses_even_plain_text_cannot_be_opened() -> None:
    async def scenario() -> None:
        async with Endpoint(lambda body, attempt: error(400, "no"), script_probe=True) as endpoint:
            with pytest.raises(ModelError) as caught:
                async with opened(endpoint):
                    pass
            assert caught.value.kind == "bad_request"
            assert [call.body.get("response_format", {}).get("type") for call in endpoint.probes] == [
                "json_schema",
                "json_object",
                None,
            ]

    run(scenario())


def test_calls_on_a_model_that_nobody_opened_wait_for_one_probe() -> None:
    """Also those that come while the probe is on its way."""

    async def handler(body: dict[str, Any], attempt: int) -> Play:
        if is_probe(body):
            assert endpoint.calls == []
            for _ in range(20):  # whoever does not wait has arrived by then
                await asyncio.sleep(0.005)
        return takes("json_schema", "seed")(body, attempt)

    endpoint = Endpoint(handler, script_probe=True)

    async def scenario() -> None:
        async with endpoint:
            model = load_model(endpoint.model_string, QUICK, environment={})
            first = asyncio.create_task(ask(model, "first", schema=SCHEMA, seed=1))
            await endpoint.until(lambda: len(endpoint.probes) == 1)
            await asyncio.gather(first, *(ask(model, str(i), schema=SCHEMA, seed=i) for i in range(20)))
            await model.close()
        assert len(endpoint.probes) == 3  # one probe, and again for each of the two findings
        assert len(endpoint.calls) == 21
        for body in endpoint.bodies:
            assert body["response_format"] == {"type": "json_object"}
            assert "seed" not in body

    run(scenario())


def test_asking_for_the_list_of_models_first_does_not_skip_the_probe() -> None:
    async def scenario() -> None:
        async with Endpoint() as endpoint:
            model = load_model(endpoint.url, QUICK, environment={})
            assert isinstance(model, OpenAICompatible)
            assert await model.list_models() == ["judge"]
            connection = model._session
            await ask(model)
            assert model._session is connection
            await model.close()
            assert len(endpoint.probes) == 1
            assert endpoint.bodies[0]["model"] == "judge"

    run(scenario())


def test_a_probe_that_failed_is_made_again_by_the_next_call() -> None:
    async def scenario() -> None:
        answers = iter([error(401, "no"), completion(), completion()])
        async with Endpoint(lambda body, attempt: next(answers), script_probe=True) as endpoint:
            model = load_model(endpoint.model_string, QUICK, environment={})
            assert (await failure_of(model)).kind == "auth"
            assert (await ask(model)).text == "yes"
            assert (len(endpoint.probes), len(endpoint.calls)) == (2, 1)
            await model.close()

    run(scenario())


# -- in the middle of a run


class TurnsStrict:
    """Takes everything until ``together`` calls are in flight, then refuses what it is told to, also from these."""

    def __init__(self, *refused: str, together: int) -> None:
        self.refuse = takes(*refused)
        self.together = together
        self.waiting = 0
        self.full = asyncio.Event()

    async def __call__(self, body: dict[str, Any], attempt: int) -> Play:
        self.waiting += 1
        if self.waiting == self.together:
            self.full.set()
        await self.full.wait()
        return self.refuse(body, attempt)


@pytest.mark.parametrize(
    "refused,lost,kept",
    [
        (["temperature"], ["temperature"], ["seed", "top_p", "max_tokens", "logprobs", "response_format"]),
        (["seed"], ["seed"], ["temperature"]),
        (["top_p"], ["top_p"], ["temperature"]),
        (["stop"], ["stop"], ["temperature"]),
        (["logprobs"], ["logprobs", "top_logprobs"], ["temperature"]),
        (["top_logprobs"], ["logprobs", "top_logprobs"], ["temperature"]),
        (["max_tokens"], ["max_tokens"], ["max_completion_tokens"]),
        (["json_schema"], [], ["response_format"]),
        (["temperature", "seed", "logprobs"], ["temperature", "seed", "logprobs"], ["top_p"]),
        (["json_schema", "json_object", "max_tokens"], ["response_format", "max_tokens"], ["max_completion_tokens"]),
    ],
)
def test_a_refusal_in_the_middle_of_a_run_is_learned_once_and_every_call_still_answered(
    refused: list[str], lost: list[str], kept: list[str]
) -> None:
    async def scenario() -> None:
        async with (
            Endpoint(TurnsStrict(*refused, together=30)) as endpoint,
            opened(endpoint, max_retries=0) as model,
        ):
            replies = await asyncio.gather(*(ask(model, str(i), **EVERYTHING) for i in range(30)))
            assert [reply.text for reply in replies] == ["yes"] * 30
            assert len(model.capabilities.downgrades) == len(refused)
            assert model.info.details["capabilities"]["downgrades"] == model.capabilities.downgrades
            sent = len(endpoint.calls)
            assert sent <= 30 * (1 + len(refused))
            await ask(model, "later", **EVERYTHING)
            assert len(endpoint.calls) == sent + 1  # known by now
            body = endpoint.bodies[-1]
            assert [name for name in lost if name in body] == []
            assert [name for name in kept if name not in body] == []

    run(scenario())


def test_what_is_given_up_does_not_count_as_trouble() -> None:
    async def scenario() -> None:
        async with Endpoint(TurnsStrict("seed", together=30)) as endpoint, opened(endpoint) as model:
            await asyncio.gather(*(ask(model, str(i), seed=i) for i in range(30)))
            assert model.gate.halvings == 0

    run(scenario())


@pytest.mark.parametrize("parameter", ["temperature", "max_tokens", "response_format", "messages"])
def test_an_endpoint_that_goes_on_refusing_what_is_no_longer_sent_gets_no_endless_loop(parameter: str) -> None:
    async def scenario() -> None:
        async with Endpoint(lambda body, attempt: refuses(parameter)) as endpoint, opened(endpoint) as model:
            failure = await failure_of(model, **EVERYTHING)
            assert (failure.kind, failure.status, failure.retryable) == ("bad_request", 400, False)
            assert len(endpoint.calls) <= 3

    run(scenario())


@pytest.mark.parametrize(
    "answer",
    [error(400, "messages must alternate"), error(400, "maximum context length is 8192 tokens; reduce max_tokens")],
)
def test_a_refusal_of_the_prompt_itself_gives_nothing_up(answer: Answer) -> None:
    async def scenario() -> None:
        async with Endpoint(lambda body, attempt: answer) as endpoint, opened(endpoint) as model:
            assert (await failure_of(model, **EVERYTHING)).kind == "bad_request"
            assert model.capabilities == Capabilities()
            # Once more without token probabilities, which it might have refused without a name for them.
            assert ["logprobs" in call.body for call in endpoint.calls] == [True, False]

    run(scenario())


def test_token_probabilities_that_are_refused_without_a_name_are_given_up_once_it_answers_without_them() -> None:
    def handler(body: dict[str, Any], attempt: int) -> Answer | str:
        return error(400, "unsupported request") if "logprobs" in body else "2"

    async def scenario() -> None:
        async with Endpoint(handler) as endpoint, opened(endpoint) as model:
            for _ in range(2):
                assert (await ask(model, top_logprobs=5)).text == "2"
            assert model.capabilities.dropped == {"logprobs"}
            assert ["logprobs" in call.body for call in endpoint.calls] == [True, False, False]

    run(scenario())


def test_a_schema_travels_as_it_was_written_keys_in_order() -> None:
    async def scenario() -> None:
        async with Endpoint() as endpoint, opened(endpoint) as model:
            await ask(model, schema=SCHEMA)
            assert SCHEMA.json in endpoint.calls[0].raw
            form = endpoint.bodies[0]["response_format"]
            assert list(form["json_schema"]["schema"]["properties"]) == ["zebra", "apple"]
            assert (form["json_schema"]["name"], form["json_schema"]["strict"]) == ("verdict", True)

    run(scenario())


def test_a_parameter_that_is_only_named_in_what_the_endpoint_quotes_is_kept() -> None:
    said = (
        "Invalid request. "
        + "The request was refused by the upstream policy engine. " * 6
        + "Input: 'seed' `temperature`"
    )
    assert named_parameter(said, None) is None
