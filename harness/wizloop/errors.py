"""What can go wrong outside a simulation, each with the exit code of the command line."""


class WizloopError(Exception):
    """Ends the program with the message and the exit code of its class."""

    exit_code: int


class UsageError(WizloopError):
    """The user asked for something that does not exist or cannot be."""

    exit_code = 2


class NothingMeasured(WizloopError):
    """No board or figure matches: neither a pass nor a failure."""

    exit_code = 4


class InfrastructureError(WizloopError):
    """The machine is at fault: module not built, a simulation process died."""

    exit_code = 5
