"""The embedded model as a judge: several yes-or-no questions, their token probabilities, a fitted head."""
