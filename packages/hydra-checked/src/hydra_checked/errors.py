"""Exceptions whose message is one line for the user."""


class Wrong(ValueError):
    """What a user gives is wrong, such as a configuration: the message names the keys. A program ends with status 2."""


class Failed(RuntimeError):
    """A program cannot go on: the message says what happened and what to do.

    Attributes:
        status: That of the program: 1, or 128 + n after signal n, which is no error.
    """

    status = 1
