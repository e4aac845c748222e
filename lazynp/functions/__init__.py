"""The public functions, in modules named after the chapters of NumPy's manual. No primitive's rules
here.
"""
