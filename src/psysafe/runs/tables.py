"""The tables of a run."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

METADATA = MetaData()

# What identifies the run and how it ended, JSON by name.
meta = Table("meta", METADATA, Column("name", String(64), primary_key=True), Column("value", Text, nullable=False))

conversations = Table(
    "conversations",
    METADATA,
    Column("id", String(512), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("record", LargeBinary, nullable=False),  # JSON, as the readers read it
)

# One row per unit. The columns beside ``record`` repeat what is searched or summed.
judgments = Table(
    "judgments",
    METADATA,
    Column("key", String(32), primary_key=True),
    Column("conversation", String(512), nullable=False),
    Column("position", Integer, nullable=False),  # of the conversation
    Column("message", Integer),
    Column("dimension", String(64), nullable=False),
    Column("mechanism", String(512), nullable=False),
    Column("model", String(512), nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("reason", String(32)),
    Column("score", Float),
    Column("harmful", Boolean),
    Column("curtailed", Boolean, nullable=False),
    Column("flags", String(512), nullable=False),  # each between spaces
    Column("calls", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("prompt_tokens", Integer),
    Column("completion_tokens", Integer),
    Column("cost", Float),
    Column("seconds", Float, nullable=False),
    Column("tries", Integer, nullable=False),  # 1, and one more for each resume that asked again
    Column("record", LargeBinary, nullable=False),  # the whole judgment as JSON
    Index("judgments_by_conversation", "conversation"),
)

# One row per trial of a probe, appended and never changed. The columns beside ``record`` repeat what is searched.
trials = Table(
    "trials",
    METADATA,
    Column("kind", String(16), primary_key=True),
    Column("index", Integer, primary_key=True, autoincrement=False),
    Column("cell", String(64), nullable=False),
    Column("profile", String(512), nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("severity", Integer),
    Column("hit", Boolean, nullable=False),
    Column("confirmed", Boolean, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("target_calls", Integer, nullable=False),
    Column("cost", Float),
    Column("record", LargeBinary, nullable=False),  # the whole trial as JSON
)
