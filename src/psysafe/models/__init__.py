"""Models: what is judged with, and how it is reached.

``ChatModel`` is the protocol, ``load_model`` turns a model string into one.
"""

from psysafe.models.base import (
    FATAL_KINDS,
    ChatModel,
    ErrorKind,
    ManagedModel,
    ModelError,
    ModelInfo,
    Price,
    Reply,
    Sampling,
    Schema,
    Stopped,
    Usage,
)
from psysafe.models.limits import Limits
from psysafe.models.resolve import FORMS, PROVIDERS, check_key_hosts, load_model

__all__ = [
    "FATAL_KINDS",
    "FORMS",
    "PROVIDERS",
    "ChatModel",
    "ErrorKind",
    "Limits",
    "ManagedModel",
    "ModelError",
    "ModelInfo",
    "Price",
    "Reply",
    "Sampling",
    "Schema",
    "Stopped",
    "Usage",
    "check_key_hosts",
    "load_model",
]
