"""What several rooms' tests share. ``tests`` must be on the import path."""
