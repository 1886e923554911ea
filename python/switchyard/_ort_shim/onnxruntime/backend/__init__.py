from switchyard.backend import *  # noqa: F403
