"""Mechanisms: how judge calls become a verdict.

One file each. A mechanism is a frozen set of parameters with ``await run(unit) -> Decision``; it knows the
model only as a ``ChatModel`` and knows no file, database or screen.
"""

from psysafe.judging.mechanisms.base import Mechanism
from psysafe.judging.mechanisms.debate import Debate
from psysafe.judging.mechanisms.dual import Dual
from psysafe.judging.mechanisms.registry import MECHANISMS, PRESETS, parse_mechanism, parse_mechanisms
from psysafe.judging.mechanisms.single import Single
from psysafe.judging.mechanisms.vote import MajorityVote

__all__ = [
    "MECHANISMS",
    "PRESETS",
    "Debate",
    "Dual",
    "MajorityVote",
    "Mechanism",
    "Single",
    "parse_mechanism",
    "parse_mechanisms",
]
