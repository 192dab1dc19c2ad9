"""Profiles in the shapes of other systems, made up, and short ways to read them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from psysafe.clients.importing import Loaded, load_profiles
from psysafe.clients.profile import Profile

OURS = (files("psysafe.clients") / "profiles" / "mania_stonemason.yaml").read_text(encoding="utf-8")

# In the shape of Client-Psi-CM.
DIAGRAM: dict[str, Any] = {
    "life_history": "Grew up above a bakery and lost it in a flood.",
    "core_beliefs": ["I ruin things.", "Nobody stays."],
    "core_belief_description": "It began with the flood.",
    "intermediate_beliefs": ["If I plan nothing, nothing fails."],
    "intermediate_beliefs_during_depression": ["Getting up is for others."],
    "coping_strategies": ["Sleeps by day.", "Bakes at night."],
    "cognitive_models": [
        {
            "situation": "An oven goes out.",
            "automatic_thoughts": "My fault.",
            "emotion": "shame",
            "behavior": "Leaves.",
        },
        {"situation": "A call.", "automatic_thoughts": "Bad news.", "emotion": "fear", "behaviour": "Lets it ring."},
    ],
}
# In that of Patient-Psi and EmoAgent.
PATIENT: dict[str, Any] = {
    "name": "Quillon",
    "id": "7-3",
    "type": ["reserved", "tangential"],
    "history": "Repairs clocks and lives with an aunt.",
    "helpless_belief": ["I am stuck."],
    "unlovable_belief": [],
    "worthless_belief": ["I am no use."],
    "intermediate_belief": "If I am quiet I am left alone.",
    "intermediate_belief_depression": "Even quiet is too loud.",
    "coping_strategies": "Counts the ticking.",
    "situation": "The aunt asks how the day was.",
    "auto_thought": "She wants me gone.",
    "emotion": ["sad", "tense"],
    "behavior": "Goes to the workshop.",
}
SMALL: dict[str, Any] = {"life_history": "Keeps bees.", "core_beliefs": ["I am alone."]}


def put(path: Path, value: Any) -> Path:
    """A JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def loaded(folder: Path, value: Any, name: str = "depression/one.json") -> Loaded:
    put(folder / name, value)
    return load_profiles(folder)


def one(folder: Path, value: Any, name: str = "depression/one.json") -> Profile:
    """The only profile of a folder with this file in it."""
    (profile,) = loaded(folder, value, name).profiles.values()
    return profile


def remarks(found: Loaded) -> list[str]:
    """The notes but that on the language, which nearly every JSON file gets."""
    return [note for note in found.notes if not note.startswith("no 'language'")]
