"""The doors to a session: how a program starts, watches and ends a recording."""
