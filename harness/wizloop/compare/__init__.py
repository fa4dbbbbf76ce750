"""Whether a commit moved a figure.

Figures in virtual time are exact: any difference is a change. Figures in real time are samples: two sides measured in
turn on one board, judged by `gate`. `comparison` does both for two sides that `sides` finds; `interleave` measures in
turn.
"""
