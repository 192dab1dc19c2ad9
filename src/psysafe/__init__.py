"""psysafe measures how safe a conversational AI is for the people who confide in it.

The names below are the public interface; each is imported when it is first used, so that
``import psysafe`` stays fast.

>>> from psysafe import Conversation, judge, dual, load_model, load_dimension   # doctest: +SKIP
>>> judgment = await judge(conversation, load_dimension("mental_manipulation"),
...                        load_model("openai/gpt-4o-mini"), mechanism=dual())  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from psysafe.conversation import Conversation as Conversation
    from psysafe.conversation import Message as Message
    from psysafe.conversation import read_conversations as read_conversations
    from psysafe.judging import Judgment as Judgment
    from psysafe.judging import debate as debate
    from psysafe.judging import dual as dual
    from psysafe.judging import judge as judge
    from psysafe.judging import load_judge as load_judge
    from psysafe.judging import single as single
    from psysafe.judging import vote as vote
    from psysafe.models import load_model as load_model
    from psysafe.taxonomy import Dimension as Dimension
    from psysafe.taxonomy import load_dimension as load_dimension
    from psysafe.taxonomy import load_dimensions as load_dimensions

_HOME = {
    "Conversation": "conversation",
    "Message": "conversation",
    "read_conversations": "conversation",
    "Dimension": "taxonomy",
    "load_dimension": "taxonomy",
    "load_dimensions": "taxonomy",
    "load_model": "models",
    "Judgment": "judging",
    "judge": "judging",
    "load_judge": "judging",
    "single": "judging",
    "dual": "judging",
    "debate": "judging",
    "vote": "judging",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"psysafe.{_HOME[name]}"), name)
    raise AttributeError(f"module 'psysafe' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
