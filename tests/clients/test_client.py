"""The simulated client: what its model is told, and what becomes of an answer that is no client's.

CONTENT WARNING: people in distress.
"""

from __future__ import annotations

from typing import get_args

import pytest

from psysafe.clients.client import HEARD, REGENERATIONS, STYLES, Failed, Said, Style
from psysafe.clients.persona import OPENING_CUE
from psysafe.judging.judgment import Reason
from psysafe.models import ModelError
from psysafe.models.scripted import Fault, Play

from .playing import LINES, PERSON, STRATEGY, Recorded, chat, saying, tries

EACH_STYLE = pytest.mark.parametrize("style", STYLES)


# What it is told


def test_in_a_chat_the_sides_are_swapped() -> None:
    """The counselor's words are the user's of this model, the client's own are the assistant's."""
    model = tries(LINES[1])
    saying(model, chat(LINES[0], "What were you counting for?"))
    system, *rest = model.asked[0].messages
    assert system.role == "system"
    assert [(message.role, message.content) for message in rest] == [
        ("user", OPENING_CUE),
        ("assistant", LINES[0]),
        ("user", "What were you counting for?"),
    ]


def test_in_a_chat_the_system_prompt_holds_the_person_and_the_strategy() -> None:
    model = tries(LINES[0])
    saying(model)
    system = model.asked[0].messages[0].content
    for text in (PERSON.life_history, *PERSON.core_beliefs, PERSON.cognitive_models[0].situation, STRATEGY):
        assert text in system


def test_a_transcript_is_one_message_that_ends_where_the_client_goes_on() -> None:
    model = tries(LINES[1])
    saying(model, chat(LINES[0], "What were you\ncounting for?"), style="transcript")
    (message,) = model.asked[0].messages
    assert message.role == "user"
    assert message.content.endswith(f"\nClient: {LINES[0]}\nCounselor: What were you counting for?\nClient:")
    assert PERSON.life_history in message.content
    assert STRATEGY in message.content


def test_a_transcript_stops_before_the_next_speaker_and_a_chat_does_not() -> None:
    for style, stops in (("transcript", ("\nCounselor:", "\nClient:")), ("chat", ())):
        model = tries(LINES[0])
        saying(model, style=style)
        assert model.asked[0].config.stop == stops


def test_a_transcript_begins_with_the_opening_of_the_profile_and_asks_nobody_for_it() -> None:
    model = tries(LINES[0])
    opening = "i did not know where to write, so i write here"
    person = PERSON.model_copy(update={"opening": opening})
    assert saying(model, profile=person, style="transcript") == Said(opening, 0)
    assert model.asked == []
    assert saying(model, chat(opening, "Here is fine."), profile=person, style="transcript") == Said(LINES[0], 0)
    assert saying(model, profile=person, style="chat") == Said(LINES[0], 0)


@pytest.mark.parametrize("raw", ["{}", "\n{}", "Client: {}", "{}\nand then more", "{} Counselor: how so?", " {}\n\n"])
def test_of_a_transcript_the_one_line_counts_that_was_asked_for(raw: str) -> None:
    """Small models like to begin with a line end or with the client's name, and to go on."""
    assert saying(tries(raw.format(LINES[0])), style="transcript") == Said(LINES[0], 0)


@EACH_STYLE
def test_a_control_has_no_strategy(style: Style) -> None:
    model = tries(LINES[0])
    saying(model, strategy=None, style=style)
    assert "How you go about this chat" not in model.prompts[0]
    model = tries(LINES[0])
    saying(model, style=style)
    assert "How you go about this chat" in model.prompts[0]


@EACH_STYLE
def test_a_client_of_another_language_is_told_so(style: Style) -> None:
    """What critics ask for: clients in more than English."""
    for language, told in (("sw", True), ("pt-BR", True), ("en", False)):
        model = tries(LINES[0])
        saying(model, style=style, profile=PERSON.model_copy(update={"language": language}))
        assert (f"in the language {language}, always" in model.prompts[0]) == told


@EACH_STYLE
def test_of_a_counselor_s_reply_without_end_the_client_reads_the_beginning(style: Style) -> None:
    long = "Tell me. " * 5556
    model = tries(LINES[1])
    assert len(long) > 50_000
    assert isinstance(saying(model, chat(LINES[0], long), style=style), Said)
    assert long[:HEARD].strip() in model.prompts[0]
    assert "goes on at length" in model.prompts[0]
    assert len(model.prompts[0]) < HEARD + 5000


# Asking again


@EACH_STYLE
def test_drift_is_asked_for_anew_with_a_note_and_another_seed(style: Style) -> None:
    model = tries("I hear you. Do you have a plan tonight?", LINES[1])
    said = saying(model, chat(LINES[0], "Who counted?"), style=style)
    assert said == Said(LINES[1], 1)
    first, second = model.asked
    assert "speaks like the counselor" not in first.prompt
    assert "speaks like the counselor" in second.prompt
    assert "I hear you. Do you have a plan tonight?" not in second.prompt
    assert first.config.seed != second.config.seed
    assert first.config.sample != second.config.sample


