"""The testbed: a target with planted faults, and the other model roles, so that a search can be measured with known
truth.

``plants.py`` draws the faults; ``players.py`` plays client, strategist, target and judges without any language model;
``process.py`` runs target and judges in another process. What is measured is the search: it verifies the
implementation, not the paper, and says nothing about how real models behave.
"""
