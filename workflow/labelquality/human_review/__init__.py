"""What people decide who look at boxes: duplicates, original-only boxes, missed objects.

Each review starts from a list that a stage writes as CSV. People fill in its last columns, and the
file becomes one of the data set's `files` (paper 1, sections IV-B, A.4 and B.5).
"""
