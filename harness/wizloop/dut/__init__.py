"""Devices under test: a board that runs the agent firmware (boards/agent), on the model or on a line to a real one.

    with open_device(parse_address("model:w55rp20")) as dut:
        dut.wait_for_link()

One client, `agent.Agent`, talks to all of them over a `line.Line`: `model.ModelLine`, `serial_line.SerialLine`,
`tcp_line.TcpLine`. Only these know what time is: each has a clock of its own, virtual or real.
"""