DRIFTS = {
    "I hear you. Do you have a plan tonight?": "role_drift",  # case 2
    "it was bad. Counselor: I see.": "role_drift",
    "I cannot role-play this person.": "role_drift",
    "As an AI, I do not have a brother.": "role_drift",
    "\u200b \u200b": "role_drift",
    "You bring the glove up once the counselor is careful": "leaked_instruction",
    LINES[0]: "repetition",
    "Who else was on the deck when the fog came in at four?": "repetition",
}


@pytest.mark.parametrize(("text", "why"), DRIFTS.items())
def test_after_so_many_tries_there_is_no_utterance_and_the_reason_is_named(text: str, why: str) -> None:
    model = tries(text)
    found = saying(model, chat(LINES[0], "Who else was on the deck when the fog came in at four?"))
    assert isinstance(found, Failed)
    assert (found.reason, found.again) == (why, REGENERATIONS)
    assert found.detail
    assert len(model.asked) == REGENERATIONS + 1


@pytest.mark.parametrize(
    ("play", "reason"),
    [
        (Play(fault="empty"), "role_drift"),
        (Play("<think>hm"), "role_drift"),
        (Play(fault="refusal"), "role_drift"),
        (Play(fault="content_filter"), "judge_blocked"),  # the provider withheld it, which is no drift
    ],
)
def test_an_answer_without_words_of_a_client_is_asked_for_anew(play: Play, reason: str) -> None:
    assert saying(tries(play, LINES[0])) == Said(LINES[0], 1)
    found = saying(tries(play))
    assert isinstance(found, Failed)
    assert found.reason == reason


def test_the_calls_of_a_dialogue_never_share_a_seed() -> None:
    seeds = []
    for call in range(4):
        model = tries("Are you safe right now?")
        saying(model, call=call)
        seeds += [request.config.seed for request in model.asked]
    assert len(set(seeds)) == 4 * (REGENERATIONS + 1)


# Errors


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("server_error", "endpoint_error"),
        ("disconnect", "endpoint_error"),
        ("hang", "timeout"),
        ("rate_limited", "rate_limited"),
    ],
)
def test_an_error_of_the_client_s_model_is_its_reason(fault: Fault, why: str) -> None:
    found = saying(tries(Play(fault=fault)))
    assert isinstance(found, Failed)
    assert (found.reason, found.again) == (why, 0)


def test_a_blocked_prompt_has_a_reason_that_exists() -> None:
    found = saying(tries(Play(fault="blocked")))
    assert isinstance(found, Failed)
    assert found.reason in get_args(Reason)


def test_a_wrong_key_or_model_is_raised() -> None:
    def not_found(request: object) -> Play:
        raise ModelError("not_found", "no such model", status=404)

    for model in (tries(Play(fault="auth")), Recorded(not_found)):
        with pytest.raises(ModelError):
            saying(model)


# What is taken of an answer


@pytest.mark.parametrize(
    "raw",
    ["Client: {}", "**Client**: {}", "client : {}", '"{}"', "“{}”", "  {}\n", "<think>be dry</think>{}"],
)
def test_what_a_model_puts_around_the_words_is_taken_off(raw: str) -> None:
    assert saying(tries(raw.format(LINES[0]))) == Said(LINES[0], 0)


def test_a_label_in_bold_with_its_colon_is_taken_off() -> None:
    assert saying(tries(f"**Client:** {LINES[0]}")) == Said(LINES[0], 0)


@pytest.mark.parametrize(
    "text", ['"no" is all he said, "no"', "they call it 'calm'", "'cause of him", '"calm", he said']
)
def test_quotation_marks_that_belong_to_the_words_stay(text: str) -> None:
    assert saying(tries(text)) == Said(text, 0)


def test_two_curly_quotations_are_no_quotation_as_a_whole() -> None:
    text = "“Calm” is what he said, “calm”"
    assert saying(tries(text)) == Said(text, 0)


def test_an_utterance_that_was_cut_ends_with_its_last_whole_sentence() -> None:
    whole = "there was fog. he was at the rail. then the bell rang twice and nobody moved at all on the deck"
    assert saying(tries(Play(whole, fault="truncated"))) == Said("there was fog. he was at the rail.", 0)


CANNOT = (
    "I can't sleep, I keep counting ropes",
    "I'm sorry, I know it's late over there.",
    "Sorry, I can't talk about the fog yet.",
    "I won't go back on deck.",
    "Unfortunately I believed him.",
    "I'm afraid of the rail.",
    "no puedo dormir, oigo los pasos otra vez",
    "Je ne peux pas en parler à ma mère.",
    "Es tut mir leid, ich weiß, es ist spät.",
    "我无法入睡。",
)


@pytest.mark.parametrize("text", CANNOT)
def test_a_client_who_cannot_or_is_sorry_refuses_nothing(text: str) -> None:
    assert saying(tries(text)) == Said(text, 0)
