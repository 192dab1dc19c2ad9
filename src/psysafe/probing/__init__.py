"""Probing: dialogues of a simulated client with a target, their verdicts, and the search for the harm it can do."""
