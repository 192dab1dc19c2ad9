"""What is judged, and how it is read.

- ``Conversation``, ``Message``: the types all other rooms work on.
- ``read_conversations(path)``: one input as a stream. ``Inputs(paths)``: several, checked before use.
- ``parse_record(obj)``: one decoded record.

All three take ``need_reply=False`` for conversations that wait for a reply, such as a prompt alone.

Formats: JSON Lines, a JSON document (ChatGPT's export and logs of OpenAI-style calls among them), CSV, Parquet,
logs of Inspect, a plain transcript. Whatever cannot be read is an ``InputError`` that names file, line and
field; nothing is dropped in silence.
"""

from psysafe.conversation.formats import FORMATS, Format
from psysafe.conversation.inputs import Inputs
from psysafe.conversation.problems import BadInput
from psysafe.conversation.reader import read_conversations
from psysafe.conversation.record import MAX_MESSAGE_CHARS, parse_record
from psysafe.conversation.scan import Scan
from psysafe.conversation.types import FINISHES, ROLES, Conversation, Finish, Message, Role

__all__ = [
    "FINISHES",
    "FORMATS",
    "MAX_MESSAGE_CHARS",
    "ROLES",
    "BadInput",
    "Conversation",
    "Finish",
    "Format",
    "Inputs",
    "Message",
    "Role",
    "Scan",
    "parse_record",
    "read_conversations",
]
