"""The public functions, in rooms named after the chapters of NumPy's manual. No rules in here."""
