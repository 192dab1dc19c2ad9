"""Which column of a table holds what, by its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from psysafe.conversation.problems import Problem, shown

# Names as they are compared: lower case, spaces and hyphens as underscores.
_CONVERSATION_IDS = (
    "conversation_id", "conversation", "chat_id", "thread_id", "dialogue_id", "dialog_id", "session_id",
)  # fmt: skip
_NAMES: dict[str, tuple[str, ...]] = {
    "id": _CONVERSATION_IDS,
    "role": ("role", "speaker", "sender", "author", "from"),
    "content": ("content", "text", "message", "utterance"),
    "system": ("system", "system_prompt", "system_message"),
    "prompt": ("prompt", "user", "question", "user_message", "human", "input", "query"),
    "reply": ("reply", "assistant", "response", "answer", "completion", "output", "assistant_message", "bot"),
    "finish": ("finish_reason",),
    "judged": ("judged_message",),
    "messages": ("messages",),
}
# A plain "id" may number the rows: of exchanges it is the id, of messages only where no other column is.
_LAST_ID = "id"
_LISTED = 20

MESSAGE = frozenset({"id", "role", "content", "finish", "judged"})
EXCHANGE = frozenset({"id", "system", "prompt", "reply", "finish", "judged"})
WHOLE = frozenset({"id", "messages", "finish", "judged"})


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table.

    Attributes:
        names: of all columns in order, as they are written; those without get one.
        parts: 0-based indices of the columns that are read, by what they hold: ``id``, ``role``, ...
        others: indices of those that become metadata.
    """

    names: tuple[str, ...]
    parts: dict[str, int]
    others: tuple[int, ...]

    @property
    def whole(self) -> bool:
        """A row holds a list of messages."""
        return "messages" in self.parts

    @property
    def by_message(self) -> bool:
        """A row is a message; otherwise it is an exchange, or a whole conversation."""
        return "role" in self.parts

    def name(self, part: str) -> str:
        """How the table calls it."""
        return self.names[self.parts[part]]


def find_columns(names: Sequence[str], *, lists: bool | None = None, need_reply: bool) -> Columns:
    """What the columns of a table hold.

    Args:
        names: in order.
        lists: whether a column ``messages`` holds lists; None in a format without lists.
        need_reply: False takes a table with a prompt and no reply for one of exchanges.

    Raises:
        Problem: a name occurs twice, columns are missing, or two stand for the same.
    """
    given = tuple(name.strip() or f"column {index}" for index, name in enumerate(names, 1))
    keys = [_key(name) for name in given]
    for key, count in Counter(keys).items():
        if count > 1:
            twice = given[keys.index(key)]
            raise Problem("", f"found the column {shown(twice)} {count} times; expected every column once")
    present = {part: [i for i, key in enumerate(keys) if key in known] for part, known in _NAMES.items()}
    plain = [keys.index(_LAST_ID)] if _LAST_ID in keys else []
    if lists and present["messages"]:
        wanted = WHOLE
        present["id"] = plain or present["id"]
    else:
        by_message = bool(present["role"] and present["content"])
        exchange = bool(present["reply"])
        if by_message and exchange and present["prompt"]:
            raise Problem(
                "",
                f"found the columns {_list(given)}, which are both those of messages and those of exchanges; "
                f"expected one kind, so rename {shown(given[present['reply'][0]])} "
                f"or {shown(given[present['role'][0]])}",
            )
        present["id"] = present["id"] or plain if by_message else plain or present["id"]
        if by_message and not present["id"]:
            found = f"found the columns {_list(given)} without one that names the conversation"
            raise Problem("", f"{found}; {_expected(lists is not None, need_reply)}")
        if not by_message and not exchange and (need_reply or not present["prompt"]):
            raise Problem("", f"found the columns {_list(given)}; {_expected(lists is not None, need_reply)}")
        wanted = MESSAGE if by_message else EXCHANGE
    parts: dict[str, int] = {}
    for part in sorted(wanted):
        if len(places := present[part]) > 1:
            both = " and ".join(shown(given[i]) for i in places)
            raise Problem(
                "", f"found {both}, which both stand for the {part}; expected one of them, so rename the other"
            )
        if places:
            parts[part] = places[0]
    used = set(parts.values())
    return Columns(given, parts, tuple(i for i in range(len(given)) if i not in used))


def _key(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(shown(name) for name in names[:_LISTED]) + more


def _expected(lists: bool, need_reply: bool) -> str:
    replies, prompts = (f"{part} ({', '.join(_NAMES[part])})" for part in ("reply", "prompt"))
    exchange = f"a {replies} and, if there is one, a {prompts}" if need_reply else f"a {prompts}, a {replies} or both"
    return (
        "expected "
        + ("messages (a list); or " if lists else "")
        + f"one message a row, with id ({', '.join((*_NAMES['id'], _LAST_ID))}), role ({', '.join(_NAMES['role'])}) "
        f"and content ({', '.join(_NAMES['content'])}); or one exchange a row, with {exchange}"
    )
