"""Files of other programs: read with guards, edited by spans, saved whole, never harmed."""
