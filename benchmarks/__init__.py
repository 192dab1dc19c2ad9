"""Performance and endurance of psysafe, as programs that print ratios measured in one run. See README.md."""
