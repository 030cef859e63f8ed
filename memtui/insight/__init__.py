"""What memories say together: counts, their spread over time, what replaced what. No I/O."""
