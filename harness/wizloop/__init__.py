"""wizloop: host-simulated hardware-in-the-loop tests for firmware on the WIZnet W5500.

The command line is wizloop.cli; wizloop.simulator is the simulator seen from Python.
"""
