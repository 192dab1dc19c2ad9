"""Redaction: personal data in conversations replaced by stand-ins. docs/privacy.md says what it finds and misses."""

from psysafe.conversation.redaction.inputs import RedactedInputs
from psysafe.conversation.redaction.redactor import Redactor

__all__ = ["RedactedInputs", "Redactor"]
