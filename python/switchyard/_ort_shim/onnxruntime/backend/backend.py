from switchyard.backend.backend import *  # noqa: F403
